// Keys and values apart: tests the claims made for KV, KQV and QKQV (arXiv 2605.08114), and finds which codec serves keys
// best and which values best at equal stored bytes. --help tells the rest.
//
//   options.hpp     the command line               trials.hpp    the measurement behind the claims
//   coders.hpp      codecs behind one function     claims.hpp    a statement for each claim, keys.hpp those of keys alone
//   cases.hpp       keys, values and queries       settings.hpp  the measurement of candidates
//   attention.hpp   what coded rows do to it       best.hpp      which are best at equal bytes
//   statistics.hpp  intervals and ratios           pictures.hpp  the pictures of the claims
//   text.hpp        numbers, Markdown, CSV
#include "schemes/best.hpp"
#include "schemes/claims.hpp"
#include "schemes/options.hpp"
#include "schemes/pictures.hpp"
#include "schemes/trials.hpp"

#include "compare/output_file.hpp"
#include "compare/plot.hpp"
#include "program.hpp"

#include <unistd.h>

#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

// Where the shipped data are; the build says so in full, so that the program runs from anywhere.
#ifndef KVCODEC_EXAMPLE_DATA
#define KVCODEC_EXAMPLE_DATA "examples/data"
#endif

namespace {

using namespace schemes;

void show_progress(double part) {
  if (::isatty(STDERR_FILENO) == 0) return;
  std::cerr << "\r\033[K" << (part >= 1 ? "" : "measuring: " + std::to_string(static_cast<int>(100 * part)) + " %")
            << std::flush;
}

Result<void> draw_pictures(const Trials& trials, const std::string& prefix) {
  if (!compare::has_gnuplot()) {
    std::cerr << "schemes: no picture was drawn: " << compare::how_to_get_gnuplot << "\n";
    return {};
  }
  if (auto drawn = compare::draw(prefix + "-plane.svg", plane_script(trials)); !drawn) return drawn;
  if (auto drawn = compare::draw(prefix + "-kl.svg", kl_script(trials)); !drawn) return drawn;
  std::cerr << "schemes: pictures: " << prefix << "-plane.svg, " << prefix << "-kl.svg\n";
  return {};
}

Result<void> run(const Options& options) {
  // What can be known to fail is known before the long work.
  if (!options.csv.empty())
    if (auto writable = compare::check_writable(options.csv); !writable) return writable;
  if (!options.plot_prefix.empty())
    if (auto writable = compare::check_writable(options.plot_prefix + "-plane.svg"); !writable) return writable;

  Result<std::vector<Head>> shipped = options.best ? shipped_heads(KVCODEC_EXAMPLE_DATA) : std::vector<Head>();
  if (!shipped) return error(shipped.message() + " (the shipped data; claims goes without)");

  std::string csv(csv_titles);
  if (options.claims) {
    const std::size_t count = options.trials.value_or(default_claim_trials);
    Trials trials;
    trials.run(count, options.seed, show_progress);
    std::cout << claims_report(trials, score_variances(count, options.seed), count) << std::flush;
    trials.add_csv(csv);
    if (!options.plot_prefix.empty())
      if (auto drawn = draw_pictures(trials, options.plot_prefix); !drawn) return drawn;
  }
  if (options.best) {
    const std::size_t count = options.trials.value_or(default_best_trials);
    const std::vector<Setting> settings = run_best(count, options.seed, *shipped, show_progress);
    std::cout << best_report(settings, count, options.every_candidate) << std::flush;
    add_csv(settings, csv);
  }
  return options.csv.empty() ? Result<void>() : compare::write_file(options.csv, csv);
}

}  // namespace

int main(int argc, char** argv) { return program::main("schemes", argc, argv, help_text, parse_options, run); }
