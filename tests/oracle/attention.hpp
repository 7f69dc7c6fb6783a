// Softmax attention of one query, steps of decode attention, and how far an approximate one is from it. Sources: Vaswani et
// al., arXiv 1706.03762, eq. 1; the window of Mistral 7B, arXiv 2310.06825, section 2; the soft cap of Gemma 2, arXiv
// 2408.00118, section 2; KL(p_ref || p_quant) and top-k routing recall as in the key/value study, arXiv 2605.08114.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace kvcodec_oracle {

struct Attention {
    std::vector<double> log_weights;  // of n tokens; kept since a weight may underflow and KL may not
    std::vector<double> weights;
    std::vector<double> output;  // of d coordinates
};

// log softmax(scale * scores), shifted by the largest so that nothing overflows.
inline std::vector<double> log_softmax(std::span<const double> scores, double scale) {
    std::vector<double> log_weights;
    double largest = -HUGE_VAL, sum = 0;
    for (const double s : scores) largest = std::max(largest, scale * s);
    for (const double s : scores) sum += std::exp(scale * s - largest);
    for (const double s : scores) log_weights.push_back(scale * s - largest - std::log(sum));
    return log_weights;
}

// The attention of given scores over values of shape [n, d], row-major.
inline Attention attend(std::span<const double> scores, std::span<const double> values, std::size_t d, double scale) {
    Attention result{log_softmax(scores, scale), {}, std::vector<double>(d, 0.0)};
    for (std::size_t t = 0; t < scores.size(); ++t) {
        result.weights.push_back(std::exp(result.log_weights[t]));
        for (std::size_t j = 0; j < d; ++j) result.output[j] += result.weights[t] * values[t * d + j];
    }
    return result;
}

// keys and values of shape [n, d], row-major; query of d coordinates; the usual scale is 1/sqrt(d).
inline Attention softmax_attention(std::span<const double> keys, std::span<const double> values,
                                   std::span<const double> query, double scale) {
    const std::size_t d = query.size();
    std::vector<double> scores(keys.size() / d, 0.0);
    for (std::size_t t = 0; t < scores.size(); ++t)
        for (std::size_t j = 0; j < d; ++j) scores[t] += keys[t * d + j] * query[j];
    return attend(scores, values, d, scale);
}

struct DecodeOptions {
    double scale = 1;
    double soft_cap = 0;     // 0: none
    std::size_t window = 0;  // how many tokens up to the query's own are seen, 0: all
    std::size_t length = 0;  // the query's position plus one; later tokens are not seen
};

struct Decoded {
    std::vector<double> output;  // zeros where nothing is seen
    double log_sum_exp = -HUGE_VAL;
};

// A step for one query: keys of shape [n, query.size()], values of shape [n, d], row-major, `present` of n.
inline Decoded decode_attention(std::span<const double> keys, std::span<const double> values, std::size_t d,
                                const std::vector<bool>& present, std::span<const double> query,
                                const DecodeOptions& options) {
    std::vector<double> scores, seen_values;
    for (std::size_t t = 0; t < present.size(); ++t) {
        const bool past = t < options.length;
        const bool near = options.window == 0 || t + options.window >= options.length;
        if (!present[t] || !past || !near) continue;
        double score = 0;
        for (std::size_t j = 0; j < query.size(); ++j) score += keys[t * query.size() + j] * query[j];
        score *= options.scale;
        scores.push_back(options.soft_cap == 0 ? score : options.soft_cap * std::tanh(score / options.soft_cap));
        for (std::size_t j = 0; j < d; ++j) seen_values.push_back(values[t * d + j]);
    }
    if (scores.empty()) return {std::vector<double>(d, 0.0), -HUGE_VAL};
    const Attention attention = attend(scores, seen_values, d, 1);
    return {attention.output, scores[0] - attention.log_weights[0]};
}

// The same for a group of queries that share keys and values; queries of shape [n, dim], row-major.
inline std::vector<Decoded> decode_attention_of_group(std::span<const double> keys, std::span<const double> values,
                                                      std::size_t d, const std::vector<bool>& present,
                                                      std::span<const double> queries, std::size_t dim,
                                                      const DecodeOptions& options) {
    std::vector<Decoded> group;
    for (std::size_t k = 0; k < queries.size() / dim; ++k)
        group.push_back(decode_attention(keys, values, d, present, queries.subspan(k * dim, dim), options));
    return group;
}

// KL(p || q) in nats, from the logarithms of the weights.
inline double kl_divergence(std::span<const double> log_p, std::span<const double> log_q) {
    double sum = 0;
    for (std::size_t t = 0; t < log_p.size(); ++t) sum += std::exp(log_p[t]) * (log_p[t] - log_q[t]);
    return sum;
}

// The k largest, largest first; a tie goes to the lower index.
inline std::vector<std::size_t> top_k(std::span<const double> scores, std::size_t k) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(std::min(k, order.size()));
    return order;
}

// The share of the k largest of `reference` that are among the k largest of `approximate`.
inline double top_k_recall(std::span<const double> reference, std::span<const double> approximate, std::size_t k) {
    const std::vector<std::size_t> wanted = top_k(reference, k), found = top_k(approximate, k);
    std::size_t hits = 0;
    for (const std::size_t t : wanted) hits += std::find(found.begin(), found.end(), t) != found.end() ? 1 : 0;
    return wanted.empty() ? 1.0 : static_cast<double>(hits) / static_cast<double>(wanted.size());
}

}  // namespace kvcodec_oracle
