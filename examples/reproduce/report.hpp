// A paper's figure beside ours, what the two say about each other, and the lines that show it.
#pragma once

#include "../program.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

/// A mean and its standard error.
struct Estimate {
  double mean = 0, error = 0;
};

/// A figure as its source has it: half a unit of its last decimal is unknown.
class Printed {
 public:
  /// ".0897"; ".0321*" is a figure of our oracle's or an integral, which no paper prints.
  Printed(const char* text) : Printed(std::string_view(text)) {}  // NOLINT: implicit, as in compare("D", ".0897", ours)

  double value() const noexcept { return value_; }
  int decimals() const noexcept { return decimals_; }
  double half_unit() const noexcept { return 0.5 * std::pow(10.0, -decimals_); }
  const std::string& text() const noexcept { return text_; }

 private:
  explicit Printed(std::string_view text) : text_(text) {
    const std::string_view digits = text.ends_with('*') ? text.substr(0, text.size() - 1) : text;
    std::from_chars(digits.data(), digits.data() + digits.size(), value_);
    const std::size_t point = digits.find('.');
    if (point != std::string_view::npos) decimals_ = static_cast<int>(digits.size() - point - 1);
    if (text_.starts_with('.')) text_.insert(0, "0");
  }

  std::string text_;
  double value_ = 0;
  int decimals_ = 0;
};

using program::fixed;

/// Two digits of the standard error, and as many decimals of the mean.
inline std::string readable(const Estimate& e) {
  const int decimals = e.error > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(e.error))), 2, 6) : 4;
  return fixed(e.mean, decimals) + (e.error > 0 ? " +- " + fixed(e.error, decimals) : "");
}

/// Prints as it goes, and keeps count.
class Report {
 public:
  void section(std::string_view title) { std::cout << '\n' << title << '\n' << std::string(title.size(), '-') << '\n'; }
  void note(std::string_view text) { std::cout << text << '\n'; }
  void headings(std::string_view ours = "ours") { line("", "paper", std::string(ours), "verdict"); }

  /// why: what is known of a difference, shown only where there is one.
  void compare(const std::string& what, const Printed& paper, const Estimate& ours, std::string_view why = {}) {
    judge(what, paper, ours, readable(ours), std::abs(paper.value()), why);
  }
  /// The same; the caller says what is shown of ours.
  void compare_shown(const std::string& what, const Printed& paper, const Estimate& ours, const std::string& shown,
                     std::string_view why) {
    judge(what, paper, ours, shown, std::abs(paper.value()), why);
  }
  /// Near 1 every cosine is within 1 % of every other.
  void compare_cosine(const std::string& what, const Printed& paper, const Estimate& ours) {
    judge(what, paper, ours, readable(ours), 1 - paper.value(), {});
  }
  /// A figure that ours has to stay below.
  void bound(const std::string& what, double limit, const Estimate& ours) {
    const bool holds = ours.mean <= limit + 2 * ours.error;
    line(what, "< " + fixed(limit, 4), readable(ours),
         holds ? "reproduced: the bound holds" : "differs by " + percent(ours.mean / limit - 1) + ": above the bound");
    ++counts_[holds ? reproduced : differing];
    if (holds) return;
    ++unexplained_;
    differences_.push_back(what + ": < " + fixed(limit, 4) + ", ours " + fixed(ours.mean, 5));
  }
  void not_printed(const std::string& what, const std::string& ours) {
    line(what, "-", ours, "not printed in what we could read");
    ++counts_[unprinted];
  }
  void not_testable(const std::string& what, const Printed& paper, std::string_view why) {
    line(what, paper.text(), "-", "not testable here: " + std::string(why));
    ++counts_[untestable];
  }

  void summary() const {
    std::cout << "\nSummary: " << counts_[reproduced] << " reproduced, " << counts_[differing] << " differ (" << unexplained_
              << " for no known reason), " << counts_[untestable] << " not testable here, " << counts_[unprinted]
              << " not printed in what we could read\n";
    for (const std::string& text : differences_) std::cout << "  " << text << '\n';
  }

 private:
  enum Outcome : std::size_t { reproduced, differing, untestable, unprinted };

  static std::string percent(double part) {
    return (part > 0 ? "+" : "") + fixed(100 * part, std::abs(part) < 0.1 ? 1 : 0) + " %";
  }
  void judge(const std::string& what, const Printed& paper, const Estimate& ours, const std::string& shown, double scale,
             std::string_view why) {
    const double difference = ours.mean - paper.value();
    // What rounding adds to the comparison in binary is far below 1e-9 of either.
    const double tolerance = std::max(0.01 * scale, paper.half_unit() + 2 * ours.error) + 1e-9 * scale;
    std::string verdict = "reproduced";
    if (!(std::abs(difference) <= tolerance)) {
      verdict = "differs by " + percent(difference / scale) + ": " + (why.empty() ? "no known reason" : std::string(why));
      differences_.push_back(what + ": " + paper.text() + ", ours " + fixed(ours.mean, paper.decimals() + 1) + ", " +
                             percent(difference / scale) + (why.empty() ? ", no known reason" : ""));
      unexplained_ += why.empty() ? 1 : 0;
      ++counts_[differing];
    } else {
      ++counts_[reproduced];
    }
    line(what, paper.text(), shown, verdict);
  }

  static void line(const std::string& what, const std::string& paper, const std::string& ours, const std::string& verdict) {
    const auto padded = [](std::string text, std::size_t width) {
      if (text.size() < width) text.append(width - text.size(), ' ');
      return text;
    };
    std::cout << padded("  " + what, 50) << ' ' << padded(paper, 9) << ' ' << padded(ours, 24) << ' ' << verdict << '\n';
  }

  std::array<std::size_t, 4> counts_{};
  std::size_t unexplained_ = 0;
  std::vector<std::string> differences_;
};

}  // namespace reproduce
