// Hadamard transforms and rotations, against the oracle's dense matrices.
#include "oracle/transform.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/factory.hpp>
#include <kvcodec/transform/rotation.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace kvcodec {
namespace {

/// Calls f(std::integral_constant<D>) for every head size the library takes.
template <class F>
void for_all_dims(F f) {
  [&]<std::size_t... D>(Dims<D...>) { (f(std::integral_constant<std::size_t, D>{}), ...); }(AllDims{});
}

TEST(SupportedDims, AreTheListedOnesAndNoOther) {
  std::size_t count = 0;
  for (std::size_t d = 0; d <= 5000; ++d) {
    bool wanted = false;
    for (const std::size_t m : {1u, 12u, 20u, 28u, 36u})
      for (std::size_t power = 1; m * power <= 1024; power *= 2) wanted = wanted || (d == m * power && d >= 4);
    EXPECT_EQ(supported_dim(d), wanted) << d;
    count += wanted ? 1 : 0;
  }
  EXPECT_EQ(std::size(AllDims::value), count);
  for (const std::size_t d : AllDims::value) EXPECT_TRUE(supported_dim(d)) << d;
}

TEST(Hadamard, IsTheOraclesMatrixAndExactlyOrthogonal) {
  for_all_dims([](auto dim) {
    constexpr std::size_t d = dim.value;
    const auto h = kvcodec_oracle::hadamard_matrix(d);
    if (d <= 320) {  // cubic: the rest follow from the Kronecker product
      EXPECT_EQ(kvcodec_oracle::orthogonality_error(h), 0.0) << d;
    }
    std::vector<float> x(d);
    for (std::size_t column = 0; column < d; ++column) {
      std::fill(x.begin(), x.end(), 0.0f);
      x[column] = 1.0f;
      hadamard<d>(x.data());
      for (std::size_t row = 0; row < d; ++row) ASSERT_EQ(static_cast<double>(x[row]), h.at(row, column)) << d;
      hadamard_transposed<d>(x.data());  // small integers: exact in float
      for (std::size_t row = 0; row < d; ++row) ASSERT_EQ(x[row], row == column ? static_cast<float>(d) : 0.0f) << d;
    }
  });
}

template <class R>
kvcodec_oracle::RoundSigns signs_of(const R& rotation) {
  kvcodec_oracle::RoundSigns signs(R::rounds, std::vector<double>(R::dim));
  for (unsigned r = 0; r < R::rounds; ++r)
    for (std::size_t i = 0; i < R::dim; ++i) signs[r][i] = rotation.negates(r, i) ? -1 : 1;
  return signs;
}

template <std::size_t D, unsigned Rounds>
void check_rotation() {
  SplitMix64 random(D + Rounds);
  const SignedHadamard<D, Rounds> rotation(random);
  const auto h = kvcodec_oracle::hadamard_matrix(D);
  const auto signs = signs_of(rotation);
  const auto x = kvcodec_test::gaussian_rows(1, D, 3);
  auto y = x;
  rotation.raw(y.data());
  const auto wanted = kvcodec_oracle::rotate(h, signs, {x.begin(), x.end()});
  const double bound = 1e-6 * kvcodec_test::length(x);
  for (std::size_t i = 0; i < D; ++i) ASSERT_NEAR(static_cast<double>(y[i] * rotation.scale), wanted[i], bound) << D;
  for (float& v : y) v *= rotation.scale;
  rotation.raw_inverse(y.data());
  for (std::size_t i = 0; i < D; ++i) ASSERT_NEAR(static_cast<double>(y[i] * rotation.scale), static_cast<double>(x[i]), bound) << D;
}

TEST(SignedHadamard, IsTheOraclesRotationAndInvertsIt) {
  for_all_dims([](auto dim) {
    check_rotation<dim.value, 1>();
    check_rotation<dim.value, 3>();
  });
}

TEST(SignedHadamard, SignsOfEverySeedAreBalancedSeedZeroToo) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SplitMix64 random(seed);
    const SignedHadamard<1024, 3> rotation(random);
    for (unsigned r = 0; r < 3; ++r) {
      int negative = 0;
      for (std::size_t i = 0; i < 1024; ++i) negative += rotation.negates(r, i) ? 1 : 0;
      EXPECT_NEAR(negative, 512, 5 * 16) << "seed " << seed;  // five standard deviations
    }
  }
}

TEST(SignedHadamard, SignsComeBeforeTheTransform) {
  // Signs after H would leave a constant vector one-hot, whatever the seed.
  SplitMix64 random(1);
  const SignedHadamard<128, 1> rotation(random);
  std::vector<float> x(128, 1.0f);
  rotation.raw(x.data());
  int nonzero = 0;
  for (const float v : x) nonzero += v != 0.0f ? 1 : 0;
  EXPECT_GT(nonzero, 64);
}

}  // namespace
}  // namespace kvcodec
