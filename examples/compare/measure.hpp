// Measures every candidate on every head: what it loses, what attention makes of that, and how long it takes.
#pragma once

#include "adjusted.hpp"
#include "candidates.hpp"
#include "input.hpp"

#include "kvcodec/quality/attention.hpp"
#include "kvcodec/quality/distortion.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace compare {

namespace quality = kvcodec::quality;

struct Spread {
  double mean = 0, worst = 0;
};

/// One line of the table.
struct Measurement {
  Candidate candidate;
  quality::Distortion keys;
  std::optional<quality::Distortion> values;
  Spread score_error;                   ///< |<q, k> - coded score|, not scaled, over the keys each query sees
  std::optional<double> output_error;   ///< |o - o'| / |o|, mean over queries, weights and values both coded
  Spread divergence;                    ///< KL of the attention, nats
  double top5_recall = 0;               ///< mean over queries
  double encode_ns = 0, decode_ns = 0;  ///< a row
};

namespace detail {

class SpreadSum {
 public:
  void add(double x) noexcept {
    sum_ += x;
    if (!(x <= worst_)) worst_ = x;  // a NaN is the worst there is, and stays
    ++count_;
  }
  Spread spread() const noexcept { return {count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_), worst_}; }

 private:
  double sum_ = 0, worst_ = 0;
  std::size_t count_ = 0;
};

/// Attention of one query over what was not coded.
struct Reference {
  std::vector<double> scores, log_weights, output;

  Reference(std::span<const float> query, std::span<const float> keys, std::span<const float> values)
      : scores(keys.size() / query.size()), log_weights(scores.size()) {
    quality::attention_scores(query, keys, scores);
    quality::log_softmax(scores, quality::softmax_scale(query.size()), log_weights);
    if (values.empty()) return;
    std::vector<double> weights(scores.size());
    std::ranges::transform(log_weights, weights.begin(), [](double x) { return std::exp(x); });
    output.resize(query.size());
    quality::weighted_sum(weights, values, output);
  }
};

/// One candidate's line of the table in the making, with one head's packed rows.
class Run {
 public:
  Run(Candidate candidate, std::size_t dim) : candidate_(std::move(candidate)), dim_(dim) {}

  void enter(const Head& head) {
    key_codec_ = with_offset(candidate_.keys, head.key_mean);
    value_codec_ = with_offset(candidate_.values, head.value_mean);
    store(*key_codec_, head.keys, packed_keys_, keys_);
    store(*value_codec_, head.values, packed_values_, values_);
  }

  void attend(std::span<const float> query, const Reference& reference) {
    const std::size_t n = reference.scores.size();
    floats_.resize(n);
    scores_.resize(n);
    log_weights_.resize(n);
    key_codec_->score(query, {packed_keys_.data(), n, key_codec_->row_bytes}, floats_);
    for (std::size_t i = 0; i < n; ++i) {
      scores_[i] = static_cast<double>(floats_[i]);
      score_error_.add(std::abs(reference.scores[i] - scores_[i]));
    }
    quality::log_softmax(scores_, quality::softmax_scale(dim_), log_weights_);
    divergence_.add(quality::kl_divergence(reference.log_weights, log_weights_));
    recall_.add(quality::top_k_recall(reference.scores, scores_, 5));
    if (packed_values_.empty()) return;
    for (std::size_t i = 0; i < n; ++i) floats_[i] = static_cast<float>(std::exp(log_weights_[i]));
    decoded_.resize(dim_);
    value_codec_->combine(floats_, {packed_values_.data(), n, value_codec_->row_bytes}, decoded_);
    output_error_.add(quality::relative_error(reference.output, std::vector<double>(decoded_.begin(), decoded_.end())));
  }

  Measurement result() const {
    Measurement m;
    m.candidate = candidate_;
    m.keys = keys_.mean();
    m.score_error = score_error_.spread();
    m.divergence = divergence_.spread();
    m.top5_recall = recall_.spread().mean;
    if (packed_values_.empty()) return m;
    m.values = values_.mean();
    m.output_error = output_error_.spread().mean;
    return m;
  }

 private:
  void store(const AnyCodec& codec, std::span<const float> vectors, std::vector<std::byte>& packed,
             quality::DistortionSum& distortion) {
    const std::size_t count = vectors.size() / dim_;
    packed.resize(count * codec.row_bytes);
    decoded_.resize(vectors.size());
    const Rows rows{packed.data(), count, codec.row_bytes};
    codec.encode(vectors, rows);
    codec.decode(rows, decoded_);
    distortion.add(vectors, decoded_, dim_);
  }

  Candidate candidate_;
  SharedCodec key_codec_, value_codec_;  // the candidate's, for the head that was entered
  std::size_t dim_;
  std::vector<std::byte> packed_keys_, packed_values_;
  quality::DistortionSum keys_, values_;
  SpreadSum score_error_, divergence_, recall_, output_error_;
  std::vector<float> decoded_, floats_;  // working memory
  std::vector<double> scores_, log_weights_;
};

/// The median over 15 repetitions of work(), which does `rows` rows, in nanoseconds a row. The first, cold one is left out.
template <class Work>
double median_ns_a_row(std::size_t rows, Work work) {
  using Clock = std::chrono::steady_clock;
  const std::size_t passes = std::max<std::size_t>(1, 512 / rows);  // long enough for the clock
  std::vector<double> times;
  work();
  for (int repetition = 0; repetition < 15; ++repetition) {
    const auto start = Clock::now();
    for (std::size_t pass = 0; pass < passes; ++pass) work();
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - start;
    times.push_back(elapsed.count() / static_cast<double>(rows * passes));
  }
  std::ranges::nth_element(times, times.begin() + 7);
  return times[7];
}

struct Times {
  double encode_ns = 0, decode_ns = 0;  ///< a row
};

/// Encodes and decodes up to 512 rows, which stay in cache: the codec's own cost, not the memory's.
inline Times time_codec(const AnyCodec& codec, std::span<const float> vectors, std::size_t dim) {
  const std::size_t count = std::min<std::size_t>(vectors.size() / dim, 512);
  vectors = vectors.first(count * dim);
  std::vector<std::byte> packed(count * codec.row_bytes);
  std::vector<float> decoded(vectors.size());
  const Rows rows{packed.data(), count, codec.row_bytes};
  return {median_ns_a_row(count, [&] { codec.encode(vectors, rows); }),
          median_ns_a_row(count, [&] { codec.decode(rows, decoded); })};
}

/// A codec's own times, on keys; of a scheme of two, the mean of the key codec's and the value codec's.
inline void time_candidate(const Input& input, Measurement& m) {
  const Head& head = input.heads.front();
  const Candidate& c = m.candidate;
  const Times keys = time_codec(*with_offset(c.keys, head.key_mean), head.keys, input.dim);
  const Times values = c.values == c.keys ? keys
                                          : time_codec(*with_offset(c.values, head.key_mean), head.keys, input.dim);
  m.encode_ns = (keys.encode_ns + values.encode_ns) / 2;
  m.decode_ns = (keys.decode_ns + values.decode_ns) / 2;
}

}  // namespace detail

/// progress(done, total) is called now and then.
inline std::vector<Measurement> measure(const Input& input, const std::vector<Candidate>& candidates,
                                        const std::function<void(std::size_t, std::size_t)>& progress) {
  const std::size_t total = input.heads.size() + candidates.size();
  std::size_t done = 0;
  std::vector<detail::Run> runs;
  for (const Candidate& candidate : candidates) runs.emplace_back(candidate, input.dim);
  for (const Head& head : input.heads) {
    progress(done++, total);
    for (detail::Run& run : runs) run.enter(head);
    for (const auto& queries : head.queries) {
      for (const std::size_t position : input.positions) {
        const auto query = queries.subspan(position * input.dim, input.dim);
        const std::size_t seen = quality::visible_keys(position, input.tokens, input.causal) * input.dim;
        const detail::Reference reference(query, head.keys.first(seen),
                                          head.values.empty() ? head.values : head.values.first(seen));
        for (detail::Run& run : runs) run.attend(query, reference);
      }
    }
  }
  std::vector<Measurement> results;
  for (const detail::Run& run : runs) {
    progress(done++, total);
    results.push_back(run.result());
    detail::time_candidate(input, results.back());
  }
  progress(total, total);
  return results;
}

}  // namespace compare
