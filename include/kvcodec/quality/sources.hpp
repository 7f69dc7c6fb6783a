// Synthetic rows, [rows, d], row-major, and queries for them. Independent Gaussian coordinates are the source of the
// papers' tables and of Shannon's bound; the others are what hurts a codec (arXiv 2605.08114 and what engines met).
// The same seed gives the same rows, but for the last bit of a value where two machines' sin, cos, log or exp differ.
#pragma once

#include "../random.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace kvcodec::quality {
inline namespace KVCODEC_ISA_NAMESPACE {

/// Independent N(0, 1) numbers by Box and Muller's transform (1958) of two uniform ones u, v:
/// sqrt(-2 log u) * (cos, sin)(2 pi v). In double, at most 8.7 in magnitude.
class Gaussian {
 public:
  explicit Gaussian(std::uint64_t seed) noexcept : random_(seed) {}

  double operator()() noexcept {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log(random_.uniform()));
    const double angle = 2.0 * std::numbers::pi * random_.uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  SplitMix64 random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// Each coordinate N(0, deviation^2).
inline std::vector<float> gaussian_rows(std::size_t rows, std::size_t d, std::uint64_t seed, double deviation = 1.0) {
  std::vector<float> x(rows * d);
  Gaussian gaussian(seed);
  for (float& value : x) value = static_cast<float>(deviation * gaussian());
  return x;
}

namespace detail {

/// Uniform on 0 to n - 1; n uniform() rounds to n for no n.
inline std::size_t random_index(SplitMix64& random, std::size_t n) noexcept {
  return static_cast<std::size_t>(random.uniform() * static_cast<double>(n));
}

inline float random_sign(SplitMix64& random) noexcept { return random() >> 63 != 0 ? -1.0f : 1.0f; }

/// `count` different numbers below n, in random order.
inline std::vector<std::size_t> random_choice(SplitMix64& random, std::size_t n, std::size_t count) {
  assert(count <= n);
  std::vector<std::size_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = i;
  for (std::size_t i = 0; i < count; ++i) std::swap(all[i], all[i + random_index(random, n - i)]);
  all.resize(count);
  return all;
}

}  // namespace detail

/// Each coordinate independently Student's t with nu > 0 degrees of freedom: no variance for nu <= 2, no mean for
/// nu <= 1. Bailey's polar method (Math. Comp. 62, 1994), exact for any nu: sqrt(nu (u^(-2/nu) - 1)) cos(2 pi v) of two
/// uniform numbers. At most sqrt(nu) 2^(53/nu) in magnitude, since u >= 2^-53: finite floats for nu >= 0.42.
inline std::vector<float> student_t_rows(std::size_t rows, std::size_t d, double nu, std::uint64_t seed) {
  assert(nu > 0);
  std::vector<float> x(rows * d);
  SplitMix64 random(seed);
  for (float& value : x) {
    const double radius = std::sqrt(nu * std::expm1(-2.0 / nu * std::log(random.uniform())));
    value = static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * random.uniform()));
  }
  return x;
}

/// Rows in a random subspace of `rank` dimensions, 1 to d, plus independent N(0, noise^2) in all of them:
/// x = a B / sqrt(rank) + noise n, with a: [rank], B: [rank, d] and n N(0, 1), B the same for all rows. Each coordinate has
/// variance 1 + noise^2 over the choice of B. A rotation does not help here: it fixes marginals, not the joint law.
inline std::vector<float> low_rank_rows(std::size_t rows, std::size_t d, std::size_t rank, std::uint64_t seed,
                                        double noise = 0) {
  assert(rank >= 1 && rank <= d);
  Gaussian gaussian(seed);
  std::vector<double> basis(rank * d), sum(d);
  for (double& value : basis) value = gaussian() / std::sqrt(static_cast<double>(rank));
  std::vector<float> x(rows * d);
  for (std::size_t row = 0; row < rows; ++row) {
    for (double& value : sum) value = noise == 0 ? 0 : noise * gaussian();
    for (std::size_t i = 0; i < rank; ++i) {
      const double a = gaussian();
      for (std::size_t j = 0; j < d; ++j) sum[j] += a * basis[i * d + j];
    }
    for (std::size_t j = 0; j < d; ++j) x[row * d + j] = static_cast<float>(sum[j]);
  }
  return x;
}

/// One dominant key: gaussian_rows(rows, d, seed) with row `dominant` times `factor`; the first row, as an attention sink
/// is. To an N(0, 1) query its scaled score is about N(0, factor^2), where all others together weigh as one of
/// log(rows) + 1/2: at 16 and 4096 rows it takes over 0.9 of the attention of a quarter of such queries, and below 0.1 of
/// that of two thirds. aligned_queries() at it give it all.
inline std::vector<float> concentrated_rows(std::size_t rows, std::size_t d, std::uint64_t seed, double factor = 16.0,
                                            std::size_t dominant = 0) {
  assert(dominant < rows);
  std::vector<float> x = gaussian_rows(rows, d, seed);
  for (std::size_t j = 0; j < d; ++j) {
    float& value = x[dominant * d + j];
    value = static_cast<float>(factor * static_cast<double>(value));
  }
  return x;
}

/// Rows that rotations and codebooks find hardest, in turn: one-hot (1), equal two-hot (1, 1), two-hot (1, 1/2) and
/// constant (1, 1, ..., 1), at random places, every hot coordinate and every constant row with a random sign. d >= 2.
inline std::vector<float> one_hot_mix_rows(std::size_t rows, std::size_t d, std::uint64_t seed) {
  assert(d >= 2);
  std::vector<float> x(rows * d);
  SplitMix64 random(seed);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto vector = std::span(x).subspan(row * d, d);
    if (row % 4 == 3) {
      std::fill(vector.begin(), vector.end(), detail::random_sign(random));
      continue;
    }
    const std::size_t first = detail::random_index(random, d);
    vector[first] = detail::random_sign(random);
    if (row % 4 == 0) continue;
    const std::size_t second = (first + 1 + detail::random_index(random, d - 1)) % d;
    vector[second] = detail::random_sign(random) * (row % 4 == 1 ? 1.0f : 0.5f);
  }
  return x;
}

/// N(0, 1) rows with two channels times `factor`, the same two, drawn from the seed, in all rows. d >= 2.
inline std::vector<float> outlier_channel_rows(std::size_t rows, std::size_t d, std::uint64_t seed, double factor = 50.0) {
  assert(d >= 2);
  SplitMix64 random(seed);
  const std::vector<std::size_t> channels = detail::random_choice(random, d, 2);
  std::vector<float> x = gaussian_rows(rows, d, random());
  for (std::size_t start = 0; start < x.size(); start += d) {
    for (const std::size_t channel : channels) {
      float& value = x[start + channel];
      value = static_cast<float>(factor * static_cast<double>(value));
    }
  }
  return x;
}

/// N(0, 1) rows plus one constant row of this norm, equally large with random signs in `channels` channels drawn from the
/// seed and 0 elsewhere: keys as the bias of Qwen2.5's boundary layers makes them, of norm 605 to 921 (llama.cpp#21385,
/// where 3-bit keys cost all of the model). What attention can use is the small part: the bias adds the same to every
/// score. That it sits in 4 equal channels is our simplification.
inline std::vector<float> constant_bias_rows(std::size_t rows, std::size_t d, std::uint64_t seed, double norm = 700.0,
                                             std::size_t channels = 4) {
  SplitMix64 random(seed);
  const std::vector<std::size_t> chosen = detail::random_choice(random, d, std::min(channels, d));
  std::vector<double> bias(d);
  for (const std::size_t channel : chosen)
    bias[channel] = norm / std::sqrt(static_cast<double>(chosen.size())) * static_cast<double>(detail::random_sign(random));
  std::vector<float> x(rows * d);
  Gaussian gaussian(random());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(gaussian() + bias[i % d]);
  return x;
}

/// Queries, [count, d], that each look for one key: q = strength sqrt(d) k / |k| + N(0, 1), with k drawn from the keys,
/// [n, d], alike; N(0, 1) alone where k is zero. The scaled score <q, k> / sqrt(d) of that key is strength |k| +
/// N(0, |k|^2 / d). Among N(0, 1) keys that is about strength sqrt(d), against N(0, strength^2 + 1) of the others:
/// attention is peaked once strength sqrt(d) is well above log n + (strength^2 + 1) / 2. A key may be shorter than what
/// its neighbours have in its direction: then they win.
inline std::vector<float> aligned_queries(std::span<const float> keys, std::size_t d, std::size_t count, double strength,
                                          std::uint64_t seed) {
  assert(d != 0 && keys.size() % d == 0 && !keys.empty());
  SplitMix64 random(seed);
  std::vector<float> queries = gaussian_rows(count, d, random());
  for (std::size_t start = 0; start < queries.size(); start += d) {
    const auto key = keys.subspan(detail::random_index(random, keys.size() / d) * d, d);
    double square = 0;
    for (const float value : key) square += static_cast<double>(value) * static_cast<double>(value);
    if (square == 0) continue;
    const double factor = strength * std::sqrt(static_cast<double>(d) / square);
    for (std::size_t j = 0; j < d; ++j)
      queries[start + j] =
          static_cast<float>(static_cast<double>(queries[start + j]) + factor * static_cast<double>(key[j]));
  }
  return queries;
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
