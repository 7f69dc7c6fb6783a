// The claims made for KV, KQV and QKQV, and what the measurement leaves of each.
#pragma once

#include "keys.hpp"
#include "text.hpp"
#include "trials.hpp"

#include "kvcodec/quality/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace schemes {

namespace detail {

/// One measure as a number a trial over all claims' sources and sizes, at one width.
inline std::vector<double> pooled(const Trials& trials, unsigned bits, Scheme scheme, Metric metric) {
  std::vector<double> all;
  for (const Source source : claim_sources)
    for (const std::size_t d : claim_dims) {
      const auto x = trials(source, d, bits, scheme, metric);
      all.insert(all.end(), x.begin(), x.end());
    }
  return all;
}

inline std::string claim_1(const Trials& trials) {
  std::string text =
      "### 1. KQV beats QKQV in KL at every budget and source (n = 4: 2.25 times, p < 1e-23)\n\n"
      "KL of QKQV over KQV, d = 128: geometric mean of the trials' ratios.\n\n";
  Tally flat, aligned, aligned_low;  // aligned_low: n = 2 and 3
  std::vector<std::string> against;
  for (const bool is_aligned : {false, true}) {
    const Metric metric = is_aligned ? aligned_kl : kl;
    Table table({std::string(query_kinds[is_aligned]) + " queries", "n = 2", "3", "4", "5", "6", "n = 4: Mann-Whitney"});
    for (const Source source : claim_sources) {
      std::vector<std::string> cells = {std::string(name_of(source))};
      for (const unsigned bits : claim_bits) {
        std::string sizes;
        for (const std::size_t d : claim_dims) {
          const Ratio ratio =
              ratio_of(trials(source, d, bits, Scheme::qkqv, metric), trials(source, d, bits, Scheme::kqv, metric));
          (is_aligned ? aligned : flat).add(ratio);
          if (is_aligned && bits <= 3) aligned_low.add(ratio);
          if (ratio.high < 1) sizes += (sizes.empty() ? "" : "/") + std::to_string(d);
          if (d == 128) cells.push_back(text_of(ratio));
        }
        if (!sizes.empty())
          against.push_back(std::string(query_kinds[is_aligned]) + " " + std::string(name_of(source)) +
                            " n=" + std::to_string(bits) + " d=" + sizes);
      }
      cells.push_back(test_text(trials(source, 128, 4, Scheme::qkqv, metric), trials(source, 128, 4, Scheme::kqv, metric)));
      table.add(std::move(cells));
    }
    text += table.text();
  }
  const auto pool = [&](Metric metric) {
    const auto q = pooled(trials, 4, Scheme::qkqv, metric), k = pooled(trials, 4, Scheme::kqv, metric);
    return text_of(ratio_of(q, k)) + " times, " + test_text(q, k) + ", " + std::to_string(q.size()) + " trials each";
  };
  const bool flat_holds = flat.above == flat.cells(), all_hold = flat_holds && aligned.above == aligned.cells();
  std::string figures = "Independent queries: KQV is better in " + of_cells(flat.above, flat.cells()) +
                        " cells (5 sources, 5 sizes, 5 budgets), worse in " + std::to_string(flat.below) + ", ratios " +
                        range_of(flat) + "; n = 4, all sources and sizes: " + pool(kl) + ". Aligned queries: better in " +
                        of_cells(aligned.above, aligned.cells()) + ", worse in " + std::to_string(aligned.below) + " (" +
                        std::to_string(aligned_low.below) + " of them at n = 2 and 3), ratios " + range_of(aligned) +
                        "; n = 4: " + pool(aligned_kl) + ".";
  if (!against.empty()) {
    figures += " QKQV is clearly better for ";
    for (std::size_t i = 0; i < against.size(); ++i) figures += (i == 0 ? "" : ", ") + against[i];
    figures += ".";
  }
  return text + verdict(1,
                        all_hold                                ? "holds."
                        : flat_holds                            ? "holds only for queries independent of the keys."
                        : flat.below == 0 && aligned.below == 0 ? "is not contradicted, but not shown in every cell."
                        : flat.below == 0 ? "holds, where the difference is clear, only for queries independent of the keys."
                                          : "does not hold.",
                        figures);
}

inline std::string claim_2(const std::vector<ScoreVariance>& variances) {
  std::string text =
      "### 2. QJL multiplies the variance of inner products by pi/2 against its scalar residual, 2 pi against n bits\n\n"
      "Mean square of <q, x - x'>, q independent of x: QJL at n - 1 bits + 1 over scalar codes.\n\n";
  Table table({"d", "n", "Gaussian S / (n-1 bits)", "orthogonal S / (n-1 bits)", "Gaussian S / (n bits)",
               "orthogonal S / (n bits)"});
  std::vector<double> gaussian, orthogonal, scalar;
  Tally gaussian_full, orthogonal_full;
  for (const ScoreVariance& v : variances) {
    const Ratio full[] = {ratio_of(v.gaussian, v.full_scalar), ratio_of(v.orthogonal, v.full_scalar)};
    gaussian_full.add(full[0]);
    orthogonal_full.add(full[1]);
    table.add({std::to_string(v.d), std::to_string(v.bits), text_of(ratio_of(v.gaussian, v.residual_scalar)),
               text_of(ratio_of(v.orthogonal, v.residual_scalar)), text_of(full[0]), text_of(full[1])});
    gaussian.insert(gaussian.end(), v.gaussian.begin(), v.gaussian.end());
    orthogonal.insert(orthogonal.end(), v.orthogonal.begin(), v.orthogonal.end());
    scalar.insert(scalar.end(), v.residual_scalar.begin(), v.residual_scalar.end());
  }
  const Ratio g = ratio_of(gaussian, scalar), o = ratio_of(orthogonal, scalar);
  const double half_pi = std::numbers::pi / 2;
  double exact = 0;  // 1 / (d a^2) - 1 with a of quantizer/qjl.hpp, mean over both d
  for (const std::size_t d : {std::size_t{64}, std::size_t{128}})
    exact += (1 / (static_cast<double>(d) * std::pow(kvcodec::mean_magnitude(d), 2)) - 1) / 2;
  const bool gaussian_holds = g.low < half_pi * 1.02 && g.high > half_pi * 0.98;
  return text + table.text() +
         verdict(2, gaussian_holds ? "holds only for a Gaussian projection." : "does not hold.",
                 "Over its scalar residual: Gaussian S " + text_of(g) + " against pi/2 = 1.571; orthogonal S " + text_of(o) +
                     " against pi/2 - 1 = 0.571 (" + fixed(exact, 2) +
                     " at these d), which makes the sign a gain and not a loss. Over n full bits: Gaussian S " +
                     range_of(gaussian_full) + ", orthogonal S " + range_of(orthogonal_full) +
                     ". 2 pi = 6.28 is pi/2 times 4, what a bit is worth at many bits: less at few.");
}

/// The six-vector at one size and budget, and how far apart its laws are.
inline std::string six_vectors(const Trials& trials) {
  std::string text =
      "### The six-vector at d = 128, n = 4\n\n"
      "Scale error as SNR (dB, more is better) and direction error (rad) of K, V and the output T. Energy distance: "
      "of the standardised six numbers to KQV's.\n\n";
  Table table({"source", "scheme", "K dB", "K rad", "V dB", "V rad", "T dB", "T rad", "energy distance", "T rad: KS p",
               "top-5 recall", "worst KL"});
  for (const Source source : claim_sources) {
    const auto vectors = [&](Scheme scheme) {
      std::vector<double> all(trials(source, 128, 4, scheme, k_snr).size() * 6);
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = trials(source, 128, 4, scheme, static_cast<Metric>(k_snr + i % 6))[i / 6];
      return all;
    };
    for (const Scheme scheme : {Scheme::kv, Scheme::kqv, Scheme::qkqv}) {
      std::vector<std::string> row = {std::string(name_of(source)),
                                      std::string(scheme_names[static_cast<std::size_t>(scheme)])};
      for (std::size_t i = 0; i < 6; ++i) {
        const double mean = mean_of(trials(source, 128, 4, scheme, static_cast<Metric>(k_snr + i))).mean;
        row.push_back(i % 2 == 0 ? fixed(mean, 1) : digits(mean));
      }
      std::vector<double> x = vectors(scheme), y = vectors(Scheme::kqv);
      quality::standardize(x, y, 6);
      row.push_back(scheme == Scheme::kqv ? "" : fixed(quality::energy_distance(x, y, 6), 2));
      const auto angles = [&](Scheme s) { return trials(source, 128, 4, s, t_angle); };
      row.push_back(scheme == Scheme::kqv ? ""
                                          : p_value(quality::kolmogorov_smirnov(angles(scheme), angles(Scheme::kqv)).p));
      row.push_back(fixed(mean_of(trials(source, 128, 4, scheme, recall)).mean, 3));
      row.push_back(digits(std::ranges::max(trials(source, 128, 4, scheme, worst_kl))));
      table.add(std::move(row));
    }
  }
  return text + table.text();
}

}  // namespace detail

inline std::string claims_report(const Trials& trials, const std::vector<ScoreVariance>& variances, std::size_t count) {
  return "## Claims: KV, KQV and QKQV\n\n" + std::to_string(count) + " trials a source at d = 64 and 128, " +
         std::to_string(Trials::count(count, 256)) + ", " + std::to_string(Trials::count(count, 512)) + ", " +
         std::to_string(Trials::count(count, 1024)) + " at 256, 512, 1024; a trial is " + std::to_string(claim_tokens) +
         " keys and values, " + std::to_string(claim_queries) +
         " queries of either kind and a seed of its own.\nQJL's projection is orthogonal but where a Gaussian one is named. "
         "Intervals: 95 %.\n\n" +
         detail::six_vectors(trials) + detail::claim_1(trials) + detail::claim_2(variances) + detail::claim_3(trials) +
         detail::claim_4(trials) + detail::claim_5(trials);
}

}  // namespace schemes
