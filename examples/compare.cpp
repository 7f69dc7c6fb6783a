// Compares codecs on keys, values and queries: a table, a CSV and a rate-distortion picture. --help tells the rest.
//
//   options.hpp     the command line          adjusted.hpp     offsets and corrections at run time
//   npy.hpp         files of arrays           measure.hpp      what is measured, and how
//   input.hpp       heads and queries         report.hpp       the table and the CSV
//   any_codec.hpp   codecs at run time        plot.hpp         the picture
//   candidates.hpp  the lines of the table    output_file.hpp  files that appear whole or not at all
#include "compare/candidates.hpp"
#include "compare/help.hpp"
#include "compare/input.hpp"
#include "compare/measure.hpp"
#include "compare/options.hpp"
#include "compare/output_file.hpp"
#include "compare/plot.hpp"
#include "compare/report.hpp"

#include "program.hpp"

#include "kvcodec/config.hpp"

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

using namespace compare;

/// Everything that can be known to fail before the long work.
Result<void> check_outputs(const Options& options) {
  if (!options.csv.empty())
    if (auto writable = check_writable(options.csv); !writable) return writable;
  if (options.plot.empty()) return {};
  if (auto named = check_picture_name(options.plot); !named) return named;
  if (options.plot_asked_for && !has_gnuplot()) return error(std::string(how_to_get_gnuplot));
  if (auto writable = check_writable(options.plot); !writable)
    return error(writable.message() + (options.plot_asked_for ? "" : " (--no-plot draws no picture)"));
  return {};
}

/// The mean rows are stored once a head, in no row: what they come to is said beside the table.
std::string about_offset(const Options& options, const Input& input) {
  if (!options.offset) return "";
  return "offset:  each head's robust mean row taken off; the means, " + std::to_string(4 * input.dim) +
         " bytes a head and side, would add " + detail::fixed(32.0 / static_cast<double>(input.tokens), 3) + " to bits/x\n";
}

void show_progress(std::size_t done, std::size_t total) {
  if (::isatty(STDERR_FILENO) == 0) return;
  // The line is wiped at the end, so that the table begins on a clean one.
  std::cerr << "\r\033[K" << (done == total ? "" : "measuring: " + std::to_string(100 * done / total) + " %") << std::flush;
}

Result<void> run(const Options& options) {
  if (auto possible = check_outputs(options); !possible) return possible;
  const Result<Input> input = load_input(options, KVCODEC_EXAMPLE_DATA);
  if (!input) return error(input.message());
  const Result<std::vector<Candidate>> candidates = choose_candidates(options, input->dim, input->blame);
  if (!candidates) return error(candidates.message());

  const std::vector<Measurement> measurements = measure(*input, *candidates, show_progress);
  const std::string size = std::to_string(input->heads.size()) + (input->heads.size() == 1 ? " head" : " heads") + " of " +
                           std::to_string(input->tokens) + " tokens, d = " + std::to_string(input->dim);
  std::cout << "data:    " << input->title << "; " << size << "\nqueries: " << input->about_queries
            << "\ncode:    " << kvcodec::isa_name << ", one thread; seed " << options.seed << "\n"
            << about_offset(options, *input) << "\n"
            << table(measurements) << "\n"
            << "dB: over Shannon's bound at the true rate, bits/x. compare --help explains every column.\n";

  if (!options.csv.empty()) {
    if (auto written = write_file(options.csv, csv(measurements, input->dim)); !written) return written;
    std::cout << "CSV: " << options.csv << "\n";
  }
  if (!options.plot.empty() && !has_gnuplot()) {
    std::cerr << "compare: no picture was drawn: " << how_to_get_gnuplot << "\n";
  } else if (!options.plot.empty()) {
    const std::string script = plot_script(measurements, input->title, size, is_png(options.plot));
    if (auto drawn = draw(options.plot, script); !drawn) return drawn;
    std::cout << "picture: " << options.plot << "\n";
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) { return program::main("compare", argc, argv, help_text, parse_options, run); }
