// Two pictures of the claims at d = 128: the scale-direction plane of K, V and T, and KL by scheme and budget.
#pragma once

#include "text.hpp"
#include "trials.hpp"
#include "../compare/plot.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace schemes {

using kvcodec::Result;

namespace detail {

inline constexpr std::array<std::pair<Source, std::string_view>, 2> drawn = {
    {{Source::gaussian, "Gaussian"}, {Source::student_1_05, "Student-t 1.05"}}};
inline constexpr Scheme drawn_schemes[] = {Scheme::kv, Scheme::kqv, Scheme::qkqv};

/// A data block of six indices, a source and a scheme each, with a line a budget.
template <class Line>
std::string block(std::string_view name, Line line) {
  std::string text = "$" + std::string(name) + " << END\n";
  for (const auto& source : drawn) {
    for (const Scheme scheme : drawn_schemes) {
      for (const unsigned bits : claim_bits) text += line(source.first, scheme, bits) + "\n";
      text += "\n\n";
    }
  }
  return text + "END\n";
}

/// Solid and filled: Gaussian; dashed and open: heavy tails.
inline std::string plot_command(std::string_view name, bool labels) {
  std::string text = "plot ";
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& look = compare::detail::looks[i % 3];
    const std::string at = "$" + std::string(name) + " index " + std::to_string(i) + " using 1:2";
    text += (i == 0 ? "" : ", \\\n  ") + at + " with linespoints linewidth 2 pointsize 1.1 pointtype " +
            std::to_string(i < 3 ? look.mark : look.mark - 1) + (i < 3 ? "" : " dashtype 2") + " linecolor rgb '" +
            std::string(look.colour) + "' title '" + std::string(scheme_names[i % 3]) + ", " +
            std::string(drawn[i / 3].second) + "'";
    if (labels) text += ", \\\n  " + at + ":3 with labels offset 1,0.6 font ',9' textcolor rgb '#555555' notitle";
  }
  return text + "\n";
}

inline std::string opening(int width, std::string_view title) {
  return "set terminal svg background rgb 'white' size " + std::to_string(width) + ",560 enhanced font 'Helvetica,13'\n" +
         "set label 1 '" + std::string(title) + "' at screen 0.5,0.955 center noenhanced font ',17'\n" +
         "set border 3 linecolor rgb '#444444'\nset grid xtics ytics linecolor rgb '#e4e4e4' linewidth 1 linetype 1\n"
         "set tics nomirror out\nset multiplot\nset tmargin at screen 0.84\nset bmargin at screen 0.13\n";
}

}  // namespace detail

inline std::string plane_script(const Trials& trials) {
  std::string text;
  constexpr std::array<std::pair<std::string_view, Metric>, 3> panels = {{{"K", k_snr}, {"V", v_snr}, {"T", t_snr}}};
  for (const auto& [name, metric] : panels) {
    text += detail::block(name, [&, metric = metric](Source source, Scheme scheme, unsigned bits) {
      const auto mean = [&](std::size_t m) {
        return mean_of(trials(source, 128, bits, scheme, static_cast<Metric>(m))).mean;
      };
      return digits(mean(metric + 1), 6) + " " + digits(mean(metric), 6) + " " + std::to_string(bits);
    });
  }
  text += detail::opening(1320, "scale and direction error at 2 to 6 bits, d = 128: better is up and left") +
          "set logscale x\nset xlabel 'direction error, rad'\nset key bottom left reverse Left samplen 2\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = 0.055 + 0.32 * static_cast<double>(i);
    text += "set lmargin at screen " + fixed(left, 3) + "\nset rmargin at screen " + fixed(left + 0.27, 3) +
            "\nset title '" +
            std::string(i == 0   ? "keys"
                        : i == 1 ? "values"
                                 : "output of attention") +
            "'\n" + (i == 0 ? "set ylabel 'scale error as SNR, dB'\n" : "unset ylabel\nunset key\nunset label 1\n") +
            detail::plot_command(panels[i].first, true);
  }
  return text + "unset multiplot\n";
}

inline std::string kl_script(const Trials& trials) {
  std::string text;
  constexpr std::array<std::pair<std::string_view, Metric>, 2> panels = {{{"flat", kl}, {"peaked", aligned_kl}}};
  for (const auto& [name, metric] : panels) {
    text += detail::block(name, [&, metric = metric](Source source, Scheme scheme, unsigned bits) {
      return std::to_string(bits) + " " + digits(mean_of(trials(source, 128, bits, scheme, metric)).mean, 6);
    });
  }
  text += detail::opening(1100, "KL of the attention by scheme and budget, d = 128, mean over trials") +
          "set logscale y\nset format y '10^{%L}'\nset xlabel 'n, bits a coordinate'\nset xtics 1\n"
          "set xrange [1.8:6.2]\nset key bottom left reverse Left samplen 2\n";
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double left = 0.075 + 0.48 * static_cast<double>(i);
    text += "set lmargin at screen " + fixed(left, 3) + "\nset rmargin at screen " + fixed(left + 0.42, 3) +
            "\nset title '" + std::string(query_kinds[i]) + " queries'\n" +
            (i == 0 ? "set ylabel 'KL, nats'\n" : "unset ylabel\nunset key\nunset label 1\n") +
            detail::plot_command(panels[i].first, false);
  }
  return text + "unset multiplot\n";
}

}  // namespace schemes
