// A paged key-value cache of packed rows over memory that the caller gives. Nothing here allocates but errors' texts.
//
// A slot is a physical page: Tokens consecutive tokens of all heads, for every head a page of keys and a page of values
// (page.hpp), 64-byte aligned. A sequence is a table of slots, -1 where its page is not resident. Sequences may share slots;
// whoever writes to a shared one gets a copy first.
//
// The page that grows is row-major, so that append, overwrite and truncate are byte operations; once full its keys are
// interleaved where the shape asks for that, and stay so, should truncate or share cut the page, until it grows again.
//
// Every token is packed when it is appended. The first `sinks` tokens of a sequence and its last `recent` are kept exact as
// well, the latter in a ring, position % recent; a token that leaves the window is then read in its packed form.
//
// One thread may write; any number may read while none writes.
#pragma once

#include "../concepts.hpp"
#include "../half.hpp"
#include "../result.hpp"
#include "../rows.hpp"
#include "../uncompressed.hpp"
#include "kv_cache_store.hpp"
#include "page.hpp"
#include "page_table.hpp"
#include "saved_sequence.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace kvcodec {

/// What append answers. When status is not ok, token number `appended` of the batch is the one that could not be stored.
struct AppendResult {
  Status status = Status::ok;
  std::size_t appended = 0;  ///< tokens of the batch that are now in the sequence

  friend constexpr bool operator==(const AppendResult&, const AppendResult&) = default;
};

/// Consecutive tokens of one sequence and head, as they lie in memory. exact: rows of the cache's exact codecs; else rows of
/// its key and value codecs, in one page.
struct Segment {
  std::size_t first = 0;  ///< position of the first token
  std::size_t count = 0;
  bool exact = false;
  bool interleaved = false;     ///< the keys are rows row_in_page and on of the interleaved page at key_page; keys is empty
  std::size_t row_in_page = 0;  ///< 0 where exact
  ConstPlanes keys, values;
  const std::byte* key_page = nullptr;  ///< null where exact
};

inline namespace KVCODEC_ISA_NAMESPACE {

/// K, V: codecs of keys and values, independent of each other. Exact<d>: the codec of tokens that are kept exact. Tokens: of
/// a page. Positions, sequences and heads count from 0; rows given to append and overwrite are [token][head][dim].
template <KeyCodec K, ValueCodec V, template <std::size_t> class Exact = Float16, std::size_t Tokens = 64>
class KvCache {
  using Store = detail::KvCacheStore<K, V, Exact<K::dim>, Exact<V::dim>, Tokens>;
  using Saved = detail::SavedSequence;
  using Sequence = detail::PageTable::Sequence;
  static constexpr std::int32_t none = detail::PageTable::none;

 public:
  using KeyPage = PageLayout<K, Tokens>;
  using ValuePage = PageLayout<V, Tokens>;
  using ExactKey = Exact<K::dim>;
  using ExactValue = Exact<V::dim>;
  static constexpr std::size_t tokens_per_page = Tokens;

  /// Bytes of memory that a cache of this shape needs; the largest std::size_t where no memory is large enough.
  static constexpr std::size_t bytes(const KvCacheShape& shape) noexcept { return Store::bytes(shape); }

  /// A cache of empty sequences. memory: at least bytes(shape) bytes, 64-byte aligned, for as long as the cache lives;
  /// what it holds does not matter. The error says what is wrong with the shape or the memory.
  static Result<KvCache> create(const KvCacheShape& shape, std::span<std::byte> memory, const K& keys = K(0),
                                const V& values = V(0)) {
    if (shape.sequences == 0 || shape.heads == 0) return error("a cache needs at least one sequence and one head");
    for (const std::size_t size : {shape.sequences, shape.heads, shape.slots, shape.max_tokens, shape.sinks, shape.recent})
      if (size > 0x7fffffff) return error("a cache's sequences, heads, slots and tokens are at most 2^31 - 1 each");
    if (reinterpret_cast<std::uintptr_t>(memory.data()) % 64 != 0) return error("a cache's memory must be 64-byte aligned");
    if (memory.size() < bytes(shape))
      return error(std::to_string(memory.size()) + " bytes of memory for a cache that needs " +
                   std::to_string(bytes(shape)));
    return KvCache(shape, memory.data(), keys, values);
  }

  // Two caches over one memory would not know of each other's pages.
  KvCache(KvCache&&) noexcept = default;
  KvCache& operator=(KvCache&&) noexcept = default;
  KvCache(const KvCache&) = delete;
  KvCache& operator=(const KvCache&) = delete;

  const KvCacheShape& shape() const noexcept { return store_.shape; }
  std::size_t heads() const noexcept { return store_.shape.heads; }
  const K& key_codec() const noexcept { return store_.key_codec; }
  const V& value_codec() const noexcept { return store_.value_codec; }
  const ExactKey& exact_key_codec() const noexcept { return store_.exact_key_codec; }
  const ExactValue& exact_value_codec() const noexcept { return store_.exact_value_codec; }
  std::size_t free_slots() const noexcept { return store_.table.free_count(); }

  /// Tokens of a sequence, evicted ones included; 0 for no such sequence.
  std::size_t length(std::size_t sequence) const noexcept {
    return exists(sequence) ? store_.table.sequence(sequence).length : 0;
  }
  /// The slot of each page of a sequence, -1 where it is not resident.
  std::span<const std::int32_t> block_table(std::size_t sequence) const noexcept {
    if (!exists(sequence)) return {};
    return store_.table.blocks(sequence, Store::pages(length(sequence)));
  }

  /// Appends tokens, keys.size() / (heads * K::dim) of them. The first that cannot be stored ends it: non_finite (a NaN or
  /// an infinity in any of its heads), out_of_range (the sequence has max_tokens), out_of_pages. Those before it are kept.
  [[nodiscard]] AppendResult append(std::size_t sequence, std::span<const float> keys,
                                    std::span<const float> values) noexcept {
    return append_tokens(sequence, keys, values);
  }
  [[nodiscard]] AppendResult append(std::size_t sequence, std::span<const float16> keys,
                                    std::span<const float16> values) noexcept {
    return append_tokens(sequence, keys, values);
  }
  [[nodiscard]] AppendResult append(std::size_t sequence, std::span<const bfloat16> keys,
                                    std::span<const bfloat16> values) noexcept {
    return append_tokens(sequence, keys, values);
  }

  /// Replaces one token; of an evicted one that is still kept exact, that. Anything but ok leaves it as it was.
  [[nodiscard]] Status overwrite(std::size_t sequence, std::size_t position, std::span<const float> keys,
                                 std::span<const float> values) noexcept {
    return overwrite_token(sequence, position, keys, values);
  }
  [[nodiscard]] Status overwrite(std::size_t sequence, std::size_t position, std::span<const float16> keys,
                                 std::span<const float16> values) noexcept {
    return overwrite_token(sequence, position, keys, values);
  }
  [[nodiscard]] Status overwrite(std::size_t sequence, std::size_t position, std::span<const bfloat16> keys,
                                 std::span<const bfloat16> values) noexcept {
    return overwrite_token(sequence, position, keys, values);
  }

  /// Forgets the tokens from `length` on, as after a rejected speculation. out_of_range: the sequence is shorter. Tokens
  /// that had left the window of exact ones do not come back into it.
  [[nodiscard]] Status truncate(std::size_t sequence, std::size_t length) noexcept {
    if (!exists(sequence) || length > store_.table.sequence(sequence).length) return Status::out_of_range;
    Sequence& state = store_.table.sequence(sequence);
    for (std::size_t page = Store::pages(length); page < Store::pages(state.length); ++page)
      store_.table.release(sequence, page);
    state = {length, Store::smaller(state.exact_begin, length)};
    return Status::ok;
  }
  [[nodiscard]] Status clear(std::size_t sequence) noexcept { return truncate(sequence, 0); }

  /// Makes `to`, whatever it held, the first prefix_tokens tokens of `from`. Their pages are not copied until written to.
  [[nodiscard]] Status share(std::size_t from, std::size_t to, std::size_t prefix_tokens) noexcept {
    if (!exists(from) || !exists(to) || prefix_tokens > length(from)) return Status::out_of_range;
    if (from == to) return truncate(to, prefix_tokens);
    (void)clear(to);
    for (std::size_t page = 0; page < Store::pages(prefix_tokens); ++page) store_.table.share(from, to, page);
    Sequence& state = store_.table.sequence(to);
    state = {prefix_tokens, Store::smaller(store_.table.sequence(from).exact_begin, prefix_tokens)};
    store_.for_each_exact(state, [&](std::size_t position, std::size_t head) {
      std::memcpy(store_.exact_key(to, head, position), store_.exact_key(from, head, position), ExactKey::row_bytes);
      std::memcpy(store_.exact_value(to, head, position), store_.exact_value(from, head, position), ExactValue::row_bytes);
    });
    return Status::ok;
  }

  /// Gives up a sequence's page, which readers skip from then on but for tokens that are kept exact. Tokens appended to an
  /// evicted page are resident again.
  [[nodiscard]] Status evict(std::size_t sequence, std::size_t page) noexcept {
    if (page >= block_table(sequence).size()) return Status::out_of_range;
    store_.table.release(sequence, page);
    return Status::ok;
  }

  /// Calls visit(const Segment&) for what is resident of tokens begin to end - 1, cut to the sequence's length, in order of
  /// position. No such sequence or head: no segments.
  template <class Visit>
  void segments(std::size_t sequence, std::size_t head, std::size_t begin, std::size_t end, Visit visit) const noexcept {
    if (!exists(sequence) || head >= heads()) return;
    const Sequence& state = store_.table.sequence(sequence);
    end = Store::smaller(end, state.length);
    for (std::size_t at = begin, next; at < end; at = next) {
      if (store_.is_exact(state, at)) {
        next = at + Store::smaller(end - at, store_.exact_run(at));
        const ConstRows keys(store_.exact_key(sequence, head, at), next - at, ExactKey::row_bytes);
        const ConstRows values(store_.exact_value(sequence, head, at), next - at, ExactValue::row_bytes);
        visit(Segment{at, next - at, true, false, 0, ExactKey::planes(keys), ExactValue::planes(values), nullptr});
        continue;
      }
      const std::size_t page = at / Tokens, page_begin = page * Tokens;
      next = Store::smaller(Store::smaller(end, state.exact_begin), page_begin + Tokens);
      const std::size_t row = Store::larger(at - page_begin, store_.first_row(sequence, page));
      if (page_begin + row >= next) continue;
      const std::int32_t slot = store_.table.block(sequence, page);
      const bool interleaved = store_.table.slot(slot).interleaved;
      const std::size_t count = next - page_begin - row;
      const std::byte *keys = store_.key_page(slot, head), *values = store_.value_page(slot, head);
      visit(Segment{page_begin + row, count, false, interleaved, row,
                    interleaved ? ConstPlanes() : KeyPage::rows(keys, row, count), ValuePage::rows(values, row, count),
                    keys});
    }
  }

  /// Bytes that save writes for a sequence; 0 for no such sequence.
  std::size_t saved_bytes(std::size_t sequence) const noexcept {
    if (!exists(sequence)) return 0;
    std::size_t rows = 0;
    for (std::size_t page = 0; page < Store::pages(length(sequence)); ++page)
      rows += Store::rows_in(page, length(sequence)) - store_.first_row(sequence, page);
    return saved_bytes(store_.table.sequence(sequence), rows);
  }

  /// Writes a sequence: canonical rows behind the descriptors of their codecs (saved_sequence.hpp). size_mismatch: out is
  /// not saved_bytes(sequence) long.
  [[nodiscard]] Status save(std::size_t sequence, std::span<std::byte> out) const noexcept {
    if (!exists(sequence)) return Status::out_of_range;
    if (out.size() != saved_bytes(sequence)) return Status::size_mismatch;
    const Sequence& state = store_.table.sequence(sequence);
    for_each_codec([&](std::size_t i, const char*, const auto& codec) { Saved::store_descriptor(codec, i, out.data()); });
    header(state).store(out.data() + Saved::header_at);
    std::byte* to = out.data() + Saved::front_bytes(0);
    for (std::size_t page = 0; page < Store::pages(state.length); ++page, to += 4) {
      const std::size_t first = store_.first_row(sequence, page);
      const bool empty = first == Store::rows_in(page, state.length);
      detail::store_little_endian(empty ? Saved::no_row : static_cast<std::uint32_t>(first), to);
    }
    store_.for_each_packed(sequence, [&](std::int32_t slot, std::size_t head, std::size_t row) {
      store_.load_row(slot, head, row, to);
      to += Store::packed_bytes;
    });
    store_.for_each_exact(state, [&](std::size_t position, std::size_t head) {
      std::memcpy(to, store_.exact_key(sequence, head, position), ExactKey::row_bytes);
      std::memcpy(to + ExactKey::row_bytes, store_.exact_value(sequence, head, position), ExactValue::row_bytes);
      to += Store::exact_bytes;
    });
    return Status::ok;
  }

  /// Makes a sequence what save wrote, by this cache or another of the same codecs, heads, Tokens, sinks and recent. The
  /// error says why not, and leaves the sequence as it was. Rows are not checked: any bytes are a row. Only an error
  /// allocates.
  Result<void> restore(std::size_t sequence, std::span<const std::byte> in) {
    if (!exists(sequence)) return error("no sequence " + std::to_string(sequence) + " in the cache");
    const Result<Saved> saved = Saved::load(in, header({}));
    if (!saved.ok()) return error(saved.message());
    std::string refusal;
    for_each_codec(
        [&](std::size_t i, const char* whose, const auto& codec) { Saved::check(codec, i, whose, in.data(), refusal); });
    if (!refusal.empty()) return error(std::move(refusal));
    if (saved->length > shape().max_tokens)
      return error(std::to_string(saved->length) + " saved tokens, and sequences have at most " +
                   std::to_string(shape().max_tokens));
    const Sequence state{static_cast<std::size_t>(saved->length), static_cast<std::size_t>(saved->exact_begin)};
    const std::size_t pages = Store::pages(state.length);
    if (in.size() < Saved::front_bytes(pages)) return error("saved sequence: cut short");
    const auto first_row = [&](std::size_t page) {
      return detail::load_little_endian<std::uint32_t>(in.data() + Saved::front_bytes(page));
    };
    std::size_t needed = 0, rows = 0, available = free_slots();
    for (std::size_t page = 0; page < pages; ++page) {
      if (first_row(page) == Saved::no_row) continue;
      const std::size_t rows_in = Store::rows_in(page, state.length);
      if (first_row(page) >= rows_in) return error("saved sequence: a page that begins past its end");
      ++needed;
      rows += rows_in - first_row(page);
    }
    for (const std::int32_t slot : block_table(sequence))
      available += slot != none && store_.table.slot(slot).references == 1;
    if (needed > available)
      return error("saved sequence: it needs " + std::to_string(needed) + " pages, and " + std::to_string(available) +
                   " are free");
    if (in.size() != saved_bytes(state, rows))
      return error("saved sequence: " + std::to_string(in.size()) + " bytes instead of " +
                   std::to_string(saved_bytes(state, rows)));

    (void)clear(sequence);
    store_.table.sequence(sequence) = state;
    for (std::size_t page = 0; page < pages; ++page)
      if (first_row(page) != Saved::no_row) (void)store_.table.take(sequence, page, first_row(page));
    const std::byte* from = in.data() + Saved::front_bytes(pages);
    store_.for_each_packed(sequence, [&](std::int32_t slot, std::size_t head, std::size_t row) {
      store_.store_row(from, slot, head, row);
      from += Store::packed_bytes;
    });
    store_.for_each_exact(state, [&](std::size_t position, std::size_t head) {
      std::memcpy(store_.exact_key(sequence, head, position), from, ExactKey::row_bytes);
      std::memcpy(store_.exact_value(sequence, head, position), from + ExactKey::row_bytes, ExactValue::row_bytes);
      from += Store::exact_bytes;
    });
    for (std::size_t page = 0; page < state.length / Tokens; ++page)
      if (const std::int32_t slot = store_.table.block(sequence, page); slot != none) store_.close(slot);
    return {};
  }

 private:
  KvCache(const KvCacheShape& shape, std::byte* memory, const K& keys, const V& values) noexcept
      : store_(shape, memory, keys, values) {}

  bool exists(std::size_t sequence) const noexcept { return sequence < store_.shape.sequences; }

  template <Real T>
  static bool all_finite(std::span<const T> x) noexcept {
    bool finite = true;
    for (std::size_t i = 0; i < x.size(); ++i) finite &= is_finite(to_float(x[i]));
    return finite;
  }

  template <Real T>
  AppendResult append_tokens(std::size_t sequence, std::span<const T> keys, std::span<const T> values) noexcept {
    if (!exists(sequence)) return {Status::out_of_range, 0};
    const std::size_t key_size = heads() * K::dim, value_size = heads() * V::dim, count = keys.size() / key_size;
    if (keys.size() % key_size != 0 || values.size() % value_size != 0 || values.size() / value_size != count)
      return {Status::size_mismatch, 0};
    for (std::size_t i = 0; i < count; ++i) {
      const Status status =
          append_token(sequence, keys.subspan(i * key_size, key_size), values.subspan(i * value_size, value_size));
      if (status != Status::ok) return {status, i};
    }
    return {Status::ok, count};
  }

  template <Real T>
  Status append_token(std::size_t sequence, std::span<const T> keys, std::span<const T> values) noexcept {
    Sequence& state = store_.table.sequence(sequence);
    const std::size_t position = state.length, row = position % Tokens;
    if (position >= shape().max_tokens) return Status::out_of_range;
    if (!all_finite(keys) || !all_finite(values)) return Status::non_finite;
    const std::int32_t slot = store_.open(sequence, position);
    if (slot == none) return Status::out_of_pages;
    Status status = store_.encode(slot, row, keys.data(), values.data());
    if (status == Status::ok && (position < shape().sinks || shape().recent > 0))
      status = store_.encode_exact(sequence, position, keys.data(), values.data());
    if (status != Status::ok) {
      if (row == 0) store_.table.release(sequence, position / Tokens);
      return status;
    }
    state.length = position + 1;
    state.exact_begin = Store::larger(state.exact_begin, state.length - Store::smaller(state.length, shape().recent));
    if (row == Tokens - 1) store_.close(slot);
    return Status::ok;
  }

  template <Real T>
  Status overwrite_token(std::size_t sequence, std::size_t position, std::span<const T> keys,
                         std::span<const T> values) noexcept {
    if (position >= length(sequence)) return Status::out_of_range;
    if (keys.size() != heads() * K::dim || values.size() != heads() * V::dim) return Status::size_mismatch;
    if (!all_finite(keys) || !all_finite(values)) return Status::non_finite;
    const std::size_t page = position / Tokens, row = position % Tokens;
    const bool exact = store_.is_exact(store_.table.sequence(sequence), position);
    const bool resident = row >= store_.first_row(sequence, page);
    if (!exact && !resident) return Status::not_resident;
    Status status = Status::ok;
    if (resident) {
      const std::int32_t slot = store_.own(sequence, page);
      if (slot == none) return Status::out_of_pages;
      status = store_.encode(slot, row, keys.data(), values.data());
    }
    if (exact && status == Status::ok) status = store_.encode_exact(sequence, position, keys.data(), values.data());
    return status;
  }

  /// For a sequence in this state with so many packed tokens.
  std::size_t saved_bytes(const Sequence& state, std::size_t packed) const noexcept {
    std::size_t exact_rows = 0;
    store_.for_each_exact(state, [&](std::size_t, std::size_t) { ++exact_rows; });
    return Saved::front_bytes(Store::pages(state.length)) + packed * heads() * Store::packed_bytes +
           exact_rows * Store::exact_bytes;
  }
  Saved header(const Sequence& state) const noexcept {
    const auto narrow = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
    return {narrow(heads()), narrow(Tokens), narrow(shape().sinks), narrow(shape().recent), state.length, state.exact_begin};
  }
  /// Calls f(i, whose, codec) for the codecs in the order of the saved descriptors.
  template <class F>
  void for_each_codec(F f) const {
    f(0, "keys", store_.key_codec);
    f(1, "values", store_.value_codec);
    f(2, "exact keys", store_.exact_key_codec);
    f(3, "exact values", store_.exact_value_codec);
  }

  Store store_;
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
