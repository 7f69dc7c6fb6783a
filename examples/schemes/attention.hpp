// Queries over one head, their exact attention, and what coded keys and values make of it.
#pragma once

#include "kvcodec/quality/attention.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace schemes {

namespace quality = kvcodec::quality;

/// Means over queries, with the keys coded.
struct KeyLoss {
  double kl = 0;        ///< KL(p_ref || p_quant), nats
  double worst_kl = 0;  ///< the largest over the queries
  double recall = 0;    ///< of the top 5
  double shift = 0;     ///< rate at which the token of the largest weight is another one
};

/// Queries, with their exact attention: computed once, compared with any number of coders. Looks at keys and values.
class Questions {
 public:
  /// queries: [n, d]. visible[i]: how many tokens query i sees, from the first on; at most those of keys and values.
  Questions(std::vector<float> queries, std::vector<std::size_t> visible, std::span<const float> keys,
            std::span<const float> values, std::size_t d)
      : queries_(std::move(queries)), outputs_(queries_.size()), d_(d) {
    for (std::size_t i = 0; i < visible.size(); ++i) {
      Exact exact;
      exact.tokens = visible[i];
      exact.scores.resize(exact.tokens);
      exact.log_weights.resize(exact.tokens);
      exact.weights.resize(exact.tokens);
      quality::attention_scores(query(i), keys.first(exact.tokens * d), exact.scores);
      quality::log_softmax(exact.scores, quality::softmax_scale(d), exact.log_weights);
      quality::softmax(exact.scores, quality::softmax_scale(d), exact.weights);
      quality::weighted_sum(exact.weights, values.first(exact.tokens * d), std::span(outputs_).subspan(i * d, d));
      exact_.push_back(std::move(exact));
    }
  }

  std::size_t size() const noexcept { return exact_.size(); }

  KeyLoss key_loss(std::span<const float> keys) const {
    KeyLoss loss;
    std::vector<double> scores, log_weights;
    for (std::size_t i = 0; i < size(); ++i) {
      const Exact& exact = exact_[i];
      scores.resize(exact.tokens);
      log_weights.resize(exact.tokens);
      quality::attention_scores(query(i), keys.first(exact.tokens * d_), scores);
      quality::log_softmax(scores, quality::softmax_scale(d_), log_weights);
      const double kl = quality::kl_divergence(exact.log_weights, log_weights);
      loss.kl += kl;
      loss.worst_kl = std::max(loss.worst_kl, kl);
      loss.recall += quality::top_k_recall(exact.scores, scores, 5);
      loss.shift += quality::argmax_shifts(exact.scores, scores) ? 1.0 : 0.0;
    }
    const double n = static_cast<double>(size());
    return {loss.kl / n, loss.worst_kl, loss.recall / n, loss.shift / n};
  }

  /// Mean of |o - o'| / |o| with the exact weights over coded values.
  double output_error(std::span<const float> values) const {
    double sum = 0;
    std::vector<double> output(d_);
    for (std::size_t i = 0; i < size(); ++i) {
      quality::weighted_sum(exact_[i].weights, values.first(exact_[i].tokens * d_), output);
      sum += quality::relative_error(std::span(outputs_).subspan(i * d_, d_), output);
    }
    return sum / static_cast<double>(size());
  }

  /// The exact outputs, and those over coded keys and values: [n, d] both.
  const std::vector<double>& outputs() const noexcept { return outputs_; }
  std::vector<double> outputs(std::span<const float> keys, std::span<const float> values) const {
    std::vector<double> all(outputs_.size()), weights;
    for (std::size_t i = 0; i < size(); ++i) {
      weights.resize(exact_[i].tokens);
      quality::attention_scores(query(i), keys.first(weights.size() * d_), weights);
      quality::softmax(weights, quality::softmax_scale(d_), weights);
      quality::weighted_sum(weights, values.first(weights.size() * d_), std::span(all).subspan(i * d_, d_));
    }
    return all;
  }

 private:
  struct Exact {
    std::size_t tokens;
    std::vector<double> scores, log_weights, weights;
  };

  std::span<const float> query(std::size_t i) const { return std::span<const float>(queries_).subspan(i * d_, d_); }

  std::vector<float> queries_;
  std::vector<double> outputs_;
  std::size_t d_;
  std::vector<Exact> exact_;
};

}  // namespace schemes
