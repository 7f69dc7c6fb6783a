// What is said of samples, one number a trial.
#pragma once

#include "kvcodec/quality/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace schemes {

namespace quality = kvcodec::quality;

/// Student's 0.975 quantile, by Cornish and Fisher's expansion about the normal one (Abramowitz and Stegun 26.7.5): within
/// 0.1 % from 7 degrees of freedom on.
inline double student_quantile(double freedom) noexcept {
  const double z = 1.959963984540054, z2 = z * z;
  const double terms[] = {z * (z2 + 1) / 4, z * ((5 * z2 + 16) * z2 + 3) / 96,
                          z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384};
  return z + (terms[0] + (terms[1] + terms[2] / freedom) / freedom) / freedom;
}

/// A mean and the half width of its 95 % confidence interval.
struct Interval {
  double mean = 0, half = 0;
  double low() const noexcept { return mean - half; }
  double high() const noexcept { return mean + half; }
};

inline Interval mean_of(std::span<const double> x) noexcept {
  const quality::MeanEstimate mean = quality::mean_estimate(x);
  return {mean.value, mean.standard_error * student_quantile(static_cast<double>(mean.n) - 1)};
}

/// How many times b a is: the geometric mean of the trials' ratios and its interval, which an outlier of a heavy tail moves
/// less than a ratio of means. What is below `floor` counts as that: nats and rates may be 0.
struct Ratio {
  double mean = 1, low = 1, high = 1;
};
inline Ratio ratio_of(std::span<const double> a, std::span<const double> b, double floor = 1e-12) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < a.size(); ++i) logs.push_back(std::log(std::max(a[i], floor) / std::max(b[i], floor)));
  const Interval interval = mean_of(logs);
  return {std::exp(interval.mean), std::exp(interval.low()), std::exp(interval.high())};
}

/// How often a is clearly above b, below it, or neither, over the cells of a table: by the interval of their ratio.
struct Tally {
  std::size_t above = 0, below = 0, open = 0;
  double least = 1e300, most = 0;  ///< of the ratios

  void add(const Ratio& ratio) {
    ++(ratio.low > 1 ? above : ratio.high < 1 ? below : open);
    least = std::min(least, ratio.mean);
    most = std::max(most, ratio.mean);
  }
  std::size_t cells() const { return above + below + open; }
};

}  // namespace schemes
