// Attention over some of a step's tokens, and the merging of such parts (Flash-Decoding): softmax weights relative to the
// largest score so far, and sums of value rows made with them.
#pragma once

#include "../half.hpp"
#include "../rows.hpp"
#include "attention_queries.hpp"
#include "softmax.hpp"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// What attention over some of the tokens amounts to. One without tokens is neutral in merge.
template <class Cache, std::size_t Group = 16>
class AttentionPartial {
  using K = detail::KeyCodecOf<Cache>;
  using V = detail::ValueCodecOf<Cache>;
  using ExactValue = typename Cache::ExactValue;
  using KeyPage = typename Cache::KeyPage;
  using Queries = AttentionQueries<Cache, Group>;

 public:
  /// How many queries it is about; 0 before the first add.
  std::size_t count() const noexcept { return count_; }

  /// As newly made.
  void clear() noexcept {
    for (std::size_t k = 0; k < count_; ++k) {
      softmax_[k] = {};
      packed_[k] = {};
      exact_[k] = {};
    }
    count_ = 0;
  }

  /// Takes in those of these tokens that the queries see. The queries are the same for all that is added or merged, and a
  /// token must not be added twice. Evicted tokens count as not there. The arithmetic is float: weights times values must
  /// add up within its range.
  void add(const Cache& cache, const Queries& queries, TokenRange tokens) noexcept {
    count_ = count_ > queries.count_ ? count_ : queries.count_;
    for (std::size_t k = 0; k < queries.count_; ++k)
      if (!queries.finite_[k]) softmax_[k].sum = std::numeric_limits<float>::quiet_NaN();
    const TokenRange visible = queries.tokens_;
    const std::size_t begin = tokens.begin > visible.begin ? tokens.begin : visible.begin;
    const std::size_t end = tokens.end < visible.end ? tokens.end : visible.end;
    if (begin >= end || queries.count_ == 0) return;

    float scores[block_scores];
    const Step step{cache, queries, scores};
    cache.segments(queries.sequence_, queries.head_, begin, end, [&](const auto& segment) noexcept {
      if (segment.exact)
        add_rows(step, cache.exact_key_codec(), queries.exact_, segment.keys, cache.exact_value_codec(), segment.values,
                 exact_);
      else if (segment.interleaved) add_interleaved(step, segment);
      else add_rows(step, cache.key_codec(), queries.packed_, segment.keys, cache.value_codec(), segment.values, packed_);
    });
  }
  /// All of them.
  void add(const Cache& cache, const Queries& queries) noexcept { add(cache, queries, queries.tokens_); }

  /// Takes in what `other` took in. Any order gives the same up to float rounding.
  void merge(const AttentionPartial& other) noexcept {
    count_ = count_ > other.count_ ? count_ : other.count_;
    for (std::size_t k = 0; k < other.count_; ++k) {
      if (other.softmax_[k].empty()) continue;
      const detail::Softmax::Factors factors = softmax_[k].merge(other.softmax_[k]);
      detail::combine(factors.mine, packed_[k], factors.other, other.packed_[k]);
      detail::combine(factors.mine, exact_[k], factors.other, other.exact_[k]);
    }
  }

  /// output: [count(), V::dim], row-major. Zeros where no token was seen. size_mismatch: output is of another size; nothing
  /// was written.
  template <Real T>
  [[nodiscard]] Status finish(const Cache& cache, std::span<T> output) const noexcept {
    if (output.size() != count_ * V::dim) return Status::size_mismatch;
    for (std::size_t k = 0; k < count_; ++k) {
      float packed[V::dim], exact[V::dim];
      cache.value_codec().finish(packed_[k], std::span<float, V::dim>(packed));
      cache.exact_value_codec().finish(exact_[k], std::span<float, V::dim>(exact));
      const float inverse = softmax_[k].empty() ? 0.0f : 1.0f / softmax_[k].sum;
      for (std::size_t i = 0; i < V::dim; ++i) output[k * V::dim + i] = saturate_to<T>((packed[i] + exact[i]) * inverse);
    }
    return Status::ok;
  }

  /// The logarithm of the sum of exp(score) over the tokens seen, by which attention over other tokens can be merged with
  /// this: outputs weigh as exp(log_sum_exp) do. -infinity where no token was seen. k < Group.
  float log_sum_exp(std::size_t k) const noexcept { return softmax_[k].log_sum_exp(); }

 private:
  /// Scores of a block, 2 KB of stack: 64 tokens for up to 8 queries, 32 for up to 16.
  static constexpr std::size_t block_scores = 512;
  static constexpr std::size_t gathered_bytes = K::code_bytes > 1024 ? K::code_bytes : 1024;

  struct Step {
    const Cache& cache;
    const Queries& queries;
    float* scores;
  };

  /// Scores of n queries from `first` on, [n, values.count], to weights, and those to sums: `sums` are packed_ or exact_.
  template <class C, class A>
  void add_weighted(const Step& step, std::size_t first, std::size_t n, const C& codec, ConstPlanes values,
                    A* sums) noexcept {
    for (std::size_t k = first; k < first + n; ++k) {
      const float factor = softmax_[k].take(step.scores + (k - first) * values.count, values.count, step.queries.scale_,
                                            step.queries.soft_cap_);
      if (factor == 1.0f) continue;
      detail::scale(factor, packed_[k]);
      detail::scale(factor, exact_[k]);
    }
    [[maybe_unused]] const Status status =
        codec.accumulate_rows(std::span<const float>(step.scores, n * values.count), values, std::span<A>(sums + first, n),
                              step.queries.arithmetic_);
    assert(status == Status::ok);
  }

  template <class KeyC, class ValueC>
  void add_rows(const Step& step, const KeyC& key_codec, const typename KeyC::Query* queries, ConstPlanes keys,
                const ValueC& value_codec, ConstPlanes values, typename ValueC::Accumulator* sums) noexcept {
    const std::size_t n = step.queries.count_;
    const std::size_t most = n <= block_scores / 64 ? 64 : 32;
    for (std::size_t i = 0, count; i < values.count; i += count) {
      count = values.count - i < most ? values.count - i : most;
      [[maybe_unused]] const Status status =
          key_codec.score_rows(std::span<const typename KeyC::Query>(queries, n), keys.rows(i, count),
                               std::span<float>(step.scores, n * count), step.queries.arithmetic_);
      assert(status == Status::ok);
      add_weighted(step, 0, n, value_codec, values.rows(i, count), sums);
    }
  }

  template <class Segment>
  void add_interleaved(const Step& step, const Segment& segment) noexcept {
    if constexpr (detail::has_tiles<Cache>)
      if (step.queries.tabulated_) return add_tile(step, segment);
    if constexpr (KeyPage::has_interleaved) add_gathered(step, segment);
  }

  /// The whole page is scored, and of that what belongs to the segment taken.
  template <class Segment>
  void add_tile(const Step& step, const Segment& segment) noexcept {
    constexpr std::size_t tokens = detail::tile_tokens, most = block_scores / tokens;
    for (std::size_t k = 0, n; k < step.queries.count_; k += n) {
      n = step.queries.count_ - k < most ? step.queries.count_ - k : most;
      step.cache.key_codec().score_tile(step.queries.tile + k, n, segment.key_page, segment.key_page + KeyPage::norms_at,
                                        step.scores, tokens);
      for (std::size_t j = 0; j < n && segment.count < tokens; ++j)
        for (std::size_t t = 0; t < segment.count; ++t)
          step.scores[j * segment.count + t] = step.scores[j * tokens + segment.row_in_page + t];
      add_weighted(step, k, n, step.cache.value_codec(), segment.values, packed_);
    }
  }

  /// Few tokens, or exact arithmetic: rows of an interleaved page, copied out some at a time.
  template <class Segment>
  void add_gathered(const Step& step, const Segment& segment) noexcept {
    std::byte codes[gathered_bytes];
    constexpr std::size_t most = gathered_bytes / K::code_bytes, width = KeyPage::tile_bytes;
    constexpr std::size_t whole = K::code_bytes / width * width;
    for (std::size_t i = 0, count; i < segment.count; i += count) {
      count = segment.count - i < most ? segment.count - i : most;
      const std::size_t first = segment.row_in_page + i;
      for (std::size_t t = 0; t < count; ++t) {
        std::byte* const to = codes + t * K::code_bytes;
        for (std::size_t at = 0; at < whole; at += width)
          std::memcpy(to + at, segment.key_page + KeyPage::interleaved(first + t, at), width);
        if constexpr (whole < K::code_bytes)
          std::memcpy(to + whole, segment.key_page + KeyPage::interleaved(first + t, whole), K::code_bytes - whole);
      }
      ConstPlanes keys = KeyPage::rows(segment.key_page, first, count);  // the norms are where they always are
      keys.codes = codes;
      keys.code_stride = K::code_bytes;
      add_rows(step, step.cache.key_codec(), step.queries.packed_, keys, step.cache.value_codec(),
               segment.values.rows(i, count), packed_);
    }
  }

  std::size_t count_ = 0;
  detail::Softmax softmax_[Group];
  typename V::Accumulator packed_[Group];
  typename ExactValue::Accumulator exact_[Group];
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
