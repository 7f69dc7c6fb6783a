// What the programs here have in common: main, from arguments to an exit status, and numbers in text.
#pragma once

#include "kvcodec/result.hpp"

#include <charconv>
#include <cstdio>
#include <iostream>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace program {

/// All of the text as a number, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const last = text.data() + text.size();
  const auto [end, problem] = std::from_chars(text.data(), last, value);
  if (problem != std::errc{} || end != last) return {};
  return value;
}

inline std::string fixed(double x, int decimals) {
  char text[400];
  std::snprintf(text, sizeof text, "%.*f", decimals, x);
  return text;
}

/// Runs a program whose options are parse(arguments), a Result of something with a `help`, and whose work is
/// run(options), a Result<void>. Answers the exit status: 0, or 2 after one line that says what is at fault.
template <class Parse, class Run>
int main(std::string_view name, int argc, char** argv, std::string_view help_text, Parse parse, Run run) {
  const std::vector<std::string_view> arguments(argv + (argc > 0), argv + argc);
  const auto options = parse(std::span<const std::string_view>(arguments));
  kvcodec::Result<void> done;
  try {
    if (!options) done = kvcodec::error(options.message());
    else if (options->help) std::cout << help_text;
    else done = run(*options);
  } catch (const std::bad_alloc&) {
    done = kvcodec::error("out of memory");
  }
  if (done.ok() && !std::cout.flush()) done = kvcodec::error("standard output cannot be written");
  if (done.ok()) return 0;
  std::cerr << name << ": " << done.message() << "\n";
  return 2;
}

}  // namespace program
