// Fields of a few bits from any bit of a code on: planes that follow each other in one stream (bits.hpp) begin where the one
// before ends.
#pragma once

#include "vector.hpp"

#include <cstddef>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {
KVCODEC_HD constexpr unsigned number(std::byte b) noexcept { return static_cast<unsigned>(b); }
}  // namespace detail

/// Writes N <= 64 fields of Width bits from bit Shift < 8 of `to` on. The bits of the first byte before it are there already.
template <unsigned Width, std::size_t N, unsigned Shift, Isa I>
KVCODEC_HD KVCODEC_INLINE inline void write_fields(typename Simd<I>::Bytes fields, std::byte* to) noexcept {
  if constexpr (Shift == 0) {
    Simd<I>::template pack<Width, N>(fields, to);
  } else {
    constexpr std::size_t bytes = bytes_for_bits(Width * N), shifted = bytes_for_bits(Width * N + Shift);
    std::byte packed[bytes + 1] = {};
    Simd<I>::template pack<Width, N>(fields, packed);
    to[0] = static_cast<std::byte>(detail::number(to[0]) | (detail::number(packed[0]) << Shift & 0xffu));
    for (std::size_t k = 1; k < shifted; ++k)
      to[k] = static_cast<std::byte>((detail::number(packed[k]) << Shift | detail::number(packed[k - 1]) >> (8 - Shift)) & 0xffu);
  }
}

/// Reads them. Fields beyond N are anything below 2^Width.
template <unsigned Width, std::size_t N, unsigned Shift, Isa I>
KVCODEC_HD KVCODEC_INLINE inline typename Simd<I>::Bytes read_fields(const std::byte* from) noexcept {
  if constexpr (Shift == 0) {
    return Simd<I>::template unpack<Width, N>(from);
  } else if constexpr (Simd<I>::unpacks_at_bits) {
    return Simd<I>::template unpack<Width, N, bytes_for_bits(Width * N + Shift), Shift>(from);
  } else {
    constexpr std::size_t bytes = bytes_for_bits(Width * N), shifted = bytes_for_bits(Width * N + Shift);
    std::byte packed[bytes + 1];
    for (std::size_t k = 0; k < bytes; ++k)
      packed[k] = static_cast<std::byte>((detail::number(from[k]) >> Shift | (k + 1 < shifted ? detail::number(from[k + 1]) << (8 - Shift) : 0u)) & 0xffu);
    return Simd<I>::template unpack<Width, N>(packed);
  }
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
