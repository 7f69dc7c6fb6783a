// The command line.
#pragma once

#include "../program.hpp"

#include "kvcodec/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace schemes {

using kvcodec::error;
using kvcodec::Result;

struct Options {
  bool help = false, claims = true, best = true;
  bool every_candidate = false;  ///< in the tables of best
  std::optional<std::size_t> trials;
  std::uint64_t seed = 0;
  std::string plot_prefix, csv;  ///< empty: none
};

inline constexpr std::size_t default_claim_trials = 64, default_best_trials = 16;

inline constexpr std::string_view help_text =
    R"(schemes [claims|best] [options]

Keys and values apart. claims: KV, KQV and QKQV (arXiv 2605.08114) on synthetic sources, and what
is left of each claim made for them. best: which codec serves keys best and which values best, at
equal stored bytes, on synthetic sources and on the shipped keys, values and queries. Without
either, both. All of it is Markdown on standard output, with 95 % confidence intervals over trials.

  --trials N         independent trials a source, 8 to 10000 (claims: 64, fewer above d = 128;
                     best: 16)
  --seed N           of everything random (0); the same seed gives the same output
  --all              best: tables at every size and budget, with every candidate
  --csv FILE         every scheme and candidate with its means, in full
  --plot-prefix P    two pictures of the claims, P-plane.svg and P-kl.svg, by gnuplot
  --help             this
)";

/// arguments: without the program's name. A value may follow as the next argument or after "=".
inline Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  bool named = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--all") {
      options.every_candidate = true;
      continue;
    }
    if (argument == "claims" || argument == "best") {
      if (named) return error("one part at a time, or neither for both; " + std::string(argument) + " is the second");
      named = true;
      options.claims = argument == "claims";
      options.best = argument == "best";
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    if (name != "--trials" && name != "--seed" && name != "--csv" && name != "--plot-prefix")
      return error((argument.starts_with('-') ? "unknown option " : "unexpected argument ") + std::string(argument) +
                   "; --help lists what there is");
    if (equals == std::string_view::npos && ++i == arguments.size()) return error(name + " takes a value");
    const std::string_view value = equals == std::string_view::npos ? arguments[i] : argument.substr(equals + 1);
    const auto refuse = [&](std::string_view wanted) {
      return error(name + " takes " + std::string(wanted) + ", not \"" + std::string(value) + "\"");
    };
    if (name == "--trials") {
      options.trials = program::parse_number<std::size_t>(value);
      if (!options.trials || *options.trials < 8 || *options.trials > 10000) return refuse("a number from 8 to 10000");
    } else if (name == "--seed") {
      const auto seed = program::parse_number<std::uint64_t>(value);
      if (!seed) return refuse("a number from 0 to 18446744073709551615");
      options.seed = *seed;
    } else {
      if (value.empty()) return refuse("a file name");
      (name == "--csv" ? options.csv : options.plot_prefix) = value;
    }
  }
  if (!options.claims && !options.plot_prefix.empty())
    return error("--plot-prefix draws the claims: it does not go with best");
  if (!options.best && options.every_candidate) return error("--all is of best: it does not go with claims");
  return options;
}

}  // namespace schemes
