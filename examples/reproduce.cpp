// The papers' tables beside ours. --help tells the rest.
//
//   options.hpp   the command line              needle.hpp      2: the synthetic needle
//   report.hpp    verdicts and lines            turboquant.hpp  3: TurboQuant
//   measure.hpp   keys, queries and figures     polarquant.hpp  4: PolarQuant
//   octopus.hpp   1: OCTOPUS, Tables 1, 4, 5    rates.hpp       5: everything at its stored bits
#include "reproduce/measure.hpp"
#include "reproduce/needle.hpp"
#include "reproduce/octopus.hpp"
#include "reproduce/options.hpp"
#include "reproduce/polarquant.hpp"
#include "reproduce/rates.hpp"
#include "reproduce/report.hpp"
#include "reproduce/turboquant.hpp"

#include "program.hpp"

#include <iostream>

namespace {

using namespace reproduce;

Result<void> run(const Options& options) {
  const Sample sample(options.vectors, options.seed);
  const Sample outliers(fewest_vectors, options.seed ^ 0x8000u, 8.0);
  std::cout << sample.blocks * block_keys << " keys N(0, I), d = " << dim << ", in " << sample.blocks << " blocks; seed "
            << options.seed << "; +- is one standard error; * is no paper's figure but an oracle's or an integral\n";
  Report report;
  octopus_tables(report, sample);
  needle_table(report, sample, options.seed + 1);
  turboquant_tables(report, sample, outliers);
  polarquant_tables(report, sample);
  rate_table(report, sample);
  report.summary();
  return {};
}

}  // namespace

int main(int argc, char** argv) { return program::main("reproduce", argc, argv, help_text, parse_options, run); }
