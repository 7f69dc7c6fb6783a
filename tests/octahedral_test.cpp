// The triplet quantiser against the oracle's, and its joint rounding against the search over all directions.
#include "oracle/octopus.hpp"
#include "oracle/vectors.hpp"

#include <kvcodec/quantizer/octahedral.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace kvcodec {
namespace {

struct Code {
  std::int32_t xi, eta, signs, length;
};

template <class Q>
std::vector<Code> encode_all(const std::vector<kvcodec_oracle::Triplet>& triplets) {
  std::vector<Code> codes;
  for (std::size_t first = 0; first < triplets.size(); first += lanes) {
    float x[lanes] = {}, y[lanes] = {}, z[lanes] = {};
    const std::size_t n = std::min(lanes, triplets.size() - first);
    for (std::size_t l = 0; l < n; ++l) {
      x[l] = static_cast<float>(triplets[first + l][0]);
      y[l] = static_cast<float>(triplets[first + l][1]);
      z[l] = static_cast<float>(triplets[first + l][2]);
    }
    using S = Simd<Q::isa>;
    const auto c = Q::encode_block({S::load(x), S::load(y), S::load(z)});
    std::int32_t xi[lanes], eta[lanes], signs[lanes], length[lanes];
    S::store(c.xi, xi);
    S::store(c.eta, eta);
    S::store(c.signs, signs);
    S::store(c.length, length);
    for (std::size_t l = 0; l < n; ++l) codes.push_back({xi[l], eta[l], signs[l], length[l]});
  }
  return codes;
}

/// A code's index in the oracle's full ascending book.
std::size_t full_index(std::int32_t magnitude, bool negative, unsigned bits) {
  const std::int32_t half = 1 << (bits - 1);
  return static_cast<std::size_t>(negative ? half - 1 - magnitude : half + magnitude);
}

std::vector<kvcodec_oracle::Triplet> random_triplets(std::size_t n, std::uint64_t seed) {
  kvcodec_oracle::RandomSource source(seed);
  std::vector<kvcodec_oracle::Triplet> triplets(n);
  for (auto& t : triplets) {
    // Lengths as at d = 128, stored as floats, so that both sides see one number.
    for (double& v : t) v = static_cast<double>(static_cast<float>(source.gaussian() / std::sqrt(128.0)));
  }
  return triplets;
}

/// How many of the codes differ from the oracle's by more than float rounding explains.
template <unsigned DirectionBits, unsigned LengthBits, Rounding Round>
void check_against_oracle(kvcodec_oracle::TripletRounding oracle_rounding) {
  using Q = OctahedralQuantizer<128, DirectionBits, LengthBits, Round>;
  const auto books = kvcodec_oracle::octopus_books(128, DirectionBits, LengthBits);
  const auto triplets = random_triplets(20'000, DirectionBits * 10 + LengthBits);
  const auto codes = encode_all<Q>(triplets);
  std::size_t other_cell = 0, other_length = 0;
  for (std::size_t n = 0; n < triplets.size(); ++n) {
    const auto wanted = kvcodec_oracle::encode_triplet(books, triplets[n], oracle_rounding);
    const std::size_t i = full_index(codes[n].xi, (codes[n].signs & 1) != 0, DirectionBits);
    const std::size_t j = full_index(codes[n].eta, (codes[n].signs & 2) != 0, DirectionBits);
    if (i != wanted.i || j != wanted.j) {
      ++other_cell;
      const double attained = kvcodec_oracle::dot(triplets[n], kvcodec_oracle::code_direction(books, i, j));
      const double rho = std::sqrt(kvcodec_oracle::dot(triplets[n], triplets[n]));
      if (Round != Rounding::scalar) {
        EXPECT_NEAR(attained, wanted.alignment, 2e-6 * rho);  // a tie in float
      }
    } else {
      other_length += static_cast<std::size_t>(codes[n].length) == wanted.k ? 0 : 1;
    }
  }
  EXPECT_LE(other_cell, 4u);
  EXPECT_LE(other_length, 4u);
}

TEST(Octahedral, IsTheOraclesQuantizer) {
  using O = kvcodec_oracle::TripletRounding;
  check_against_oracle<1, 1, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<3, 1, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<4, 2, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<5, 3, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<6, 4, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<7, 5, Rounding::joint_3x3>(O::three_by_three);
  check_against_oracle<3, 1, Rounding::scalar>(O::scalar);
  check_against_oracle<5, 3, Rounding::scalar>(O::scalar);
  check_against_oracle<3, 1, Rounding::joint_2x2>(O::upward_two_by_two);
  check_against_oracle<4, 2, Rounding::joint_2x2>(O::upward_two_by_two);
  check_against_oracle<1, 1, Rounding::joint_2x2>(O::upward_two_by_two);
}

/// Joint rounding attains what the search over all directions attains, in double, on a million random triplets. Folded:
/// a direction whose x or y has the wrong sign is never better than its mirror image.
template <unsigned DirectionBits>
void check_against_exhaustive_search() {
  using Q = OctahedralQuantizer<128, DirectionBits, 2>;
  constexpr std::size_t side = std::size_t{1} << (DirectionBits - 1);
  const auto book = kvcodec_oracle::octahedral_book(DirectionBits);
  std::vector<std::array<double, 3>> directions;
  for (std::size_t j = 0; j < side; ++j)
    for (std::size_t i = 0; i < side; ++i)
      directions.push_back(kvcodec_oracle::oct_inverse({book.centroids[side + i], book.centroids[side + j]}));

  const std::size_t count = 1'000'000;
  const auto triplets = random_triplets(count, DirectionBits);
  const auto codes = encode_all<Q>(triplets);
  std::size_t differing = 0, worse = 0, on_a_fold = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const auto& t = triplets[n];
    const double x = std::abs(t[0]), y = std::abs(t[1]), z = t[2];
    std::size_t best = 0;
    double most = -1e300;
    for (std::size_t k = 0; k < directions.size(); ++k) {
      const double s = x * directions[k][0] + y * directions[k][1] + z * directions[k][2];
      if (s > most) {
        most = s;
        best = k;
      }
    }
    const std::size_t found = static_cast<std::size_t>(codes[n].xi) + static_cast<std::size_t>(codes[n].eta) * side;
    if (found == best) continue;
    ++differing;
    const auto& f = directions[found];
    const double attained = x * f[0] + y * f[1] + z * f[2];
    if (attained < most - 4e-7 * std::sqrt(x * x + y * y + z * z)) {
      ++worse;
      const double l1 = x + y + std::abs(z);
      on_a_fold += std::abs(z) / l1 < 1.0 / static_cast<double>(side) ? 1 : 0;  // within a cell of the square's fold, z = 0
    }
  }
  std::printf("b_dir %u: %zu of %zu triplets take another cell than the exhaustive search, %zu of them a worse one (%zu by the fold)\n",
              DirectionBits, differing, count, worse, on_a_fold);
  EXPECT_EQ(worse, 0u);
  EXPECT_LE(differing, 100u);  // ties to float rounding, all of them: none is worse
}

TEST(Octahedral, JointRoundingIsTheSearchOverAllDirections) {
  check_against_exhaustive_search<2>();
  check_against_exhaustive_search<3>();
  check_against_exhaustive_search<4>();
  check_against_exhaustive_search<5>();
  check_against_exhaustive_search<6>();
}

TEST(Octahedral, AxesDiagonalsAndSignedZerosAreExactToOneCell) {
  using Q = OctahedralQuantizer<128, 5, 3>;
  const float* directions = table<OctahedralDirections<5>>();
  std::vector<kvcodec_oracle::Triplet> triplets;
  for (const double x : {-1.0, -0.0, 0.0, 1.0})
    for (const double y : {-1.0, -0.0, 0.0, 1.0})
      for (const double z : {-1.0, -0.0, 0.0, 1.0})
        if (x != 0 || y != 0 || z != 0) triplets.push_back({x, y, z});
  const auto codes = encode_all<Q>(triplets);
  for (std::size_t n = 0; n < triplets.size(); ++n) {
    const auto& t = triplets[n];
    const float* direction = directions + (codes[n].xi + 16 * codes[n].eta);  // all x, all y, all z
    const double x = (codes[n].signs & 1) != 0 ? -direction[0] : direction[0];
    const double y = (codes[n].signs & 2) != 0 ? -direction[256] : direction[256];
    const double z = static_cast<double>(direction[512]);
    EXPECT_NEAR(x * x + y * y + z * z, 1.0, 1e-6);
    const double cosine = (t[0] * x + t[1] * y + t[2] * z) / std::sqrt(kvcodec_oracle::dot(t, t));
    EXPECT_GT(cosine, std::cos(0.13)) << t[0] << " " << t[1] << " " << t[2];  // 2/32 of the square's side is about 0.13 rad
    EXPECT_EQ(codes[n].signs & 1, t[0] < 0 ? 1 : 0);
    EXPECT_EQ((codes[n].signs & 2) != 0, t[1] < 0);
  }
}

TEST(Octahedral, TheZeroTripletHasAFixedCode) {
  using Q = OctahedralQuantizer<128, 5, 3>;
  for (const double zero : {0.0, -0.0}) {
    const auto codes = encode_all<Q>({{zero, zero, zero}});
    EXPECT_EQ(codes[0].xi, 0);
    EXPECT_EQ(codes[0].eta, 0);
    EXPECT_EQ(codes[0].signs, 0);
    EXPECT_EQ(codes[0].length, 0);
  }
  std::array<std::byte, Q::code_bytes> code = {};
  std::array<float, 128> u;
  Q::decode(code.data(), u.data());
  for (const float v : u) EXPECT_TRUE(is_finite(v));
}

/// The planes, read bit by bit as the header's diagram says.
template <class Q>
std::vector<Code> codes_by_the_diagram(const std::byte* code) {
  constexpr unsigned h = Q::magnitude_bits, n = Q::parameters[1];
  const auto field = [&](std::size_t bit, unsigned width) {
    std::int32_t value = 0;
    for (unsigned k = 0; k < width; ++k) value |= static_cast<std::int32_t>(std::to_integer<unsigned>(code[(bit + k) / 8]) >> ((bit + k) % 8) & 1u) << k;
    return value;
  };
  constexpr bool one_plane = 2 * h + n + 2 <= 8, two_planes = !one_plane && 2 * h + n <= 8;
  constexpr std::size_t t_count = Q::triplets;
  std::vector<Code> codes;
  for (std::size_t t = 0; t < t_count; ++t) {
    Code c{};
    if (one_plane) {
      const std::size_t at = t * (2 * h + n + 2);
      c = {field(at, h), field(at + h, h), field(at + 2 * h + n, 2), field(at + 2 * h, n)};
    } else if (two_planes) {
      const std::size_t at = t * (2 * h + n);
      c = {field(at, h), field(at + h, h), field(t_count * (2 * h + n) + 2 * t, 2), field(at + 2 * h, n)};
    } else {
      c = {field(t * 2 * h, h), field(t * 2 * h + h, h), field(t_count * 2 * h + 2 * t, 2), field(t_count * (2 * h + 2) + n * t, n)};
    }
    codes.push_back(c);
  }
  return codes;
}

template <unsigned DirectionBits, unsigned LengthBits>
void check_layout() {
  using Q = OctahedralQuantizer<128, DirectionBits, LengthBits>;
  auto triplets = random_triplets(43, 5);
  triplets[42][2] = 0;  // the pad
  std::array<float, 128> u;
  for (std::size_t i = 0; i < 128; ++i) u[i] = static_cast<float>(triplets[i / 3][i % 3]);
  std::array<std::byte, Q::code_bytes> code;
  Q::encode(u.data(), code.data());
  const auto wanted = encode_all<Q>(triplets);
  const auto read = codes_by_the_diagram<Q>(code.data());
  std::array<float, 128> back;
  Q::decode(code.data(), back.data());
  const auto books = kvcodec_oracle::octopus_books(128, DirectionBits, LengthBits);
  for (std::size_t t = 0; t < 43; ++t) {
    ASSERT_EQ(read[t].xi, wanted[t].xi);
    ASSERT_EQ(read[t].eta, wanted[t].eta);
    ASSERT_EQ(read[t].signs, wanted[t].signs);
    ASSERT_EQ(read[t].length, wanted[t].length);
    const auto decoded = kvcodec_oracle::decode_triplet(
        books, {full_index(read[t].xi, (read[t].signs & 1) != 0, DirectionBits), full_index(read[t].eta, (read[t].signs & 2) != 0, DirectionBits),
                static_cast<std::size_t>(read[t].length), 0});
    for (std::size_t k = 0; k < 3 && 3 * t + k < 128; ++k) ASSERT_NEAR(static_cast<double>(back[3 * t + k]), decoded[k], 1e-6);
  }
}

TEST(Octahedral, RowsAreThePlanesOfTheDiagram) {
  check_layout<1, 1>();
  check_layout<3, 1>();
  check_layout<4, 2>();
  check_layout<5, 3>();
  check_layout<6, 4>();
  check_layout<7, 5>();
  check_layout<2, 4>();
  check_layout<3, 5>();
  static_assert(OctahedralQuantizer<128, 3, 1>::code_bytes == 38);
  static_assert(OctahedralQuantizer<128, 4, 2>::code_bytes == 54 && OctahedralQuantizer<128, 4, 2>::index_bits == 8);
  static_assert(OctahedralQuantizer<128, 5, 3>::code_bytes == 70 && OctahedralQuantizer<128, 5, 3>::index_bits == 8);
}

}  // namespace
}  // namespace kvcodec
