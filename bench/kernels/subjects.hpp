// What is timed: every operation of a codec, and the baselines beside it, over rows that lie as pages have them, codes and
// norms apart.
#pragma once

#include "baseline.hpp"
#include "measure.hpp"

#include <kvcodec/cache/page.hpp>
#include <kvcodec/kvcodec.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace bench {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "kernels_bench: %s\n", what);
  std::exit(1);
}

inline std::vector<float> gaussian(std::size_t n, std::uint64_t seed) {
  kvcodec::SplitMix64 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.gaussian());
  return x;
}

/// Copies `unit` to all of `to`, whose size need not be a multiple.
inline void replicate(std::span<const std::byte> unit, std::span<std::byte> to) {
  for (std::size_t at = 0; at < to.size(); at += unit.size())
    std::memcpy(to.data() + at, unit.data(), std::min(unit.size(), to.size() - at));
}

inline constexpr std::size_t max_queries = 4, max_threads = 2;

/// A place where rows are (a cache, DRAM), what is common to all subjects there, and the subjects.
struct Bench {
  std::string place;
  std::size_t rows, block;     ///< a pass takes a block of them
  std::span<std::byte> arena;  ///< where the subject whose turn it is has its rows
  std::span<float> vectors;    ///< rows to encode and to write to; fewer than `rows` may be there, a multiple of `block`
  std::string filter;

  static constexpr std::size_t distinct = 4096;  ///< rows, which fill the arena again and again
  std::vector<float> sample = gaussian(distinct * dim, 1);
  std::vector<float> queries = gaussian(max_queries * dim, 2);
  std::vector<float> weights = log_normal(max_queries * block);
  std::vector<float> scores[max_threads] = {std::vector<float>(max_queries * block), std::vector<float>(max_queries * block)};
  std::vector<Subject> subjects = {};

  std::size_t blocks() const { return rows / block; }
  /// Of `vectors`, those that belong to a block of rows.
  std::span<float> block_vectors(std::size_t b) const {
    return vectors.subspan(b % (vectors.size() / (block * dim)) * block * dim, block * dim);
  }

  Subject& add(std::string name, std::size_t row_bytes) {
    subjects.push_back({std::move(name), row_bytes, blocks()});
    return subjects.back();
  }

  /// Adds a measurement of passes over `block` rows for `n` queries, unless it is filtered out or the
  /// threads would not have blocks of their own.
  template <class Pass>
  void time(Subject& subject, std::string table, std::string column, std::size_t n, Pass pass, std::size_t threads = 1) const {
    if (threads > blocks()) return;
    const bool wanted = (subject.name + ": " + table).find(filter) != std::string::npos || is_reference(subject.name);
    if (!wanted) return;
    subject.measurements.push_back({std::move(table), std::move(column), static_cast<double>(n * block),
                                    static_cast<double>(subject.row_bytes) / static_cast<double>(n), pass, threads});
  }

  static bool is_reference(const std::string& name) { return name == "float16 best" || name == "memcpy" || name == "stream"; }

 private:
  static std::vector<float> log_normal(std::size_t n) {
    std::vector<float> x = gaussian(n, 3);
    for (float& v : x) v = std::exp(2 * v) / static_cast<float>(n);
    return x;
  }
};

inline std::string table_name(const char* operation, std::size_t queries) {
  std::string name = operation;
  name += ", ";
  name += std::to_string(queries);
  name += queries == 1 ? " query" : " queries";
  return name;
}
inline const std::string two_threads = "score, 1 query, 2 threads";

template <class F>
void for_query_counts(F f) {
  f(std::integral_constant<std::size_t, 1>());
  f(std::integral_constant<std::size_t, max_queries>());
}

inline constexpr std::size_t align_to_line(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Encode and decode only.
template <class C>
void add_encode(Bench& bench, Subject& subject, const C& codec, kvcodec::Planes rows) {
  const Bench* b = &bench;
  const auto block_of = [=](std::size_t i) {
    return kvcodec::Planes{rows.code(i * b->block), rows.code_stride, rows.norm(i * b->block), rows.norm_stride, b->block};
  };
  bench.time(subject, "encode and decode", "encode", 1, [=](std::size_t i, std::size_t) {
    const auto result = codec.encode_rows(std::span<const float>(b->block_vectors(i)), block_of(i));
    require(result.status == kvcodec::Status::ok, "a row was not encoded");
    consume(rows.codes);
  });
  bench.time(subject, "encode and decode", "decode", 1, [=](std::size_t i, std::size_t) {
    const kvcodec::Status status = codec.decode_rows(kvcodec::ConstPlanes(block_of(i)), b->block_vectors(i));
    require(status == kvcodec::Status::ok, "rows were not decoded");
    consume(b->vectors.data());
  });
}

/// The subject of a codec's rows, in planes.
template <class C>
kvcodec::Planes add_rows(Bench& bench, const std::string& name, const C& codec) {
  auto codes = std::make_shared<std::vector<std::byte>>(Bench::distinct * C::code_bytes);
  auto norms = std::make_shared<std::vector<std::byte>>(Bench::distinct * C::norm_bytes);
  const auto result = codec.encode_rows(std::span<const float>(bench.sample),
                                        kvcodec::Planes{codes->data(), C::code_bytes, norms->data(), C::norm_bytes, Bench::distinct});
  require(result.status == kvcodec::Status::ok, "a row was not encoded");
  const std::size_t code_bytes = bench.rows * C::code_bytes, norms_at = align_to_line(code_bytes);
  const std::span<std::byte> arena = bench.arena;
  require(norms_at + bench.rows * C::norm_bytes <= arena.size(), "rows do not fit");
  Subject& subject = bench.add(name, C::row_bytes);
  subject.fill = [=, rows = bench.rows] {
    replicate(*codes, arena.first(code_bytes));
    if (C::norm_bytes > 0) replicate(*norms, arena.subspan(norms_at, rows * C::norm_bytes));
  };
  return {arena.data(), C::code_bytes, arena.data() + norms_at, C::norm_bytes, bench.rows};
}

template <class C>
void add_encoder(Bench& bench, const std::string& name) {
  const C codec(1);
  const kvcodec::Planes rows = add_rows(bench, name, codec);
  add_encode(bench, bench.subjects.back(), codec, rows);
}

/// Scores full interleaved pages, with tables made once a query.
template <class C>
concept TileCodec = requires(const C& codec, const typename C::Query& query, typename C::TileQuery& table, float* scores,
                             const std::byte* page) {
  codec.tabulate_row(query, table);
  codec.score_tile(&table, std::size_t{1}, page, page, scores, std::size_t{64});
};

template <class C>
void add_tiles(Bench& bench, const std::string& name) {
  if constexpr (TileCodec<C>) {
    using Page = kvcodec::PageLayout<C>;
    const C codec(1);
    auto tables = std::make_shared<std::vector<typename C::TileQuery>>(max_queries);
    for (std::size_t q = 0; q < max_queries; ++q)
      codec.tabulate_row(codec.prepare(std::span<const float, dim>(bench.queries.data() + q * dim, dim)), (*tables)[q]);

    auto pages = std::make_shared<std::vector<std::byte>>(Bench::distinct * C::row_bytes);
    std::vector<std::byte> page(Page::bytes);
    for (std::size_t i = 0; i < Bench::distinct; i += Page::tokens) {
      const auto x = std::span<const float>(bench.sample).subspan(i * dim, Page::tokens * dim);
      require(codec.encode_rows(x, Page::rows(page.data(), 0, Page::tokens)).status == kvcodec::Status::ok, "a row was not encoded");
      Page::interleave(page.data(), pages->data() + i * C::row_bytes);
    }
    Subject& subject = bench.add(name + ", tiles", C::row_bytes);
    const std::span<std::byte> arena = bench.arena.first(bench.rows * C::row_bytes);
    subject.fill = [=] { replicate(*pages, arena); };
    Bench* b = &bench;
    const auto score = [=]<std::size_t N>(std::integral_constant<std::size_t, N>) {
      return [=](std::size_t block, std::size_t thread) {
        float* scores = b->scores[thread].data();
        for (std::size_t i = 0; i < b->block; i += Page::tokens) {
          const std::byte* at = arena.data() + (block * b->block + i) * C::row_bytes;
          codec.score_tile(tables->data(), N, at, at + Page::norms_at, scores + i, b->block);
        }
        consume(scores);
      };
    };
    for_query_counts([&](auto n) { bench.time(subject, table_name("score", n), "fastest", n, score(n)); });
    bench.time(subject, two_threads, "fastest", 1, score(std::integral_constant<std::size_t, 1>()), 2);
  }
}

/// Every operation of a codec.
template <class C>
void add_codec(Bench& bench, const std::string& name) {
  using kvcodec::Arithmetic, kvcodec::Status;
  using Query = typename C::Query;
  using Accumulator = typename C::Accumulator;
  const C codec(1);
  const kvcodec::Planes planes = add_rows(bench, name, codec);
  Subject& subject = bench.subjects.back();
  auto queries = std::make_shared<std::vector<Query>>();
  for (std::size_t q = 0; q < max_queries; ++q)
    queries->push_back(codec.prepare(std::span<const float, dim>(bench.queries.data() + q * dim, dim)));

  Bench* b = &bench;
  const auto block_of = [=](std::size_t i) { return kvcodec::ConstPlanes(planes).rows(i * b->block, b->block); };
  const auto score = [=](std::size_t n, Arithmetic arithmetic) {
    return [=](std::size_t i, std::size_t thread) {
      const std::span<float> scores = std::span<float>(b->scores[thread]).first(n * b->block);
      const Status status = codec.score_rows(std::span<const Query>(*queries).first(n), block_of(i), scores, arithmetic);
      require(status == Status::ok, "rows were not scored");
      consume(scores.data());
    };
  };
  const auto accumulate = [=](std::size_t n, Arithmetic arithmetic) {
    return [=](std::size_t i, std::size_t) {
      Accumulator sums[max_queries];
      const Status status = codec.accumulate_rows(std::span<const float>(b->weights).first(n * b->block), block_of(i),
                                                  std::span<Accumulator>(sums, n), arithmetic);
      require(status == Status::ok, "rows were not accumulated");
      consume(sums);
    };
  };
  for (const auto& [column, arithmetic] : {std::pair("exact", Arithmetic::exact), std::pair("fastest", Arithmetic::fastest)}) {
    for (const std::size_t n : {std::size_t{1}, max_queries}) {
      bench.time(subject, table_name("score", n), column, n, score(n, arithmetic));
      bench.time(subject, table_name("accumulate", n), column, n, accumulate(n, arithmetic));
    }
    bench.time(subject, two_threads, column, 1, score(1, arithmetic), 2);
  }
  add_encode(bench, subject, codec, planes);
  add_tiles<C>(bench, name);
}

/// Rows are copied to where an encoder would have them, and rotated there.
template <unsigned Rounds>
void add_rotation(Bench& bench, const std::string& name) {
  kvcodec::SplitMix64 random(1);
  const kvcodec::SignedHadamard<dim, Rounds> rotation(random);
  Subject& subject = bench.add(name, dim * sizeof(float));
  const Bench* b = &bench;
  const auto each_row = [=](auto rotate) {
    return [=](std::size_t i, std::size_t) {
      const float* x = b->block_vectors(i).data();
      for (std::size_t r = 0; r < b->block; ++r) {
        alignas(64) float row[dim];
        std::memcpy(row, x + r * dim, sizeof row);
        rotate(row);
        consume(row);
      }
    };
  };
  bench.time(subject, "rotation", "forward", 1, each_row([=](float* row) { rotation.raw(row); }));
  bench.time(subject, "rotation", "inverse", 1, each_row([=](float* row) { rotation.raw_inverse(row); }));
}

/// A baseline that is wrong would be no baseline: its first scores or sums against plain loops in double.
inline void check(std::span<const float> got, std::span<const double> expected, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    require(std::fabs(static_cast<double>(got[i]) - expected[i]) <= tolerance, "a baseline is wrong");
}

inline void add_float16(Bench& bench) {
  auto sample = std::make_shared<std::vector<std::uint16_t>>();
  for (const float x : bench.sample) sample->push_back(kvcodec::to_float16(x).bits);
  Subject& subject = bench.add("float16 best", dim * sizeof(std::uint16_t));
  const std::span<std::byte> arena = bench.arena.first(bench.rows * subject.row_bytes);
  subject.fill = [=] { replicate(std::as_bytes(std::span<const std::uint16_t>(*sample)), arena); };
  const auto* rows = reinterpret_cast<const std::uint16_t*>(arena.data());
  Bench* b = &bench;

  const auto score = [=]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    return [=](std::size_t i, std::size_t thread) {
      float* scores = b->scores[thread].data();
      float16_scores<N>(rows + i * b->block * dim, b->block, b->queries.data(), scores, b->block);
      consume(scores);
    };
  };
  for_query_counts([&](auto n) {
    constexpr std::size_t N = n;
    constexpr std::size_t count = 16;
    float scores[N * count], sums[N * dim] = {};
    double expected_scores[N * count] = {}, expected_sums[N * dim] = {};
    float16_scores<N>(sample->data(), count, b->queries.data(), scores, count);
    float16_sums<N>(sample->data(), count, b->weights.data(), count, sums);
    for (std::size_t q = 0; q < N; ++q) {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t d = 0; d < dim; ++d) {
          const double x = static_cast<double>(kvcodec::to_float(kvcodec::float16{(*sample)[i * dim + d]}));
          expected_scores[q * count + i] += x * static_cast<double>(b->queries[q * dim + d]);
          expected_sums[q * dim + d] += x * static_cast<double>(b->weights[q * count + i]);
        }
      }
    }
    check(scores, expected_scores, 1e-3);
    check(sums, expected_sums, 1e-3);

    b->time(subject, table_name("score", N), "exact", N, score(n));
    b->time(subject, table_name("accumulate", N), "exact", N, [=](std::size_t i, std::size_t) {
      alignas(64) float sum[N * dim] = {};
      float16_sums<N>(rows + i * b->block * dim, b->block, b->weights.data(), b->block, sum);
      consume(sum);
    });
  });
  bench.time(subject, two_threads, "exact", 1, score(std::integral_constant<std::size_t, 1>()), 2);
}

inline void add_q4(Bench& bench) {
  auto sample = std::make_shared<std::vector<std::byte>>(Bench::distinct * sizeof(Q4Row));
  auto* encoded = reinterpret_cast<Q4Row*>(sample->data());
  for (std::size_t i = 0; i < Bench::distinct; ++i) q4_encode(bench.sample.data() + i * dim, encoded[i]);
  auto queries = std::make_shared<std::vector<Q8Query>>();
  for (std::size_t q = 0; q < max_queries; ++q) queries->emplace_back(bench.queries.data() + q * dim);

  Subject& subject = bench.add("q4_0 x q8_0", sizeof(Q4Row));
  const std::span<std::byte> arena = bench.arena.first(bench.rows * sizeof(Q4Row));
  subject.fill = [=] { replicate(*sample, arena); };
  const auto* rows = reinterpret_cast<const Q4Row*>(arena.data());
  Bench* b = &bench;
  const auto score = [=]<std::size_t N>(std::integral_constant<std::size_t, N>) {
    return [=](std::size_t i, std::size_t thread) {
      float* scores = b->scores[thread].data();
      q4_scores<N>(rows + i * b->block, b->block, queries->data(), scores, b->block);
      consume(scores);
    };
  };
  for_query_counts([&](auto n) {
    constexpr std::size_t N = n, count = 16;
    float scores[N * count];
    double expected[N * count] = {};
    q4_scores<N>(encoded, count, queries->data(), scores, count);
    for (std::size_t q = 0; q < N; ++q)
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t d = 0; d < dim; ++d) {
          const Q4Block& block = encoded[i][d / 32];
          const int level = d % 32 < 16 ? block.nibbles[d % 16] & 15 : block.nibbles[d % 16] >> 4;
          expected[q * count + i] += static_cast<double>(kvcodec::to_float(kvcodec::float16{block.scale})) * (level - 8) *
                                     static_cast<double>((*queries)[q].scale[d / 32]) * (*queries)[q].values[d];
        }
    check(scores, expected, 1e-3);
    b->time(subject, table_name("score", N), "fastest", N, score(n));
  });
  bench.time(subject, two_threads, "fastest", 1, score(std::integral_constant<std::size_t, 1>()), 2);
}

/// Reading as much as float16 rows would take, and copying rows of floats.
inline void add_memory(Bench& bench) {
  Subject& stream = bench.add("stream", dim * sizeof(std::uint16_t));
  const std::span<const std::byte> arena = bench.arena;
  Bench* b = &bench;
  const auto read = [=](std::size_t i, std::size_t thread) {
    const std::size_t bytes = b->block * dim * sizeof(std::uint16_t);
    const std::uint64_t sum = stream_sum(arena.subspan(i * bytes, bytes));
    b->scores[thread][0] = static_cast<float>(sum);
    consume(b->scores[thread].data());
  };
  for (const char* table : {"score", "accumulate"}) bench.time(stream, table_name(table, 1), "exact", 1, read);
  bench.time(stream, two_threads, "exact", 1, read, 2);

  Subject& copy = bench.add("memcpy", dim * sizeof(float));
  copy.blocks = std::max<std::size_t>(1, bench.blocks() / 2);  // rows of floats take twice the arena's
  const auto copy_block = [=](std::size_t i, std::size_t) {
    // Of a small place half of the rows, so that what is read and what is written fit together.
    const std::size_t half = b->blocks() == 1 ? b->block / 2 : b->block;
    auto* to = reinterpret_cast<float*>(b->arena.data()) + i * b->block * dim;
    for (std::size_t done = 0; done < b->block; done += half) copy_rows(b->block_vectors(i).data(), half, to);
    consume(to);
  };
  bench.time(copy, "encode and decode", "encode", 1, copy_block);
  bench.time(copy, "rotation", "forward", 1, copy_block);
}

}  // namespace bench
