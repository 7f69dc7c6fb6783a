// The command line.
#pragma once

#include "kvcodec/result.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace compare {

using kvcodec::error;
using kvcodec::Result;

/// A key/value head: by its index over all leading axes, or by layer and head.
struct HeadChoice {
  std::optional<std::size_t> layer;
  std::size_t head = 0;
};

struct Options {
  bool help = false;
  std::string keys, values, queries;  ///< files; no keys: the shipped data, or the Gaussian source
  bool gaussian = false;
  std::size_t dim = 128, rows = 4096;  ///< of the Gaussian source
  std::vector<HeadChoice> heads;       ///< none: all
  std::vector<std::string> codecs;     ///< none: all
  std::vector<unsigned> widths;        ///< none: 1 to 4
  bool all_widths = false;
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

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc{} || end != last) return {};
  return value;
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
  if (name == "--source") return options.gaussian = text == "gaussian";
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
    if (text == "all") return true;
    for (const std::string_view part : split(text, ',')) options.codecs.emplace_back(part);
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
    {"--source", "gaussian"},
    {"--dim", "a head size, up to 1024"},
    {"--rows", "a number of rows, 1 to 65536"},
    {"--head", "a list of heads such as 0,4 or 1:2"},
    {"--query-step", "a number from 1 on"},
    {"--codecs", "a list of codecs or all"},
    {"--bits", "a list of widths such as 2,3,4 or all"},
    {"--seed", "a number from 0 to 18446744073709551615"},
    {"--csv", "a file"},
    {"--plot", "a file that ends in .svg or .png"},
};

}  // namespace detail

/// arguments: without the program's name. An option's value may follow as the next argument or after "=".
inline Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  std::string_view source_detail;  // --dim or --rows, which only the Gaussian source has
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
  if (options.gaussian && !(options.keys + options.values + options.queries).empty())
    return error("--source gaussian makes its own rows: it goes without --keys, --values and --queries");
  if (!options.gaussian && !source_detail.empty()) return error(std::string(source_detail) + " goes with --source gaussian");
  if (options.keys.empty() && !(options.values + options.queries).empty())
    return error("--values and --queries belong to keys: name them with --keys");
  if (!options.csv.empty() && options.csv == options.plot)
    return error("--csv and --plot name the same file, " + options.csv);
  return options;
}

}  // namespace compare
