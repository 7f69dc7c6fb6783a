// The seeded generator behind every random choice a codec makes: SplitMix64 (Steele, Lea, Flood 2014).
//
// Our own, since the distributions of the standard library differ between implementations and a cache must be readable
// on another machine. A codec starts one generator from its seed; each of its parts draws what it needs, in the order in
// which a vector walks through them.
#pragma once

#include "arithmetic.hpp"

#include <cmath>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

/// ln x of a positive normal number within 1e-15, from divisions, fma() and lone products: libm's last bits differ between
/// machines, and these numbers end in the bytes of rows. x = 2^e m, ln m = 2 artanh((m-1)/(m+1)).
KVCODEC_HD inline double natural_log(double x) noexcept {
  const auto bits = __builtin_bit_cast(std::uint64_t, x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = __builtin_bit_cast(double, (bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double f = (m - 1.0) / (m + 1.0), square = f * f;  // |f| <= 0.1716: the next term is below 1e-17
  double series = 1.0 / 21.0;
  for (int k = 19; k >= 1; k -= 2) series = fma(series, square, 1.0 / k);
  return fma(static_cast<double>(exponent), 0.6931471805599453, (2.0 * f) * series);
}

}  // namespace detail

class SplitMix64 {
 public:
  KVCODEC_HD constexpr explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  /// The next 64 random bits.
  KVCODEC_HD constexpr std::uint64_t operator()() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Uniform on the open interval (0, 1): odd multiples of 2^-53, so that neither a logarithm nor its complement meets 0.
  KVCODEC_HD constexpr double uniform() noexcept {
    return static_cast<double>((*this)() >> 11 | 1u) * 0x1p-53;
  }

  /// N(0, 1) by Marsaglia's polar method (1964), the same bits on every machine. At most 12 in magnitude.
  KVCODEC_HD double gaussian() noexcept {
    for (;;) {
      const double u = 2.0 * uniform() - 1.0, v = 2.0 * uniform() - 1.0;  // exact: fused or not
      const double square = fma(u, u, v * v);
      if (square < 1.0 && square > 0.0) return u * std::sqrt(-2.0 * detail::natural_log(square) / square);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
