// The made-up rows, by their moments, quantiles and ranks. Bounds on averages are 4.5 standard errors.
#include <kvcodec/quality/attention.hpp>
#include <kvcodec/quality/sources.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

namespace kvcodec::quality {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

double square(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum;
}

void expect_part(std::size_t hits, std::size_t n, double p) {
  const double count = static_cast<double>(n);
  EXPECT_NEAR(static_cast<double>(hits) / count, p, 4.5 * std::sqrt(p * (1 - p) / count));
}

struct TailExample {
  double nu;
  double below[4];  // what |t| is below with probability 0.5, 0.9, 0.99, 0.999
};

TEST(StudentT, HasItsQuantiles) {
  // scipy 1.17.1: stats.t.ppf(0.5 + p / 2, nu)
  const TailExample examples[] = {
      {1.05, {0.9804362698341995, 5.827549193298343, 52.75514978636758, 472.824729026709}},
      {3, {0.7648923284043444, 2.3533634348018233, 5.840909309733355, 12.923978636687961}},
      {30, {0.6827556933212927, 1.697260886593957, 2.7499956535672254, 3.6459586350420627}},
  };
  for (const TailExample& e : examples) {
    SCOPED_TRACE(e.nu);
    const Floats x = student_t_rows(2000, 100, e.nu, 3);
    ASSERT_EQ(x.size(), 200'000u);
    const double p[4] = {0.5, 0.9, 0.99, 0.999};
    for (int i = 0; i < 4; ++i) {
      const auto below =
          std::count_if(x.begin(), x.end(), [&](float v) { return std::abs(static_cast<double>(v)) < e.below[i]; });
      expect_part(static_cast<std::size_t>(below), x.size(), p[i]);
    }
    expect_part(static_cast<std::size_t>(std::count_if(x.begin(), x.end(), [](float v) { return v > 0; })), x.size(), 0.5);
  }
}

TEST(StudentT, HasIndependentCoordinates) {  // in sign and, which one scale for a whole row would break, in size
  const Floats x = student_t_rows(2000, 100, 1.05, 4);
  std::size_t both_large = 0, same_sign = 0;
  for (std::size_t i = 0; i < x.size(); i += 2) {
    both_large += std::abs(x[i]) > 0.98043627f && std::abs(x[i + 1]) > 0.98043627f;
    same_sign += (x[i] > 0) == (x[i + 1] > 0);
  }
  expect_part(both_large, x.size() / 2, 0.25);
  expect_part(same_sign, x.size() / 2, 0.5);
}

TEST(StudentT, IsFiniteAndNearGaussianForManyDegrees) {
  for (const double nu : {0.42, 1.05, 1e9}) {
    for (const float v : student_t_rows(1000, 10, nu, 5)) ASSERT_TRUE(std::isfinite(v));
  }
  EXPECT_NEAR(square(student_t_rows(1000, 10, 1e12, 6)) / 10'000, 1, 4.5 * std::sqrt(2.0 / 10'000));
}

/// Orthonormal vectors that span the first `rank` of these rows, [rank, d], by Gram and Schmidt, twice for accuracy.
Doubles basis_of(const Floats& rows, std::size_t d, std::size_t rank) {
  Doubles basis;
  for (std::size_t row = 0; row < rank; ++row) {
    Doubles v(rows.begin() + static_cast<std::ptrdiff_t>(row * d),
              rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * d));
    double norm = 0;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t b = 0; b < basis.size(); b += d) {
        double dot = 0;
        for (std::size_t j = 0; j < d; ++j) dot += basis[b + j] * v[j];
        for (std::size_t j = 0; j < d; ++j) v[j] -= dot * basis[b + j];
      }
    }
    for (const double c : v) norm += c * c;
    for (const double c : v) basis.push_back(c / std::sqrt(norm));
  }
  return basis;
}

/// The mean square of what of these rows is outside the space of the basis.
double mean_square_outside(const Floats& rows, std::size_t d, const Doubles& basis) {
  double outside = square(rows);
  for (std::size_t row = 0; row < rows.size(); row += d) {
    for (std::size_t b = 0; b < basis.size(); b += d) {
      double dot = 0;
      for (std::size_t j = 0; j < d; ++j) dot += basis[b + j] * static_cast<double>(rows[row + j]);
      outside -= dot * dot;
    }
  }
  return outside / static_cast<double>(rows.size() / d);
}

TEST(LowRank, HasItsRank) {
  constexpr std::size_t d = 64;
  for (const std::size_t rank : {1u, 4u, 16u}) {
    SCOPED_TRACE(rank);
    const Floats x = low_rank_rows(400, d, rank, 8);
    EXPECT_LT(mean_square_outside(x, d, basis_of(x, d, rank)), 1e-5);
    // One direction fewer leaves one of the `rank` alike ones out: about 1/rank of |x|^2 = d.
    EXPECT_GT(mean_square_outside(x, d, basis_of(x, d, rank - 1)), 0.2 * d / static_cast<double>(rank));
    // rank * d squares of B, each of relative deviation sqrt(2); then 400 draws of a
    EXPECT_NEAR(square(x) / 400 / d, 1, 4.5 * std::sqrt(2.0 / static_cast<double>(rank) * (1.0 / d + 1.0 / 400)));
  }
}

TEST(LowRank, AddsNoiseOutsideOfItsSpace) {
  constexpr std::size_t d = 64, rank = 4;
  const Floats x = low_rank_rows(400, d, rank, 8), noisy = low_rank_rows(400, d, rank, 8, 0.1);
  const double outside = mean_square_outside(noisy, d, basis_of(x, d, rank)), wanted = 0.01 * (d - rank);
  EXPECT_NEAR(outside, wanted, 4.5 * wanted * std::sqrt(2.0 / (400 * (d - rank))));
}

double weight_of(std::span<const float> query, const Floats& keys, std::size_t key) {
  Doubles weights(keys.size() / query.size());
  attention_scores(query, keys, weights);
  softmax(weights, softmax_scale(query.size()), weights);
  return weights[key];
}

TEST(Concentrated, IsGaussianButForOneRow) {
  constexpr std::size_t d = 32;
  const Floats plain = gaussian_rows(10, d, 9), first = concentrated_rows(10, d, 9),
               third = concentrated_rows(10, d, 9, 5, 3);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(first[i], i / d == 0 ? 16 * plain[i] : plain[i]);
    EXPECT_EQ(third[i], i / d == 3 ? 5 * plain[i] : plain[i]);
  }
}

TEST(Concentrated, TakesTheAttentionItSays) {
  constexpr std::size_t d = 64, count = 100;
  const Floats keys = concentrated_rows(4096, d, 10), queries = gaussian_rows(count, d, 11);
  const Floats aligned = aligned_queries(std::span(keys).first(d), d, count, 1, 12);
  std::size_t taken = 0, left = 0;
  for (std::size_t start = 0; start < queries.size(); start += d) {
    const double weight = weight_of(std::span(queries).subspan(start, d), keys, 0);
    taken += weight > 0.9;
    left += weight < 0.1;
    EXPECT_GT(weight_of(std::span(aligned).subspan(start, d), keys, 0), 0.999);
  }
  expect_part(taken, count, 0.25);
  expect_part(left, count, 0.66);
}

TEST(OneHotMix, TakesTurns) {
  constexpr std::size_t d = 16;
  const Floats x = one_hot_mix_rows(400, d, 13);
  std::set<std::size_t> places[3];
  std::size_t negative[4] = {}, signs[4] = {};
  for (std::size_t row = 0; row < 400; ++row) {
    const auto v = std::span(x).subspan(row * d, d);
    Doubles sizes;
    for (std::size_t j = 0; j < d; ++j) {
      if (v[j] == 0) continue;
      sizes.push_back(std::abs(static_cast<double>(v[j])));
      if (row % 4 != 3) places[row % 4].insert(j);
      negative[row % 4] += v[j] < 0;
      ++signs[row % 4];
    }
    std::sort(sizes.begin(), sizes.end());
    const Doubles wanted[4] = {{1}, {1, 1}, {0.5, 1}, Doubles(d, 1.0)};
    EXPECT_EQ(sizes, wanted[row % 4]);
    if (row % 4 != 3) continue;
    EXPECT_TRUE(std::all_of(v.begin(), v.end(), [&](float c) { return c == v[0]; }));
  }
  for (const auto& hot : places) EXPECT_EQ(hot.size(), d);
  for (int kind = 0; kind < 3; ++kind) expect_part(negative[kind], signs[kind], 0.5);
  expect_part(negative[3] / d, signs[3] / d, 0.5);
}

TEST(OneHotMix, FitsTwoCoordinates) {
  const Floats x = one_hot_mix_rows(40, 2, 14);
  for (std::size_t row = 1; row < 40; row += 4) EXPECT_EQ(std::abs(x[2 * row]) + std::abs(x[2 * row + 1]), 2);
}

/// Mean square of each channel.
Doubles channel_squares(const Floats& x, std::size_t d) {
  Doubles squares(d);
  for (std::size_t i = 0; i < x.size(); ++i) squares[i % d] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  for (double& s : squares) s /= static_cast<double>(x.size() / d);
  return squares;
}

TEST(OutlierChannels, AreTheSameTwoInAllRows) {
  constexpr std::size_t d = 64, rows = 500;
  std::set<std::size_t> seen;
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Doubles squares = channel_squares(outlier_channel_rows(rows, d, seed), d);
    std::size_t outliers = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const double scale = squares[j] > 50 ? 2500 : 1;
      EXPECT_NEAR(squares[j] / scale, 1, 4.5 * std::sqrt(2.0 / rows));
      if (scale > 1) seen.insert(j);
      outliers += scale > 1;
    }
    EXPECT_EQ(outliers, 2u);
  }
  EXPECT_GT(seen.size(), 4u);  // the seed chooses
}

TEST(ConstantBias, IsALargeMeanInFewChannels) {
  constexpr std::size_t d = 64, rows = 500;
  const Floats x = constant_bias_rows(rows, d, 15);
  Doubles means(d);
  for (std::size_t i = 0; i < x.size(); ++i) means[i % d] += static_cast<double>(x[i]) / rows;
  double norm = 0;
  std::size_t large = 0;
  for (const double mean : means) {
    norm += mean * mean;
    const double bias = std::abs(mean) > 10 ? std::copysign(350.0, mean) : 0;
    large += bias != 0;
    EXPECT_NEAR(mean, bias, 4.5 / std::sqrt(rows));
  }
  EXPECT_EQ(large, 4u);
  EXPECT_NEAR(std::sqrt(norm), 700, 0.5);
  double variance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) variance += std::pow(static_cast<double>(x[i]) - means[i % d], 2);
  EXPECT_NEAR(variance / (d * (rows - 1)), 1, 4.5 * std::sqrt(2.0 / (d * rows)));
  EXPECT_NEAR(std::sqrt(square(constant_bias_rows(1, 2, 15, 1e4))), 1e4, 5);  // no more channels than there are
}

TEST(AlignedQueries, LookForOneKeyEach) {
  constexpr std::size_t d = 64, n = 200, count = 400;
  const Floats keys = gaussian_rows(n, d, 16);
  const Floats queries = aligned_queries(keys, d, count, 2, 17);
  ASSERT_EQ(queries.size(), count * d);
  EXPECT_NEAR(square(queries) / (count * d), 5, 4.5 * std::sqrt((2 + 4 * 4.0) / (count * d)));  // N(0, 1) + a vector of 4 d
  std::set<std::size_t> found;
  Doubles scores(n);
  for (std::size_t start = 0; start < queries.size(); start += d) {
    const auto query = std::span(queries).subspan(start, d);
    attention_scores(query, keys, scores);
    const std::size_t best = top_k(scores, 1).front();
    found.insert(best);
    EXPECT_GT(weight_of(query, keys, best), 0.9);
    // The score over sqrt(d) is 2 |k| + N(0, |k|^2 / d).
    const double length = std::sqrt(square(std::span(keys).subspan(best * d, d)));
    EXPECT_NEAR(scores[best] * softmax_scale(d), 2 * length, 4.5 * length * softmax_scale(d));
  }
  // Each key is left out with probability (1 - 1/n)^count = 0.135.
  EXPECT_NEAR(static_cast<double>(found.size()), 0.865 * n, 4.5 * std::sqrt(0.865 * 0.135 * n));
}

TEST(AlignedQueries, AreGaussianWithoutStrengthOrKey) {
  const Floats keys = gaussian_rows(20, 32, 18);
  const Floats queries = aligned_queries(keys, 32, 100, 0, 19);
  EXPECT_NEAR(square(queries) / 3200, 1, 4.5 * std::sqrt(2.0 / 3200));
  EXPECT_EQ(aligned_queries(Floats(640), 32, 100, 5, 19), queries);
}

TEST(Sources, AreGivenByTheirSeed) {
  const Floats keys = gaussian_rows(8, 16, 1);
  const auto expect_seeded = [](auto make) {
    EXPECT_EQ(make(1u), make(1u));
    EXPECT_NE(make(1u), make(2u));
  };
  expect_seeded([](std::uint64_t seed) { return student_t_rows(8, 16, 3, seed); });
  expect_seeded([](std::uint64_t seed) { return low_rank_rows(8, 16, 2, seed, 0.1); });
  expect_seeded([](std::uint64_t seed) { return concentrated_rows(8, 16, seed); });
  expect_seeded([](std::uint64_t seed) { return one_hot_mix_rows(8, 16, seed); });
  expect_seeded([](std::uint64_t seed) { return outlier_channel_rows(8, 16, seed); });
  expect_seeded([](std::uint64_t seed) { return constant_bias_rows(8, 16, seed); });
  expect_seeded([&](std::uint64_t seed) { return aligned_queries(keys, 16, 8, 1, seed); });
}

}  // namespace
}  // namespace kvcodec::quality
