// Statistics of one sample and of two: whether two codecs, or two sets of errors, differ, by how much and how surely.
// A sample without numbers gives NaN everywhere, as does one with a NaN in it. Working memory is allocated.
#pragma once

#include "../config.hpp"
#include "../random.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace kvcodec::quality {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Empty, or with a NaN in it, which no order can hold.
inline bool has_no_answer(std::span<const double> x) noexcept {
  return x.empty() || std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); });
}

inline std::vector<double> sorted(std::span<const double> x) {
  std::vector<double> y(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  return y;
}

/// Of a sorted sample, not empty.
inline double sorted_quantile(std::span<const double> x, double q) noexcept {
  assert(q >= 0 && q <= 1);
  const double position = q * static_cast<double>(x.size() - 1), whole = std::floor(position);
  const double t = position - whole, low = x[static_cast<std::size_t>(whole)];
  if (t == 0) return low;
  const double high = x[static_cast<std::size_t>(whole) + 1];
  if (low == high) return low;  // two infinities have no difference
  return t < 0.5 ? low + (high - low) * t : high - (high - low) * (1 - t);
}

}  // namespace detail

/// The value that a part q of the sample lies below, 0 <= q <= 1: linear between the order statistics round (n - 1) q,
/// counted from 0 (definition 7 of Hyndman and Fan 1996, numpy's and R's default).
inline double quantile(std::span<const double> x, double q) {
  if (detail::has_no_answer(x)) return detail::not_a_number;
  return detail::sorted_quantile(detail::sorted(x), q);
}

struct MeanEstimate {
  double value = detail::not_a_number;
  double standard_error = detail::not_a_number;  ///< s / sqrt(n), s^2 with n - 1 below it; NaN for one number alone
  std::size_t n = 0;
};

/// The mean of independent numbers and how far it may be off.
inline MeanEstimate mean_estimate(std::span<const double> x) noexcept {
  if (x.empty()) return {};
  const double n = static_cast<double>(x.size());
  double sum = 0, square = 0;
  for (const double value : x) sum += value;
  const double mean = sum / n;
  for (const double value : x) square += (value - mean) * (value - mean);
  return {mean, x.size() == 1 ? detail::not_a_number : std::sqrt(square / (n - 1) / n), x.size()};
}

struct Interval {
  double low = detail::not_a_number, high = detail::not_a_number;
};

/// 95 % of such intervals hold the true mean when there are enough numbers for their mean to be normal: mean -+ 1.96
/// standard errors. Below some 30 numbers it is too narrow: Student's quantiles are wider.
inline Interval normal_interval(std::span<const double> x) noexcept {
  const MeanEstimate mean = mean_estimate(x);
  const double half = 1.959963984540054 * mean.standard_error;  // the 0.975 quantile of N(0, 1)
  return {mean.value - half, mean.value + half};
}

/// The same 95 % by the percentile bootstrap (Efron 1979): the 0.025 and 0.975 quantiles of the means of `resamples`
/// samples drawn from this one with replacement. Skewed where the sample is; no wider than the sample. One number alone
/// gives itself twice. The same seed gives the same interval.
inline Interval bootstrap_interval(std::span<const double> x, std::uint64_t seed, std::size_t resamples = 10'000) {
  if (detail::has_no_answer(x) || resamples == 0) return {};
  const double n = static_cast<double>(x.size());
  SplitMix64 random(seed);
  std::vector<double> means(resamples);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[static_cast<std::size_t>(random.uniform() * n)];  // always < n
    mean = sum / n;
  }
  std::sort(means.begin(), means.end());
  return {detail::sorted_quantile(means, 0.025), detail::sorted_quantile(means, 0.975)};
}

struct MannWhitney {
  double u = detail::not_a_number;              ///< pairs (x, y) with x > y, ties counting 1/2: 0 to n1 n2
  double rank_biserial = detail::not_a_number;  ///< 2 u / (n1 n2) - 1: 1 if every x is above every y, -1 if below
  double p = detail::not_a_number;              ///< two-sided
  bool exact = false;                           ///< whether p comes from the exact law of u
};

/// Up to which n1 + n2 Mann and Whitney's u is compared with its exact law: every count is below 2^47.
inline constexpr std::size_t exact_mann_whitney_size = 50;

namespace detail {

/// P(U >= u) where every order of n1 + n2 different numbers is as likely, u whole. The numbers of orders are the
/// coefficients of the Gaussian binomial, the product over i = 1..n1 of (1 - q^(n2 + i)) / (1 - q^i).
inline double mann_whitney_tail(std::size_t n1, std::size_t n2, std::size_t u) {
  assert(n1 + n2 <= exact_mann_whitney_size);
  const std::size_t size = n1 * n2 + 1;
  std::vector<std::int64_t> count(size);
  count[0] = 1;
  for (std::size_t i = 1; i <= n1; ++i) {
    for (std::size_t j = size; j-- > n2 + i;) count[j] -= count[j - n2 - i];
    for (std::size_t j = i; j < size; ++j) count[j] += count[j - i];
  }
  std::int64_t all = 0, tail = 0;
  for (std::size_t j = 0; j < size; ++j) {
    all += count[j];
    if (j >= u) tail += count[j];
  }
  return static_cast<double>(tail) / static_cast<double>(all);
}

}  // namespace detail

/// Mann and Whitney's test (1947) of whether x tends to be above y. ranks: the average of those that ties share. p, as
/// scipy.stats.mannwhitneyu gives it: exact without ties up to exact_mann_whitney_size numbers in both together
/// (method="exact"), else from the normal law with the ties' correction and the continuity's (method="asymptotic"). All
/// numbers equal: p = 1. O(n log n).
inline MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y) {
  MannWhitney result;
  if (detail::has_no_answer(x) || detail::has_no_answer(y)) return result;
  std::vector<std::pair<double, bool>> pool;  // the number, whether it is of x
  pool.reserve(x.size() + y.size());
  for (const double value : x) pool.emplace_back(value, true);
  for (const double value : y) pool.emplace_back(value, false);
  std::sort(pool.begin(), pool.end());

  const double n1 = static_cast<double>(x.size()), n2 = static_cast<double>(y.size()), n = n1 + n2;
  double rank_sum = 0, ties = 0;  // of x; the sum of t^3 - t over groups of t equal numbers
  for (std::size_t first = 0, last; first < pool.size(); first = last) {
    double of_x = 0;
    for (last = first; last < pool.size() && pool[last].first == pool[first].first; ++last) of_x += pool[last].second;
    const double t = static_cast<double>(last - first);
    rank_sum += of_x * 0.5 * static_cast<double>(first + last + 1);  // ranks first + 1 to last
    ties += t * t * t - t;
  }
  result.u = rank_sum - n1 * (n1 + 1) / 2;
  result.rank_biserial = 2 * result.u / (n1 * n2) - 1;
  const double larger = std::max(result.u, n1 * n2 - result.u);
  result.exact = ties == 0 && pool.size() <= exact_mann_whitney_size;
  if (result.exact) {
    result.p = std::min(1.0, 2 * detail::mann_whitney_tail(x.size(), y.size(), static_cast<std::size_t>(larger)));
    return result;
  }
  const double deviation = std::sqrt(n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1))));
  const double excess = larger - n1 * n2 / 2 - 0.5;
  result.p = excess <= 0 ? 1.0 : std::erfc(excess / deviation / std::numbers::sqrt2);  // above 0: they are not all equal
  return result;
}

struct KolmogorovSmirnov {
  double d = detail::not_a_number;  ///< the largest distance between the two distribution functions, 0 to 1
  double p = detail::not_a_number;  ///< two-sided
  bool exact = false;               ///< whether p comes from the exact law of d
};

/// Up to which n1 n2 d Kolmogorov and Smirnov's d is compared with its exact law, whose time is proportional to that:
/// below 0.1 s. 10,000 numbers in each sample are within it unless they clearly differ.
inline constexpr std::int64_t exact_kolmogorov_smirnov_size = 10'000'000;

namespace detail {

/// P(D >= h / (n1 n2)) where every order of n1 + n2 different numbers is as likely: the part of the lattice paths from
/// (0, 0) to (n1, n2) that somewhere meet |i n2 - j n1| >= h. Every term is positive, so a small p keeps its digits.
inline double kolmogorov_smirnov_tail(std::int64_t n1, std::int64_t n2, std::int64_t h) {
  if (h <= 0) return 1;
  std::vector<double> met(static_cast<std::size_t>(n2) + 1, 1.0);  // the part of the paths to (i, j); 1 outside the band
  for (std::int64_t i = 0; i <= n1; ++i) {
    const std::int64_t first = i * n2 < h ? 0 : (i * n2 - h) / n1 + 1, last = std::min(n2, (i * n2 + h - 1) / n1);
    double left = first == 0 ? 0.0 : 1.0;  // to (i, j - 1)
    for (std::int64_t j = first; j <= last; ++j) {
      double& here = met[static_cast<std::size_t>(j)];  // still to (i - 1, j)
      if (i == 0) {
        here = 0;
      } else {
        const double by_i = static_cast<double>(i) / static_cast<double>(i + j);  // of the paths, those from (i - 1, j)
        here = by_i * here + (1 - by_i) * left;
      }
      left = here;
    }
  }
  return met.back();
}

/// The limit of P(sqrt(n1 n2 / (n1 + n2)) D >= t) for many numbers (Kolmogorov 1933), by the series that is short at t.
inline double kolmogorov_tail(double t) noexcept {
  if (t <= 0) return 1;
  double sum = 0;
  if (t < 1) {
    for (int k = 1; k <= 9; k += 2) sum += std::exp(-k * k * std::numbers::pi * std::numbers::pi / (8 * t * t));
    return 1 - std::sqrt(2 * std::numbers::pi) / t * sum;
  }
  for (int k = 1; k <= 5; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * t * t);
  return sum;
}

}  // namespace detail

/// Kolmogorov and Smirnov's test of whether x and y come from one distribution. p: exact up to n1 n2 d =
/// exact_kolmogorov_smirnov_size, as scipy.stats.ks_2samp(method="exact"); above, Kolmogorov's limit,
/// scipy.special.kolmogorov(sqrt(n1 n2 / (n1 + n2)) d), which is too large rather than too small: by some 4 % of a p of
/// 0.05 for thousands in each, by more where one sample has few. (Not ks_2samp(method="asymp"), the law of one sample of
/// n1 n2 / (n1 + n2) numbers, which has the same limit.) With ties p is too large, as there.
inline KolmogorovSmirnov kolmogorov_smirnov(std::span<const double> x, std::span<const double> y) {
  KolmogorovSmirnov result;
  if (detail::has_no_answer(x) || detail::has_no_answer(y)) return result;
  const std::vector<double> a = detail::sorted(x), b = detail::sorted(y);
  std::int64_t h = 0;  // d in units of 1 / (n1 n2): no rounding decides what the exact law is asked for
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const double value = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == value) ++i;
    while (j < b.size() && b[j] == value) ++j;
    const auto distance = static_cast<std::int64_t>(i * b.size()) - static_cast<std::int64_t>(j * a.size());
    h = std::max(h, distance < 0 ? -distance : distance);
  }
  const double n1 = static_cast<double>(a.size()), n2 = static_cast<double>(b.size());
  result.d = static_cast<double>(h) / (n1 * n2);
  result.exact = h <= exact_kolmogorov_smirnov_size;
  result.p = result.exact ? detail::kolmogorov_smirnov_tail(static_cast<std::int64_t>(a.size()),
                                                            static_cast<std::int64_t>(b.size()), h)
                          : detail::kolmogorov_tail(std::sqrt(n1 * n2 / (n1 + n2)) * result.d);
  return result;
}

/// sqrt(2 E|X - Y| - E|X - X'| - E|Y - Y'|) of two sets of finite numbers (Szekely and Rizzo 2013), where X' is another
/// draw from the same set, perhaps the same number: 0 if and only if the sets are distributed alike. The square root of
/// the unit of x. As scipy.stats.energy_distance: by 2 * integral of (F - G)^2, O(n log n).
inline double energy_distance(std::span<const double> x, std::span<const double> y) {
  if (detail::has_no_answer(x) || detail::has_no_answer(y)) return detail::not_a_number;
  const std::vector<double> a = detail::sorted(x), b = detail::sorted(y);
  const double n1 = static_cast<double>(a.size()), n2 = static_cast<double>(b.size());
  double integral = 0, before = std::min(a[0], b[0]);
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const double value = j == b.size() || (i < a.size() && a[i] <= b[j]) ? a[i] : b[j];
    const double gap = static_cast<double>(i) / n1 - static_cast<double>(j) / n2;
    integral += gap * gap * (value - before);
    before = value;
    if (j == b.size() || (i < a.size() && a[i] <= b[j])) {
      ++i;
    } else {
      ++j;
    }
  }
  return std::sqrt(2 * integral);
}

namespace detail {

inline double euclidean_distance(const double* x, const double* y, std::size_t d) noexcept {
  double square = 0;
  for (std::size_t i = 0; i < d; ++i) square += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(square);
}

/// E|X - Y| over all pairs of rows of [n1, d] and [n2, d].
inline double mean_distance(std::span<const double> x, std::span<const double> y, std::size_t d) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); i += d)
    for (std::size_t j = 0; j < y.size(); j += d) sum += euclidean_distance(x.data() + i, y.data() + j, d);
  return sum / static_cast<double>(x.size() / d) / static_cast<double>(y.size() / d);
}

}  // namespace detail

/// The same between sets of vectors, x: [n1, d], y: [n2, d], row-major, with Euclidean distances. O((n1 + n2)^2 d).
/// Coordinates of different units want standardize() first. Rounding leaves up to some 1e-8 of sqrt(|x|) between equal
/// sets, and what it leaves below 0 under the root is 0.
inline double energy_distance(std::span<const double> x, std::span<const double> y, std::size_t d) noexcept {
  assert(d != 0 && x.size() % d == 0 && y.size() % d == 0);
  if (detail::has_no_answer(x) || detail::has_no_answer(y)) return detail::not_a_number;
  return std::sqrt(
      std::max(0.0, 2 * detail::mean_distance(x, y, d) - detail::mean_distance(x, x, d) - detail::mean_distance(y, y, d)));
}

/// Takes from each coordinate of x, [n1, d], and y, [n2, d], its mean over both and divides it by its deviation over
/// both (n below the square), in place: after that no coordinate counts for more because of its unit. One that is the
/// same in all rows becomes 0.
inline void standardize(std::span<double> x, std::span<double> y, std::size_t d) noexcept {
  assert(d != 0 && x.size() % d == 0 && y.size() % d == 0);
  const double n = static_cast<double>((x.size() + y.size()) / d);
  const auto over_both = [&](std::size_t start, auto f) {
    for (std::size_t i = start; i < x.size(); i += d) f(x[i]);
    for (std::size_t i = start; i < y.size(); i += d) f(y[i]);
  };
  for (std::size_t j = 0; j < d; ++j) {
    double sum = 0, square = 0, low = HUGE_VAL, high = -HUGE_VAL;
    over_both(j, [&](double& value) {
      sum += value;
      low = std::min(low, value);
      high = std::max(high, value);
    });
    const double mean = sum / n;
    over_both(j, [&](double& value) { square += (value - mean) * (value - mean); });
    const double deviation = std::sqrt(square / n);
    over_both(j, [&](double& value) { value = low == high ? 0 : (value - mean) / deviation; });
  }
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
