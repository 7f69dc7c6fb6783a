// IEEE 754 binary16 and bfloat16: storage types and their conversions.
//
// Our own, because converters differ in the field: some flush subnormals, some truncate, some turn NaN into infinity.
// Round to nearest, ties to even; subnormals kept; overflow gives infinity; NaN stays NaN (quiet, sign kept). Integer
// arithmetic only, so that no rounding mode, DAZ/FTZ setting or compiler flag can change a result.
#pragma once

#include "config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kvcodec {

struct float16 {
  std::uint16_t bits;
  friend constexpr bool operator==(float16, float16) = default;  // same bits, not IEEE equality
};
struct bfloat16 {
  std::uint16_t bits;
  friend constexpr bool operator==(bfloat16, bfloat16) = default;
};
static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

/// The element types that rows are read from and written to.
template <class T>
concept Real = std::is_same_v<T, float> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

inline namespace KVCODEC_ISA_NAMESPACE {

KVCODEC_HD constexpr std::uint32_t float_bits(float x) noexcept { return __builtin_bit_cast(std::uint32_t, x); }
KVCODEC_HD constexpr float float_from_bits(std::uint32_t u) noexcept { return __builtin_bit_cast(float, u); }

KVCODEC_HD constexpr bool is_finite(float x) noexcept { return (float_bits(x) & 0x7f800000u) != 0x7f800000u; }

KVCODEC_HD constexpr float to_float(float x) noexcept { return x; }

KVCODEC_HD constexpr float to_float(bfloat16 h) noexcept { return float_from_bits(std::uint32_t{h.bits} << 16); }

KVCODEC_HD constexpr float to_float(float16 h) noexcept {
  const std::uint32_t sign = (h.bits & 0x8000u) << 16;
  const std::uint32_t exponent = (h.bits >> 10) & 0x1fu;
  const std::uint32_t fraction = h.bits & 0x3ffu;
  const std::uint32_t normal = ((exponent + (exponent == 0x1fu ? 224u : 112u)) << 23) | (fraction << 13);
  // A subnormal half is a small integer times 2^-24, exactly; no subnormal float on the way.
  const std::uint32_t subnormal = float_bits(static_cast<float>(static_cast<int>(fraction)) * 0x1p-24f);
  return float_from_bits(sign | (exponent == 0 ? subnormal : normal));
}

KVCODEC_HD constexpr bfloat16 to_bfloat16(float x) noexcept {
  const std::uint32_t u = float_bits(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((u >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16)};
}

KVCODEC_HD constexpr float16 to_float16(float x) noexcept {
  const std::uint32_t u = float_bits(x);
  const std::uint32_t sign = (u >> 16) & 0x8000u;
  const std::uint32_t magnitude = u & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000u) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x47800000u) {  // 65536 and beyond
    half = 0x7c00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14: normal; a carry out of the fraction is the next exponent, or infinity
    const std::uint32_t rebased = magnitude - 0x38000000u;
    half = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {  // 2^-25, which ties to zero
    const std::uint32_t shift = 126u - (magnitude >> 23);  // 14 to 24: result in units of 2^-24
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t kept = significand >> shift;
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    const std::uint32_t tie = 1u << (shift - 1u);
    half = kept + ((rest > tie || (rest == tie && (kept & 1u) != 0)) ? 1u : 0u);
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

/// The largest finite value of T.
template <Real T>
KVCODEC_HD constexpr float max_finite() noexcept {
  if constexpr (std::is_same_v<T, float16>) return 65504.0f;
  if constexpr (std::is_same_v<T, bfloat16>) return 0x1.fep127f;
  return FLT_MAX;
}

/// x rounded to T; a magnitude beyond T's range, infinity too, becomes T's largest finite value. NaN stays NaN. Rows use
/// this one: a finite vector must not come back with an infinity in it.
template <Real T>
KVCODEC_HD constexpr T saturate_to(float x) noexcept {
  constexpr float limit = max_finite<T>();
  const float bounded = x > limit ? limit : x < -limit ? -limit : x;
  if constexpr (std::is_same_v<T, float16>) {
    return to_float16(bounded);
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return to_bfloat16(bounded);
  } else {
    return bounded;
  }
}

/// Two bytes of a row, little-endian, at any address.
template <class Half>
KVCODEC_HD constexpr Half load_half(const std::byte* from) noexcept {
  static_assert(std::is_same_v<Half, float16> || std::is_same_v<Half, bfloat16>);
  return {static_cast<std::uint16_t>(static_cast<std::uint32_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 8)};
}
template <class Half>
KVCODEC_HD constexpr void store_half(Half value, std::byte* to) noexcept {
  to[0] = static_cast<std::byte>(value.bits & 0xffu);
  to[1] = static_cast<std::byte>(value.bits >> 8);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
