// The arithmetic that encoded bytes depend on, spelled so that it means the same under every compiler and flag.
//
// Compilers may fuse a product into the addition that follows it (g++ does so by default, nvcc too, clang on request),
// which rounds once instead of twice and moves a coordinate across a threshold now and then. So in every encoder:
//   - a multiply-add is spelled fma();
//   - no other product reaches an addition, unless it is exact (a factor of +-1 or a power of two). Products go into
//     comparisons, divisions and other products, where there is nothing to fuse;
//   - in the vocabulary (simd/) multiply() never fuses: use it, not the operator;
//   - sums over coordinates are 16 partial sums (coordinate i in lane i mod 16), then halved 8-4-2-1: what one AVX-512,
//     two AVX2 or four NEON registers do.
#pragma once

#include "half.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// a*b + c, rounded once, everywhere.
KVCODEC_HD inline float fma(float a, float b, float c) noexcept {
#if defined(__CUDA_ARCH__)
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}

KVCODEC_HD inline double fma(double a, double b, double c) noexcept {
#if defined(__CUDA_ARCH__)
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

/// a*b + c, rounded once or twice, whichever is fast here. Only for results that nobody stores: scores and sums.
KVCODEC_HD inline float multiply_add(float a, float b, float c) noexcept {
#if KVCODEC_HAS_FMA
  return fma(a, b, c);
#else
  return a * b + c;
#endif
}

KVCODEC_HD constexpr float absolute(float x) noexcept { return float_from_bits(float_bits(x) & 0x7fffffffu); }

/// IEEE square root (correctly rounded; nvcc's default too).
KVCODEC_HD inline float square_root(float x) noexcept {
#if defined(__CUDA_ARCH__)
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

inline constexpr std::size_t lanes = 16;

/// A number as a type: std::integral_constant, which device code cannot convert.
template <std::size_t I>
struct Constant {
  KVCODEC_HD constexpr operator std::size_t() const noexcept { return I; }  // NOLINT: implicit
};

/// f(0), …, f(N-1), unrolled, of Constants: a loop over steps round a loop over lanes keeps its lanes in registers only when it is gone.
template <std::size_t N, class F>
KVCODEC_HD KVCODEC_INLINE constexpr void unrolled(F f) noexcept {
  [&]<std::size_t... I>(std::index_sequence<I...>) KVCODEC_INLINE {
    (f(Constant<I>()), ...);
  }(std::make_index_sequence<N>{});
}

KVCODEC_HD inline float reduce(float (&lane)[lanes]) noexcept {
  for (std::size_t width = lanes / 2; width > 0; width /= 2)
    for (std::size_t l = 0; l < width; ++l) lane[l] += lane[l + width];
  return lane[0];
}

/// Square root of a compile-time constant: Newton's iteration in double, for scales and tables.
constexpr double constant_sqrt(double x) noexcept {
  double root = x > 1 ? x : 1;
  for (int i = 0; i < 64; ++i) {
    const double next = 0.5 * (root + x / root);
    if (next >= root) break;  // from above the iteration falls until it can fall no further
    root = next;
  }
  return root;
}

/// Sine of a compile-time constant, 0 <= x <= 2 pi, for tables: Taylor's series on [-pi/2, pi/2].
constexpr double constant_sin(double x) noexcept {
  if (x > 1.5 * std::numbers::pi) x -= 2 * std::numbers::pi;
  else if (x > 0.5 * std::numbers::pi) x = std::numbers::pi - x;
  double term = x, sum = x;
  for (int n = 2; n < 28; n += 2) {
    term *= -x * x / (n * (n + 1));
    sum += term;
  }
  return sum;
}
constexpr double constant_cos(double x) noexcept { return constant_sin(x > 1.5 * std::numbers::pi ? x - 1.5 * std::numbers::pi : x + 0.5 * std::numbers::pi); }

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
