// The polar quantiser against the oracle's angles: the same index for every angle that is not within float rounding of a
// boundary, on Gaussian, structured and hostile directions; the full circle; and the published distortion.
#include "oracle/expected.hpp"
#include "oracle/polar.hpp"
#include "oracle/vectors.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace kvcodec {
namespace {

namespace expected = kvcodec_oracle::expected;

/// The indices in a code, in the order that they are written.
template <std::size_t D>
std::vector<std::size_t> indices_of(const std::byte* code, PolarLevels levels) {
  std::vector<std::size_t> indices;
  BitReader reader(code, 0);
  for (unsigned l = 0; l < levels.count; ++l)
    for (std::size_t i = 0; i < kvcodec_oracle::polar_radii(D, l) / 2; ++i) indices.push_back(reader.get(levels.bits(l)));
  return indices;
}

/// Directions that a rotation does not promise and an encoder must bear all the same.
template <std::size_t D>
std::vector<std::array<float, D>> directions(std::size_t gaussian) {
  kvcodec_oracle::RandomSource source(D);
  std::vector<std::array<float, D>> all;
  const auto add = [&](const std::vector<double>& x) {
    const auto u = kvcodec_oracle::normalised(x);
    std::array<float, D> f;
    for (std::size_t i = 0; i < D; ++i) f[i] = static_cast<float>(u[i]);
    all.push_back(f);
  };
  for (std::size_t i = 0; i < gaussian; ++i) add(source.gaussian_vector(D));
  for (std::size_t i = 0; i < D; ++i) {
    auto one = kvcodec_oracle::one_hot(D, i);
    add(one);
    one[i] = -1;
    add(one);
    for (double& v : one) v = v == 0 ? -0.0 : v;
    add(one);
    add(kvcodec_oracle::equal_two_hot(D, i, (i + 1 + source.index(D - 1)) % D));
  }
  add(kvcodec_oracle::constant_vector(D));
  add(std::vector<double>(D, -1.0));
  return all;
}

template <std::size_t D, PolarLevels L>
void expect_the_oracles_indices(std::size_t gaussian) {
  using Tree = PolarTree<D, L>;
  std::vector<unsigned> bits;
  for (unsigned l = 0; l < L.count; ++l) bits.push_back(L.bits(l));
  const auto books = kvcodec_oracle::polar_books(D, bits);
  std::size_t angles = 0, close = 0;
  for (const auto& u : directions<D>(gaussian)) {
    const std::vector<double> exact(u.begin(), u.end());
    const auto wanted = kvcodec_oracle::polar_encode(books, exact);
    const auto margins = kvcodec_oracle::polar_margins(books, exact);
    std::array<float, D> x = u;
    std::array<std::byte, bytes_for_bits(Tree::bits)> code = {};
    Tree::encode(x.data(), code.data());
    const auto found = indices_of<D>(code.data(), L);
    ASSERT_EQ(found.size(), wanted.indices.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ++angles;
      if (found[i] == wanted.indices[i]) continue;
      ++close;
      // An axis or a diagonal lies on a boundary exactly, and there the tie rule must hold without any margin.
      EXPECT_LT(margins[i], 1e-6) << "angle " << i << ": " << found[i] << " instead of " << wanted.indices[i];
    }
    for (std::size_t i = 0; i < wanted.radii.size(); ++i) EXPECT_NEAR(x[i], wanted.radii[i], 1e-6);
    const auto decoded = kvcodec_oracle::polar_decode(books, found, wanted.radii);
    for (std::size_t i = 0; i < wanted.radii.size(); ++i) x[i] = static_cast<float>(wanted.radii[i]);
    Tree::decode(code.data(), x.data());
    for (std::size_t i = 0; i < D; ++i) ASSERT_NEAR(x[i], decoded[i], 2e-6) << "coordinate " << i;
  }
  std::printf("d %zu: %zu angles, %zu within rounding of a boundary on its other side\n", D, angles, close);
  EXPECT_LT(close, angles / 10'000 + 4);
}

TEST(Polar, IndicesAndDirectionsAreTheOracles) {
  expect_the_oracles_indices<128, uniform_levels(7, 1)>(500);
  expect_the_oracles_indices<128, uniform_levels(7, 2)>(500);
  expect_the_oracles_indices<128, uniform_levels(7, 3)>(500);
  expect_the_oracles_indices<128, uniform_levels(7, 4)>(2000);
  expect_the_oracles_indices<128, uniform_levels(7, 6)>(500);
  expect_the_oracles_indices<128, polar_levels(4, 2, 2, 2)>(1000);
  expect_the_oracles_indices<4, uniform_levels(2, 4)>(500);
  expect_the_oracles_indices<80, uniform_levels(7, 4)>(500);
  expect_the_oracles_indices<96, uniform_levels(7, 3)>(500);
  expect_the_oracles_indices<112, uniform_levels(7, 4)>(500);
  expect_the_oracles_indices<112, polar_levels(4, 3, 3, 2, 2)>(500);
  expect_the_oracles_indices<576, uniform_levels(10, 2)>(100);
  expect_the_oracles_indices<72, polar_levels(4, 2, 2, 2)>(500);
}

TEST(Polar, LevelOneCoversTheFullCircle) {
  // Half a degree apart, and the axes with zeros of either sign.
  const auto book = kvcodec_oracle::full_circle_book(4);
  using Tree = PolarTree<4, polar_levels(4)>;
  const auto index_of = [](float x, float y) {
    std::array<float, 4> pair = {x, y, 0.0f, 0.0f};
    std::array<std::byte, 1> code = {};
    Tree::encode(pair.data(), code.data());
    return std::to_integer<std::size_t>(code[0]) & 15u;
  };
  std::array<bool, 16> seen = {};
  for (int half_degrees = 0; half_degrees < 720; ++half_degrees) {
    const double psi = (half_degrees + 0.3) * std::numbers::pi / 360;
    const std::size_t index = index_of(static_cast<float>(std::cos(psi)), static_cast<float>(std::sin(psi)));
    EXPECT_EQ(index, kvcodec_oracle::level_index(book, psi)) << half_degrees;
    seen[index] = true;
  }
  for (const bool each : seen) EXPECT_TRUE(each);
  for (const float zero : {0.0f, -0.0f}) {  // a tie goes to the lower index
    EXPECT_EQ(index_of(1, zero), 0u);
    EXPECT_EQ(index_of(zero, 1), 3u);
    EXPECT_EQ(index_of(-1, zero), 7u);
    EXPECT_EQ(index_of(zero, -1), 11u);
    EXPECT_EQ(index_of(zero, zero), 0u);
  }
  EXPECT_EQ(index_of(1, -0x1p-100f), 15u);
}

template <class C>
double distortion(std::size_t n) {
  const C codec(1);
  const auto x = kvcodec_test::gaussian_rows(n, C::dim, 2);
  std::array<std::byte, C::row_bytes> row = {};
  std::array<float, C::dim> back;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const float, C::dim> key(x.data() + i * C::dim, C::dim);
    EXPECT_EQ(codec.encode(key, row), Status::ok);
    codec.decode(row, back);
    sum += kvcodec_test::relative_square_error(key, back);
  }
  return sum / static_cast<double>(n);
}

template <class C>
void expect_distortion(const char* what, double wanted) {
  const double d = distortion<C>(20'000);
  std::printf("%-24s %.4f bits: D %.4f (%.4f)\n", what, C::bits_per_coordinate, d, wanted);
  EXPECT_NEAR(d, wanted, 0.01 * wanted + 0.5e-4) << what;
}

TEST(Polar, DistortionIsThePublishedOne) {
  expect_distortion<PolarQuant<128, 2>>("one radius, 2 bits", expected::polarquant[0].distortion);
  expect_distortion<PolarQuant<128, 3>>("one radius, 3 bits", expected::polarquant[1].distortion);
  expect_distortion<PolarQuant<128, 4>>("one radius, 4 bits", expected::polarquant[2].distortion);
  constexpr Options inside{.norm = NormType::none};
  expect_distortion<PolarQuantBlock<128>>("blocks, 4 2 2 2", expected::polarquant_block[0].distortion);
  expect_distortion<PolarQuantBlock<128, inside, polar_levels(3, 2, 2, 2)>>("blocks, 3 2 2 2", expected::polarquant_block[1].distortion);
  expect_distortion<PolarQuantBlock<128, inside, polar_levels(5, 3, 3, 3)>>("blocks, 5 3 3 3", expected::polarquant_block[2].distortion);
  EXPECT_EQ(PolarQuantBlock<128>::bits_per_coordinate, expected::polarquant_block[0].bits_per_coordinate);
}

TEST(Polar, ScoresOfHugeBlocksAreFiniteWhereTheirSumIs) {
  using C = PolarQuantBlock<128, Options{.norm = NormType::none}, polar_levels(4, 2), NormType::bfloat16>;
  const C codec(0);
  auto x = kvcodec_test::gaussian_rows(1, 128, 4);
  const auto q = kvcodec_test::gaussian_rows(1, 128, 6);
  const double exact = kvcodec_test::dot(x, q) * 3e37;
  for (float& v : x) v *= 3e37f;
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(codec.encode(std::span<const float, 128>(x.data(), 128), row), Status::ok);
  const double score = static_cast<double>(codec.score(codec.prepare(std::span<const float, 128>(q.data(), 128)), row));
  EXPECT_NEAR(score, exact, 0.5 * std::abs(exact) + 128 * 3e37 * 0.1);
}

TEST(Polar, BlocksBeyondTheirRadiusKeepTheDirection) {
  using C = PolarQuantBlock<128>;
  const C codec(3);
  const auto x = kvcodec_test::gaussian_rows(1, 128, 4);
  std::array<float, 128> small, huge, from_small, from_huge;
  for (std::size_t i = 0; i < 128; ++i) {
    small[i] = x[i];
    huge[i] = x[i] * 1e30f;
  }
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(codec.encode(small, row), Status::ok);
  codec.decode(row, from_small);
  ASSERT_EQ(codec.encode(huge, row), Status::ok);
  codec.decode(row, from_huge);
  const double cosine = kvcodec_test::dot(from_small, from_huge) / (kvcodec_test::length(from_small) * kvcodec_test::length(from_huge));
  EXPECT_GT(cosine, 0.99999);
}

}  // namespace
}  // namespace kvcodec
