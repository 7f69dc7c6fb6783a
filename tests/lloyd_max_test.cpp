// The per-coordinate quantiser against the oracle's, which solves its own books.
#include "oracle/scalar_codec.hpp"
#include "support/dims.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/codec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kvcodec {
namespace {

template <std::size_t D, unsigned B>
std::array<unsigned, D> indices_of(const std::byte* code) {
  std::array<unsigned, D> out;
  unpack<B, D>(code, [&](std::size_t i, unsigned index) { out[i] = index; });
  return out;
}

template <std::size_t D, unsigned B>
void check_against_oracle() {
  using Q = LloydMaxQuantizer<D, B>;
  const auto book = kvcodec_oracle::sphere_marginal_book(D, B);
  kvcodec_oracle::RandomSource source(D * 10 + B);
  std::size_t differing = 0;
  for (int n = 0; n < 50; ++n) {
    const auto u = kvcodec_oracle::normalised(source.gaussian_vector(D));
    std::array<float, D> x, back;
    for (std::size_t i = 0; i < D; ++i) x[i] = static_cast<float>(u[i]);
    std::array<std::byte, Q::code_bytes> code;
    Q::encode(x.data(), code.data());
    const auto indices = indices_of<D, B>(code.data());
    for (std::size_t i = 0; i < D; ++i) {
      const auto wanted = kvcodec_oracle::level_index(book, static_cast<double>(x[i]));
      if (indices[i] == wanted) continue;
      // Only the float rounding of a boundary may move a coordinate, and by one level.
      ++differing;
      EXPECT_LT(kvcodec_oracle::boundary_margin(book, static_cast<double>(x[i])), 1e-7) << D << " " << B;
    }
    Q::decode(code.data(), back.data());
    for (std::size_t i = 0; i < D; ++i) ASSERT_NEAR(static_cast<double>(back[i]), book.centroids[indices[i]], 1e-7);
  }
  EXPECT_LE(differing, 2u) << D << " " << B;
}

template <std::size_t D>
void check_all_widths() {
  [&]<unsigned... B>(std::integer_sequence<unsigned, B...>) {
    (check_against_oracle<D, B + 1>(), ...);
  }(std::make_integer_sequence<unsigned, 8>{});
}

TEST(LloydMax, IsTheOraclesQuantizerAtEveryDimAndWidth) {
  []<std::size_t... D>(Dims<D...>) { (check_all_widths<D>(), ...); }(kvcodec_test::TestDims{});
}

TEST(LloydMax, ATieGoesToTheLowerIndex) {
  using Q = LloydMaxQuantizer<64, 2>;
  const float* boundaries = table<SphereBoundaries<64, 2>>();
  EXPECT_EQ(boundaries[1], 0.0f);
  std::array<float, 64> u = {};
  for (std::size_t i = 0; i < 3; ++i) u[i] = boundaries[i];
  u[3] = -0.0f;
  u[4] = std::nextafter(boundaries[2], 1.0f);
  std::array<std::byte, Q::code_bytes> code;
  Q::encode(u.data(), code.data());
  const auto indices = indices_of<64, 2>(code.data());
  EXPECT_EQ(indices[0], 0u);
  EXPECT_EQ(indices[1], 1u);
  EXPECT_EQ(indices[2], 2u);
  EXPECT_EQ(indices[3], 1u);
  EXPECT_EQ(indices[4], 3u);
}

TEST(LloydMax, TheStoredNormIsTheOneTheDirectionWasCodedAgainst) {
  // One coordinate just below a boundary with the exact norm, just above with the rounded one: the code must follow the
  // rounded one. Searched for, since rounding decides where it happens.
  using C = LloydMax<64, 4>;
  const C codec;
  const auto book = kvcodec_oracle::sphere_marginal_book(64, 4);
  const auto x = kvcodec_test::gaussian_rows(2000, 64, 77);
  std::size_t decided = 0;
  for (std::size_t n = 0; n < 2000; ++n) {
    const std::span<const float, 64> v(x.data() + n * 64, 64);
    std::array<std::byte, C::row_bytes> row;
    ASSERT_EQ(codec.encode(v, row), Status::ok);
    const float stored = to_float(bfloat16{static_cast<std::uint16_t>(std::to_integer<unsigned>(row[0]) | std::to_integer<unsigned>(row[1]) << 8)});
    const auto indices = indices_of<64, 4>(row.data() + 2);
    for (std::size_t i = 0; i < 64; ++i) {
      const auto with_stored = kvcodec_oracle::level_index(book, static_cast<double>(v[i]) / stored);
      const auto with_exact = kvcodec_oracle::level_index(book, static_cast<double>(v[i]) / kvcodec_test::length(v));
      if (with_stored == with_exact || kvcodec_oracle::boundary_margin(book, static_cast<double>(v[i]) / stored) < 1e-6) continue;
      ++decided;
      ASSERT_EQ(indices[i], with_stored);
    }
  }
  EXPECT_GT(decided, 100u);  // else this test would have seen nothing
}

}  // namespace
}  // namespace kvcodec
