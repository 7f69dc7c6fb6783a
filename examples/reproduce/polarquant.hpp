// PolarQuant, arXiv 2502.02617: the paper's design, two others of its kind, and the one of OCTOPUS's Table 1.
#pragma once

#include "measure.hpp"

#include <string>

namespace reproduce {

namespace polarquant_paper {

template <unsigned B1, unsigned B2, unsigned B3, unsigned B4>
void block_rows(Report& report, const Sample& sample, const char* bits, const char* distortion) {
  using C = kvcodec::PolarQuantBlock<dim, kvcodec::Options{.norm = kvcodec::NormType::none},
                                     kvcodec::polar_levels(B1, B2, B3, B4)>;
  const std::string name = "levels (" + std::to_string(B1) + "," + std::to_string(B2) + "," + std::to_string(B3) + "," +
                           std::to_string(B4) + "), a radius per 16";
  report.compare(name + ", bits", bits, {C::bits_per_coordinate, 0});
  report.compare(name + ", D", distortion, measure_distortion<C>(sample));
}

template <unsigned B>
void one_radius(Report& report, const Sample& sample, const char* distortion) {
  report.compare("every angle " + std::to_string(B) + " bits, one radius, D", distortion,
                 measure_distortion<kvcodec::PolarQuant<dim, B>>(sample));
}

}  // namespace polarquant_paper

inline void polarquant_tables(Report& report, const Sample& sample) {
  using namespace polarquant_paper;
  report.section("4. PolarQuant");
  report.headings();
  block_rows<4, 2, 2, 2>(report, sample, "3.875", ".0321*");
  block_rows<3, 2, 2, 2>(report, sample, "3.375*", ".0699*");
  block_rows<5, 3, 3, 3>(report, sample, "4.8125*", ".0085*");
  one_radius<2>(report, sample, ".2197");
  one_radius<3>(report, sample, ".0571");
  one_radius<4>(report, sample, ".0145");
  report.not_testable("LongBench and needle tables", "-", "needs the paper's models and their data");
}

}  // namespace reproduce
