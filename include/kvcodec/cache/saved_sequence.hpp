// What KvCache::save writes.
//
//   byte   0  descriptors (descriptor.hpp) of the keys', the values', the exact keys' and the exact values' codec
//        256  magic "KVCS"    260  version, u16    262  zero, u16    264  heads, u32        268  tokens a page, u32
//        272  sinks, u32      276  recent, u32     280  length, u64  288  exact begin, u64  296  zero, 24 bytes
//        320  for every page of the sequence, u32: the first of its rows that is there; 2^32 - 1 where none is
//             in order of page, row and head: the key's canonical row, the value's
//             in order of position and head, for the first `sinks` tokens and those from exact begin on: the exact rows
// Integers are little-endian. Nothing follows.
#pragma once

#include "../descriptor.hpp"
#include "../result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {
namespace detail {

struct SavedSequence {
  static constexpr std::size_t descriptors = 4;
  static constexpr std::size_t header_at = descriptors * Descriptor::bytes;
  static constexpr std::size_t header_bytes = 64;
  static constexpr std::uint16_t current_version = 1;
  static constexpr std::uint32_t no_row = 0xffffffffu;
  static constexpr std::array<char, 4> magic = {'K', 'V', 'C', 'S'};

  std::uint32_t heads = 0, tokens = 0, sinks = 0, recent = 0;
  std::uint64_t length = 0, exact_begin = 0;

  /// All that comes before the rows.
  static constexpr std::size_t front_bytes(std::size_t pages) noexcept { return header_at + header_bytes + 4 * pages; }

  /// Writes header_bytes bytes.
  void store(std::byte* to) const noexcept {
    std::memset(to, 0, header_bytes);
    for (std::size_t i = 0; i < magic.size(); ++i) to[i] = static_cast<std::byte>(magic[i]);
    store_little_endian(current_version, to + 4);
    store_little_endian(heads, to + 8);
    store_little_endian(tokens, to + 12);
    store_little_endian(sinks, to + 16);
    store_little_endian(recent, to + 20);
    store_little_endian(length, to + 24);
    store_little_endian(exact_begin, to + 32);
  }

  /// Reads the header of what save wrote; the error says why it is not one, or not for a cache like `wanted`.
  static Result<SavedSequence> load(std::span<const std::byte> in, const SavedSequence& wanted) {
    if (in.size() < front_bytes(0)) return error("not a saved sequence: only " + std::to_string(in.size()) + " bytes");
    const std::byte* from = in.data() + header_at;
    for (std::size_t i = 0; i < magic.size(); ++i)
      if (from[i] != static_cast<std::byte>(magic[i])) return error("not a saved sequence: no \"KVCS\" at byte 256");
    const auto version = load_little_endian<std::uint16_t>(from + 4);
    if (version != current_version)
      return error("saved sequence of version " + std::to_string(version) + " instead of " +
                   std::to_string(current_version));
    SavedSequence found;
    found.heads = load_little_endian<std::uint32_t>(from + 8);
    found.tokens = load_little_endian<std::uint32_t>(from + 12);
    found.sinks = load_little_endian<std::uint32_t>(from + 16);
    found.recent = load_little_endian<std::uint32_t>(from + 20);
    found.length = load_little_endian<std::uint64_t>(from + 24);
    found.exact_begin = load_little_endian<std::uint64_t>(from + 32);
    std::array<std::byte, header_bytes> again;
    found.store(again.data());
    if (std::memcmp(again.data(), from, header_bytes) != 0)
      return error("saved sequence: bytes that should be zero are not");
    const auto differs = [](std::string_view field, std::uint32_t a, std::uint32_t b) {
      return error(std::string("saved sequence of a cache of another shape: ").append(field) + " " + std::to_string(a) +
                   " instead of " + std::to_string(b));
    };
    if (found.heads != wanted.heads) return differs("heads", found.heads, wanted.heads);
    if (found.tokens != wanted.tokens) return differs("tokens a page", found.tokens, wanted.tokens);
    if (found.sinks != wanted.sinks) return differs("sinks", found.sinks, wanted.sinks);
    if (found.recent != wanted.recent) return differs("recent", found.recent, wanted.recent);
    if (found.exact_begin > found.length || found.length - found.exact_begin > found.recent)
      return error("saved sequence: a window of exact tokens that cannot be");
    return found;
  }

  /// Writes the i-th of the descriptors in front.
  template <class C>
  static void store_descriptor(const C& codec, std::size_t i, std::byte* front) noexcept {
    const auto bytes = to_bytes(codec.descriptor());
    std::memcpy(front + i * Descriptor::bytes, bytes.data(), bytes.size());
  }

  /// Says so in an empty `refusal` if the i-th descriptor is not this codec's. Allocates only then.
  template <class C>
  static void check(const C& codec, std::size_t i, std::string_view whose, const std::byte* front, std::string& refusal) {
    const auto bytes = to_bytes(codec.descriptor());
    const std::span<const std::byte> found(front + i * Descriptor::bytes, Descriptor::bytes);
    if (!refusal.empty() || std::memcmp(bytes.data(), found.data(), bytes.size()) == 0) return;
    refusal.append(whose).append(": ").append(refuse_unless_same(found, codec));
  }
};

}  // namespace detail
}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
