// A whole attention step: scores, softmax and weighted sum over the tokens of one sequence and head, queries rotated and
// outputs un-rotated. Time is for a token and query.
#pragma once

#include "subjects.hpp"

#include <kvcodec/cache/attention.hpp>
#include <kvcodec/cache/exponential.hpp>
#include <kvcodec/cache/kv_cache.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace bench {

inline constexpr std::size_t exact_tokens = 64;  // of a block of the float16 step; scores stay in L1

/// The same over float16 rows, with the best kernels for them.
template <std::size_t Queries>
inline void float16_attention(const std::uint16_t* keys, const std::uint16_t* values, std::size_t tokens, const float* queries,
                              float* output) {
  alignas(64) float weights[Queries * exact_tokens], scaled[Queries * dim];
  float largest[Queries], total[Queries] = {};
  for (float& x : largest) x = -std::numeric_limits<float>::infinity();
  for (std::size_t d = 0; d < Queries * dim; ++d) scaled[d] = queries[d] / std::sqrt(static_cast<float>(dim));
  for (std::size_t d = 0; d < Queries * dim; ++d) output[d] = 0;
  for (std::size_t i = 0; i < tokens; i += exact_tokens) {
    float16_scores<Queries>(keys + i * dim, exact_tokens, scaled, weights, exact_tokens);
    for (std::size_t q = 0; q < Queries; ++q) {
      float* w = weights + q * exact_tokens;
      float lane[16];
      for (float& x : lane) x = largest[q];
      for (std::size_t t = 0; t < exact_tokens; t += 16)
        for (std::size_t l = 0; l < 16; ++l) lane[l] = w[t + l] > lane[l] ? w[t + l] : lane[l];
      const float most = *std::max_element(lane, lane + 16);
      if (most > largest[q]) {
        const float factor = kvcodec::exponential(largest[q] - most);
        for (std::size_t d = 0; d < dim; ++d) output[q * dim + d] *= factor;
        total[q] *= factor;
        largest[q] = most;
      }
      for (float& x : lane) x = 0;
      for (std::size_t t = 0; t < exact_tokens; t += 16) {
        for (std::size_t l = 0; l < 16; ++l) w[t + l] = kvcodec::exponential(w[t + l] - most);
        for (std::size_t l = 0; l < 16; ++l) lane[l] += w[t + l];
      }
      total[q] += kvcodec::reduce(lane);
    }
    float16_sums<Queries>(values + i * dim, exact_tokens, weights, exact_tokens, output);
  }
  for (std::size_t q = 0; q < Queries; ++q)
    for (std::size_t d = 0; d < dim; ++d) output[q * dim + d] /= total[q];
}

/// Sequences that a place's rows are enough for, half of them keys: a pass goes through one.
struct Sequences {
  explicit Sequences(const Bench& bench)
      : tokens(std::min<std::size_t>(bench.rows, Bench::distinct)), count(std::max<std::size_t>(1, bench.rows / 2 / tokens)) {}
  std::size_t tokens, count;
};

/// As Bench::time, for passes over `tokens`.
template <class Pass>
void time_step(Bench& bench, Subject& subject, std::string column, std::size_t n, std::size_t tokens, Pass pass) {
  const std::size_t before = subject.measurements.size();
  bench.time(subject, table_name("attention step", n), std::move(column), n, pass);
  if (subject.measurements.size() > before) subject.measurements.back().results = static_cast<double>(n * tokens);
}

inline void add_float16_attention(Bench& bench) {
  const Sequences sequences(bench);
  auto sample = std::make_shared<std::vector<std::uint16_t>>();
  for (const float x : bench.sample) sample->push_back(kvcodec::to_float16(x).bits);
  Subject& subject = bench.add("float16 best", 2 * dim * sizeof(std::uint16_t));
  subject.blocks = sequences.count;
  const std::size_t rows = sequences.tokens * sequences.count;
  const std::span<std::byte> arena = bench.arena.first(rows * subject.row_bytes);
  subject.fill = [=] { replicate(std::as_bytes(std::span<const std::uint16_t>(*sample)), arena); };
  const auto* keys = reinterpret_cast<const std::uint16_t*>(arena.data());
  const Bench* b = &bench;
  for_query_counts([&](auto n) {
    time_step(bench, subject, "exact", n, sequences.tokens, [=](std::size_t i, std::size_t) {
      alignas(64) float output[n * dim];
      const std::uint16_t* at = keys + i * sequences.tokens * dim;
      float16_attention<n>(at, at + rows * dim, sequences.tokens, b->queries.data(), output);
      consume(output);
    });
  });
}

template <class C>
void add_attention(Bench& bench, const std::string& name) {
  using Cache = kvcodec::KvCache<C, C>;
  using Workspace = kvcodec::AttentionWorkspace<Cache, max_queries>;
  const Sequences sequences(bench);
  kvcodec::KvCacheShape shape;
  shape.sequences = sequences.count;
  shape.heads = 1;
  shape.max_tokens = sequences.tokens;
  shape.slots = sequences.count * ((sequences.tokens + Cache::tokens_per_page - 1) / Cache::tokens_per_page);
  require(Cache::bytes(shape) <= bench.arena.size(), "a cache does not fit");

  // Encoded once; each turn the cache is made again from the saved sequence.
  struct State {
    std::optional<Cache> cache;
    std::vector<std::byte> saved;
    Workspace workspace;
  };
  auto state = std::make_shared<State>();
  const auto make = [=, arena = bench.arena] {
    auto cache = Cache::create(shape, arena, C(1), C(1));
    require(cache.ok(), "a cache was not made");
    state->cache.emplace(std::move(*cache));
  };
  make();
  const auto x = std::span<const float>(bench.sample).first(sequences.tokens * dim);
  require(state->cache->append(0, x, x).status == kvcodec::Status::ok, "tokens were not appended");
  state->saved.resize(state->cache->saved_bytes(0));
  require(state->cache->save(0, state->saved) == kvcodec::Status::ok, "a sequence was not saved");

  Subject& subject = bench.add(name, 2 * C::row_bytes);
  subject.blocks = sequences.count;
  subject.fill = [=] {
    make();
    for (std::size_t s = 0; s < sequences.count; ++s)
      require(state->cache->restore(s, state->saved).ok(), "a sequence was not restored");
  };
  const Bench* b = &bench;
  for (const auto& [column, arithmetic] :
       {std::pair("exact", kvcodec::Arithmetic::exact), std::pair("fastest", kvcodec::Arithmetic::fastest)}) {
    kvcodec::AttentionOptions options;
    options.arithmetic = arithmetic;
    for (const std::size_t n : {std::size_t{1}, max_queries}) {
      time_step(bench, subject, column, n, sequences.tokens, [=](std::size_t i, std::size_t) {
        float output[max_queries * dim];
        const auto status = kvcodec::attend(*state->cache, i, 0, std::span<const float>(b->queries).first(n * dim), options,
                                            state->workspace, std::span<float>(output, n * dim));
        require(status == kvcodec::Status::ok, "attention failed");
        consume(output);
      });
    }
  }
}

}  // namespace bench
