// The rate-distortion picture, drawn by gnuplot (http://www.gnuplot.info) from a script through a pipe.
#pragma once

#include "measure.hpp"
#include "output_file.hpp"
#include "report.hpp"

#include <stdio.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace compare {

inline constexpr std::string_view how_to_get_gnuplot =
    "gnuplot was not found: install it (Debian, Ubuntu: apt-get install gnuplot-nox; Fedora: dnf install gnuplot; "
    "macOS: brew install gnuplot)";

inline bool has_gnuplot() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

inline bool is_png(std::string_view path) { return path.ends_with(".png"); }

inline Result<void> check_picture_name(std::string_view path) {
  if (is_png(path) || path.ends_with(".svg")) return {};
  return error("--plot takes a file that ends in .svg or .png, not \"" + std::string(path) + "\"");
}

namespace detail {

/// Rows of more bits than this are left out where there are others: they would press those into a corner.
inline constexpr double widest_plotted = 10;

/// One line of the picture: a codec or scheme, from its narrowest width to its widest.
struct Series {
  std::string name;
  std::vector<const Measurement*> points;
};

/// Where a point lies: a panel's codec at its own rate, so that a scheme that spends more on one side is no better for it.
struct Point {
  double bits, distortion;
};
inline Point point(const Measurement& m, bool values) {
  if (values) return {m.candidate.values->bits, m.values->relative_error};
  return {m.candidate.keys->bits, m.keys.relative_error};
}

/// The most bits that are drawn.
inline double right_end(const std::vector<Measurement>& measurements) {
  const auto narrow = [](const Measurement& m) {
    return m.candidate.keys->bits <= widest_plotted || m.candidate.values->bits <= widest_plotted;
  };
  return std::ranges::any_of(measurements, narrow) ? widest_plotted : std::numeric_limits<double>::infinity();
}

inline std::vector<Series> cut_into_series(const std::vector<Measurement>& measurements, double most_bits) {
  std::vector<Series> series;
  for (const Measurement& m : measurements) {
    if (m.candidate.keys->bits > most_bits && m.candidate.values->bits > most_bits) continue;
    if (series.empty() || series.back().name != m.candidate.name) series.push_back({m.candidate.name, {}});
    series.back().points.push_back(&m);
  }
  return series;
}

/// A gnuplot string: between single quotes, where only they themselves are special. Control characters would end the line.
inline std::string gnuplot_string(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    result += c == '\'' ? "''" : control ? "?" : std::string(1, c);
  }
  return result + "'";
}

/// The same for the shell.
inline std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

/// One panel's points as a gnuplot data block, the series in order, two blank lines between them.
inline std::string data_block(const std::string& name, const std::vector<Series>& series, bool values, double most_bits) {
  std::string text = "$" + name + " << END\n";
  for (const Series& s : series) {
    for (const Measurement* m : s.points) {
      const auto [bits, d] = point(*m, values);
      // What a logarithmic axis cannot show keeps its line: a block without one would not count as a block.
      const bool shown = d > 0 && std::isfinite(d) && bits <= most_bits;
      text += shown ? exact(bits) + " " + exact(d) + "\n" : std::string("NaN NaN\n");
    }
    text += "\n\n";
  }
  return text + "END\n";
}

/// Colours that colour-blind readers can tell apart (Okabe and Ito), each with a mark of its own.
struct Look {
  std::string_view colour;
  int mark;
};
inline constexpr Look looks[] = {{"#d55e00", 7},  {"#0072b2", 5},  {"#009e73", 9}, {"#cc79a7", 13},
                                 {"#e69f00", 11}, {"#56b4e9", 15}, {"#000000", 2}};

/// The plot command of one panel. The first series is drawn last, and the ones below it wider, so that a codec is seen
/// even where another one does the same; the legend is turned round to match. It is in the first panel only.
inline std::string panel(const std::string& block, const std::vector<Series>& series, bool first) {
  std::string text = "set title '" + block + "' font ',15' offset 0,-0.4\n";
  text += first ? "set ylabel 'relative squared error  D' offset 0.5,0\n" : "unset ylabel\nunset key\n";
  text += "plot ";
  // However many there are, the widest is three times the finest.
  const double step = 4.0 / std::max(4.0, static_cast<double>(series.size()) - 1);
  for (std::size_t i = series.size(); i-- > 0;) {
    const Look look = looks[i % std::size(looks)];
    const std::size_t round = i / std::size(looks);  // a look comes again with dashes
    const double wider = step * static_cast<double>(i);
    text += "$" + block + " index " + std::to_string(i) + " using 1:2 with linespoints linewidth " +
            fixed(2.2 + 0.9 * wider, 1) + " pointsize " + fixed(1.1 + 0.2 * wider, 1) + " pointtype " +
            std::to_string(look.mark) + (round == 0 ? "" : " dashtype " + std::to_string(round + 1)) +
            " linecolor rgb '" + std::string(look.colour) + "' title " + gnuplot_string(series[i].name) + ", \\\n  ";
  }
  return text + "4**(-x) with lines dashtype 2 linewidth 2 linecolor rgb '#777777' title 'Shannon, 4^{-bits}'\n";
}

}  // namespace detail

/// title: what the data are. subtitle: a line of details.
inline std::string plot_script(const std::vector<Measurement>& measurements, std::string_view title,
                               std::string_view subtitle, bool png) {
  const double limit = detail::right_end(measurements);
  const std::vector<detail::Series> series = detail::cut_into_series(measurements, limit);
  const bool with_values = measurements.front().values.has_value();
  double least_bits = std::numeric_limits<double>::infinity(), most_bits = 0, least = 1, most = 1e-300;
  for (const auto& s : series) {
    for (const Measurement* m : s.points) {
      for (const bool values : {false, with_values}) {
        const auto [bits, d] = detail::point(*m, values);
        if (bits > limit) continue;
        least_bits = std::min(least_bits, bits);
        most_bits = std::max(most_bits, bits);
        if (!(d > 0) || !std::isfinite(d)) continue;
        least = std::min(least, d);
        most = std::max(most, d);
      }
    }
  }
  const double left = std::floor(least_bits * 2 - 0.5) / 2, right = std::ceil(most_bits * 2 + 0.5) / 2;
  // Down to the Shannon line at the right: the corner below it is free for the legend.
  least = std::min(least, quality::shannon_distortion(most_bits));

  const int width = with_values ? 1240 : 760, height = 600;
  std::string text = png ? "set terminal pngcairo" : "set terminal svg background rgb 'white'";
  text += " size " + std::to_string(width) + "," + std::to_string(height) + " enhanced font 'Helvetica,13'\n";
  text += detail::data_block("keys", series, false, limit);
  if (with_values) text += detail::data_block("values", series, true, limit);
  text += "set label 1 " + detail::gnuplot_string(title) + " at screen 0.5,0.955 center noenhanced font ',18'\n";
  text += "set label 2 " + detail::gnuplot_string(subtitle) +
          " at screen 0.5,0.91 center noenhanced font ',12' textcolor rgb '#555555'\n";
  text +=
      "set border 3 linecolor rgb '#444444'\n"
      "set grid xtics ytics linecolor rgb '#e4e4e4' linewidth 1 linetype 1, linecolor rgb '#e4e4e4'\n"
      "set tics nomirror out\nset mytics 10\n"
      "set logscale y\nset format y '10^{%L}'\n"
      "set xlabel 'bits stored a coordinate, norms and padding included'\n"
      "set samples 200\nset key bottom left Left reverse invert samplen 2.5 spacing ";
  text += series.size() > 8 ? "1.05\n" : "1.25\n";  // below the Shannon line
  text += "set xrange [" + detail::exact(left) + ":" + detail::exact(right) + "]\n";
  text += "set yrange [" + detail::exact(least * 0.6) + ":" + detail::exact(std::max(most * 1.6, least * 4)) + "]\n";
  text += "set multiplot\nset tmargin at screen 0.83\nset bmargin at screen 0.13\n";
  text += with_values ? "set lmargin at screen 0.07\nset rmargin at screen 0.50\n"
                      : "set lmargin at screen 0.12\nset rmargin at screen 0.96\n";
  text += detail::panel("keys", series, true);
  if (with_values) {
    text += "unset label 1\nunset label 2\nset lmargin at screen 0.555\nset rmargin at screen 0.985\n";
    text += detail::panel("values", series, false);
  }
  return text + "unset multiplot\n";
}

/// Draws the picture into `path`, which appears only when it is complete.
inline Result<void> draw(const std::string& path, const std::string& script) {
  PartialFile file(path);
  if (auto made = file.create(); !made) return made;
  // Should gnuplot end early, writing to it must fail, not end this program.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  bool drawn = false;
  if (std::FILE* const gnuplot = ::popen(("gnuplot >" + detail::shell_quoted(file.name())).c_str(), "w")) {
    const bool sent = std::fwrite(script.data(), 1, script.size(), gnuplot) == script.size();
    drawn = ::pclose(gnuplot) == 0 && sent;
  }
  std::signal(SIGPIPE, before);
  if (!drawn) return error(path + " was not drawn: gnuplot failed");
  return file.finish();
}

}  // namespace compare
