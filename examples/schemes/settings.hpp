// The measurement behind the choice: every candidate on every source and on the shipped data.
#pragma once

#include "cases.hpp"
#include "coders.hpp"
#include "../compare/npy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemes {

using compare::Tensor;
using kvcodec::error;
using kvcodec::Result;

inline constexpr Source best_sources[] = {Source::gaussian, Source::student_3, Source::student_1_05, Source::low_rank,
                                          Source::outliers, Source::one_hot,   Source::bias};
inline constexpr std::size_t best_dims[] = {64, 128};
inline constexpr unsigned best_bits[] = {2, 3, 4};
inline constexpr std::size_t best_tokens = 128, best_queries = 8;  // queries of each kind

/// What one candidate did for one kind of queries: a number a trial each.
struct Score {
  std::vector<double> kl, shift, output;
};

/// A candidate in a setting; by kind of query.
struct Candidate {
  Coder coder;
  std::vector<Score> scores;
};

/// Data of one law, and all candidates for one budget on it.
struct Setting {
  std::string source;
  std::size_t d = 0;
  unsigned bits = 0;
  std::vector<std::string> kinds;  ///< of queries
  std::vector<Candidate> candidates;

  /// The bytes at which they are compared: those of TurboQuant with a QJL sign.
  std::size_t common_bytes() const { return d * bits / 8 + 4; }
  double bits_beyond(const Coder& coder) const {
    return 8 * (static_cast<double>(coder.row_bytes) - static_cast<double>(common_bytes())) / static_cast<double>(d);
  }
};

namespace detail {

inline Setting make_setting(std::string source, std::size_t d, unsigned bits, std::vector<std::string> kinds) {
  Setting setting{std::move(source), d, bits, std::move(kinds), {}};
  for (Coder& coder : candidates(d, bits))
    setting.candidates.push_back({std::move(coder), std::vector<Score>(setting.kinds.size())});
  return setting;
}

/// One trial's numbers of every candidate. kinds[i]: which kind of query head.questions[i] is.
inline void judge(Setting& setting, const Head& head, std::span<const std::size_t> kinds, std::uint64_t seed) {
  std::vector<float> keys(head.keys.size()), values(head.values.size());
  for (Candidate& candidate : setting.candidates) {
    candidate.coder.code(seed, head.key_calibration, head.keys, keys);
    candidate.coder.code(seed, head.value_calibration, head.values, values);
    for (std::size_t i = 0; i < head.questions.size(); ++i) {
      const KeyLoss loss = head.questions[i].key_loss(keys);
      Score& score = candidate.scores[kinds[i]];
      score.kl.push_back(loss.kl);
      score.shift.push_back(loss.shift);
      score.output.push_back(head.questions[i].output_error(values));
    }
  }
}

}  // namespace detail

/// The shipped heads, [layers, heads, tokens, d], each calibrated on its first quarter of tokens, as a prompt would allow.
/// A trial is a query head: those of one key head are not quite independent.
inline Result<std::vector<Head>> shipped_heads(const std::string& folder) {
  auto keys = compare::read_npy(folder + "/keys.npy"), values = compare::read_npy(folder + "/values.npy"),
       queries = compare::read_npy(folder + "/queries.npy");
  for (const auto* file : {&keys, &values, &queries})
    if (!*file) return error(file->message());
  const auto& shape = keys->shape;
  if (shape.size() != 4 || shape[3] != 64 || values->shape != shape || queries->shape.size() != 4 ||
      queries->shape[0] != shape[0] || queries->shape[1] % shape[1] != 0 || queries->shape[2] != shape[2] ||
      queries->shape[3] != shape[3])
    return error(folder + " does not hold keys, values and queries of [layers, heads, tokens, 64]");
  const std::size_t tokens = shape[2], d = shape[3], group = queries->shape[1] / shape[1];
  std::vector<Head> heads;
  for (std::size_t h = 0; h < shape[0] * shape[1]; ++h) {
    const auto cut = [&](const Tensor& tensor, std::size_t at) {
      const auto first = tensor.values.begin() + static_cast<std::ptrdiff_t>(at * tokens * d);
      return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(tokens * d));
    };
    Head head;
    head.keys = cut(*keys, h);
    head.values = cut(*values, h);
    const std::size_t sample = tokens / 4 * d;
    head.key_calibration = Calibration::of(std::span<const float>(head.keys).first(sample), d);
    head.value_calibration = Calibration::of(std::span<const float>(head.values).first(sample), d);
    for (std::size_t g = 0; g < group; ++g) {
      const std::vector<float> all = cut(*queries, h * group + g);
      std::vector<float> chosen;
      std::vector<std::size_t> visible;
      for (std::size_t t = 63; t < tokens; t += 16) {  // with 64 keys and more to choose from
        chosen.insert(chosen.end(), all.begin() + static_cast<std::ptrdiff_t>(t * d),
                      all.begin() + static_cast<std::ptrdiff_t>((t + 1) * d));
        visible.push_back(t + 1);
      }
      head.questions.emplace_back(std::move(chosen), std::move(visible), head.keys, head.values, d);
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

/// All settings, those of the shipped heads last.
inline std::vector<Setting> run_best(std::size_t trials, std::uint64_t seed, std::span<const Head> shipped,
                                     const std::function<void(double)>& progress) {
  const std::uint64_t base = kvcodec::SplitMix64(seed)();  // neighbouring seeds must not share trials
  std::vector<Setting> settings;
  const double steps = static_cast<double>(std::size(best_dims) * std::size(best_sources) + 1);
  double done = 0;
  for (const std::size_t d : best_dims) {
    for (const Source source : best_sources) {
      const std::size_t first = settings.size();
      for (const unsigned bits : best_bits)
        settings.push_back(detail::make_setting(std::string(name_of(source)), d, bits, {"independent", "aligned"}));
      for (std::size_t trial = 0; trial < trials; ++trial) {
        // A multiple of four tokens: a mix of four keeps its turns after those of the calibration.
        kvcodec::SplitMix64 random(base ^ 0xbe57u << 16 ^ d << 40 ^ static_cast<std::uint64_t>(source) << 32 ^ trial);
        const Head head = make_head(source, best_tokens, d, best_queries, true, random());
        const std::uint64_t codec_seed = random();
        for (std::size_t i = first; i < settings.size(); ++i)
          detail::judge(settings[i], head, std::array<std::size_t, 2>{0, 1}, codec_seed);
      }
      progress(++done / steps);
    }
  }
  kvcodec::SplitMix64 random(seed);
  const std::size_t first = settings.size();
  for (const unsigned bits : best_bits) settings.push_back(detail::make_setting("SmolLM2, shipped", 64, bits, {"its own"}));
  for (const Head& head : shipped) {
    const std::uint64_t codec_seed = random();
    const std::vector<std::size_t> kinds(head.questions.size(), 0);
    for (std::size_t i = first; i < settings.size(); ++i) detail::judge(settings[i], head, kinds, codec_seed);
  }
  progress(1);
  return settings;
}

}  // namespace schemes
