// What lies where in a KvCache's memory, and what is done to one token or one slot there.
//
//   memory:  | page table | slots: head 0's keys, head 0's values, head 1's keys, … | exact rows | one page of keys |
//
// Exact rows, of every sequence and head: the keys of the first `sinks` tokens and of the ring, then the values likewise.
// The page at the end is where keys are while they change their form.
#pragma once

#include "../concepts.hpp"
#include "../half.hpp"
#include "../rows.hpp"
#include "page.hpp"
#include "page_table.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {
namespace detail {

template <class K, class V, class ExactK, class ExactV, std::size_t Tokens>
class KvCacheStore {
 public:
  using KeyPage = PageLayout<K, Tokens>;
  using ValuePage = PageLayout<V, Tokens>;
  static constexpr std::size_t key_page_bytes = size_in_lines(KeyPage::bytes);
  static constexpr std::size_t head_bytes = key_page_bytes + size_in_lines(ValuePage::bytes);
  static constexpr std::size_t packed_bytes = K::row_bytes + V::row_bytes;
  static constexpr std::size_t exact_bytes = ExactK::row_bytes + ExactV::row_bytes;

  static constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }
  static constexpr std::size_t larger(std::size_t a, std::size_t b) noexcept { return a < b ? b : a; }
  static constexpr std::size_t pages(std::size_t length) noexcept { return PageTable::pages(length, Tokens); }
  /// Rows of a page that a sequence of this length has.
  static constexpr std::size_t rows_in(std::size_t page, std::size_t length) noexcept {
    return smaller(length - page * Tokens, Tokens);
  }

  static constexpr std::size_t bytes(const KvCacheShape& shape) noexcept {
    const std::size_t slots = size_product(shape.slots, size_product(shape.heads, head_bytes));
    const std::size_t exact = size_product(size_product(shape.sequences, shape.heads), exact_head_bytes(shape));
    const std::size_t scratch = interleaves(shape) ? key_page_bytes : 0;
    return size_sum(size_sum(PageTable::bytes(shape, Tokens), slots), size_sum(exact, scratch));
  }

  /// memory: bytes(shape) bytes, 64-byte aligned.
  KvCacheStore(const KvCacheShape& given, std::byte* memory, const K& keys, const V& values) noexcept
      : shape(given),
        key_codec(keys),
        value_codec(values),
        exact_key_codec(0),
        exact_value_codec(0),
        table(given, Tokens, memory) {
    slots_ = memory + PageTable::bytes(shape, Tokens);
    exact_ = slots_ + shape.slots * shape.heads * head_bytes;
    scratch_ = exact_ + shape.sequences * shape.heads * exact_head_bytes(shape);
  }

  // The addresses are of the caller's memory, which a const store does not own: KvCache hands them on as const.
  std::byte* key_page(std::int32_t slot, std::size_t head) const noexcept {
    return slots_ + (static_cast<std::size_t>(slot) * shape.heads + head) * head_bytes;
  }
  std::byte* value_page(std::int32_t slot, std::size_t head) const noexcept { return key_page(slot, head) + key_page_bytes; }
  std::byte* exact_key(std::size_t sequence, std::size_t head, std::size_t position) const noexcept {
    return exact_ + (sequence * shape.heads + head) * exact_head_bytes(shape) + exact_row(position) * ExactK::row_bytes;
  }
  std::byte* exact_value(std::size_t sequence, std::size_t head, std::size_t position) const noexcept {
    return exact_ + (sequence * shape.heads + head) * exact_head_bytes(shape) + exact_keys_bytes(shape) +
           exact_row(position) * ExactV::row_bytes;
  }

  bool is_exact(const PageTable::Sequence& state, std::size_t position) const noexcept {
    return position < shape.sinks || position >= state.exact_begin;
  }
  /// Exact rows from `position` on, itself exact, that follow each other in memory.
  std::size_t exact_run(std::size_t position) const noexcept {
    return position < shape.sinks ? shape.sinks - position : shape.recent - position % shape.recent;
  }
  /// Calls f(position, head) for all that a sequence in this state keeps exact.
  template <class F>
  void for_each_exact(const PageTable::Sequence& state, F f) const noexcept {
    for (std::size_t position = 0; position < state.length; ++position) {
      if (position >= shape.sinks && position < state.exact_begin) position = state.exact_begin;
      for (std::size_t head = 0; position < state.length && head < shape.heads; ++head) f(position, head);
    }
  }

  /// The first row of a sequence's page that is there; where none is, as many as the page has.
  std::size_t first_row(std::size_t sequence, std::size_t page) const noexcept {
    const std::size_t rows = rows_in(page, table.sequence(sequence).length);
    const std::int32_t slot = table.block(sequence, page);
    return slot == PageTable::none ? rows : smaller(rows, table.slot(slot).first);
  }
  /// Calls f(slot, head, row) for all that is there of a sequence's pages.
  template <class F>
  void for_each_packed(std::size_t sequence, F f) const noexcept {
    const std::size_t length = table.sequence(sequence).length;
    for (std::size_t page = 0; page < pages(length); ++page)
      for (std::size_t row = first_row(sequence, page); row < rows_in(page, length); ++row)
        for (std::size_t head = 0; head < shape.heads; ++head) f(table.block(sequence, page), head, row);
  }

  /// A slot for row position % Tokens of the last page, of this sequence alone and row-major; none if there is no free one.
  std::int32_t open(std::size_t sequence, std::size_t position) noexcept {
    const std::size_t page = position / Tokens, row = position % Tokens;
    if (table.block(sequence, page) == PageTable::none) return table.take(sequence, page, row);
    const std::int32_t slot = own(sequence, page);
    if (slot == PageTable::none) return slot;
    if (table.slot(slot).interleaved) change_form(slot);
    table.slot(slot).first = static_cast<std::uint32_t>(smaller(table.slot(slot).first, row));
    return slot;
  }

  /// The slot of a resident page, after making it this sequence's alone; none if that takes a free one and there is none.
  std::int32_t own(std::size_t sequence, std::size_t page) noexcept {
    const std::int32_t slot = table.block(sequence, page);
    if (table.slot(slot).references == 1) return slot;
    const std::int32_t copy = table.take(sequence, page, table.slot(slot).first);
    if (copy == PageTable::none) return copy;
    table.slot(copy).interleaved = table.slot(slot).interleaved;
    std::memcpy(key_page(copy, 0), key_page(slot, 0), shape.heads * head_bytes);
    table.drop(slot);
    return copy;
  }

  /// Interleaves the keys of a full page, if that is what the cache does.
  void close(std::int32_t slot) noexcept {
    if (interleaves(shape) && !table.slot(slot).interleaved) change_form(slot);
  }

  /// Packs one token, keys and values [head][dim].
  template <Real T>
  Status encode(std::int32_t slot, std::size_t row, const T* keys, const T* values) const noexcept {
    for (std::size_t head = 0; head < shape.heads; ++head, keys += K::dim, values += V::dim) {
      const std::span<const T> key(keys, K::dim), value(values, V::dim);
      Planes to = KeyPage::rows(key_page(slot, head), row, 1);
      std::byte code[KeyPage::has_interleaved ? K::code_bytes : 1];
      if (table.slot(slot).interleaved) to.codes = code;
      if (const Status status = key_codec.encode_rows(key, to).status; status != Status::ok) return status;
      if constexpr (KeyPage::has_interleaved)
        if (table.slot(slot).interleaved) KeyPage::scatter_row(code, key_page(slot, head), row);
      const Status status = value_codec.encode_rows(value, ValuePage::rows(value_page(slot, head), row, 1)).status;
      if (status != Status::ok) return status;
    }
    return Status::ok;
  }

  /// The same into the exact store, for a position that has a place there.
  template <Real T>
  Status encode_exact(std::size_t sequence, std::size_t position, const T* keys, const T* values) const noexcept {
    for (std::size_t head = 0; head < shape.heads; ++head, keys += K::dim, values += V::dim) {
      const Rows key{exact_key(sequence, head, position), 1, ExactK::row_bytes};
      const Rows value{exact_value(sequence, head, position), 1, ExactV::row_bytes};
      Status status = exact_key_codec.encode_rows(std::span<const T>(keys, K::dim), key).status;
      if (status == Status::ok) status = exact_value_codec.encode_rows(std::span<const T>(values, V::dim), value).status;
      if (status != Status::ok) return status;
    }
    return Status::ok;
  }

  /// Copies a packed row out, the key's canonical form and then the value's, or in, to a row-major page.
  void load_row(std::int32_t slot, std::size_t head, std::size_t row, std::byte* to) const noexcept {
    const std::byte* keys = key_page(slot, head);
    KeyPage::load_row(keys, row, to);
    if constexpr (KeyPage::has_interleaved)
      if (table.slot(slot).interleaved) KeyPage::gather_row(keys, row, to + K::norm_bytes);
    ValuePage::load_row(value_page(slot, head), row, to + K::row_bytes);
  }
  void store_row(const std::byte* from, std::int32_t slot, std::size_t head, std::size_t row) const noexcept {
    KeyPage::store_row(from, key_page(slot, head), row);
    ValuePage::store_row(from + K::row_bytes, value_page(slot, head), row);
  }

  KvCacheShape shape;
  K key_codec;
  V value_codec;
  ExactK exact_key_codec;
  ExactV exact_value_codec;
  PageTable table;

 private:
  static constexpr bool interleaves(const KvCacheShape& shape) noexcept {
    return KeyPage::has_interleaved && shape.interleave_keys;
  }
  static constexpr std::size_t exact_keys_bytes(const KvCacheShape& shape) noexcept {
    return size_in_lines(size_product(size_sum(shape.sinks, shape.recent), ExactK::row_bytes));
  }
  static constexpr std::size_t exact_head_bytes(const KvCacheShape& shape) noexcept {
    const std::size_t values = size_product(size_sum(shape.sinks, shape.recent), ExactV::row_bytes);
    return size_sum(exact_keys_bytes(shape), size_in_lines(values));
  }

  std::size_t exact_row(std::size_t position) const noexcept {
    return position < shape.sinks ? position : shape.sinks + position % shape.recent;
  }

  /// Row-major keys become interleaved ones, and the other way round.
  void change_form(std::int32_t slot) noexcept {
    if constexpr (KeyPage::has_interleaved) {
      bool& interleaved = table.slot(slot).interleaved;
      for (std::size_t head = 0; head < shape.heads; ++head) {
        std::memcpy(scratch_, key_page(slot, head), KeyPage::bytes);
        if (interleaved) KeyPage::deinterleave(scratch_, key_page(slot, head));
        else KeyPage::interleave(scratch_, key_page(slot, head));
      }
      interleaved = !interleaved;
    }
  }

  std::byte* slots_;
  std::byte* exact_;
  std::byte* scratch_;
};

}  // namespace detail
}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
