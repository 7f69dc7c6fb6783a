// Synthetic rows. Independent Gaussian coordinates are the source of the papers' tables and of Shannon's bound.
#pragma once

#include "../random.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
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

/// [rows, d], row-major, each coordinate N(0, deviation^2). The same seed gives the same rows, but for the last bit of a
/// value where two machines' sin, cos or log differ.
inline std::vector<float> gaussian_rows(std::size_t rows, std::size_t d, std::uint64_t seed, double deviation = 1.0) {
  std::vector<float> x(rows * d);
  Gaussian gaussian(seed);
  for (float& value : x) value = static_cast<float>(deviation * gaussian());
  return x;
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
