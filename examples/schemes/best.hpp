// Which codec serves keys best and which values best at equal stored bytes.
//
// Rows of the candidates differ by some bytes. They are compared after each is moved to one number of bytes along 6.02 dB
// a bit, the slope of every codec here at more than a few bits: a KL divergence goes with the square of the error and is
// multiplied by 4^(bits beyond), an output error by 2^(bits beyond). The tables show what was measured, too.
#pragma once

#include "settings.hpp"
#include "statistics.hpp"
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemes {

namespace detail {

enum class Role { keys, values };

/// The candidate's numbers for one kind of query, moved to the common bytes.
inline std::vector<double> moved(const Setting& setting, const Candidate& candidate, Role role, std::size_t kind) {
  const Score& score = candidate.scores[kind];
  std::vector<double> x = role == Role::keys ? score.kl : score.output;
  const double factor = std::exp2((role == Role::keys ? 2 : 1) * setting.bits_beyond(candidate.coder));
  for (double& value : x) value *= factor;
  return x;
}

/// Candidates in order for one kind of query, by their mean; against the best, the ratio of each.
struct Ranking {
  struct Place {
    const Candidate* candidate;
    std::vector<double> numbers;
    double mean;
    Ratio to_best;
  };
  std::vector<Place> places;

  Ranking(const Setting& setting, Role role, std::size_t kind) {
    for (const Candidate& candidate : setting.candidates) {
      std::vector<double> numbers = moved(setting, candidate, role, kind);
      // By the geometric mean, as the ratios are: one wild trial does not decide.
      double logs = 0;
      for (const double x : numbers) logs += std::log(std::max(x, 1e-12));
      const double mean = std::exp(logs / static_cast<double>(numbers.size()));
      places.push_back({&candidate, std::move(numbers), mean, {}});
    }
    std::ranges::stable_sort(places, {}, &Place::mean);
    for (std::size_t i = 1; i < places.size(); ++i) places[i].to_best = ratio_of(places[i].numbers, places[0].numbers);
  }

  const Place& best() const { return places.front(); }
  const Place& of(const Candidate& candidate) const { return *std::ranges::find(places, &candidate, &Place::candidate); }
  /// Not clearly behind the best.
  bool tied(const Place& place) const { return &place == &places.front() || place.to_best.low <= 1; }
};

inline std::string best_table(const Setting& setting, Role role, bool every_candidate) {
  const std::string figure = role == Role::keys ? "KL" : "output error";
  std::vector<std::string> titles = {role == Role::keys ? "keys" : "values", "bytes", "bits/x"};
  std::vector<Ranking> rankings;
  for (std::size_t kind = 0; kind < setting.kinds.size(); ++kind) {
    rankings.emplace_back(setting, role, kind);
    titles.push_back(setting.kinds[kind] + ": " + figure);
    titles.push_back("at " + std::to_string(setting.common_bytes()) + " B, times best");
    if (role == Role::keys) titles.push_back("argmax shifts");
  }
  Table table(std::move(titles));
  // Best first: by the product over the kinds of queries.
  std::vector<std::pair<double, const Candidate*>> order;
  for (const Candidate& candidate : setting.candidates) {
    double product = 1;
    for (const Ranking& ranking : rankings) product *= ranking.of(candidate).mean;
    order.emplace_back(product, &candidate);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, const Candidate*>::first);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const Candidate& candidate = *order[place].second;
    const bool best_of_one =
        std::ranges::any_of(rankings, [&](const Ranking& r) { return r.best().candidate == &candidate; });
    if (!every_candidate && place >= 6 && !best_of_one && &candidate != &setting.candidates.front()) continue;
    std::vector<std::string> row = {candidate.coder.name, std::to_string(candidate.coder.row_bytes),
                                    fixed(candidate.coder.bits_per_coordinate, 2)};
    for (std::size_t kind = 0; kind < rankings.size(); ++kind) {
      const Ranking::Place& own = rankings[kind].of(candidate);
      const Score& score = candidate.scores[kind];
      row.push_back(text_of(mean_of(role == Role::keys ? score.kl : score.output)));
      row.push_back(best_of_one && rankings[kind].best().candidate == &candidate
                        ? "**best**"
                        : text_of(own.to_best) + (rankings[kind].tied(own) ? " tied" : ""));
      if (role == Role::keys) row.push_back(text_of(mean_of(score.shift)));
    }
    table.add(std::move(row));
  }
  return table.text();
}

/// "Octopus 3 (1.92x)": the best, and how many times less it loses than plain TurboQuant at the same bytes.
inline std::string winner(const Setting& setting, Role role, std::size_t kind) {
  const Ranking ranking(setting, role, kind);
  const Ranking::Place& plain = ranking.of(setting.candidates.front());
  const auto ties = std::ranges::count_if(ranking.places, [&](const auto& place) { return ranking.tied(place); }) - 1;
  if (static_cast<std::size_t>(ties) + 1 == ranking.places.size()) return "no clear difference";
  return ranking.best().candidate->coder.name + " (" + digits(plain.mean / ranking.best().mean) + "x" +
         (ties == 0 ? "" : ", " + std::to_string(ties) + " tied") + ")";
}

/// Every candidate over all sources, sizes, budgets and kinds of queries.
inline std::string overall(const std::vector<Setting>& settings) {
  struct Total {
    std::string name;
    std::size_t ties[2] = {};
    std::vector<double> behind[2];  // times best
  };
  std::vector<Total> totals;  // candidates come in one order in every setting
  std::size_t all = 0;
  for (const Setting& setting : settings) {
    totals.resize(setting.candidates.size());
    all += setting.kinds.size();
    for (const Role role : {Role::keys, Role::values}) {
      for (std::size_t kind = 0; kind < setting.kinds.size(); ++kind) {
        const Ranking ranking(setting, role, kind);
        for (std::size_t i = 0; i < totals.size(); ++i) {
          const Ranking::Place& place = ranking.of(setting.candidates[i]);
          if (setting.bits == 3) totals[i].name = setting.candidates[i].coder.name;
          totals[i].ties[static_cast<int>(role)] += ranking.tied(place);
          totals[i].behind[static_cast<int>(role)].push_back(place.to_best.mean);
        }
      }
    }
  }
  Table table({"named at 3 bits", "keys: best or tied, of " + std::to_string(all), "times best: median", "90 %",
               "values: best or tied", "times best: median", "90 %"});
  for (const Total& total : totals) {
    std::vector<std::string> row = {total.name};
    for (const int role : {0, 1}) {
      row.push_back(std::to_string(total.ties[role]));
      row.push_back(digits(quality::quantile(total.behind[role], 0.5)));
      row.push_back(digits(quality::quantile(total.behind[role], 0.9)));
    }
    table.add(std::move(row));
  }
  return table.text();
}

/// Aligned queries want no bias: the sign that buys it against the corrected length that has it for nothing.
inline std::string unbiased(const std::vector<Setting>& settings) {
  std::string text;
  for (const unsigned bits : best_bits) {
    Tally over_plain, over_corrected;
    for (const Setting& setting : settings) {
      if (setting.bits != bits || setting.kinds.size() != 2) continue;
      const auto of = [&](std::string_view name) {
        return moved(
            setting,
            *std::ranges::find(setting.candidates, name, [](const Candidate& c) { return std::string_view(c.coder.name); }),
            Role::keys, 1);
      };
      const std::string plain = "TurboQuant " + std::to_string(bits), sign = "Prod " + std::to_string(bits - 1) + "+1";
      over_plain.add(ratio_of(of(sign + ", offset"), of(plain + ", offset")));
      over_corrected.add(ratio_of(of(sign + ", offset"), of(plain + " ip, offset")));
    }
    const auto count = [](const Tally& tally) {
      return range_of(tally) + " times (clearly less in " + std::to_string(tally.below) + ", more in " +
             std::to_string(tally.above) + " of " + std::to_string(tally.cells()) + ")";
    };
    text += "- " + std::to_string(bits) + " bits: against TurboQuant's, " + count(over_plain) +
            "; with inner-product correction, " + count(over_corrected) + "\n";
  }
  return text;
}

}  // namespace detail

inline std::string best_report(const std::vector<Setting>& settings, std::size_t trials, bool every_candidate) {
  using detail::Role;
  std::string text =
      "## Best at equal bytes\n\n" + std::to_string(trials) + " trials a source of " + std::to_string(best_tokens) +
      " tokens and " + std::to_string(best_queries) +
      " queries of either kind; the shipped data: 27 query heads as trials.\n"
      "Means ± 95 %. \"Times best\": geometric mean of the trials' ratios to the best candidate (95 %), each moved to the\n"
      "same bytes along 6.02 dB a bit; tied: that interval reaches 1. Output error: |o - o'| / |o| with exact weights.\n"
      "norm, ip (inner product), lsq (least squares): corrections of the stored length, or QJL's scale. offset: the mean\n"
      "of 128 earlier rows taken off (the shipped data's: the first 128 of 512, which are measured as well).\n\n";
  for (const Setting& setting : settings) {
    const bool shown = every_candidate || (setting.bits == 3 && (setting.d == 128 || setting.kinds.size() == 1));
    if (!shown) continue;
    text += "### " + setting.source + ", d = " + std::to_string(setting.d) + ", near " + std::to_string(setting.bits) +
            " bits\n\n" + detail::best_table(setting, Role::keys, every_candidate) +
            detail::best_table(setting, Role::values, every_candidate);
  }
  text +=
      "### Summary\n\nThe best at equal bytes; how many times the loss of plain TurboQuant's is of it; how many are tied "
      "with it.\n\n";
  for (const Role role : {Role::keys, Role::values}) {
    Table table({role == Role::keys ? "keys: source" : "values: source", "queries", "d", "2 bits", "3 bits", "4 bits"});
    for (std::size_t i = 0; i < settings.size(); i += std::size(best_bits)) {
      for (std::size_t kind = 0; kind < settings[i].kinds.size(); ++kind) {
        std::vector<std::string> row = {settings[i].source, settings[i].kinds[kind], std::to_string(settings[i].d)};
        for (std::size_t b = 0; b < std::size(best_bits); ++b) row.push_back(detail::winner(settings[i + b], role, kind));
        table.add(std::move(row));
      }
    }
    text += table.text();
  }
  return text +
         "All of these together: how often each is best or not clearly behind the best, and how far behind it is.\n\n" +
         detail::overall(settings) +
         "Aligned queries, all with offset: KL of a QJL sign (Prod, unbiased) at equal bytes\n\n" +
         detail::unbiased(settings) + "\n";
}

/// Every candidate's means.
inline void add_csv(const std::vector<Setting>& settings, std::string& csv) {
  for (const Setting& setting : settings) {
    for (const Candidate& candidate : setting.candidates) {
      for (std::size_t kind = 0; kind < setting.kinds.size(); ++kind) {
        const Score& score = candidate.scores[kind];
        const auto add = [&](std::string_view metric, const std::vector<double>& x) {
          csv += csv_line("best", setting.source, setting.kinds[kind], setting.d, setting.bits, candidate.coder.name,
                          candidate.coder.row_bytes, metric, x);
        };
        add("kl", score.kl);
        add("shift", score.shift);
        add("output_error", score.output);
      }
    }
  }
}

}  // namespace schemes
