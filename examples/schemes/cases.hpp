// The heads that are studied: keys, values and queries, from synthetic sources or from the shipped files.
#pragma once

#include "attention.hpp"
#include "coders.hpp"

#include "kvcodec/calibration.hpp"
#include "kvcodec/quality/sources.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemes {

enum class Source { gaussian, student_1_05, student_3, low_rank, concentrated, outliers, one_hot, bias };

inline std::string_view name_of(Source source) {
  switch (source) {
    case Source::gaussian: return "Gaussian";
    case Source::student_1_05: return "Student-t 1.05";
    case Source::student_3: return "Student-t 3";
    case Source::low_rank: return "low rank";
    case Source::concentrated: return "concentrated";
    case Source::outliers: return "outlier channels";
    case Source::one_hot: return "one-hot mix";
    case Source::bias: return "constant bias";
  }
  return "";
}

/// [n, d]. What belongs to a head (its subspace, its channels, its bias) is the same for all rows of one call.
inline std::vector<float> rows_of(Source source, std::size_t n, std::size_t d, std::uint64_t seed) {
  switch (source) {
    case Source::gaussian: return quality::gaussian_rows(n, d, seed);
    case Source::student_1_05: return quality::student_t_rows(n, d, 1.05, seed);
    case Source::student_3: return quality::student_t_rows(n, d, 3.0, seed);
    case Source::low_rank: return quality::low_rank_rows(n, d, 8, seed);
    case Source::concentrated: return quality::concentrated_rows(n, d, seed);
    case Source::outliers: return quality::outlier_channel_rows(n, d, seed);
    case Source::one_hot: return quality::one_hot_mix_rows(n, d, seed);
    case Source::bias: return quality::constant_bias_rows(n, d, seed);
  }
  return {};
}

/// The logit of an aligned query's own key when that is as long as its root mean square: of 128 others at N(0, 1) it takes
/// 93 % of the attention.
inline constexpr double aligned_logit = 8.0;

/// Queries of both kinds: N(0, 1), under which attention is flat, and aligned with the keys of random tokens. What all keys
/// share is no part of attention, so alignment and size are those of the keys without their mean: either kind is of a
/// size at which an independent query's logits have a mean square of 1, and so no source has larger logits than another.
inline std::array<std::vector<float>, 2> make_queries(std::size_t n, std::size_t d, std::span<const float> keys,
                                                      std::uint64_t seed) {
  const std::vector<float> mean = kvcodec::robust_mean(keys, d);
  std::vector<float> centred(keys.begin(), keys.end());
  double square = 0;
  for (std::size_t i = 0; i < centred.size(); ++i) {
    centred[i] -= mean[i % d];
    square += static_cast<double>(centred[i]) * static_cast<double>(centred[i]);
  }
  const double size = std::sqrt(square / static_cast<double>(keys.size()));
  kvcodec::SplitMix64 random(seed);
  std::array<std::vector<float>, 2> queries = {
      quality::gaussian_rows(n, d, random()),
      quality::aligned_queries(centred, d, n, aligned_logit / std::sqrt(static_cast<double>(d)), random())};
  for (auto& kind : queries)
    for (float& x : kind) x = static_cast<float>(static_cast<double>(x) / size);
  return queries;
}

/// One head: rows to calibrate on, and others with queries to measure.
struct Head {
  std::vector<float> keys, values;
  Calibration key_calibration, value_calibration;
  std::vector<Questions> questions;  ///< by kind of query

  Head() = default;
  Head(Head&&) = default;  // not copied: the questions were asked of these rows
  Head& operator=(Head&&) = default;
};

inline constexpr std::string_view query_kinds[] = {"independent", "aligned"};

/// A synthetic head of so many tokens, with queries of both kinds. Keys and values are independent draws of the source.
inline Head make_head(Source source, std::size_t tokens, std::size_t d, std::size_t queries, bool calibrate,
                      std::uint64_t seed) {
  kvcodec::SplitMix64 random(seed);
  const std::size_t before = calibrate ? 128 : 0;  // tokens to calibrate on
  Head head;
  const auto draw = [&](Calibration& calibration) {
    std::vector<float> rows = rows_of(source, before + tokens, d, random());
    if (calibrate) calibration = Calibration::of(std::span<const float>(rows).first(before * d), d);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(before * d));
    return rows;
  };
  head.keys = draw(head.key_calibration);
  head.values = draw(head.value_calibration);
  const std::vector<std::size_t> visible(queries, tokens);
  for (auto& kind : make_queries(queries, d, head.keys, random()))
    head.questions.emplace_back(std::move(kind), visible, head.keys, head.values, d);
  return head;
}

}  // namespace schemes
