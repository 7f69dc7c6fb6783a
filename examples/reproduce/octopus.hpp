// OCTOPUS, arXiv 2605.21226: Tables 1, 4 and 5, with its rotation (one round) and its length (float32).
#pragma once

#include "measure.hpp"

#include <array>
#include <string>
#include <utility>

namespace reproduce {

namespace octopus_paper {

using kvcodec::NormType;
using kvcodec::Rounding;

inline constexpr kvcodec::Options plain{.rounds = 1, .norm = NormType::float32};
constexpr kvcodec::OctopusOptions with(Rounding rounding) {
  return {.rounds = 1, .norm = NormType::float32, .rounding = rounding};
}
constexpr kvcodec::OctopusOptions split(unsigned direction, unsigned length) {
  return {.rounds = 1, .norm = NormType::float32, .direction_bits = direction, .length_bits = length};
}

struct Quality {
  const char *cosine, *distortion, *product_error;
};

inline void compare(Report& report, const std::string& name, const Quality& paper, const Figures& ours,
                    std::string_view why = {}) {
  report.compare_cosine(name + ", cosine", paper.cosine, ours.cosine);
  report.compare(name + ", D", paper.distortion, ours.distortion);
  report.compare(name + ", |q.k - q.k'|", paper.product_error, ours.product_error, why);
}

/// What the paper prints is the error without the QJL term; with it, a simulation of ours gave the others.
struct TurboQuantQjl {
  const char *printed, *gaussian, *orthogonal;
};

struct AtWidth {
  Quality scalar, joint;
  const char* qjl;
  Quality turboquant;
  TurboQuantQjl turboquant_qjl;
  Quality polarquant;
};
inline constexpr std::array<AtWidth, 3> table_1{{
    {{".9547", ".0897", "2.682"},
     {".9578", ".0832", "2.620"},
     "2.015",
     {".9406", ".1161", "3.054"},
     {"5.427", "6.65*", "4.03*"},
     {".8902", ".2197", "4.200"}},
    {{".9871", ".0260", "1.444"},
     {".9880", ".0243", "1.414"},
     "1.084",
     {".9831", ".0340", "1.650"},
     {"3.072", "3.72*", "2.29*"},
     {".9715", ".0571", "2.142"}},
    {{".9965", ".0071", ".753"},
     {".9967", ".0067", ".739"},
     ".565",
     {".9954", ".0094", ".866"},
     {"1.660", "2.04*", "1.25*"},
     {".9928", ".0145", "1.079"}},
}};

template <unsigned B>
void at_width(Report& report, const Sample& sample) {
  using namespace kvcodec;
  const AtWidth& paper = table_1[B - 2];
  const std::string b = " b=" + std::to_string(B);
  compare(report, "OCTOPUS, scalar rounding" + b, paper.scalar, measure<Octopus<dim, B, with(Rounding::scalar)>>(sample));
  compare(report, "OCTOPUS, joint rounding" + b, paper.joint, measure<Octopus<dim, B, with(Rounding::joint_3x3)>>(sample),
          "its column is one draw of queries, 1.05 % above what its own D implies at every b");
  report.compare("OCTOPUS-QJL, scalar rounding" + b + ", |q.k - q.k'|", paper.qjl,
                 measure<OctopusQjl<dim, B, with(Rounding::scalar)>>(sample).product_error,
                 "likely one draw of queries, as in its joint column; D gives sqrt(2/pi (pi/2 - 1) d D)");
  compare(report, "TurboQuant-MSE" + b, paper.turboquant, measure<TurboQuantMse<dim, B, plain>>(sample));
  const std::string qjl = "TurboQuant-QJL" + b, uncorrected = "its column is the (b-1)-bit error without the QJL term";
  const Estimate gaussian = measure<TurboQuantProd<dim, B, plain, QjlOptions{.projection_rounds = 0}>>(sample).product_error;
  const Estimate orthogonal = measure<TurboQuantProd<dim, B, plain>>(sample).product_error;
  report.compare(qjl + ", QJL term left out", paper.turboquant_qjl.printed,
                 measure<TurboQuantMse<dim, B - 1, plain>>(sample).product_error);
  report.compare(qjl + ", Gaussian S", paper.turboquant_qjl.printed, gaussian, uncorrected);
  report.compare(qjl + ", Gaussian S, simulated", paper.turboquant_qjl.gaussian, gaussian,
                 "the closed form sqrt(2/pi) E|k| sqrt((pi/2 - 1/d) D(b-1)) is 6.77, 3.84, 2.08: the simulation was one draw of S");
  report.compare(qjl + ", orthogonal S", paper.turboquant_qjl.printed, orthogonal, uncorrected);
  report.compare(qjl + ", orthogonal S, simulated", paper.turboquant_qjl.orthogonal, orthogonal);
  compare(report, "PolarQuant, one radius" + b, paper.polarquant, measure<PolarQuant<dim, B, plain>>(sample));
}

template <unsigned Direction, unsigned Length>
void split_row(Report& report, const Sample& sample, const char* paper) {
  report.compare("split (" + std::to_string(Direction) + "," + std::to_string(Length) + "), " +
                     std::to_string(2 * Direction + Length) + " bits a triplet, D",
                 paper, measure_distortion<kvcodec::Octopus<dim, 2, split(Direction, Length)>>(sample));
}

template <unsigned B>
void rounding_row(Report& report, const Sample& sample, const std::array<const char*, 3>& paper) {
  const std::string b = "b=" + std::to_string(B) + ", ";
  const auto row = [&]<Rounding R>(const char* name, const char* printed) {
    report.compare(b + name + ", D", printed, measure_distortion<kvcodec::Octopus<dim, B, with(R)>>(sample));
  };
  row.template operator()<Rounding::scalar>("scalar", paper[0]);
  row.template operator()<Rounding::joint_2x2>("2x2 (the level above)", paper[1]);
  row.template operator()<Rounding::joint_3x3>("3x3", paper[2]);
}

}  // namespace octopus_paper

inline void octopus_tables(Report& report, const Sample& sample) {
  using namespace octopus_paper;
  report.section("1. OCTOPUS, Table 1");
  report.headings();
  at_width<2>(report, sample);
  at_width<3>(report, sample);
  at_width<4>(report, sample);

  report.section("   OCTOPUS, Table 4: bits of a direction coordinate and of a triplet's length, joint rounding");
  report.headings();
  split_row<1, 3>(report, sample, ".4555");
  split_row<2, 2>(report, sample, ".1409");
  split_row<3, 1>(report, sample, ".0831");
  split_row<2, 4>(report, sample, ".1273");
  split_row<3, 3>(report, sample, ".0374");
  split_row<4, 2>(report, sample, ".0243");
  split_row<5, 1>(report, sample, ".0537");
  split_row<3, 5>(report, sample, ".0332");
  split_row<4, 4>(report, sample, ".0096");
  split_row<5, 3>(report, sample, ".0067");
  split_row<6, 2>(report, sample, ".0166");

  report.section("   OCTOPUS, Table 5: rounding (b = 1 is the split (1,1))");
  report.headings();
  rounding_row<1>(report, sample, {".6022", ".5172", ".5172"});
  rounding_row<2>(report, sample, {".0897", ".0858", ".0832"});
  rounding_row<3>(report, sample, {".0261", ".0250", ".0243"});
  rounding_row<4>(report, sample, {".0071", ".0068", ".0067"});

  report.section("   OCTOPUS, the rest");
  report.headings();
  report.not_testable("perplexity, needle, video and audio tables", "-", "needs the paper's models and their data");
  report.not_testable("kernel times (Triton)", "-", "needs a GPU and the paper's kernels");
}

}  // namespace reproduce
