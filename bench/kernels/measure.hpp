// Subjects timed against each other within one run: round after round every subject has its turn, and of each
// measurement the median of the rounds counts, so that a machine that is busy for a while is busy for all of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Lets the optimiser know nothing of what p points to: all that was written there has to be there.
inline void consume(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

struct Measurement {
  std::string table, column;
  double results = 0;  ///< of one pass: rows, or scores of all queries
  double bytes = 0;    ///< of memory that a result takes
  std::function<void(std::size_t block, std::size_t thread)> pass;
  std::size_t threads = 1;
  std::vector<double> ns = {};  ///< a result, for each round

  double median() const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    return n == 0 ? 0 : (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  }
};

struct Subject {
  std::string name;
  std::size_t row_bytes = 0;
  std::size_t blocks = 1;                 ///< that passes go through, in order
  std::function<void()> fill = [] {};     ///< puts the subject's data where all subjects have theirs
  std::vector<Measurement> measurements = {};
  std::size_t next_block = 0;             ///< goes on from measurement to measurement: what was just read is in a cache
};

namespace detail {

struct Elapsed {
  std::size_t passes = 0;
  double ns = 0;
};

/// Time that this thread has run, where the system tells: another program on its core does not count.
inline std::chrono::nanoseconds now() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
#endif
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Passes over blocks first + (from, from + 1, …) mod count until `minimum` has passed.
inline Elapsed repeat_passes(const Measurement& measurement, std::size_t thread, std::size_t first, std::size_t count,
                             std::size_t from, std::chrono::nanoseconds minimum) {
  const std::chrono::nanoseconds start = now();
  std::chrono::nanoseconds last = start;
  std::size_t passes = 0;
  for (std::size_t batch = 1;;) {  // so many passes that reading the clock costs nothing
    for (std::size_t i = 0; i < batch; ++i, ++passes) measurement.pass(first + (from + passes) % count, thread);
    const std::chrono::nanoseconds time = now();
    if (time - start >= minimum) return {passes, static_cast<double>((time - start).count())};
    if (time - last < minimum / 64) batch *= 2;
    last = time;
  }
}

}  // namespace detail

/// Nanoseconds a result; several threads share the blocks between them.
inline double measure(const Measurement& measurement, Subject& subject, std::chrono::nanoseconds minimum) {
  const std::size_t share = std::max<std::size_t>(1, subject.blocks / measurement.threads);
  std::vector<detail::Elapsed> elapsed(measurement.threads);
  std::latch start(static_cast<std::ptrdiff_t>(measurement.threads));
  const auto run = [&](std::size_t thread) {
    start.arrive_and_wait();
    const std::size_t first = (thread * share) % subject.blocks;
    elapsed[thread] = detail::repeat_passes(measurement, thread, first, share, subject.next_block, minimum);
  };
  std::vector<std::thread> others;
  for (std::size_t thread = 1; thread < measurement.threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  double results_per_ns = 0;
  for (const detail::Elapsed& e : elapsed) results_per_ns += measurement.results * static_cast<double>(e.passes) / e.ns;
  subject.next_block += elapsed[0].passes;
  return 1 / results_per_ns;
}

inline void measure_all(std::vector<Subject>& subjects, unsigned repeats, std::chrono::nanoseconds minimum) {
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    for (Subject& subject : subjects) {
      if (subject.measurements.empty()) continue;
      subject.fill();
      for (Measurement& m : subject.measurements) m.ns.push_back(measure(m, subject, minimum));
    }
  }
}

/// What a table's ratios say: how many times the reference's speed a subject has, or how many times its time it takes.
enum class Ratio { speed, time };

struct ResultTable {
  std::string title;
  std::string reference;  ///< the subject that ratios are to
  Ratio ratio;
  std::vector<std::string> columns;
};

namespace detail {

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

inline void print_cells(const std::vector<std::vector<std::string>>& lines, bool markdown) {
  std::vector<std::size_t> width(lines[0].size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) width[i] = std::max(width[i], line[i].size());
  for (std::size_t l = 0; l < lines.size(); ++l) {
    for (std::size_t i = 0; i < width.size(); ++i) {
      const int pad = static_cast<int>(width[i]);
      std::printf(i == 0 ? (markdown ? "| %-*s" : "%-*s") : (markdown ? " | %*s" : "  %*s"), pad, lines[l][i].c_str());
    }
    std::printf(markdown ? " |\n" : "\n");
    if (!markdown || l > 0) continue;
    for (std::size_t i = 0; i < width.size(); ++i) std::printf(i == 0 ? "|---|" : "---:|");
    std::printf("\n");
  }
}

}  // namespace detail

inline void print(const ResultTable& table, const std::vector<Subject>& subjects, bool markdown) {
  const auto find = [&](const Subject& subject, const std::string& column) -> const Measurement* {
    for (const Measurement& m : subject.measurements)
      if (m.table == table.title && (m.column == column || column.empty())) return &m;
    return nullptr;
  };
  double reference = 0;
  for (const Subject& subject : subjects)
    if (subject.name == table.reference)
      if (const Measurement* m = find(subject, "")) reference = m->median();

  const bool rates = table.ratio == Ratio::speed;
  std::vector<std::vector<std::string>> lines{{"", "B"}};
  for (const std::string& column : table.columns) {
    lines[0].push_back(column + " ns");
    if (rates) lines[0].push_back("GB/s");
    lines[0].push_back((rates ? "x " : "in ") + table.reference);
  }
  for (const Subject& subject : subjects) {
    if (find(subject, "") == nullptr) continue;
    std::vector<std::string> line{subject.name, std::to_string(subject.row_bytes)};
    for (const std::string& column : table.columns) {
      const Measurement* m = find(subject, column);
      const double ns = m == nullptr ? 0 : m->median();
      line.push_back(ns == 0 ? "" : detail::number(ns));
      if (rates) line.push_back(ns == 0 || m->bytes == 0 ? "" : detail::number(m->bytes / ns));
      line.push_back(ns == 0 || reference == 0 ? "" : detail::number(rates ? reference / ns : ns / reference));
    }
    lines.push_back(std::move(line));
  }
  if (lines.size() == 1) return;
  std::printf(markdown ? "\n### %s\n\n" : "\n%s\n", table.title.c_str());
  detail::print_cells(lines, markdown);
}

}  // namespace bench
