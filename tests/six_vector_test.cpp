// The six-dimensional error, against examples worked out by hand.
#include <kvcodec/quality/six_vector.hpp>
#include <kvcodec/quality/sources.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

namespace kvcodec::quality {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double pi = std::numbers::pi;

ScaleDirection errors(const Floats& x, const Floats& y, std::size_t d) {
  ScaleDirectionSum sum;
  sum.add(x, y, d);
  return sum.result();
}

TEST(ScaleDirection, ATenthOfTheLengthIsTwentyDecibels) {
  const ScaleDirection e = errors({3, 4, 0, -10}, {3.3f, 4.4f, 0, -9}, 2);
  EXPECT_NEAR(e.snr_db, 20, 1e-6);
  EXPECT_NEAR(e.angle, 0, 1e-7);
  EXPECT_EQ(e.rows, 2u);
}

TEST(ScaleDirection, ATurnLeavesTheScale) {
  const ScaleDirection e = errors({3, 4, 1, 0, 2, 0}, {-4, 3, 1, 0, -2, 0}, 2);
  EXPECT_EQ(e.snr_db, infinity);
  EXPECT_NEAR(e.angle, (pi / 2 + 0 + pi) / 3, 1e-15);
}

TEST(ScaleDirection, LongRowsCountForMoreInTheRatioOnly) {
  const ScaleDirection e = errors({100, 0, 0, 1}, {90, 0, 1, 0}, 2);  // errors 10 and 0 of lengths 100 and 1
  EXPECT_NEAR(e.snr_db, 10 * std::log10(10001.0 / 100), 1e-12);
  EXPECT_NEAR(e.angle, pi / 4, 1e-15);
}

TEST(ScaleDirection, OfRowsOfZeros) {
  const ScaleDirection kept = errors({0, 0, 3, 4}, {0, 0, 3, 4}, 2);
  EXPECT_EQ(kept.snr_db, infinity);
  EXPECT_EQ(kept.angle, 0);
  EXPECT_EQ(kept.rows, 1u);
  EXPECT_EQ(kept.zero_rows, 1u);
  const ScaleDirection from_zero = errors({0, 0, 3, 4}, {0, 0.5f, 3, 4}, 2);
  EXPECT_NEAR(from_zero.snr_db, 20, 1e-12);
  EXPECT_EQ(from_zero.angle, 0);
  EXPECT_EQ(errors({0, 0}, {0, 1}, 2).snr_db, -infinity);
  const ScaleDirection to_zero = errors({3, 4}, {0, 0}, 2);
  EXPECT_NEAR(to_zero.snr_db, 0, 1e-12);
  EXPECT_NEAR(to_zero.angle, pi / 2, 1e-15);
  const ScaleDirection none = ScaleDirectionSum().result();
  EXPECT_EQ(none.snr_db, infinity);
  EXPECT_EQ(none.angle, 0);
}

TEST(ScaleDirection, GathersOverCallsAndInDouble) {
  ScaleDirectionSum sum;
  sum.add(Floats{100, 0}, Floats{90, 0}, 2);
  sum.add(Doubles{0, 1}, Doubles{1, 0}, 2);
  EXPECT_NEAR(sum.result().snr_db, 10 * std::log10(10001.0 / 100), 1e-12);
  EXPECT_NEAR(sum.result().angle, pi / 4, 1e-15);
}

TEST(SixVector, OfKnownAttention) {
  // Scaled scores 0 and ln 3, weights 1/4 and 3/4: output (1, 3, 0). The second key turned by a right angle: weights 1/2
  // and 1/2; the second value halved: output (2, 1, 0).
  const float length = static_cast<float>(std::numbers::sqrt2 * std::log(3.0));
  const Floats query{1, 0}, keys{0, 1, length, 0}, values{4, 0, 0, 0, 4, 0};
  const SixVector e = six_vector(query, keys, values, Floats{0, 1, 0, length}, Floats{4, 0, 0, 0, 2, 0}, 2);
  EXPECT_EQ(e.keys.snr_db, infinity);
  EXPECT_NEAR(e.keys.angle, pi / 4, 1e-15);
  EXPECT_NEAR(e.values.snr_db, 10 * std::log10(32.0 / 4), 1e-12);
  EXPECT_EQ(e.values.angle, 0);
  const double lost = std::sqrt(10.0) - std::sqrt(5.0);
  EXPECT_NEAR(e.output.snr_db, 10 * std::log10(10 / (lost * lost)), 1e-6);  // a float ln 3
  EXPECT_NEAR(e.output.angle, pi / 4, 1e-7);
  EXPECT_EQ(e.output.rows, 1u);
  const std::array<double, 6> wanted{e.keys.snr_db,  e.keys.angle,    e.values.snr_db,
                                     e.values.angle, e.output.snr_db, e.output.angle};
  EXPECT_EQ(e.coordinates(), wanted);
}

TEST(SixVector, OfTheSameRowsIsNoError) {
  const Floats queries = gaussian_rows(5, 16, 1), keys = gaussian_rows(20, 16, 2), values = gaussian_rows(20, 8, 3);
  const SixVector e = six_vector(queries, keys, values, keys, values, 16);
  EXPECT_EQ(e.coordinates(), (std::array<double, 6>{infinity, 0, infinity, 0, infinity, 0}));
  EXPECT_EQ(e.keys.rows, 20u);
  EXPECT_EQ(e.output.rows, 5u);
}

TEST(SixVector, GathersScalesOfItsOwn) {
  SixVectorSum sum;
  sum.keys.add(Floats{3, 4}, Floats{3.3f, 4.4f}, 2);
  sum.output.add(Doubles{1, 0}, Doubles{0, 1}, 2);
  const SixVector e = sum.result();
  EXPECT_NEAR(e.keys.snr_db, 20, 1e-6);
  EXPECT_EQ(e.values.rows, 0u);
  EXPECT_NEAR(e.output.angle, pi / 2, 1e-15);
}

}  // namespace
}  // namespace kvcodec::quality
