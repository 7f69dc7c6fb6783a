// Softmax attention of one query (Vaswani et al., arXiv 1706.03762, equation 1) in double precision, and how far the
// attention over coded rows is from it: divergence of the weights, recall of the top tokens, error of the output.
#pragma once

#include "../config.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace kvcodec::quality {
inline namespace KVCODEC_ISA_NAMESPACE {

/// What scores <q, k> are multiplied by before the softmax: 1/sqrt(d).
inline double softmax_scale(std::size_t d) noexcept { return 1.0 / std::sqrt(static_cast<double>(d)); }

/// How many of n keys the query at position t sees, from the first one on: itself and what came before it when causal.
constexpr std::size_t visible_keys(std::size_t t, std::size_t n, bool causal) noexcept {
  return causal && t < n ? t + 1 : n;
}

/// scores[i] = <q, key i>, not scaled. query: [d]. keys: [n, d], row-major. scores: [n].
inline void attention_scores(std::span<const float> query, std::span<const float> keys, std::span<double> scores) noexcept {
  const std::size_t d = query.size();
  assert(keys.size() == scores.size() * d);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += static_cast<double>(query[j]) * static_cast<double>(keys[i * d + j]);
    scores[i] = sum;
  }
}

/// log_weights[i] = scale * scores[i] - log(sum of exp(scale * scores)), in nats. Both [n]; they may be the same memory.
/// Logarithms, since a weight may underflow and a divergence may not; shifted by the largest, so nothing overflows.
inline void log_softmax(std::span<const double> scores, double scale, std::span<double> log_weights) noexcept {
  assert(scores.size() == log_weights.size());
  if (scores.empty()) return;
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(scale * (score - largest));
  const double log_sum = std::log(sum);
  for (std::size_t i = 0; i < scores.size(); ++i) log_weights[i] = scale * (scores[i] - largest) - log_sum;
}

/// weights[i] = exp(scale * scores[i]) / sum of the same. Both [n]; they may be the same memory.
inline void softmax(std::span<const double> scores, double scale, std::span<double> weights) noexcept {
  log_softmax(scores, scale, weights);
  for (double& weight : weights) weight = std::exp(weight);
}

/// output = sum of weights[i] * value i. weights: [n]. values: [n, d], row-major. output: [d].
inline void weighted_sum(std::span<const double> weights, std::span<const float> values, std::span<double> output) noexcept {
  const std::size_t d = output.size();
  assert(values.size() == weights.size() * d);
  std::fill(output.begin(), output.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t j = 0; j < d; ++j) output[j] += weights[i] * static_cast<double>(values[i * d + j]);
}

/// KL(p || q) = sum of p_i (log p_i - log q_i), in nats, from the logarithms of both, [n] each. p is the reference. Never
/// negative: what rounding leaves below 0 is 0.
inline double kl_divergence(std::span<const double> log_p, std::span<const double> log_q) noexcept {
  assert(log_p.size() == log_q.size());
  double sum = 0;
  for (std::size_t i = 0; i < log_p.size(); ++i) {
    const double p = std::exp(log_p[i]);
    if (!(p == 0)) sum += p * (log_p[i] - log_q[i]);  // 0 log 0 = 0
  }
  return sum < 0 ? 0 : sum;
}

/// The indices of the k largest scores, largest first, all of them when there are fewer; ties go to the lower index. A
/// NaN is never among them.
inline std::vector<std::size_t> top_k(std::span<const double> scores, std::size_t k) {
  std::vector<std::size_t> best;
  if (k == 0) return best;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i]) || (best.size() == k && !(scores[i] > scores[best.back()]))) continue;
    if (best.size() == k) best.pop_back();
    const auto place = std::find_if(best.begin(), best.end(), [&](std::size_t j) { return scores[i] > scores[j]; });
    best.insert(place, i);
  }
  return best;
}

/// Which part of the reference's k largest scores is also among the coded k largest: 0 to 1, whatever their order. With
/// fewer than k scores there is nothing to miss: 1.
inline double top_k_recall(std::span<const double> reference, std::span<const double> coded, std::size_t k) {
  assert(reference.size() == coded.size());
  const std::vector<std::size_t> wanted = top_k(reference, k), found = top_k(coded, k);
  if (wanted.empty()) return 1;
  const auto hits = std::count_if(wanted.begin(), wanted.end(),
                                  [&](std::size_t i) { return std::find(found.begin(), found.end(), i) != found.end(); });
  return static_cast<double>(hits) / static_cast<double>(wanted.size());
}

/// |reference - coded| / |reference|, Euclidean, [d] each. A reference of zeros: 0 if coded is zero too, else infinity.
inline double relative_error(std::span<const double> reference, std::span<const double> coded) noexcept {
  assert(reference.size() == coded.size());
  double error = 0, square = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double difference = reference[i] - coded[i];
    error += difference * difference;
    square += reference[i] * reference[i];
  }
  return error == 0 ? 0 : std::sqrt(error) / std::sqrt(square);
}

/// Whether the key with the largest score is another one: what greedy routing would get wrong.
inline bool argmax_shifts(std::span<const double> reference, std::span<const double> coded) {
  assert(reference.size() == coded.size());
  return top_k(reference, 1) != top_k(coded, 1);
}

/// output = sum of softmax(<query, key i> / sqrt(d)) * value i. query: [d]. keys: [n, d], values: [n, d_v], row-major.
/// output: [d_v].
inline void attention_output(std::span<const float> query, std::span<const float> keys, std::span<const float> values,
                             std::span<double> output) {
  std::vector<double> weights(keys.size() / query.size());
  attention_scores(query, keys, weights);
  softmax(weights, softmax_scale(query.size()), weights);
  weighted_sum(weights, values, output);
}

/// Over queries, each weighing the same. NaN where nothing was gathered; a NaN among scores makes the KL NaN, one in an
/// output its error.
struct AttentionError {
  double kl_mean = 0, kl_worst = 0;           ///< KL(reference || coded) of the weights, nats
  double kl_p50 = 0, kl_p90 = 0, kl_p99 = 0;  ///< its quantiles
  double recall = 0;                          ///< mean part of the reference's top k that the coded scores found
  double argmax_shift_rate = 0;               ///< part of the queries whose top key is another one, 0 to 1
  double output_error = 0;                    ///< mean of |o - o'| / |o|
  double output_error_worst = 0;
  std::size_t queries = 0;  ///< whose scores were gathered
};

/// Gathers what attention makes of coded rows, query by query, over any number of heads. Keeps 16 bytes a query.
class AttentionErrorSum {
 public:
  /// k: how many keys count as the top ones in the recall.
  explicit AttentionErrorSum(std::size_t k = 5) : k_(k) {}

  /// One query's scores <q, key>, [n] each, at least one: exact, and over coded rows. scale: what multiplies both before
  /// the softmax.
  void add_scores(std::span<const double> reference, std::span<const double> coded, double scale) {
    assert(reference.size() == coded.size());
    std::vector<double> log_p(reference.size()), log_q(coded.size());
    log_softmax(reference, scale, log_p);
    log_softmax(coded, scale, log_q);
    divergences_.push_back(kl_divergence(log_p, log_q));
    recall_ += top_k_recall(reference, coded, k_);
    if (argmax_shifts(reference, coded)) ++shifts_;
  }

  /// One query's output, [d_v] each. Not needed where there are no values.
  void add_output(std::span<const double> reference, std::span<const double> coded) {
    output_errors_.push_back(relative_error(reference, coded));
  }

  AttentionError result() const {
    AttentionError e;
    const double n = static_cast<double>(divergences_.size());
    e.kl_mean = mean_estimate(divergences_).value;
    e.kl_worst = quantile(divergences_, 1);
    e.kl_p50 = quantile(divergences_, 0.5);
    e.kl_p90 = quantile(divergences_, 0.9);
    e.kl_p99 = quantile(divergences_, 0.99);
    e.recall = recall_ / n;
    e.argmax_shift_rate = static_cast<double>(shifts_) / n;
    e.output_error = mean_estimate(output_errors_).value;
    e.output_error_worst = quantile(output_errors_, 1);
    e.queries = divergences_.size();
    return e;
  }

 private:
  std::size_t k_;
  std::vector<double> divergences_, output_errors_;
  double recall_ = 0;
  std::size_t shifts_ = 0;
};

/// The errors of attention over decoded rows, every query seeing every key. queries: [m, d]. keys, decoded_keys: [n, d].
/// values, decoded_values: [n, d_v]. All row-major, n not 0.
inline AttentionError attention_error(std::span<const float> queries, std::span<const float> keys,
                                      std::span<const float> values, std::span<const float> decoded_keys,
                                      std::span<const float> decoded_values, std::size_t d, std::size_t k = 5) {
  assert(d != 0 && queries.size() % d == 0 && keys.size() % d == 0 && !keys.empty());
  assert(decoded_keys.size() == keys.size() && decoded_values.size() == values.size());
  const std::size_t n = keys.size() / d;
  const double scale = softmax_scale(d);
  std::vector<double> reference(n), coded(n), output(values.size() / n), coded_output(output.size());
  AttentionErrorSum sum(k);
  for (std::size_t start = 0; start < queries.size(); start += d) {
    const auto query = queries.subspan(start, d);
    attention_scores(query, keys, reference);
    attention_scores(query, decoded_keys, coded);
    sum.add_scores(reference, coded, scale);
    softmax(reference, scale, reference);
    softmax(coded, scale, coded);
    weighted_sum(reference, values, output);
    weighted_sum(coded, decoded_values, coded_output);
    sum.add_output(output, coded_output);
  }
  return sum.result();
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
