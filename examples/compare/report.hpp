// The table for people and the CSV for programs.
#pragma once

#include "../program.hpp"
#include "measure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compare {

namespace detail {

using program::fixed;

/// At least three significant digits: 0.0833, 0.00671, 8.3e-08, 1234.
inline std::string readable(double x) {
  const double magnitude = std::abs(x);
  if (magnitude == 0) return "0";
  if (magnitude >= 1e-4 && magnitude < 1e6)
    return fixed(x, magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : magnitude >= 0.01 ? 4 : 5);
  char text[64];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}

inline std::string readable(const std::optional<double>& x) { return x ? readable(*x) : "-"; }

/// All that a double holds, in as few digits as bring it back.
inline std::string exact(double x) {
  char text[64];
  const auto [end, problem] = std::to_chars(text, text + sizeof text, x);
  return std::string(text, problem == std::errc{} ? end : text);
}

inline std::string exact(const std::optional<double>& x) { return x ? exact(*x) : ""; }

inline std::optional<double> value_distortion(const Measurement& m) {
  return m.values ? std::optional(m.values->relative_error) : std::nullopt;
}

// Each side over the bound at its own rate: a scheme may spend more on one.
inline double key_db(const Measurement& m) {
  return quality::db_over_shannon(m.keys.relative_error, m.candidate.keys->bits);
}

inline std::optional<double> value_db(const Measurement& m) {
  return m.values ? std::optional(quality::db_over_shannon(m.values->relative_error, m.candidate.values->bits))
                  : std::nullopt;
}

using Cells = std::array<std::string, 17>;

inline Cells table_row(const Measurement& m) {
  return {m.candidate.name,
          m.candidate.width,
          exact(m.candidate.row_bytes()),
          fixed(m.candidate.bits(), 3),
          readable(m.keys.relative_error),
          fixed(key_db(m), 2),
          fixed(m.keys.cosine, 4),
          readable(value_distortion(m)),
          m.values ? fixed(*value_db(m), 2) : "-",
          readable(m.score_error.mean),
          readable(m.score_error.worst),
          readable(m.divergence.mean),
          readable(m.divergence.worst),
          fixed(m.top5_recall, 3),
          readable(m.output_error),
          fixed(m.encode_ns, 0),
          fixed(m.decode_ns, 0)};
}

}  // namespace detail

/// One line a candidate, under two lines of headings.
inline std::string table(const std::vector<Measurement>& measurements) {
  using detail::Cells;
  const Cells groups = {"",           "", "stored",   "", "keys",  "",       "",         "values", "",
                        "|qk error|", "", "KL, nats", "", "top-5", "output", "ns a row", ""};
  const Cells titles = {"codec", "bits",  "bytes", "bits/x", "D",      "dB",    "cosine", "D",     "dB",
                        "mean",  "worst", "mean",  "worst",  "recall", "error", "encode", "decode"};
  std::vector<Cells> rows = {titles};
  for (const Measurement& m : measurements) rows.push_back(detail::table_row(m));

  std::string heading, body;
  std::array<std::size_t, std::tuple_size_v<Cells>> widths;
  widths.fill(6);
  for (const Cells& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::size_t start = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    // A group's heading begins where its first column does.
    start += i == 0 ? 0 : 2;
    if (!groups[i].empty()) {
      heading.resize(start, ' ');
      heading += groups[i];
    }
    start += widths[i];
  }
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      if (i != 0) line += "  ";
      line += i == 0 ? row[i] + space : space + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    body += line + "\n";
  }
  return heading + "\n" + body;
}

/// The same, exactly; what there is none of is an empty field.
inline std::string csv(const std::vector<Measurement>& measurements, std::size_t dim) {
  using detail::exact;
  std::string text =
      "codec,bits,dim,row_bytes,bits_per_coordinate,key_distortion,key_db_over_shannon,key_cosine,value_distortion,"
      "value_db_over_shannon,value_cosine,score_error_mean,score_error_worst,kl_mean_nats,kl_worst_nats,top5_recall,"
      "output_error,encode_ns,decode_ns\n";
  for (const Measurement& m : measurements) {
    text += m.candidate.name + "," + m.candidate.width + "," + std::to_string(dim);
    const std::optional<double> numbers[] = {m.candidate.row_bytes(),
                                             m.candidate.bits(),
                                             m.keys.relative_error,
                                             detail::key_db(m),
                                             m.keys.cosine,
                                             detail::value_distortion(m),
                                             detail::value_db(m),
                                             m.values ? std::optional(m.values->cosine) : std::nullopt,
                                             m.score_error.mean,
                                             m.score_error.worst,
                                             m.divergence.mean,
                                             m.divergence.worst,
                                             m.top5_recall,
                                             m.output_error,
                                             m.encode_ns,
                                             m.decode_ns};
    for (const auto& number : numbers) text.append(",").append(exact(number));
    text += "\n";
  }
  return text;
}

}  // namespace compare
