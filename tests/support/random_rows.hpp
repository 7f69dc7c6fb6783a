// Gaussian rows for tests, and sums in double.
#pragma once

#include "oracle/vectors.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvcodec_test {

inline std::vector<float> gaussian_rows(std::size_t rows, std::size_t dim, std::uint64_t seed, double scale = 1) {
  kvcodec_oracle::RandomSource source(seed);
  std::vector<float> x(rows * dim);
  for (float& v : x) v = static_cast<float>(scale * source.gaussian());
  return x;
}

inline double dot(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<double>(x[i]) * y[i];
  return sum;
}
inline double length(std::span<const float> x) { return std::sqrt(dot(x, x)); }

/// |x - y|^2 / |x|^2.
inline double relative_square_error(std::span<const float> x, std::span<const float> y) {
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) error += (static_cast<double>(x[i]) - y[i]) * (static_cast<double>(x[i]) - y[i]);
  return error / dot(x, x);
}

}  // namespace kvcodec_test
