// What a step of decode attention starts from: its options, the tokens that they let it see, its queries made ready.
#pragma once

#include "../arithmetic.hpp"
#include "../half.hpp"
#include "../rows.hpp"

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace kvcodec {

/// What a step attends to, and how.
struct AttentionOptions {
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  float scale = 0;           ///< of the scores; 0: 1/sqrt(K::dim)
  float soft_cap = 0;        ///< scores become soft_cap * tanh(score / soft_cap), after the scale; 0: they stay
  std::size_t window = 0;    ///< of the tokens before `length`, only the last so many are seen; 0: all
  std::size_t length = all;  ///< only tokens before this position are seen, the query's being length - 1; all: what is there
  Arithmetic arithmetic = Arithmetic::fastest;
};

/// Tokens begin to end - 1.
struct TokenRange {
  std::size_t begin = 0, end = 0;

  constexpr std::size_t size() const noexcept { return end > begin ? end - begin : 0; }
  friend constexpr bool operator==(const TokenRange&, const TokenRange&) = default;
};

inline namespace KVCODEC_ISA_NAMESPACE {

/// What the options let a query see of so many tokens.
constexpr TokenRange visible_tokens(std::size_t cached, const AttentionOptions& options) noexcept {
  const std::size_t length = options.length == AttentionOptions::all ? cached : options.length;
  const std::size_t end = length < cached ? length : cached;
  const std::size_t begin = options.window == 0 || options.window >= length ? 0 : length - options.window;
  return {begin < end ? begin : end, end};
}

namespace detail {

template <class Cache>
using KeyCodecOf = std::remove_cvref_t<decltype(std::declval<const Cache&>().key_codec())>;
template <class Cache>
using ValueCodecOf = std::remove_cvref_t<decltype(std::declval<const Cache&>().value_codec())>;

/// Tokens of the pages that score_tile reads, and where making its tables pays: they cost about what scoring some hundred
/// tokens does, and save most of that a page.
inline constexpr std::size_t tile_tokens = 64;
inline constexpr std::size_t tabulate_from_tokens = 512;

/// Keys in interleaved pages can be scored as they lie, by tables made of a query:
///   void tabulate_row(const Query&, TileQuery&) const noexcept;
///   void score_tile(const TileQuery* queries, std::size_t n, const std::byte* codes, const std::byte* norms, float* scores,
///                   std::size_t stride) const noexcept;       // n <= 8; scores[k * stride + t] of query k and token t
template <class K>
concept TileCodec = requires(const K& codec, const typename K::Query& query, typename K::TileQuery& tile,
                             const std::byte* bytes, float* scores) {
  { codec.tabulate_row(query, tile) } noexcept;
  { codec.score_tile(&tile, std::size_t{1}, bytes, bytes, scores, tile_tokens) } noexcept;
};
template <class Cache>
inline constexpr bool has_tiles =
    TileCodec<KeyCodecOf<Cache>> && Cache::KeyPage::has_interleaved && Cache::KeyPage::tokens == tile_tokens;

template <class Cache, std::size_t Group, bool Exist = has_tiles<Cache>>
struct TileQueries {};
template <class Cache, std::size_t Group>
struct TileQueries<Cache, Group, true> {
  typename KeyCodecOf<Cache>::TileQuery tile[Group];
};

}  // namespace detail

template <class Cache, std::size_t Group>
class AttentionPartial;

/// A step of one sequence and key-value head: a group's queries, rotated for packed keys, plain for exact ones, tabulated
/// for interleaved pages where that pays.
template <class Cache, std::size_t Group = 16>
class AttentionQueries : detail::TileQueries<Cache, Group> {  // a base, since it is mostly empty
  using K = detail::KeyCodecOf<Cache>;
  static_assert(Group >= 1 && Group <= K::max_group, "kvcodec: a group is 1 to 16 queries");

 public:
  std::size_t count() const noexcept { return count_; }

  /// The tokens that the step is about, as the cache was when it was prepared; evicted ones included.
  TokenRange tokens() const noexcept { return tokens_; }

  /// Part i of n about equal ones of those tokens, i < n, cut between pages. It may be empty.
  TokenRange part(std::size_t i, std::size_t n) const noexcept {
    constexpr std::size_t page = Cache::tokens_per_page;
    const std::size_t first = tokens_.begin / page, pages = (tokens_.end + page - 1) / page - first;
    const auto cut = [&](std::size_t at) {
      const std::size_t token = (first + pages * at / n) * page;
      return token < tokens_.begin ? tokens_.begin : token < tokens_.end ? token : tokens_.end;
    };
    return {cut(i), cut(i + 1)};
  }

  /// q: [n, K::dim], row-major, 1 <= n <= Group. Anything but ok leaves no queries: size_mismatch, q is not of such a size;
  /// out_of_range, there is no such sequence or head; non_finite, scale or soft_cap is not finite or their ratio is not.
  /// A query with a NaN or an infinity is no error: its output and log-sum-exp will be NaN, and no other's.
  template <Real T>
  [[nodiscard]] Status prepare(const Cache& cache, std::size_t sequence, std::size_t head, std::span<const T> q,
                               const AttentionOptions& options = {}) noexcept {
    count_ = 0;
    if (q.empty() || q.size() % K::dim != 0 || q.size() / K::dim > Group) return Status::size_mismatch;
    if (sequence >= cache.shape().sequences || head >= cache.heads()) return Status::out_of_range;
    scale_ = options.scale == 0 ? static_cast<float>(1 / constant_sqrt(K::dim)) : options.scale;
    soft_cap_ = options.soft_cap;
    if (!is_finite(scale_) || !is_finite(soft_cap_) || (soft_cap_ != 0 && !is_finite(scale_ / soft_cap_)))
      return Status::non_finite;
    sequence_ = sequence;
    head_ = head;
    tokens_ = visible_tokens(cache.length(sequence), options);
    arithmetic_ = options.arithmetic;
    count_ = q.size() / K::dim;
    for (std::size_t k = 0; k < count_; ++k) {
      float x[K::dim];
      bool finite = true;
      for (std::size_t i = 0; i < K::dim; ++i) {
        x[i] = to_float(q[k * K::dim + i]);
        finite = finite && is_finite(x[i]);
      }
      // Kernels that round queries to integers need not expect what has none.
      for (std::size_t i = 0; i < K::dim && !finite; ++i) x[i] = 0;
      finite_[k] = finite;
      packed_[k] = cache.key_codec().prepare(std::span<const float, K::dim>(x));
      exact_[k] = cache.exact_key_codec().prepare(std::span<const float, K::dim>(x));
    }
    tabulated_ = false;
    if constexpr (detail::has_tiles<Cache>) {
      tabulated_ = arithmetic_ == Arithmetic::fastest && cache.shape().interleave_keys &&
                   tokens_.size() >= detail::tabulate_from_tokens;
      for (std::size_t k = 0; k < count_ && tabulated_; ++k) cache.key_codec().tabulate_row(packed_[k], this->tile[k]);
    }
    return Status::ok;
  }

 private:
  friend class AttentionPartial<Cache, Group>;

  std::size_t count_ = 0, sequence_ = 0, head_ = 0;
  TokenRange tokens_;
  float scale_ = 0, soft_cap_ = 0;
  Arithmetic arithmetic_ = Arithmetic::fastest;
  bool tabulated_ = false;
  bool finite_[Group];
  typename K::Query packed_[Group];
  typename Cache::ExactKey::Query exact_[Group];
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
