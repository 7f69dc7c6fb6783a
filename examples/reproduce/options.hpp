// The command line.
#pragma once

#include "../program.hpp"

#include "kvcodec/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reproduce {

using kvcodec::error;
using kvcodec::Result;

struct Options {
  bool help = false;
  std::size_t vectors = 32768;
  std::uint64_t seed = 1;
};

inline constexpr std::size_t fewest_vectors = 16384, most_vectors = 1048576;

inline constexpr std::string_view help_text =
    R"(reproduce: the tables of three papers beside what this library gives.

  OCTOPUS      arXiv 2605.21226    TurboQuant   arXiv 2504.19874    PolarQuant   arXiv 2502.02617

  --vectors N  Gaussian keys of 128 coordinates, 16384 to 1048576, rounded up to a multiple of 2048; default 32768
  --seed N     of the keys, the queries and the codecs; default 1. The same seed prints the same tables
  --help       this

Each line: what, the paper's figure (a * marks one that no paper prints: an independent oracle or the exact integral gave
it), ours with its standard error, and a verdict:
  reproduced       within 1 % of the figure, or within half a unit of its last decimal and two standard errors. Cosines are
                   compared as 1 - cosine. A bound is reproduced where it holds
  differs by x %   and the reason, where one is known
  not printed      there is no figure in what we could read
  not testable     this program lacks what it takes, and says what
The standard errors come from the differences between blocks of 2048 keys, each with a codec of its own seed.

Exit status: 0 however the verdicts fall, 2 when an option is wrong or the output cannot be written.
)";

/// arguments: without the program's name. An option's value may follow as the next argument or after "=".
inline Result<Options> parse_options(std::span<const std::string_view> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (name != "--vectors" && name != "--seed")
      return error((argument.starts_with('-') ? "unknown option " : "unexpected argument ") + std::string(argument) +
                   "; --help lists what there is");
    const std::string takes = std::string(name) + (name == "--seed" ? " takes a number from 0 to 18446744073709551615"
                                                                    : " takes a number from 16384 to 1048576");
    if (equals == std::string_view::npos && ++i == arguments.size()) return error(takes);
    const std::string_view text = equals == std::string_view::npos ? arguments[i] : argument.substr(equals + 1);
    const auto value = program::parse_number<std::uint64_t>(text);
    if (!value || (name == "--vectors" && (*value < fewest_vectors || *value > most_vectors)))
      return error(takes + ", not \"" + std::string(text) + "\"");
    if (name == "--seed") options.seed = *value;
    else options.vectors = static_cast<std::size_t>(*value);
  }
  return options;
}

}  // namespace reproduce
