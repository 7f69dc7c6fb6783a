// The Eigen adapter: a Haar rotation is orthogonal, seeded, and a rotation of the house like any other.
#include "oracle/expected.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/adapt/eigen.hpp>

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace kvcodec {
namespace {

TEST(HaarRotation, IsOrthogonalAndSeeded) {
  SplitMix64 a(1), b(1), c(2);
  const HaarRotation<64> first(a), same(b), other(c);
  const Eigen::MatrixXf unit = first.matrix() * first.matrix().transpose();
  EXPECT_LT((unit - Eigen::MatrixXf::Identity(64, 64)).cwiseAbs().maxCoeff(), 1e-5f);
  EXPECT_EQ(first.matrix(), same.matrix());
  EXPECT_NE(first.matrix(), other.matrix());
}

TEST(HaarRotation, GivesTheBooksDistortionOnStructuredInputs) {
  using C = TurboQuantMseHaar<128, 3>;
  double one_hot = 0;
  constexpr int n = 200;
  for (int i = 0; i < n; ++i) {
    const C codec(static_cast<std::uint64_t>(i));
    std::array<float, 128> x = {}, back;
    x[static_cast<std::size_t>(i) % 128] = 1.0f;
    std::array<std::byte, C::row_bytes> row;
    ASSERT_EQ(codec.encode(x, row), Status::ok);
    codec.decode(row, back);
    one_hot += kvcodec_test::relative_square_error(x, back) / n;
  }
  EXPECT_NEAR(one_hot, kvcodec_oracle::expected::turboquant_distortion[3].distortion[2], 0.03 * .034);
}

TEST(HaarRotation, ScoresAndSumsInItsOwnBasis) {
  const TurboQuantMseHaar<80, 4> codec(3);
  const auto x = kvcodec_test::gaussian_rows(1, 80, 1), q = kvcodec_test::gaussian_rows(1, 80, 2);
  std::array<std::byte, codec.row_bytes> row;
  std::array<float, 80> back;
  ASSERT_EQ(codec.encode(std::span<const float, 80>(x.data(), 80), row), Status::ok);
  codec.decode(row, back);
  EXPECT_NEAR(static_cast<double>(codec.score(codec.prepare(std::span<const float, 80>(q.data(), 80)), row)), kvcodec_test::dot(q, back),
              1e-5 * kvcodec_test::length(q) * kvcodec_test::length(x));
  EXPECT_EQ(codec.descriptor().rotation, RotationKind::haar);
}

TEST(Eigen, MatricesAreRowsOfValues) {
  RowMatrix keys(3, 64);
  for (Eigen::Index i = 0; i < keys.size(); ++i) keys.data()[i] = static_cast<float>(i % 7) - 3.0f;
  const TurboQuantMse<64, 8> codec;
  std::vector<std::byte> rows(3 * codec.row_bytes);
  ASSERT_EQ(codec.encode_rows(values_of(std::as_const(keys)), Rows{rows.data(), 3, codec.row_bytes}).status, Status::ok);
  RowMatrix back(3, 64);
  ASSERT_EQ(codec.decode_rows(ConstRows(rows.data(), 3, codec.row_bytes), values_of(back)), Status::ok);
  EXPECT_LT((keys - back).norm() / keys.norm(), 0.02f);
  EXPECT_EQ(matrix_of(values_of(std::as_const(keys)), 64), keys);
}

}  // namespace
}  // namespace kvcodec
