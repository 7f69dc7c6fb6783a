// How far decoded vectors are from what was encoded, and how far a coder is from the best there can be.
#pragma once

#include "../config.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>

namespace kvcodec::quality {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

template <class T>
double angle(const T* x, const T* y, std::size_t d) noexcept {
  double xx = 0, yy = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const double a = static_cast<double>(x[i]), b = static_cast<double>(y[i]);
    xx += a * a;
    yy += b * b;
  }
  if (xx == 0 || yy == 0) return xx == yy ? 0 : std::numbers::pi / 2;
  const double x_norm = std::sqrt(xx), y_norm = std::sqrt(yy);
  double difference = 0, sum = 0;
  for (std::size_t i = 0; i < d; ++i) {
    const double a = static_cast<double>(x[i]) / x_norm, b = static_cast<double>(y[i]) / y_norm;
    difference += (a - b) * (a - b);
    sum += (a + b) * (a + b);
  }
  return 2.0 * std::atan2(std::sqrt(difference), std::sqrt(sum));
}

}  // namespace detail

/// The angle between x and y, [d] each, in radians, 0 to pi, by Kahan's 2 atan2(|u - v|, |u + v|) of the unit vectors u
/// and v: the arc cosine of <u, v> has lost every angle below 1e-8. A vector of zeros is at pi/2 to any other, as its
/// cosine is 0, and at 0 to another of zeros.
inline double angle(std::span<const float> x, std::span<const float> y) noexcept {
  assert(x.size() == y.size());
  return detail::angle(x.data(), y.data(), x.size());
}

/// The same in double, for outputs of attention.
inline double angle(std::span<const double> x, std::span<const double> y) noexcept {
  assert(x.size() == y.size());
  return detail::angle(x.data(), y.data(), x.size());
}

/// Means over rows, each row weighing the same however long it is.
struct Distortion {
  double relative_error = 0;  ///< D = mean of |x - y|^2 / |x|^2; no unit; 0 is exact, 1 is what answering zeros costs
  double cosine = 0;          ///< mean of <x, y> / (|x| |y|); a row decoded to zeros counts as 0
  double angle = 0;           ///< mean of the angle between x and y, radians; a row decoded to zeros counts as pi/2
  std::size_t rows = 0;       ///< that the means are over
  std::size_t zero_rows = 0;  ///< rows of zeros, left out of the means: they have no relative error and no direction
};

/// Gathers distortion over any number of calls. Sums in double: no overflow for any float rows.
class DistortionSum {
 public:
  /// x: rows that were encoded, [n, d], row-major. decoded: what came back, the same shape. A row of zeros that comes
  /// back as anything else makes the relative error infinite, since nothing else in a mean could show it.
  void add(std::span<const float> x, std::span<const float> decoded, std::size_t d) noexcept {
    assert(d != 0 && x.size() == decoded.size() && x.size() % d == 0);
    for (std::size_t start = 0; start < x.size(); start += d) add_row(x.data() + start, decoded.data() + start, d);
  }

  /// The means so far; zeros when there was no row but rows of zeros.
  Distortion mean() const noexcept {
    const double n = rows_ == 0 ? 1.0 : static_cast<double>(rows_);
    return {error_ / n, cosine_ / n, angle_ / n, rows_, zero_rows_};
  }

 private:
  void add_row(const float* x, const float* y, std::size_t d) noexcept {
    double xx = 0, yy = 0, xy = 0, error = 0;
    for (std::size_t i = 0; i < d; ++i) {
      const double a = x[i], b = y[i];
      xx += a * a;
      yy += b * b;
      xy += a * b;
      error += (a - b) * (a - b);
    }
    if (xx == 0) {
      ++zero_rows_;
      if (yy != 0) error_ = std::numeric_limits<double>::infinity();
      return;
    }
    ++rows_;
    error_ += error / xx;
    angle_ += detail::angle(x, y, d);
    if (yy != 0) cosine_ += xy / (std::sqrt(xx) * std::sqrt(yy));
  }

  double error_ = 0, cosine_ = 0, angle_ = 0;
  std::size_t rows_ = 0, zero_rows_ = 0;
};

/// The distortion of rows x, [n, d], decoded as `decoded`, the same shape.
inline Distortion distortion(std::span<const float> x, std::span<const float> decoded, std::size_t d) noexcept {
  DistortionSum sum;
  sum.add(x, decoded, d);
  return sum.mean();
}

/// The least D that any coder of independent Gaussian coordinates can have at this many bits a coordinate: 4^-bits.
inline double shannon_distortion(double bits_per_coordinate) noexcept { return std::exp2(-2.0 * bits_per_coordinate); }

/// Decibels between a coder and that bound: 10 log10(D / 4^-bits), where the bits count everything stored. One number
/// compares coders at different rates; 6.02 dB are one bit a coordinate. -infinity when D is 0.
/// Real keys and values are not Gaussian: a coder that used their structure could be below 0.
inline double db_over_shannon(double relative_error, double bits_per_coordinate) noexcept {
  return 10.0 * (std::log10(relative_error) + 2.0 * bits_per_coordinate * std::numbers::ln2 / std::numbers::ln10);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
