// TurboQuant, arXiv 2504.19874: its distortions and bounds, and what its 2.5 and 3.5 bits are.
#pragma once

#include "measure.hpp"

#include "kvcodec/calibration.hpp"
#include "kvcodec/split.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>

namespace reproduce {

namespace turboquant_paper {

/// No bits at all: what is left of the inner-product form at one bit is QJL alone.
struct NoQuantizer {
  static constexpr std::size_t dim = reproduce::dim, code_bytes = 0;
  static constexpr std::string_view name = "nothing", qjl_name = "qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = {};
  static void encode(const float*, std::byte*) noexcept {}
  static void decode(const std::byte*, float* u) noexcept { std::fill_n(u, dim, 0.0f); }
};

inline constexpr kvcodec::Options exact_length{.norm = kvcodec::NormType::float32};

template <unsigned B, unsigned ProjectionRounds>
struct ProdOf {
  using type = kvcodec::TurboQuantProd<dim, B, exact_length, kvcodec::QjlOptions{.projection_rounds = ProjectionRounds}>;
};
template <unsigned ProjectionRounds>
struct ProdOf<1, ProjectionRounds> {
  using type =
      kvcodec::RotationCodec<kvcodec::detail::QjlOf<NoQuantizer, kvcodec::QjlOptions{.projection_rounds = ProjectionRounds}>,
                             kvcodec::SignedHadamard<dim, 3>, kvcodec::NormType::float32>;
};

// The paper prints both to the digits below for 1 to 4 bits.
inline constexpr std::array<const char*, 4> printed_mse{".36", ".117", ".03", ".009"};
inline constexpr std::array<const char*, 4> printed_prod{"1.57", ".56", ".18", ".047"};  // times 1/d

template <unsigned B>
void at_width(Report& report, const Sample& sample) {
  const std::string b = " b=" + std::to_string(B);
  const double mse_bound = std::numbers::sqrt3 * std::numbers::pi / 2 * std::pow(4.0, -double{B});
  const double prod_bound = 2 * std::numbers::pi * mse_bound;
  const Figures mse = measure<kvcodec::TurboQuantMse<dim, B, exact_length>>(sample);
  if constexpr (B <= 4) report.compare("MSE" + b + ", D", printed_mse[B - 1], mse.distortion);
  report.bound("MSE" + b + ", D < sqrt(3) pi/2 4^-b", mse_bound, mse.distortion);
  report.not_printed("MSE" + b + ", d D_prod", readable(mse.product_square));
  if constexpr (B == 1) report.compare("MSE b=1, bias <x,x'>/|x|^2 = 2/pi", "0.637", mse.gain);

  const Figures gaussian = measure<typename ProdOf<B, 0>::type>(sample),
                orthogonal = measure<typename ProdOf<B, 2>::type>(sample);
  const std::string prod = "prod" + b + ", Gaussian S", fast = "prod" + b + ", orthogonal S";
  if constexpr (B <= 4) {
    report.compare(prod + ", d D_prod", printed_prod[B - 1], gaussian.product_square,
                   "the paper has pi/2 times its own D at b-1 bits, cut to one digit: .03, where it is .034");
    report.compare(fast + ", d D_prod", printed_prod[B - 1], orthogonal.product_square,
                   "an orthogonal S leaves (pi/2 - 1) D(b-1), not pi/2 D(b-1): better than the paper");
  }
  report.bound(prod + ", d D_prod < sqrt(3) pi^2 4^-b", prod_bound, gaussian.product_square);
  report.compare(prod + ", unbiased: <x,x'>/|x|^2", "1.000", gaussian.gain);
  report.compare(fast + ", unbiased", "1.000", orthogonal.gain);
}

template <unsigned B>
void half_bits(Report& report, const Sample& gaussian, const Sample& outliers, const char* paper) {
  using C = kvcodec::TurboQuantSplit<dim, B>;
  const std::string name = std::string("\"") + paper + "\" bits";
  const Estimate codes{8.0 * (C::row_bytes - 4) / dim, 0}, stored{C::bits_per_coordinate, 0};
  report.compare(name + ", of the codes", paper, codes, "32 channels of 128 at one bit more are a quarter bit, not a half");
  report.compare(name + ", stored, with both lengths", paper, stored);
  report.not_printed(name + ", D on Gaussian keys", readable(measure_distortion<C>(gaussian)));

  const auto chosen = C::Channels::of(kvcodec::outlier_channels(outliers.keys().first(256 * dim), dim, dim / 4));
  const auto make = [&](std::uint64_t seed) { return C(seed, *chosen); };
  report.not_printed(name + ", D, a quarter of the channels x8", readable(measure_distortion<C>(outliers, make)));
  report.not_printed("TurboQuant-MSE b=" + std::to_string(B) + " on the same",
                     readable(measure_distortion<kvcodec::TurboQuantMse<dim, B>>(outliers)));
}

}  // namespace turboquant_paper

inline void turboquant_tables(Report& report, const Sample& sample, const Sample& outliers) {
  using namespace turboquant_paper;
  report.section("3. TurboQuant: distortions and bounds");
  report.note(
      "  D_prod = E(q.x - estimate)^2 of unit vectors. Rotation: three rounds of signs and Hadamard; the paper's is Haar.");
  report.headings();
  at_width<1>(report, sample);
  at_width<2>(report, sample);
  at_width<3>(report, sample);
  at_width<4>(report, sample);
  at_width<5>(report, sample);

  report.section("   TurboQuant: 2.5 and 3.5 bits");
  report.headings();
  half_bits<2>(report, sample, outliers, "2.5");
  half_bits<3>(report, sample, outliers, "3.5");
  report.not_testable("LongBench and needle at 2.5 and 3.5 bits", "-", "needs the paper's models and their data");
}

}  // namespace reproduce
