// The command line.
#pragma once

#include "kvcodec/norm.hpp"
#include "../program.hpp"

#include "kvcodec/result.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compare {

using kvcodec::error;
using kvcodec::Result;
using program::parse_number;

/// A key/value head: by its index over all leading axes, or by layer and head.
struct HeadChoice {
  std::optional<std::size_t> layer;
  std::size_t head = 0;
};

/// Rows that are made up: "gaussian", or "student-t" with a parameter of 3.
struct Source {
  std::string name;  ///< none: files
  double parameter = 0;

  bool operator==(std::string_view other) const { return name == other; }
};

struct Options {
  bool help = false;
  std::string keys, values, queries;  ///< files; no keys: the shipped data, or a source
  Source source;
  std::string source_text;             ///< as it was named
  std::size_t dim = 128, rows = 4096;  ///< of the source
  std::vector<HeadChoice> heads;       ///< none: all
  std::vector<std::string> codecs;     ///< none: all, or with schemes only the baseline
  bool all_codecs = false;             ///< asked for
  std::vector<std::string> schemes;
  std::vector<unsigned> widths;  ///< none: 1 to 4
  bool all_widths = false;
  bool offset = false;
  kvcodec::Correction correction = kvcodec::Correction::none;
  std::string correction_name;
  std::uint64_t seed = 0;
  std::size_t query_step = 8;
  std::string csv;                   ///< none: no CSV
  std::string plot = "compare.svg";  ///< none: no picture
  bool plot_asked_for = false;
};

template <class T, class U>
bool contains(const std::vector<T>& list, const U& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// The parts of "a,b,c"; an empty part is kept, to be refused by whoever reads it.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

namespace detail {

inline std::optional<HeadChoice> parse_head(std::string_view text) {
  HeadChoice choice;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    choice.layer = parse_number<std::size_t>(text.substr(0, colon));
    if (!choice.layer) return {};
    text.remove_prefix(colon + 1);
  }
  const auto head = parse_number<std::size_t>(text);
  if (!head) return {};
  choice.head = *head;
  return choice;
}

struct SourceKind {
  std::string_view name;
  bool has_parameter;
};
inline constexpr SourceKind sources[] = {{"gaussian", false},     {"student-t", true}, {"low-rank", true},
                                         {"concentrated", false}, {"one-hot", false},  {"outliers", false},
                                         {"bias", false}};

inline std::optional<Source> parse_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto kind = std::ranges::find(sources, text.substr(0, colon), &SourceKind::name);
  if (kind == std::end(sources) || kind->has_parameter != (colon != std::string_view::npos)) return {};
  Source source{std::string(kind->name), 0};
  if (!kind->has_parameter) return source;
  const std::string_view parameter = text.substr(colon + 1);
  // A rank is whole; of fewer degrees of freedom than a half, some values would not be floats.
  const bool rank = kind->name == "low-rank";
  source.parameter = rank ? parse_number<unsigned>(parameter).value_or(0) : parse_number<double>(parameter).value_or(0);
  if (!(source.parameter >= (rank ? 1 : 0.5)) || !std::isfinite(source.parameter)) return {};
  return source;
}

inline std::optional<kvcodec::Correction> parse_correction(std::string_view text) {
  using enum kvcodec::Correction;
  if (text == "none") return none;
  if (text == "norm") return norm;
  if (text == "inner-product") return inner_product;
  if (text == "least-squares") return least_squares;
  return {};
}

/// Reads one option's value; false: it is not one that the option takes.
inline bool set_value(Options& options, std::string_view name, std::string_view text) {
  const auto set_path = [&](std::string& path) {
    path = text;
    return !text.empty();
  };
  const auto set_count = [&](auto& count, std::size_t largest) {
    const auto value = parse_number<std::size_t>(text);
    if (!value || *value == 0 || *value > largest) return false;
    count = *value;
    return true;
  };
  if (name == "--keys") return set_path(options.keys);
  if (name == "--values") return set_path(options.values);
  if (name == "--queries") return set_path(options.queries);
  if (name == "--csv") return set_path(options.csv);
  if (name == "--plot") {
    options.plot_asked_for = true;
    return set_path(options.plot);
  }
  if (name == "--source") {
    const auto source = parse_source(text);
    options.source = source.value_or(Source());
    options.source_text = text;
    return source.has_value();
  }
  if (name == "--correction") {
    const auto correction = parse_correction(text);
    options.correction = correction.value_or(kvcodec::Correction::none);
    options.correction_name = text;
    return correction.has_value();
  }
  if (name == "--dim") return set_count(options.dim, 1024);
  if (name == "--rows") return set_count(options.rows, 65536);
  if (name == "--query-step") return set_count(options.query_step, SIZE_MAX);
  if (name == "--seed") {
    const auto seed = parse_number<std::uint64_t>(text);
    options.seed = seed.value_or(0);
    return seed.has_value();
  }
  if (name == "--codecs") {
    options.codecs.clear();
    options.all_codecs = text == "all";
    if (options.all_codecs) return true;
    for (const std::string_view part : split(text, ',')) options.codecs.emplace_back(part);
    return true;
  }
  if (name == "--scheme") {
    options.schemes.clear();
    for (const std::string_view part : split(text, ',')) options.schemes.emplace_back(part);
    return true;
  }
  if (name == "--bits") {
    options.widths.clear();
    options.all_widths = text == "all";
    if (options.all_widths) return true;
    for (const std::string_view part : split(text, ',')) {
      const auto width = parse_number<unsigned>(part);
      if (!width) return false;
      options.widths.push_back(*width);
    }
    return true;
  }
  // --head
  options.heads.clear();
  for (const std::string_view part : split(text, ',')) {
    const auto head = parse_head(part);
    if (!head) return false;
    options.heads.push_back(*head);
  }
  return true;
}

struct ValueOption {
  std::string_view name, takes;
};
inline constexpr ValueOption value_options[] = {
    {"--keys", "a file"},
    {"--values", "a file"},
    {"--queries", "a file"},
    {"--source", "gaussian, student-t:NU, low-rank:R, concentrated, one-hot, outliers or bias"},
    {"--dim", "a head size, up to 1024"},
    {"--rows", "a number of rows, 1 to 65536"},
    {"--head", "a list of heads such as 0,4 or 1:2"},
    {"--query-step", "a number from 1 on"},
    {"--codecs", "a list of codecs or all"},
    {"--scheme", "a list of kv, kqv, qkqv and pairs such as octopus/turboquant-prod"},
    {"--correction", "none, norm, inner-product or least-squares"},
    {"--bits", "a list of widths such as 2,3,4 or all"},
    {"--seed", "a number from 0 to 18446744073709551615"},
    {"--csv", "a file"},
    {"--plot", "a file that ends in .svg or .png"},
};

}  // namespace detail

/// arguments: without the program's name. An option's value may follow as the next argument or after "=".
inline Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  std::string_view source_detail;  // --dim or --rows, which only a source has
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument == "--no-plot") {
      options.plot.clear();
      options.plot_asked_for = false;
      continue;
    }
    if (argument == "--offset") {
      options.offset = true;
      continue;
    }
    const auto known = std::ranges::find(detail::value_options, name, &detail::ValueOption::name);
    if (known == std::end(detail::value_options))
      return error((argument.starts_with('-') ? "unknown option " : "unexpected argument ") + std::string(argument) +
                   "; --help lists what there is");
    if (equals == std::string_view::npos && ++i == arguments.size())
      return error(std::string(name) + " takes " + std::string(known->takes));
    const std::string_view value = equals == std::string_view::npos ? arguments[i] : argument.substr(equals + 1);
    if (!detail::set_value(options, name, value))
      return error(std::string(name) + " takes " + std::string(known->takes) + ", not \"" + std::string(value) + "\"");
    if (name == "--dim" || name == "--rows") source_detail = name;
  }
  const bool files = options.source.name.empty();
  if (!files && !(options.keys + options.values + options.queries).empty())
    return error("--source makes its own rows: it goes without --keys, --values and --queries");
  if (files && !source_detail.empty()) return error(std::string(source_detail) + " goes with --source");
  if (options.source == "low-rank" && options.source.parameter > static_cast<double>(options.dim))
    return error("--source " + options.source_text + ": a rank is at most the head size, --dim " +
                 std::to_string(options.dim));
  if (options.keys.empty() && !(options.values + options.queries).empty())
    return error("--values and --queries belong to keys: name them with --keys");
  if (!options.csv.empty() && options.csv == options.plot)
    return error("--csv and --plot name the same file, " + options.csv);
  return options;
}

}  // namespace compare
