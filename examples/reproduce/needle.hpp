// The synthetic needle: one of 2048 Gaussian keys is the query's own but for noise. How much of the softmax is left on it?
#pragma once

#include "measure.hpp"

#include "kvcodec/split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace reproduce {

/// Every block of keys is a haystack, and some of its keys are the needle in turn.
class Needles {
 public:
  static constexpr std::size_t per_block = 32;

  Needles(const Sample& sample, std::uint64_t seed) : sample_(sample), exact_(sample.blocks) {
    quality::Gaussian noise(seed);
    std::vector<double> scores(block_keys);
    for (std::size_t b = 0; b < sample.blocks; ++b) {
      for (std::size_t j = 0; j < per_block; ++j) {
        const std::span<const float> key = sample.keys(b).subspan(place(j) * dim, dim);
        for (const float x : key) queries_.push_back(static_cast<float>(double{x} + 0.1 * noise()));
        quality::attention_scores(query(b, j), sample.keys(b), scores);
        exact_[b] += mass_on(place(j), scores) / per_block;
      }
    }
  }

  template <class C>
  void row(Report& report, const std::string& name) {
    std::vector<double> mass(sample_.blocks), lost(sample_.blocks), scores(block_keys);
    std::vector<float> floats(block_keys);
    for (std::size_t b = 0; b < sample_.blocks; ++b) {
      const C codec(sample_.codec_seed + b);
      const std::vector<std::byte> packed = pack(codec, sample_.keys(b));
      for (std::size_t j = 0; j < per_block; ++j) {
        score(codec, query(b, j), packed, floats);
        std::copy(floats.begin(), floats.end(), scores.begin());
        mass[b] += mass_on(place(j), scores) / per_block;
      }
    }
    for (std::size_t b = 0; b < sample_.blocks; ++b) lost[b] = mass[b] - exact_[b];
    const Estimate change = estimate(lost);
    report.not_printed(name + ", " + std::to_string(C::row_bytes) + " B",
                       fixed(estimate(mass).mean, 4) + "  " + (change.mean > 0 ? "+" : "") + fixed(change.mean, 4) + " +- " +
                           fixed(change.error, 4));
  }

  std::string exact() const { return readable(estimate(exact_)); }
  /// How many needles there were in all rows so far, and how many of them had not the largest score.
  std::size_t asked() const noexcept { return asked_; }
  std::size_t missed() const noexcept { return missed_; }

 private:
  static std::size_t place(std::size_t j) { return j * (block_keys / per_block) + j; }
  std::span<const float, dim> query(std::size_t b, std::size_t j) const {
    return std::span<const float, dim>(queries_.data() + (b * per_block + j) * dim, dim);
  }
  double mass_on(std::size_t needle, std::vector<double>& scores) {
    const auto largest = std::max_element(scores.begin(), scores.end()) - scores.begin();
    ++asked_;
    missed_ += static_cast<std::size_t>(largest) == needle ? 0 : 1;
    quality::softmax(scores, quality::softmax_scale(dim), scores);
    return scores[needle];
  }

  const Sample& sample_;
  std::vector<float> queries_;
  std::vector<double> exact_;
  std::size_t asked_ = 0, missed_ = 0;
};

namespace detail {
template <unsigned B>
void needles_at_width(Report& report, Needles& needles) {
  using namespace kvcodec;
  const std::string b = " b=" + std::to_string(B);
  needles.row<Octopus<dim, B, OctopusOptions{.rounding = Rounding::scalar}>>(report, "OCTOPUS, scalar rounding" + b);
  needles.row<Octopus<dim, B>>(report, "OCTOPUS, joint rounding" + b);
  needles.row<OctopusQjl<dim, B>>(report, "OCTOPUS-QJL, joint rounding" + b);
  needles.row<TurboQuantMse<dim, B>>(report, "TurboQuant-MSE" + b);
  needles.row<TurboQuantMse<dim, B, kvcodec::Options{.correction = Correction::inner_product}>>(
      report, "TurboQuant-MSE, unbiased length" + b);
  needles.row<TurboQuantProd<dim, B, kvcodec::Options{}, QjlOptions{.projection_rounds = 0}>>(
      report, "TurboQuant-QJL, Gaussian S" + b);
  needles.row<TurboQuantProd<dim, B>>(report, "TurboQuant-QJL, orthogonal S" + b);
  needles.row<PolarQuant<dim, B>>(report, "PolarQuant, one radius" + b);
}
}  // namespace detail

inline void needle_table(Report& report, const Sample& sample, std::uint64_t seed) {
  Needles needles(sample, seed);
  report.section("2. The synthetic needle: softmax mass on it");
  report.note("  2048 keys N(0, I), d = 128; the query is the needle's key + 0.1 N(0, I); scores / sqrt(d)");
  report.headings("ours: mass, less exact");
  report.not_printed("exact keys", needles.exact());
  detail::needles_at_width<2>(report, needles);
  detail::needles_at_width<3>(report, needles);
  detail::needles_at_width<4>(report, needles);
  needles.row<kvcodec::TurboQuantSplit<dim, 2>>(report, "TurboQuant \"2.5\"");
  needles.row<kvcodec::TurboQuantSplit<dim, 3>>(report, "TurboQuant \"3.5\"");
  needles.row<kvcodec::PolarQuantBlock<dim>>(report, "PolarQuant (4,2,2,2)");
  report.note("  The needle had not the largest score in " + std::to_string(needles.missed()) + " of " +
              std::to_string(needles.asked()) + " attentions.");
}

}  // namespace reproduce
