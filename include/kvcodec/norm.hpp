// The first room: a vector's length, measured without overflow or underflow, and as it is stored.
//
// The direction is coded against the *stored, rounded* length, so the rounding of the length costs nothing that the
// direction code cannot take back (ALGORITHMS of the papers: gamma, before equation 1 of arXiv 2605.21226).
#pragma once

#include "arithmetic.hpp"
#include "simd/vector.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace kvcodec {

/// How a row stores its length. bfloat16 has float's range and an error (0.2 %) far below a codec's own up to 4 bits;
/// float16 is finer but saturates at 65504 and vanishes below 3e-8; float32 is what OCTOPUS itself uses. none: the row
/// stores no length, its quantiser's code holds it (PolarQuant's radii).
enum class NormType : unsigned char { bfloat16 = 0, float16 = 1, float32 = 2, none = 3 };

/// Bytes that a length takes in a row.
constexpr std::size_t norm_bytes(NormType norm) noexcept {
  return norm == NormType::none ? 0 : norm == NormType::float32 ? 4 : 2;
}

/// What the encoder makes the stored length do, once the direction's code is known (u the direction, v what its code
/// decodes to). It costs a decoder nothing. With D the relative squared error without one:
///   none           the vector's own length: <x, x'> = (1 - D) |x|^2 on average
///   norm           |x'| = |x|: the stored length is |u| / |v| times it; <x, x'> = sqrt(1 - D) |x|^2
///   inner_product  <x, x'> = |x|^2, up to the rounding of the length: |u|^2 / <u, v> times; D becomes D / (1 - D)
///   least_squares  the least |x - x'|: <u, v> / |v|^2 times
enum class Correction : unsigned char { none = 0, norm = 1, inner_product = 2, least_squares = 3 };

inline namespace KVCODEC_ISA_NAMESPACE {

template <NormType N>
using NormReal = std::conditional_t<N == NormType::bfloat16, bfloat16, std::conditional_t<N == NormType::float16, float16, float>>;

template <Real Stored>
struct Length {
  Stored stored{};        ///< what the row holds; its value is 0 for a vector whose length Stored cannot tell from 0
  float divisor = 0;      ///< divide measured coordinates by this for the direction: the stored length, in the scale
                          ///< that measure() left the coordinates in; 0 when `stored` is 0
  bool finite = true;     ///< false: the vector holds a NaN or an infinity, nothing else is set
};

namespace detail {
// Within these bounds no square that matters under- or overflows, nor does any sum of a rotation or a triplet.
inline constexpr float smallest_plain_square = 0x1p-80f;
inline constexpr float largest_plain_square = 0x1p80f;

/// Multiplies x by a power of two that brings its largest magnitude near 1; answers the exponent. x is finite, not zero.
template <std::size_t D>
KVCODEC_HD inline int bring_near_one(float* x) noexcept {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < D; ++i) {
    const std::uint32_t magnitude = float_bits(x[i]) & 0x7fffffffu;
    largest = magnitude > largest ? magnitude : largest;
  }
  int exponent = 127 - static_cast<int>(largest >> 23);
  exponent = exponent > 100 ? 100 : exponent < -100 ? -100 : exponent;
  const float factor = float_from_bits(static_cast<std::uint32_t>(127 + exponent) << 23);
  // Exact products only: what would become subnormal is 2^-90 of the largest and is dropped, by the same rule everywhere.
  const float smallest_kept = exponent < 0 ? float_from_bits(static_cast<std::uint32_t>(1 - exponent) << 23) : 0.0f;
  for (std::size_t i = 0; i < D; ++i) x[i] = absolute(x[i]) < smallest_kept ? 0.0f : x[i] * factor;
  return exponent;
}
}  // namespace detail

/// The length of x, whose coordinates may be rescaled by a power of two on the way.
template <std::size_t D, Real Stored, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline Length<Stored> measure(float* x) noexcept {
  Length<Stored> length;
  float square = sum_of_squares<D, I>(x);
  if (square >= detail::smallest_plain_square && square <= detail::largest_plain_square) {
    const float exact = square_root(square);
    length.stored = saturate_to<Stored>(exact);
    length.divisor = to_float(length.stored);
    if (length.divisor == max_finite<Stored>()) length.divisor = exact;  // saturated: keep the direction at least
    return length;
  }
  bool zero = true;
  for (std::size_t i = 0; i < D; ++i) {
    length.finite = length.finite && is_finite(x[i]);
    zero = zero && (float_bits(x[i]) & 0x7fffffffu) == 0;
  }
  if (!length.finite || zero) return length;

  const int exponent = detail::bring_near_one<D>(x);
  const float up = float_from_bits(static_cast<std::uint32_t>(127 + exponent) << 23);
  const float down = float_from_bits(static_cast<std::uint32_t>(127 - exponent) << 23);
  const float scaled = square_root(sum_of_squares<D, I>(x));
  length.stored = saturate_to<Stored>(scaled * down);
  const float stored = to_float(length.stored);
  if (stored != 0.0f) length.divisor = stored == max_finite<Stored>() ? scaled : stored * up;
  return length;
}

/// The factor of a correction for the direction u coded as v. 1 where v says nothing of u (a factor would be beyond 16).
template <Correction C, std::size_t D, Isa I = native_isa>
KVCODEC_HD inline float correction_factor(const float* u, const float* v) noexcept {
  const float uu = sum_of_squares<D, I>(u), vv = sum_of_squares<D, I>(v), uv = sum_of_products<D, I>(u, v);
  float factor = 1.0f;
  if constexpr (C == Correction::norm) factor = square_root(uu / vv);
  if constexpr (C == Correction::inner_product) factor = uu / uv;
  if constexpr (C == Correction::least_squares) factor = uv / vv;
  return factor > 0.0625f && factor < 16.0f ? factor : 1.0f;
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
