// Bit streams: LSB first, little-endian. The one bit order of every row: field i of W bits begins at stream bit i*W, and
// stream bit k is bit k%8 of byte k/8. Unused bits of the last byte are zero when written and ignored when read.
//
// Only the bytes that hold the stream are touched: rows may end at the end of a page of memory.
#pragma once

#include "config.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

KVCODEC_HD constexpr std::size_t bytes_for_bits(std::size_t bits) noexcept { return (bits + 7) / 8; }

/// Appends fields to a stream. finish() writes the last, partly filled byte.
class BitWriter {
 public:
  KVCODEC_HD explicit BitWriter(std::byte* to) noexcept : to_(to) {}

  /// Appends the low `width` bits of `field`, whose higher bits are zero; width <= 32.
  KVCODEC_HD void put(std::uint32_t field, unsigned width) noexcept {
    pending_ |= std::uint64_t{field} << count_;
    count_ += width;
    while (count_ >= 8) {
      *to_++ = static_cast<std::byte>(pending_ & 0xffu);
      pending_ >>= 8;
      count_ -= 8;
    }
  }
  KVCODEC_HD void finish() noexcept {
    if (count_ > 0) *to_ = static_cast<std::byte>(pending_ & 0xffu);
  }

 private:
  std::byte* to_;
  std::uint64_t pending_ = 0;
  unsigned count_ = 0;  // bits pending, 0 to 7 between calls
};

/// Reads fields of a stream in order, from any bit on; loads a byte only when a field needs it.
class BitReader {
 public:
  KVCODEC_HD BitReader(const std::byte* from, std::size_t first_bit) noexcept : from_(from + first_bit / 8) {
    if (first_bit % 8 != 0) {
      pending_ = static_cast<std::uint64_t>(*from_++) >> (first_bit % 8);
      count_ = 8 - static_cast<unsigned>(first_bit % 8);
    }
  }

  /// The next `width` bits; width <= 32.
  KVCODEC_HD std::uint32_t get(unsigned width) noexcept {
    while (count_ < width) {
      pending_ |= static_cast<std::uint64_t>(*from_++) << count_;
      count_ += 8;
    }
    const auto field = static_cast<std::uint32_t>(pending_ & ((std::uint64_t{1} << width) - 1));
    pending_ >>= width;
    count_ -= width;
    return field;
  }

 private:
  const std::byte* from_;
  std::uint64_t pending_ = 0;
  unsigned count_ = 0;
};

/// Writes N fields of Width <= 8 bits, eight at a time: eight fields fill Width whole bytes.
template <unsigned Width, std::size_t N>
KVCODEC_HD void pack(const std::uint8_t* fields, std::byte* to) noexcept {
  static_assert(Width >= 1 && Width <= 8);
  for (std::size_t i = 0; i + 8 <= N; i += 8, to += Width) {
    std::uint64_t word = 0;
    for (unsigned k = 0; k < 8; ++k) word |= std::uint64_t{fields[i + k]} << (Width * k);
    for (unsigned k = 0; k < Width; ++k) to[k] = static_cast<std::byte>((word >> (8 * k)) & 0xffu);
  }
  if constexpr (N % 8 != 0) {
    BitWriter writer(to);
    for (std::size_t i = N / 8 * 8; i < N; ++i) writer.put(fields[i], Width);
    writer.finish();
  }
}

/// Calls visit(i, field) for fields 0 to N-1 of Width <= 8 bits.
template <unsigned Width, std::size_t N, class Visit>
KVCODEC_HD void unpack(const std::byte* from, Visit visit) noexcept {
  static_assert(Width >= 1 && Width <= 8);
  constexpr std::uint64_t mask = (std::uint64_t{1} << Width) - 1;
  for (std::size_t i = 0; i + 8 <= N; i += 8, from += Width) {
    std::uint64_t word = 0;
    for (unsigned k = 0; k < Width; ++k) word |= static_cast<std::uint64_t>(from[k]) << (8 * k);
    for (unsigned k = 0; k < 8; ++k) visit(i + k, static_cast<unsigned>((word >> (Width * k)) & mask));
  }
  if constexpr (N % 8 != 0) {
    BitReader reader(from, 0);
    for (std::size_t i = N / 8 * 8; i < N; ++i) visit(i, static_cast<unsigned>(reader.get(Width)));
  }
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
