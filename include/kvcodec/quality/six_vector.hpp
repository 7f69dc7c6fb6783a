// The six-dimensional error of arXiv 2605.08114: (scale error, direction error) x (keys, values, output of attention).
// Codecs that are alike in mean square differ here: a softmax forgives a common scale of keys but not their directions.
//
// The paper's body is not public in a form we could read, so the formulas are ours. Of rows x_i that became y_i:
//
//     scale error, as a signal-to-noise ratio in dB:  10 log10( sum |x_i|^2 / sum (|x_i| - |y_i|)^2 )
//     direction error, in radians, 0 to pi:           mean of the angle between x_i and y_i
//
// The ratio is of sums: long rows count for more, as they do in scores. It grows without bound as the scale gets better;
// the angle, whose mean weighs rows alike, falls to 0.
#pragma once

#include "../config.hpp"
#include "attention.hpp"
#include "distortion.hpp"

#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace kvcodec::quality {
inline namespace KVCODEC_ISA_NAMESPACE {

/// Nothing gathered: no error, infinity and 0.
struct ScaleDirection {
  double snr_db = std::numeric_limits<double>::infinity();  ///< infinity when every length was kept
  double angle = 0;                                         ///< mean, radians
  std::size_t rows = 0;                                     ///< that the angle is over
  std::size_t zero_rows = 0;  ///< rows of zeros: no angle; in the ratio they add what they came back as to the error
};

/// Gathers both errors of one kind of rows over any number of calls. Sums in double: no overflow for any float rows.
class ScaleDirectionSum {
 public:
  /// x: the rows, [n, d], row-major. decoded: what they became, the same shape. A row decoded to zeros has an angle of pi/2.
  void add(std::span<const float> x, std::span<const float> decoded, std::size_t d) noexcept { add_rows(x, decoded, d); }

  /// The same in double, for outputs of attention.
  void add(std::span<const double> x, std::span<const double> decoded, std::size_t d) noexcept { add_rows(x, decoded, d); }

  ScaleDirection result() const noexcept {
    ScaleDirection r;
    if (error_ != 0) r.snr_db = 10.0 * std::log10(signal_ / error_);
    if (rows_ != 0) r.angle = angle_ / static_cast<double>(rows_);
    r.rows = rows_;
    r.zero_rows = zero_rows_;
    return r;
  }

 private:
  template <class T>
  void add_rows(std::span<const T> x, std::span<const T> y, std::size_t d) noexcept {
    assert(d != 0 && x.size() == y.size() && x.size() % d == 0);
    for (std::size_t start = 0; start < x.size(); start += d) {
      const double x_norm = norm(x.subspan(start, d)), y_norm = norm(y.subspan(start, d));
      signal_ += x_norm * x_norm;
      error_ += (x_norm - y_norm) * (x_norm - y_norm);
      if (x_norm == 0) {
        ++zero_rows_;
        continue;
      }
      ++rows_;
      angle_ += quality::angle(x.subspan(start, d), y.subspan(start, d));
    }
  }

  template <class T>
  static double norm(std::span<const T> x) noexcept {
    double square = 0;
    for (const T value : x) square += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(square);
  }

  double signal_ = 0, error_ = 0, angle_ = 0;
  std::size_t rows_ = 0, zero_rows_ = 0;
};

struct SixVector {
  ScaleDirection keys, values, output;

  /// Scale (dB) and angle (radians) of keys, of values, of the output. Two units: standardize() before an energy
  /// distance, and leave out exact codecs, whose ratio is infinite.
  std::array<double, 6> coordinates() const noexcept {
    return {keys.snr_db, keys.angle, values.snr_db, values.angle, output.snr_db, output.angle};
  }
};

/// Gathers the six numbers over any number of calls, for codecs whose scores are not those of decoded rows.
struct SixVectorSum {
  ScaleDirectionSum keys, values, output;

  SixVector result() const noexcept { return {keys.result(), values.result(), output.result()}; }
};

/// The six numbers of attention over decoded rows, every query seeing every key. queries: [m, d]. keys, decoded_keys:
/// [n, d]. values, decoded_values: [n, d_v]. All row-major, n and d_v not 0. The output has one row of d_v a query.
inline SixVector six_vector(std::span<const float> queries, std::span<const float> keys, std::span<const float> values,
                            std::span<const float> decoded_keys, std::span<const float> decoded_values, std::size_t d) {
  assert(d != 0 && queries.size() % d == 0 && keys.size() % d == 0 && !keys.empty() && !values.empty());
  assert(decoded_keys.size() == keys.size() && decoded_values.size() == values.size());
  const std::size_t value_dim = values.size() / (keys.size() / d);
  SixVectorSum sum;
  sum.keys.add(keys, decoded_keys, d);
  sum.values.add(values, decoded_values, value_dim);
  std::vector<double> output(value_dim), coded_output(value_dim);
  for (std::size_t start = 0; start < queries.size(); start += d) {
    attention_output(queries.subspan(start, d), keys, values, output);
    attention_output(queries.subspan(start, d), decoded_keys, decoded_values, coded_output);
    sum.output.add(output, coded_output, value_dim);
  }
  return sum.result();
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
