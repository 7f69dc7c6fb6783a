// Exponential and hyperbolic tangent of floats, straight-line code that compilers turn into vectors inside 16-lane loops.
// The library's own: a call a score would cost more than the score, and std::exp differs between C libraries.
//
//   e^x = 2^n e^r,  n = round(x / ln 2),  |r| <= ln(2) / 2,  e^r = 1 + r + r^2 P(r)
//
// P is the minimax polynomial of degree 4 for the relative error of e^r, 3.3e-9, found by Lawson's iteration in 100 bits.
// What is left is float rounding (tests/attention_test.cpp goes through the floats).
#pragma once

#include "../arithmetic.hpp"

#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {
/// All bits, or none: for choices by &. Compilers turn ?: into jumps round the computation, and loops of it stay scalar.
KVCODEC_HD constexpr std::uint32_t bits_if(bool condition) noexcept { return 0u - static_cast<std::uint32_t>(condition); }
}  // namespace detail

/// e^x, relative error below 1e-7 for -87 <= x <= 88. Below: exactly 0, so that no weight is subnormal. Above: infinity.
/// NaN stays NaN. Nothing on the way overflows or is an invalid operation, whatever x is.
KVCODEC_HD inline float exponential(float x) noexcept {
  const float low = x > -87.0f ? x : -87.0f;
  const float clipped = low < 88.0f ? low : 88.0f;
  // In the low bits of a number near 1.5 * 2^23 there is the integer nearest to what was added to it.
  constexpr float round = 12582912.0f;
  const float shifted = multiply_add(clipped, 0x1.715476p+0f, round);
  const float n = shifted - round;
  // ln 2 in two parts, the first of 9 bits, so that its product with n is exact, fused or not.
  const float r = multiply_add(n, 2.12194440e-4f, multiply_add(n, -0.693359375f, clipped));
  float p = 0.00138131423f;
  p = multiply_add(p, r, 0.00836941904f);
  p = multiply_add(p, r, 0.0416684568f);
  p = multiply_add(p, r, 0.166665148f);
  p = multiply_add(p, r, 0.499999931f);
  p = multiply_add(p, r * r, r) + 1.0f;
  // p is in [0.7, 1.42] and n in [-126, 127]: adding n to p's exponent stays within the normal numbers.
  const std::uint32_t power = float_bits(p) + (float_bits(shifted) << 23);
  constexpr std::uint32_t infinity = 0x7f800000u, quiet = 0x00400000u;
  return float_from_bits((power & detail::bits_if(x >= -87.0f) & detail::bits_if(x <= 88.0f)) |
                         (infinity & ~detail::bits_if(x <= 88.0f)) | (quiet & detail::bits_if(x != x)));
}

/// tanh x, relative error below 2e-7 for every x. NaN stays NaN, and a zero keeps its sign.
KVCODEC_HD inline float hyperbolic_tangent(float x) noexcept {
  const float magnitude = absolute(x);
  // Near zero, where 1 - e^-2x would cancel, the Taylor series: its first term left out is below 1e-8 of x.
  const float square = magnitude * magnitude;
  float series = 0.0218694885f;                           // 62/2835
  series = multiply_add(series, square, -0.0539682540f);  // 17/315
  series = multiply_add(series, square, 0.133333333f);
  series = multiply_add(series, square, -0.333333333f);
  const float small = multiply_add(series * square, magnitude, magnitude);
  const float e = exponential(-2.0f * magnitude);
  const float large = (1.0f - e) / (1.0f + e);
  const std::uint32_t near_zero = detail::bits_if(magnitude < 0.25f), sign = float_bits(x) & 0x80000000u;
  return float_from_bits((float_bits(small) & near_zero) | (float_bits(large) & ~near_zero) | sign);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
