// The measurement behind the claims: KV, KQV and QKQV, many independent trials of every source, size and budget.
#pragma once

#include "cases.hpp"
#include "coders.hpp"
#include "statistics.hpp"
#include "text.hpp"

#include "kvcodec/quality/distortion.hpp"
#include "kvcodec/quality/six_vector.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace schemes {

enum class Scheme { kv, kqv, qkqv };
inline constexpr std::string_view scheme_names[] = {"KV", "KQV", "QKQV"};

/// One number a trial each. The first four are of independent queries, the next four the same of aligned ones.
enum Metric : std::size_t {
  kl,
  worst_kl,
  recall,
  shift,
  aligned_kl,
  aligned_worst_kl,
  aligned_recall,
  aligned_shift,
  k_snr,
  k_angle,
  v_snr,
  v_angle,
  t_snr,
  t_angle,       ///< quality::SixVector; T over the queries of both kinds
  k_error,       ///< D of the keys
  k_cosine,      ///< their mean cosine
  k_projection,  ///< |mean of <k, k'> / |k|^2 - 1|: what is lost or gained of a key's own direction
  metrics
};
inline constexpr std::string_view metric_names[] = {
    "kl",      "worst_kl", "recall5", "shift",    "kl",      "worst_kl", "recall5",  "shift",       "k_snr_db",
    "k_angle", "v_snr_db", "v_angle", "t_snr_db", "t_angle", "k_error",  "k_cosine", "k_projection"};

inline constexpr Source claim_sources[] = {Source::gaussian, Source::student_1_05, Source::student_3, Source::low_rank,
                                           Source::concentrated};
inline constexpr std::size_t claim_dims[] = {64, 128, 256, 512, 1024};
inline constexpr unsigned claim_bits[] = {2, 3, 4, 5, 6};
inline constexpr std::size_t claim_tokens = 128, claim_queries = 4;  // queries of each kind

/// Of a key and a value: n bits a coordinate and the length, and with QJL a residual's length.
constexpr std::size_t token_bytes(std::size_t d, unsigned bits, Scheme scheme) {
  return 2 * (d * bits / 8 + 2) + (scheme == Scheme::kv ? 0u : scheme == Scheme::kqv ? 2u : 4u);
}
static_assert(token_bytes(64, 3, Scheme::kv) == kvcodec::Kv<64, 3>::token_bytes);
static_assert(token_bytes(64, 3, Scheme::kqv) == kvcodec::Kqv<64, 3>::token_bytes);
static_assert(token_bytes(64, 3, Scheme::qkqv) == kvcodec::Qkqv<64, 3>::token_bytes);

class Trials {
 public:
  using Sample = std::array<std::vector<double>, metrics>;

  std::span<const double> operator()(Source source, std::size_t d, unsigned bits, Scheme scheme, Metric metric) const {
    return samples_.at({source, d, bits, scheme})[metric];
  }

  static std::size_t count(std::size_t trials, std::size_t d) {
    return d <= 128 ? trials : std::max(std::min<std::size_t>(trials, 16), trials * 128 / d);
  }

  /// trials: for a source at d = 64 and 128. A trial's rows, queries and rotation are its own; the schemes and the budgets
  /// share them, so their differences are paired.
  void run(std::size_t trials, std::uint64_t seed, const std::function<void(double)>& progress) {
    const std::uint64_t base = kvcodec::SplitMix64(seed)();  // neighbouring seeds must not share trials
    const std::vector<SchemeParts> parts = scheme_parts();
    std::size_t done = 0;
    for (const std::size_t d : claim_dims) {
      for (const Source source : claim_sources) {
        for (std::size_t trial = 0; trial < count(trials, d); ++trial) {
          kvcodec::SplitMix64 random(base ^ (d << 40) ^ (static_cast<std::uint64_t>(source) << 32) ^ trial);
          const Head head = make_head(source, claim_tokens, d, claim_queries, false, random());
          const std::uint64_t codec_seed = random();
          for (const SchemeParts& part : parts)
            if (part.d == d) run_one(source, part, head, codec_seed);
        }
        progress(static_cast<double>(++done) / static_cast<double>(std::size(claim_dims) * std::size(claim_sources)));
      }
    }
  }

  /// Every scheme's means; bytes are a token's, key and value.
  void add_csv(std::string& csv) const {
    for (const auto& [key, sample] : samples_) {
      const auto& [source, d, bits, scheme] = key;
      for (std::size_t metric = 0; metric < metrics; ++metric) {
        const std::string_view queries = metric < aligned_kl                    ? query_kinds[0]
                                         : metric < k_snr                       ? query_kinds[1]
                                         : metric == t_snr || metric == t_angle ? "both"
                                                                                : "none";
        csv += csv_line("claims", name_of(source), queries, d, bits, scheme_names[static_cast<std::size_t>(scheme)],
                        token_bytes(d, bits, scheme), metric_names[metric], sample[metric]);
      }
    }
  }

 private:
  void run_one(Source source, const SchemeParts& parts, const Head& head, std::uint64_t seed) {
    const auto code = [&](const Coder& coder, const std::vector<float>& rows) {
      std::vector<float> decoded(rows.size());
      coder.code(seed, Calibration(), rows, decoded);
      return decoded;
    };
    const std::vector<float> unrotated_keys = code(parts.unrotated, head.keys), full_keys = code(parts.full, head.keys),
                             residual_keys = code(parts.residual, head.keys),
                             unrotated_values = code(parts.unrotated, head.values),
                             residual_values = code(parts.residual, head.values);
    add(source, parts, Scheme::kv, head, unrotated_keys, unrotated_values);
    add(source, parts, Scheme::kqv, head, full_keys, residual_values);
    add(source, parts, Scheme::qkqv, head, residual_keys, residual_values);
  }

  void add(Source source, const SchemeParts& parts, Scheme scheme, const Head& head, std::span<const float> keys,
           std::span<const float> values) {
    Sample& sample = samples_[{source, parts.d, parts.bits, scheme}];
    quality::SixVectorSum six;
    six.keys.add(head.keys, keys, parts.d);
    six.values.add(head.values, values, parts.d);
    for (std::size_t kind = 0; kind < head.questions.size(); ++kind) {
      const Questions& questions = head.questions[kind];
      const KeyLoss loss = questions.key_loss(keys);
      const double numbers[] = {loss.kl, loss.worst_kl, loss.recall, loss.shift};
      for (std::size_t i = 0; i < 4; ++i) sample[4 * kind + i].push_back(numbers[i]);
      six.output.add(std::span<const double>(questions.outputs()), questions.outputs(keys, values), parts.d);
    }
    const std::array<double, 6> coordinates = six.result().coordinates();
    for (std::size_t i = 0; i < coordinates.size(); ++i) sample[k_snr + i].push_back(coordinates[i]);
    const quality::Distortion distortion = quality::distortion(head.keys, keys, parts.d);
    sample[k_error].push_back(distortion.relative_error);
    sample[k_cosine].push_back(distortion.cosine);
    double projection = 0;
    for (std::size_t row = 0; row < keys.size(); row += parts.d) {
      double square = 0, product = 0;
      for (std::size_t i = row; i < row + parts.d; ++i) {
        square += static_cast<double>(head.keys[i]) * static_cast<double>(head.keys[i]);
        product += static_cast<double>(head.keys[i]) * static_cast<double>(keys[i]);
      }
      projection += product / square;
    }
    sample[k_projection].push_back(std::abs(projection / static_cast<double>(keys.size() / parts.d) - 1));
  }

  std::map<std::tuple<Source, std::size_t, unsigned, Scheme>, Sample> samples_;
};

/// Claim 2: the mean square of <q, x - x'> for Gaussian q and x, |x|^2 taken out, one number a codec (a seed).
struct ScoreVariance {
  std::size_t d = 0;
  unsigned bits = 0;
  std::vector<double> residual_scalar, full_scalar;  ///< bits - 1 and bits, no QJL
  std::vector<double> orthogonal, gaussian;          ///< bits - 1 and a sign of either projection
};

namespace detail {

template <std::size_t D, unsigned B>
ScoreVariance score_variance(std::size_t trials, std::uint64_t seed) {
  constexpr kvcodec::QjlOptions dense{.projection_rounds = 0};
  ScoreVariance result;
  result.d = D;
  result.bits = B;
  kvcodec::SplitMix64 random(kvcodec::SplitMix64(seed)() ^ (D << 32) ^ B);
  for (std::size_t trial = 0; trial < trials; ++trial) {
    constexpr std::size_t rows = 128;
    const std::vector<float> x = quality::gaussian_rows(rows, D, random()), q = quality::gaussian_rows(rows, D, random());
    const std::uint64_t codec_seed = random();
    const auto measure = [&](auto code, std::vector<double>& to) {
      std::vector<float> y(x.size());
      code(codec_seed, Calibration(), x, y);
      double sum = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        double error = 0, square = 0;
        for (std::size_t j = i * D; j < (i + 1) * D; ++j) {
          error += static_cast<double>(q[j]) * (static_cast<double>(x[j]) - static_cast<double>(y[j]));
          square += static_cast<double>(x[j]) * static_cast<double>(x[j]);
        }
        sum += error * error / square;
      }
      to.push_back(sum / rows);
    };
    measure(code<kvcodec::TurboQuantMse<D, B - 1>>, result.residual_scalar);
    measure(code<kvcodec::TurboQuantMse<D, B>>, result.full_scalar);
    measure(code<kvcodec::TurboQuantProd<D, B>>, result.orthogonal);
    measure(code<kvcodec::TurboQuantProd<D, B, kvcodec::Options{}, dense>>, result.gaussian);
  }
  return result;
}

}  // namespace detail

inline std::vector<ScoreVariance> score_variances(std::size_t trials, std::uint64_t seed) {
  std::vector<ScoreVariance> all;
  [&]<unsigned... B>(std::integer_sequence<unsigned, B...>) {
    (all.push_back(detail::score_variance<64, B + 2>(trials, seed)), ...);
    (all.push_back(detail::score_variance<128, B + 2>(trials, seed)), ...);
  }
  (std::make_integer_sequence<unsigned, 5>());
  return all;
}

}  // namespace schemes
