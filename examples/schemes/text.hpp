// Numbers and Markdown.
#pragma once

#include "../program.hpp"
#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schemes {

using program::fixed;

/// So many significant digits, without an exponent where it can be: 0.0123, 1.23, 123.
inline std::string digits(double x, int count = 3) {
  const double magnitude = std::abs(x);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e6)) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", count - 1, x);
    return text;
  }
  const int before = magnitude == 0 ? 0 : static_cast<int>(std::floor(std::log10(magnitude)));
  return fixed(x, std::max(0, count - 1 - before));
}

inline std::string p_value(double p) {
  char text[64];
  std::snprintf(text, sizeof text, p < 1e-3 ? "%.0e" : "%.3f", p);
  return p < 1e-300 ? "<1e-300" : text;
}

/// Mean ± half width, to the digits that the half width leaves.
inline std::string text_of(const Interval& x) { return digits(x.mean) + " ± " + digits(x.half, 2); }
inline std::string text_of(const Ratio& x) {
  return fixed(x.mean, 2) + " (" + fixed(x.low, 2) + "–" + fixed(x.high, 2) + ")";
}

inline std::string range_of(const Tally& x) { return fixed(x.least, 2) + " to " + fixed(x.most, 2); }

inline constexpr std::string_view csv_titles = "part,source,queries,d,bits,codec,bytes,metric,trials,mean,half_width\n";

/// One metric's mean and the half of its 95 % interval.
inline std::string csv_line(std::string_view part, std::string_view source, std::string_view queries, std::size_t d,
                            unsigned bits, std::string_view codec, std::size_t bytes, std::string_view metric,
                            std::span<const double> x) {
  const Interval interval = mean_of(x);
  const auto quoted = [](std::string_view text) { return "\"" + std::string(text) + "\","; };
  return quoted(part) + quoted(source) + quoted(queries) + std::to_string(d) + "," + std::to_string(bits) + "," +
         quoted(codec) + std::to_string(bytes) + "," + quoted(metric) + std::to_string(x.size()) + "," +
         digits(interval.mean, 6) + "," + digits(interval.half, 3) + "\n";
}

/// A Markdown table, whose columns are aligned for those who read it as it is.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) { rows_.push_back(std::move(titles)); }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
    std::string result;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t i = 0; i < widths.size(); ++i)
        result += "| " + rows_[r][i] + std::string(widths[i] - width(rows_[r][i]) + 1, ' ');
      result += "|\n";
      if (r != 0) continue;
      for (const std::size_t w : widths) result += "|" + std::string(w + 2, '-');
      result += "|\n";
    }
    return result + "\n";
  }

 private:
  /// Characters, not bytes, of UTF-8.
  static std::size_t width(const std::string& text) {
    std::size_t n = 0;
    for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return n;
  }

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace schemes
