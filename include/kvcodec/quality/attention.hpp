// Softmax attention of one query (Vaswani et al., arXiv 1706.03762, equation 1) in double precision, and how far the
// attention over coded rows is from it: divergence of the weights, recall of the top tokens, error of the output.
#pragma once

#include "../config.hpp"

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
    if (p > 0) sum += p * (log_p[i] - log_q[i]);  // 0 log 0 = 0
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

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec::quality
