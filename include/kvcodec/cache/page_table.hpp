// Which pages a cache's sequences own: lengths, block tables, reference counts, the free list. Knows nothing of codecs; all
// of it lives in memory that the caller gives.
#pragma once

#include "../config.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>

namespace kvcodec {

/// The size of a KvCache. Every field at most 2^31 - 1.
struct KvCacheShape {
  std::size_t sequences = 1;
  std::size_t heads = 1;         ///< key-value heads
  std::size_t slots = 0;         ///< physical pages that the sequences share, each of all heads
  std::size_t max_tokens = 0;    ///< the longest a sequence may become
  std::size_t sinks = 0;         ///< the first so many tokens of a sequence are kept exact too
  std::size_t recent = 0;        ///< and the last so many
  bool interleave_keys = false;  ///< interleave the keys of full pages, if their codec has a form for it (page.hpp)

  friend constexpr bool operator==(const KvCacheShape&, const KvCacheShape&) = default;
};

inline namespace KVCODEC_ISA_NAMESPACE {
namespace detail {

/// Sums and products of sizes, which stay at the largest size once they reach it: no memory is that large.
inline constexpr std::size_t too_large = std::numeric_limits<std::size_t>::max();
constexpr std::size_t size_product(std::size_t a, std::size_t b) noexcept {
  return b != 0 && a > too_large / b ? too_large : a * b;
}
constexpr std::size_t size_sum(std::size_t a, std::size_t b) noexcept { return a > too_large - b ? too_large : a + b; }
/// Rounded up to a cache line.
constexpr std::size_t size_in_lines(std::size_t n) noexcept { return n > too_large - 63 ? too_large : (n + 63) / 64 * 64; }

class PageTable {
 public:
  struct Sequence {
    std::size_t length = 0;
    std::size_t exact_begin = 0;  ///< tokens from here on are in the window of exact ones
  };
  struct Slot {
    std::uint32_t references = 0;
    std::uint32_t first = 0;  ///< rows before this one were never written: the slot took the place of an evicted page
    bool interleaved = false;
  };
  static constexpr std::int32_t none = -1;

  static constexpr std::size_t pages(std::size_t length, std::size_t tokens) noexcept {
    return length / tokens + (length % tokens != 0);
  }

  static constexpr std::size_t bytes(const KvCacheShape& shape, std::size_t tokens) noexcept {
    const std::size_t blocks = size_product(shape.sequences, pages(shape.max_tokens, tokens));
    const std::size_t sequences = size_in_lines(size_product(shape.sequences, sizeof(Sequence)));
    const std::size_t slots = size_in_lines(size_product(shape.slots, sizeof(Slot)));
    const std::size_t free = size_in_lines(size_product(shape.slots, sizeof(std::int32_t)));
    return size_sum(size_sum(sequences, slots), size_sum(free, size_in_lines(size_product(blocks, sizeof(std::int32_t)))));
  }

  /// memory: bytes(shape, tokens) bytes, 64-byte aligned.
  PageTable(const KvCacheShape& shape, std::size_t tokens, std::byte* memory) noexcept
      : table_length_(pages(shape.max_tokens, tokens)),
        free_count_(shape.slots),
        sequences_(make<Sequence>(memory, shape.sequences)),
        slots_(make<Slot>(memory, shape.slots)),
        free_(make<std::int32_t>(memory, shape.slots)),
        blocks_(make<std::int32_t>(memory, shape.sequences * table_length_)) {
    for (std::size_t i = 0; i < shape.slots; ++i) free_[i] = static_cast<std::int32_t>(shape.slots - 1 - i);
    for (std::size_t i = 0; i < shape.sequences * table_length_; ++i) blocks_[i] = none;
  }

  Sequence& sequence(std::size_t i) noexcept { return sequences_[i]; }
  const Sequence& sequence(std::size_t i) const noexcept { return sequences_[i]; }
  Slot& slot(std::int32_t i) noexcept { return slots_[i]; }
  const Slot& slot(std::int32_t i) const noexcept { return slots_[i]; }
  std::int32_t block(std::size_t i, std::size_t page) const noexcept { return blocks_[i * table_length_ + page]; }
  std::span<const std::int32_t> blocks(std::size_t i, std::size_t count) const noexcept {
    return {blocks_ + i * table_length_, count};
  }
  std::size_t free_count() const noexcept { return free_count_; }

  /// Puts a free slot, whose rows from `first` on will be written, in a page's place in the table; none if there is no more.
  /// What stood there keeps its reference.
  std::int32_t take(std::size_t i, std::size_t page, std::size_t first) noexcept {
    if (free_count_ == 0) return none;
    const std::int32_t taken = free_[--free_count_];
    slots_[taken] = {1, static_cast<std::uint32_t>(first), false};
    blocks_[i * table_length_ + page] = taken;
    return taken;
  }

  /// Makes a page of one sequence a page of another, which must have none there.
  void share(std::size_t from, std::size_t to, std::size_t page) noexcept {
    const std::int32_t shared = block(from, page);
    if (shared == none) return;
    ++slots_[shared].references;
    blocks_[to * table_length_ + page] = shared;
  }

  void release(std::size_t i, std::size_t page) noexcept {
    const std::int32_t released = block(i, page);
    if (released == none) return;
    blocks_[i * table_length_ + page] = none;
    drop(released);
  }

  /// Takes one reference away; the last one frees the slot.
  void drop(std::int32_t slot) noexcept {
    if (--slots_[slot].references == 0) free_[free_count_++] = slot;
  }

 private:
  /// An array at the front of `memory`, which moves on past it.
  template <class T>
  static T* make(std::byte*& memory, std::size_t count) noexcept {
    T* const first = reinterpret_cast<T*>(memory);
    for (std::size_t i = 0; i < count; ++i) ::new (static_cast<void*>(first + i)) T();
    memory += size_in_lines(count * sizeof(T));
    return count > 0 ? std::launder(first) : first;
  }

  std::size_t table_length_;
  std::size_t free_count_;
  Sequence* sequences_;
  Slot* slots_;
  std::int32_t* free_;
  std::int32_t* blocks_;
};

}  // namespace detail
}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
