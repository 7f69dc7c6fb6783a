// Decode attention over the packed cache against the double-precision oracle, which is given the decoded rows, so that all
// that is left between the two is arithmetic; cutting and merging; refusals; the exponential and the hyperbolic tangent.
#include "support/counted_new.hpp"
#include "oracle/attention.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/cache/attention.hpp>
#include <kvcodec/cache/kv_cache.hpp>
#include <kvcodec/codec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace kvcodec {
namespace {

using Doubles = std::vector<double>;
using Sizes = std::initializer_list<std::size_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t heads = 2, head = 1;

std::atomic<std::size_t> tiles_scored{0};

/// A codec that scores interleaved pages as they lie, with tables that are the query.
struct Tabulated : TurboQuantMse<64, 4> {
  using TurboQuantMse<64, 4>::TurboQuantMse;
  static constexpr std::size_t tile_bytes = 5;  // the last group of bytes is narrower
  struct TileQuery {
    Query query;
  };

  void tabulate_row(const Query& query, TileQuery& tile) const noexcept { tile.query = query; }
  void score_tile(const TileQuery* queries, std::size_t n, const std::byte* codes, const std::byte* norms, float* scores,
                  std::size_t stride) const noexcept {
    EXPECT_TRUE(n >= 1 && n <= 8 && stride >= 64);
    ++tiles_scored;
    for (std::size_t t = 0; t < 64; ++t) {
      std::byte code[code_bytes];
      PageLayout<Tabulated>::gather_row(codes, t, code);
      for (std::size_t k = 0; k < n; ++k) scores[k * stride + t] = score_row(queries[k].query, norms + t * norm_bytes, code);
    }
  }
};

using Mixed = KvCache<TurboQuantMse<64, 4>, Octopus<64, 2>>;
using Wide = KvCache<Octopus<128, 2>, TurboQuantMse<64, 4>, BFloat16, 16>;
using Tiled = KvCache<Tabulated, Float16<64>>;

template <class Cache>
using KeyCodec = detail::KeyCodecOf<Cache>;
template <class Cache>
using ValueCodec = detail::ValueCodecOf<Cache>;

struct Contents {
  std::size_t length = 0, sinks = 0, recent = 0;
  std::vector<std::size_t> evicted = {};  // pages
};

/// A cache of sequence 0, and what attention to its second head should see: rows as they were, and as they decode.
template <class Cache>
struct World {
  using K = KeyCodec<Cache>;
  using V = ValueCodec<Cache>;

  struct alignas(64) Line {
    std::byte bytes[64];
  };
  static KvCacheShape shape(const Contents& c) {
    return {.sequences = 1,
            .heads = heads,
            .slots = c.length / Cache::tokens_per_page + 1,
            .max_tokens = c.length + 1,
            .sinks = c.sinks,
            .recent = c.recent,
            .interleave_keys = true};
  }

  /// The rows' lengths differ by a factor of 8.
  static std::vector<float> rows(std::size_t n, std::size_t d, std::uint64_t seed) {
    std::vector<float> x = kvcodec_test::gaussian_rows(n, d, seed);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp2(static_cast<float>(i / d * 7 % 31) / 10 - 1.5f);
    return x;
  }

  explicit World(const Contents& c, std::uint64_t seed = 1)
      : World(c, rows(c.length * heads, K::dim, 2 * seed), rows(c.length * heads, V::dim, 2 * seed + 1)) {}

  World(const Contents& c, const std::vector<float>& all_keys, const std::vector<float>& all_values)
      : memory(Cache::bytes(shape(c)) / sizeof(Line) + 1, Line{}),
        cache(std::move(*Cache::create(shape(c), std::as_writable_bytes(std::span(memory)), K(3), V(4)))),
        present(c.length) {
    EXPECT_EQ(cache.append(0, std::span<const float>(all_keys), std::span<const float>(all_values)).appended, c.length);
    for (const std::size_t page : c.evicted) EXPECT_EQ(cache.evict(0, page), Status::ok);
    for (std::size_t t = 0; t < c.length; ++t) {
      const bool exact = t < c.sinks || t + c.recent >= c.length;
      const bool evicted = std::find(c.evicted.begin(), c.evicted.end(), t / Cache::tokens_per_page) != c.evicted.end();
      present[t] = exact || !evicted;
      const float* const key = all_keys.data() + (t * heads + head) * K::dim;
      const float* const value = all_values.data() + (t * heads + head) * V::dim;
      true_keys.insert(true_keys.end(), key, key + K::dim);
      true_values.insert(true_values.end(), value, value + V::dim);
      exact ? add_decoded(cache.exact_key_codec(), key, keys) : add_decoded(cache.key_codec(), key, keys);
      exact ? add_decoded(cache.exact_value_codec(), value, values) : add_decoded(cache.value_codec(), value, values);
    }
  }

  template <class C>
  static void add_decoded(const C& codec, const float* x, Doubles& to) {
    std::byte row[C::row_bytes];
    float decoded[C::dim];
    EXPECT_EQ(codec.encode(std::span<const float, C::dim>(x, C::dim), std::span<std::byte, C::row_bytes>(row)), Status::ok);
    codec.decode(std::span<const std::byte, C::row_bytes>(row), std::span<float, C::dim>(decoded));
    to.insert(to.end(), decoded, decoded + C::dim);
  }

  std::vector<Line> memory;
  Cache cache;
  std::vector<bool> present;
  Doubles true_keys, true_values, keys, values;
};

/// What came out of a step.
template <class Cache, class T = float>
struct Outcome {
  std::vector<T> output;
  std::vector<float> log_sum_exp;

  friend bool operator==(const Outcome& a, const Outcome& b) {
    return std::memcmp(a.output.data(), b.output.data(), sizeof(T) * a.output.size()) == 0 &&
           a.output.size() == b.output.size() && a.log_sum_exp == b.log_sum_exp;
  }
};

template <class Cache>
using Partial = AttentionPartial<Cache, 16>;

template <class T = float, class Cache>
Outcome<Cache, T> outcome(const Cache& cache, const Partial<Cache>& partial) {
  Outcome<Cache, T> result{std::vector<T>(partial.count() * ValueCodec<Cache>::dim), {}};
  EXPECT_EQ(partial.finish(cache, std::span<T>(result.output)), Status::ok);
  for (std::size_t k = 0; k < partial.count(); ++k) result.log_sum_exp.push_back(partial.log_sum_exp(k));
  return result;
}

template <class Cache>
std::unique_ptr<AttentionQueries<Cache>> prepared(const Cache& cache, const std::vector<float>& q,
                                                  const AttentionOptions& options) {
  auto queries = std::make_unique<AttentionQueries<Cache>>();
  EXPECT_EQ(queries->prepare(cache, 0, head, std::span<const float>(q), options), Status::ok);
  return queries;
}

template <class T = float, class Cache, class In>
Outcome<Cache, T> attend_whole(const Cache& cache, const std::vector<In>& q, const AttentionOptions& options) {
  const auto workspace = std::make_unique<AttentionWorkspace<Cache>>();
  Outcome<Cache, T> result{std::vector<T>(q.size() / KeyCodec<Cache>::dim * ValueCodec<Cache>::dim), {}};
  EXPECT_EQ(attend(cache, 0, head, std::span<const In>(q), options, *workspace, std::span<T>(result.output)), Status::ok);
  for (std::size_t k = 0; k < q.size() / KeyCodec<Cache>::dim; ++k)
    result.log_sum_exp.push_back(workspace->partial.log_sum_exp(k));
  return result;
}

template <class Cache>
std::vector<kvcodec_oracle::Decoded> reference(const World<Cache>& world, const std::vector<float>& q,
                                               const AttentionOptions& options, bool decoded = true) {
  const std::size_t dim = KeyCodec<Cache>::dim;
  const Doubles queries(q.begin(), q.end());
  return kvcodec_oracle::decode_attention_of_group(
      decoded ? world.keys : world.true_keys, decoded ? world.values : world.true_values, ValueCodec<Cache>::dim,
      world.present, queries, dim,
      {.scale = options.scale == 0 ? 1 / std::sqrt(static_cast<double>(dim)) : static_cast<double>(options.scale),
       .soft_cap = options.soft_cap,
       .window = options.window,
       .length = options.length == AttentionOptions::all ? world.present.size() : options.length});
}

double square(double x) { return x * x; }
template <class X, class Y>
double square_distance(const X& x, const Y& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += square(static_cast<double>(x[i]) - static_cast<double>(y[i]));
  return sum;
}

constexpr double rounding = 1e-5;  // of float arithmetic, relative

/// That query k came out as the reference says, but for the rounding of float arithmetic.
template <class Cache>
void expect_exact(const Outcome<Cache>& outcome, std::size_t k, const kvcodec_oracle::Decoded& expected) {
  const std::size_t d = expected.output.size();
  const std::span<const float> output(outcome.output.data() + k * d, d);
  const double error = std::sqrt(square_distance(output, expected.output));
  EXPECT_LE(error, rounding * std::sqrt(square_distance(expected.output, Doubles(d)))) << "query " << k;
  if (expected.log_sum_exp == -HUGE_VAL) {
    EXPECT_EQ(outcome.log_sum_exp[k], -infinity) << "query " << k;
  } else {
    EXPECT_NEAR(outcome.log_sum_exp[k], expected.log_sum_exp, rounding * std::max(1.0, std::abs(expected.log_sum_exp)))
        << "query " << k;
  }
}

/// What Arithmetic::fastest promises: in the mean over all that is added here, no more than 2 % on top of the variance of
/// the codecs' own error (rows.hpp), and the rounding of float arithmetic.
class FastestPromise {
 public:
  template <class Cache>
  void add(const Outcome<Cache>& outcome, std::size_t k, const kvcodec_oracle::Decoded& decoded,
           const kvcodec_oracle::Decoded& truth, float scale_option) {
    const double scale = scale_option == 0 ? 1 / std::sqrt(static_cast<double>(KeyCodec<Cache>::dim)) : std::abs(static_cast<double>(scale_option));
    if (decoded.log_sum_exp == -HUGE_VAL) return expect_exact(outcome, k, decoded);
    const std::size_t d = decoded.output.size();
    const double size = square_distance(decoded.output, Doubles(d));
    const double extra = square_distance(std::span<const float>(outcome.output.data() + k * d, d), decoded.output) / size;
    EXPECT_LE(extra, 1) << "query " << k;  // none may hide in the mean
    output_.own += square_distance(decoded.output, truth.output) / size;
    output_.extra += extra;
    output_.rounding += square(rounding);
    // A query's rounding is shared by all its scores and does not average out as the rows' own errors do: the log-sum-exp
    // moves by up to what the scores of the longest rows do, 10 % rms of those rows' own error.
    const double own = std::sqrt(0.0095) * std::exp2(1.5) * std::sqrt(static_cast<double>(KeyCodec<Cache>::dim)) * scale;
    EXPECT_NEAR(outcome.log_sum_exp[k], decoded.log_sum_exp, 4 * 0.1 * own + rounding * std::abs(decoded.log_sum_exp)) << "query " << k;
  }
  ~FastestPromise() {
    EXPECT_LE(output_.extra, 0.02 * output_.own + output_.rounding);
  }

 private:
  struct {
    double own = 0, extra = 0, rounding = 0;
  } output_;
};

/// Ranges that are all of some tokens, in some order: about equal parts, arbitrary ones, empty ones.
template <class Cache>
std::vector<std::vector<TokenRange>> splits(const AttentionQueries<Cache>& queries, std::uint64_t seed) {
  std::vector<std::vector<TokenRange>> result;
  for (const std::size_t parts : Sizes{1, 2, 3, 7}) {
    std::vector<TokenRange> ranges;
    for (std::size_t i = 0; i < parts; ++i) ranges.push_back(queries.part(i, parts));
    if (parts == 3) std::reverse(ranges.begin(), ranges.end());
    result.push_back(ranges);
  }
  kvcodec_oracle::RandomSource random(seed);
  const TokenRange all = queries.tokens();
  std::vector<std::size_t> cuts{0, all.begin, all.begin, all.end + 5};
  for (int i = 0; i < 5; ++i) cuts.push_back(all.begin + random.index(all.size() + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<TokenRange> arbitrary;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) arbitrary.push_back({cuts[i], cuts[i + 1]});
  for (std::size_t i = arbitrary.size(); i > 1; --i) std::swap(arbitrary[i - 1], arbitrary[random.index(i)]);
  result.push_back(arbitrary);
  return result;
}

/// Every range in a partial of its own; their merging.
template <class Cache>
Outcome<Cache> attend_split(const Cache& cache, const AttentionQueries<Cache>& queries,
                            const std::vector<TokenRange>& ranges) {
  std::vector<Partial<Cache>> partials(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) partials[i].add(cache, queries, ranges[i]);
  for (std::size_t i = 1; i < ranges.size(); ++i) partials[0].merge(partials[i]);
  return outcome(cache, partials[0]);
}

template <class Cache>
std::vector<float> random_queries(std::size_t n, std::uint64_t seed) {
  return kvcodec_test::gaussian_rows(n, KeyCodec<Cache>::dim, seed);
}

/// One step, whole and split in every way, exact and fastest.
template <class Cache>
void check(const World<Cache>& world, std::size_t group, AttentionOptions options, FastestPromise& promise) {
  SCOPED_TRACE(testing::Message() << "tokens " << world.present.size() << ", group " << group << ", scale " << options.scale
                                  << ", soft cap " << options.soft_cap << ", window " << options.window << ", length "
                                  << options.length);
  const std::uint64_t seed = 100 * world.present.size() + group;
  const std::vector<float> q = random_queries<Cache>(group, seed);
  const auto decoded = reference(world, q, options), truth = reference(world, q, options, false);
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fastest}) {
    options.arithmetic = arithmetic;
    const auto queries = prepared(world.cache, q, options);
    std::vector<Outcome<Cache>> outcomes{attend_whole(world.cache, q, options)};
    for (const auto& ranges : splits(*queries, seed)) outcomes.push_back(attend_split(world.cache, *queries, ranges));
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      SCOPED_TRACE(testing::Message() << (arithmetic == Arithmetic::exact ? "exact" : "fastest") << ", split " << i);
      for (std::size_t k = 0; k < group; ++k) {
        if (arithmetic == Arithmetic::exact) expect_exact(outcomes[i], k, decoded[k]);
        else promise.add(outcomes[i], k, decoded[k], truth[k], options.scale);
      }
    }
  }
}

// --- exponential and tangent

/// Calls f for about four million floats, every sign and exponent among them.
template <class F>
void for_floats(F f) {
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += 1009) f(float_from_bits(static_cast<std::uint32_t>(bits)));
}

TEST(Exponential, IsAccurateForAllFloats) {
  double worst = 0;
  std::size_t wrong = 0;
  for_floats([&](float x) {
    const float y = exponential(x);
    if (x >= -87 && x <= 88) {
      const double expected = std::exp(static_cast<double>(x));
      worst = std::max(worst, std::abs(y - expected) / expected);
    } else {
      wrong += std::isnan(x) ? !std::isnan(y) : y != (x < 0 ? 0 : infinity);
    }
  });
  EXPECT_LT(worst, 1e-7);
  EXPECT_EQ(wrong, 0u);
  for (float x = -87; x <= 88; x += 0.0005f) {
    const double expected = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(exponential(x) - expected) / expected);
  }
  EXPECT_LT(worst, 1e-7);
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(-infinity), 0.0f);
}

TEST(HyperbolicTangent, IsAccurateForAllFloats) {
  double worst = 0;
  std::size_t wrong = 0;
  const auto visit = [&](float x) {
    const float y = hyperbolic_tangent(x);
    if (std::isnan(x) || x == 0) {
      wrong += std::isnan(x) ? !std::isnan(y) : float_bits(y) != float_bits(x);
      return;
    }
    const double expected = std::tanh(static_cast<double>(x));
    // Half of the smallest subnormal is what rounding costs there.
    worst = std::max(worst, (std::abs(y - expected) - 0x1p-150) / std::abs(expected));
    wrong += std::abs(y) > 1;
  };
  for_floats(visit);
  for (float x = -10; x <= 10; x += 0.0001f) visit(x);
  for (const float x : {0.0f, -0.0f, infinity, -infinity}) visit(x);
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(wrong, 0u);
}

// --- which tokens

TEST(VisibleTokens, AreThoseOfTheirDefinition) {
  for (std::size_t cached = 0; cached < 9; ++cached) {
    for (std::size_t length = 0; length < 13; ++length) {
      for (std::size_t window = 0; window < 13; ++window) {
        const bool causal = length < 12;
        const TokenRange range =
            visible_tokens(cached, {.window = window, .length = causal ? length : AttentionOptions::all});
        const std::size_t position_after = causal ? length : cached;
        for (std::size_t t = 0; t < 15; ++t) {
          const bool visible = t < cached && t < position_after && (window == 0 || t + window >= position_after);
          ASSERT_EQ(t >= range.begin && t < range.end, visible) << cached << ' ' << length << ' ' << window << ' ' << t;
        }
      }
    }
  }
}

TEST(VisibleTokens, AreCutBetweenPages) {
  const World<Wide> world({.length = 165});  // pages of 16
  for (const std::size_t window : Sizes{1, 5, 16, 100, 164, 165}) {
    const auto queries = prepared(world.cache, random_queries<Wide>(1, 1), {.window = window});
    ASSERT_EQ(queries->tokens(), (TokenRange{165 - window, 165}));
    for (std::size_t n = 1; n < 20; ++n) {
      std::size_t at = queries->tokens().begin, largest = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const TokenRange part = queries->part(i, n);
        ASSERT_EQ(part.begin, at);
        ASSERT_TRUE(part.end >= at && (part.end % 16 == 0 || part.end == 165 || part.size() == 0)) << part.end;
        at = part.end;
        largest = std::max(largest, part.size());
      }
      ASSERT_EQ(at, 165u);
      ASSERT_LE(largest, ((window + 15) / 16 + 1 + n - 1) / n * 16);
    }
  }
}

// --- against the oracle

template <class Cache>
class Attention : public testing::Test {};
using Caches = testing::Types<Mixed, Wide, Tiled>;
TYPED_TEST_SUITE(Attention, Caches);

TYPED_TEST(Attention, OfEveryLengthIsTheOracles) {
  FastestPromise promise;
  for (const std::size_t length : Sizes{0, 1, 63, 64, 65, 130, 700}) {
    const World<TypeParam> world({.length = length});
    check(world, 3, {}, promise);
    check(world, 1, {.window = 1}, promise);
    check(world, 2, {.window = 40, .length = length / 2}, promise);
    check(world, 2, {.scale = 0.2f, .window = 30, .length = length + 10}, promise);
    check(world, 1, {.length = 0}, promise);
    check(world, 5, {.scale = 0.3f, .soft_cap = 2.5f}, promise);
    check(world, 2, {.scale = -0.1f, .soft_cap = 50, .window = 600, .length = length}, promise);
  }
}

TYPED_TEST(Attention, OfALongSequenceIsTheOracles) {
  FastestPromise promise;
  const World<TypeParam> world({.length = 4097, .sinks = 4, .recent = 100, .evicted = {2, 3, 30}});
  check(world, 3, {}, promise);
  check(world, 1, {.soft_cap = 5, .window = 1500, .length = 4001}, promise);
}

TYPED_TEST(Attention, OfEveryGroupIsTheOracles) {
  FastestPromise promise;
  const World<TypeParam> world({.length = 150, .recent = 10});
  for (std::size_t group = 1; group <= 16; ++group) check(world, group, {.window = 140}, promise);
}

TYPED_TEST(Attention, SeesExactTokensAndNotEvictedOnes) {
  FastestPromise promise;
  constexpr std::size_t length = 350, last = length / TypeParam::tokens_per_page;
  std::vector<std::size_t> all(last + 1);
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const auto& evicted : {std::vector<std::size_t>{}, {0}, {1, 4}, {last}, all}) {
    for (const auto& [sinks, recent] :
         std::vector<std::array<std::size_t, 2>>{{0, 0}, {5, 0}, {0, 33}, {70, 33}, {5, 200}}) {
      const World<TypeParam> world({.length = length, .sinks = sinks, .recent = recent, .evicted = evicted});
      check(world, 1, {}, promise);
      check(world, 2, {.window = 80, .length = 250}, promise);
    }
  }
  const World<TypeParam> exact({.length = 65, .recent = 200});
  check(exact, 4, {}, promise);
  check(exact, 4, {.soft_cap = 1, .length = 3}, promise);
}

TYPED_TEST(Attention, OfRisingAndFallingScoresIsTheOracles) {
  // The largest score changes in every block, or in none but the first.
  for (const float direction : {1.0f, -1.0f}) {
    using K = KeyCodec<TypeParam>;
    const std::size_t length = 600;
    std::vector<float> keys = kvcodec_test::gaussian_rows(length * heads, K::dim, 5, 0.1), q(2 * K::dim);
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] += direction * static_cast<float>(i / (heads * K::dim)) / 100;
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = i % K::dim == i ? 0.2f : -0.3f;
    const World<TypeParam> world({.length = length, .recent = 50}, keys,
                                 kvcodec_test::gaussian_rows(length * heads, ValueCodec<TypeParam>::dim, 6));
    const AttentionOptions options{.arithmetic = Arithmetic::exact};
    const auto expected = reference(world, q, options);
    const auto queries = prepared(world.cache, q, options);
    for (const auto& ranges : splits(*queries, 8)) {
      const auto result = attend_split(world.cache, *queries, ranges);
      for (std::size_t k = 0; k < 2; ++k) expect_exact(result, k, expected[k]);
    }
  }
}

TYPED_TEST(Attention, TakesAndGivesHalves) {
  const World<TypeParam> world({.length = 200, .recent = 20});
  const AttentionOptions options{.arithmetic = Arithmetic::exact};
  const auto check_halves = [&]<class T>(T) {
    std::vector<T> q;
    for (const float x : random_queries<TypeParam>(3, 7)) q.push_back(saturate_to<T>(x));
    std::vector<float> widened;
    for (const T x : q) widened.push_back(to_float(x));
    const auto expected = attend_whole(world.cache, widened, options);
    EXPECT_EQ(attend_whole(world.cache, q, options), expected);
    const auto halves = attend_whole<T>(world.cache, q, options);
    for (std::size_t i = 0; i < expected.output.size(); ++i)
      ASSERT_EQ(halves.output[i], saturate_to<T>(expected.output[i])) << i;
    EXPECT_EQ(halves.log_sum_exp, expected.log_sum_exp);
    for (std::size_t k = 0; k < 3; ++k) expect_exact(expected, k, reference(world, widened, options)[k]);
  };
  check_halves(float16());
  check_halves(bfloat16());
}

// --- parts

TYPED_TEST(Attention, IsMergedInAnyOrder) {
  const World<TypeParam> world({.length = 200, .sinks = 3, .recent = 20});
  const AttentionOptions options{.arithmetic = Arithmetic::exact};
  const std::vector<float> q = random_queries<TypeParam>(2, 3);
  const auto expected = reference(world, q, options);
  const auto queries = prepared(world.cache, q, options);
  std::vector<Partial<TypeParam>> parts(5);
  for (std::size_t i = 0; i < 4; ++i) parts[i].add(world.cache, *queries, {i * i * 20, (i + 1) * (i + 1) * 20});
  parts[4].add(world.cache, *queries, {70, 70});  // no tokens, but it knows of queries
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  do {
    Partial<TypeParam> chain, left, right;  // one after the other, and as a tree
    for (const std::size_t i : order) chain.merge(parts[i]);
    for (std::size_t i = 0; i < 5; ++i) (i < 2 ? left : right).merge(parts[order[i]]);
    left.merge(right);
    left.merge(Partial<TypeParam>());
    for (std::size_t k = 0; k < 2; ++k) {
      expect_exact(outcome(world.cache, chain), k, expected[k]);
      expect_exact(outcome(world.cache, left), k, expected[k]);
    }
  } while (std::next_permutation(order.begin(), order.end()) && !this->HasFailure());
}

TYPED_TEST(Attention, OfNothingIsNeutral) {
  const World<TypeParam> world({.length = 100});
  const auto queries = prepared(world.cache, random_queries<TypeParam>(3, 3), {});
  Partial<TypeParam> none, empty, some, both;
  EXPECT_EQ(none.count(), 0u);
  empty.add(world.cache, *queries, {100, 300});
  EXPECT_EQ(empty.count(), 3u);
  some.add(world.cache, *queries);
  const auto expected = outcome(world.cache, some);
  both.merge(none);
  both.merge(empty);
  const auto zeros = outcome(world.cache, both);
  EXPECT_EQ(zeros.output, std::vector<float>(zeros.output.size()));
  EXPECT_EQ(zeros.log_sum_exp, std::vector<float>(3, -infinity));
  both.merge(some);
  both.merge(empty);
  both.merge(none);
  EXPECT_EQ(outcome(world.cache, both), expected);
  both.clear();
  EXPECT_EQ(both.count(), 0u);
  both.add(world.cache, *queries);
  EXPECT_EQ(outcome(world.cache, both), expected);
}

TYPED_TEST(Attention, OfThreadsIsThatOfOneThread) {
  const World<TypeParam> world({.length = 1000, .sinks = 4, .recent = 30});
  const auto queries = prepared(world.cache, random_queries<TypeParam>(8, 3), {});
  constexpr std::size_t parts = 5;
  std::vector<TokenRange> ranges;
  for (std::size_t i = 0; i < parts; ++i) ranges.push_back(queries->part(i, parts));
  const auto expected = attend_split(world.cache, *queries, ranges);
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::vector<Partial<TypeParam>> partials(parts);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parts; ++i)
      threads.emplace_back([&, i] { partials[i].add(world.cache, *queries, ranges[i]); });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 1; i < parts; ++i) partials[0].merge(partials[i]);
    EXPECT_EQ(outcome(world.cache, partials[0]), expected);
  }
}

TEST(AttentionTiles, AreUsedWhereTheyPay) {
  const World<Tiled> world({.length = 600});
  const std::vector<float> q = random_queries<Tiled>(10, 3);
  const auto tiles_of = [&](const AttentionOptions& options) {
    const std::size_t before = tiles_scored;
    (void)attend_whole(world.cache, q, options);
    return tiles_scored - before;
  };
  EXPECT_EQ(tiles_of({}), 2u * 9);  // 10 queries make two groups; the tenth page is open
  EXPECT_EQ(tiles_of({.window = 512}), 2u * 8);
  EXPECT_EQ(tiles_of({.window = 511}), 0u);
  EXPECT_EQ(tiles_of({.arithmetic = Arithmetic::exact}), 0u);
  FastestPromise promise;
  check(world, 10, {}, promise);
}

// --- what is not finite

TEST(Softmax, GivesKernelsNoWeightThatIsNotFinite) {
  for (const float bad : {nan, infinity}) {
    detail::Softmax softmax;
    std::array<float, 20> scores{1, 2, 3};
    EXPECT_EQ(softmax.take(scores.data(), scores.size(), 1, 0), 0.0f);  // nothing was summed before
    scores = {4, bad, 5};
    EXPECT_EQ(softmax.take(scores.data(), scores.size(), 1, 0), 1.0f);
    EXPECT_EQ(scores, (std::array<float, 20>{}));
    EXPECT_TRUE(std::isnan(softmax.log_sum_exp()) && !softmax.empty());
    scores = {6, 5};
    EXPECT_EQ(softmax.take(scores.data(), scores.size(), 1, 0), exponential(-3.0f));
    EXPECT_EQ(scores[0], 1.0f);
    EXPECT_TRUE(std::isnan(softmax.log_sum_exp()) && !softmax.empty());
  }
}

bool all_nan(std::span<const float> x) {
  return std::all_of(x.begin(), x.end(), [](float v) { return std::isnan(v); });
}

TYPED_TEST(Attention, OfANaNIsANaNForThatQueryAlone) {
  using K = KeyCodec<TypeParam>;
  constexpr std::size_t d = ValueCodec<TypeParam>::dim;
  const World<TypeParam> world({.length = 650, .sinks = 2, .recent = 20});
  std::vector<float> q = random_queries<TypeParam>(6, 3);
  q[1 * K::dim + 5] = nan;
  q[2 * K::dim] = infinity;
  q[4 * K::dim + K::dim - 1] = -infinity;
  FastestPromise promise;
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fastest}) {
    const AttentionOptions options{.arithmetic = arithmetic};
    const auto decoded = reference(world, q, options), truth = reference(world, q, options, false);
    const auto queries = prepared(world.cache, q, options);
    std::vector<Outcome<TypeParam>> outcomes{attend_whole(world.cache, q, options)};
    for (const auto& ranges : splits(*queries, 8)) outcomes.push_back(attend_split(world.cache, *queries, ranges));
    for (const auto& result : outcomes) {
      for (const std::size_t k : Sizes{0, 3, 5}) {
        if (arithmetic == Arithmetic::exact) expect_exact(result, k, decoded[k]);
        else promise.add(result, k, decoded[k], truth[k], options.scale);
      }
      for (const std::size_t k : Sizes{1, 2, 4}) {
        EXPECT_TRUE(all_nan({result.output.data() + k * d, d})) << k;
        EXPECT_TRUE(std::isnan(result.log_sum_exp[k])) << k;
      }
    }
    const auto halves = attend_whole<float16>(world.cache, q, options);
    for (std::size_t i = 0; i < d; ++i) EXPECT_TRUE(std::isnan(to_float(halves.output[d + i])));
  }
  // Even where there is nothing to see.
  const auto nothing = attend_whole(world.cache, q, {.length = 0});
  EXPECT_TRUE(all_nan({nothing.output.data() + d, d}));
  EXPECT_EQ(nothing.output[0], 0.0f);
}

/// Keys and values of 130 tokens, kept exact, whose scores for a query (x, 0, 0, …) are x times what is given.
World<Mixed> world_of_scores(const std::vector<float>& first) {
  std::vector<float> keys(first.size() * heads * 64);
  for (std::size_t t = 0; t < first.size(); ++t) keys[(t * heads + head) * 64] = first[t];
  return World<Mixed>({.length = first.size(), .recent = first.size()}, keys,
                      kvcodec_test::gaussian_rows(first.size() * heads, 64, 4));
}

TEST(AttentionExtremes, AreAnswered) {
  std::vector<float> first(130);
  for (std::size_t t = 0; t < first.size(); ++t) first[t] = t % 3 == 1 ? 1.0f : -1.0f;
  const World<Mixed> world = world_of_scores(first);
  std::vector<float> q(4 * 64);
  q[0] = 3e38f, q[64] = -3e38f, q[128] = 1, q[192] = 0;
  for (const float soft_cap : {0.0f, 3e38f, 20.0f}) {
    const AttentionOptions options{.scale = 1, .soft_cap = soft_cap, .arithmetic = Arithmetic::exact};
    const auto expected = reference(world, q, options);
    const auto queries = prepared(world.cache, q, options);
    for (const auto& ranges : splits(*queries, 8)) {
      const auto result = attend_split(world.cache, *queries, ranges);
      for (std::size_t k = 0; k < 4; ++k) expect_exact(result, k, expected[k]);
    }
  }
}

TEST(AttentionExtremes, MinusInfinityHasNoWeightAndPlusInfinityNoAnswer) {
  std::vector<float> first(130, -1000.0f);
  for (std::size_t t = 64; t < 128; ++t) first[t] = static_cast<float>(t % 2);
  const World<Mixed> world = world_of_scores(first);
  std::vector<float> q(3 * 64);
  q[0] = 1e38f, q[64] = -1e38f, q[128] = 1;
  const AttentionOptions options{.scale = 1, .arithmetic = Arithmetic::exact};
  const auto expected = reference(world, q, {.scale = 1});
  const auto queries = prepared(world.cache, q, options);
  for (const auto& ranges : splits(*queries, 8)) {
    const auto result = attend_split(world.cache, *queries, ranges);
    EXPECT_TRUE(all_nan({result.output.data() + 64, 64}));
    EXPECT_TRUE(std::isnan(result.log_sum_exp[1]));
    for (const std::size_t k : Sizes{0, 2}) expect_exact(result, k, expected[k]);
  }
  // Where all are -infinity: as if there were no tokens. Alone, and beside parts with tokens.
  Partial<Mixed> all_minus, others;
  all_minus.add(world.cache, *queries, {0, 64});
  const auto result = outcome(world.cache, all_minus);
  EXPECT_EQ(result.log_sum_exp[0], -infinity);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(result.output[i], 0.0f);
  others.add(world.cache, *queries, {64, 130});
  all_minus.merge(others);
  expect_exact(outcome(world.cache, all_minus), 0, expected[0]);
  // A cap is one for infinities too.
  const auto capped = attend_whole(world.cache, q, {.scale = 1, .soft_cap = 2, .arithmetic = Arithmetic::exact});
  const auto capped_reference = reference(world, q, {.scale = 1, .soft_cap = 2});
  for (std::size_t k = 0; k < 3; ++k) expect_exact(capped, k, capped_reference[k]);
}

TYPED_TEST(Attention, OfAHugeQueryLeavesTheOthersAlone) {
  const World<TypeParam> world({.length = 100});
  std::vector<float> q = random_queries<TypeParam>(3, 3);
  for (std::size_t i = 0; i < KeyCodec<TypeParam>::dim; ++i) q[KeyCodec<TypeParam>::dim + i] *= 1e38f;
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fastest}) {
    const auto result = attend_whole(world.cache, q, {.arithmetic = arithmetic});
    const auto expected = reference(world, q, {});
    for (const std::size_t k : Sizes{0, 2}) {
      if (arithmetic == Arithmetic::exact) expect_exact(result, k, expected[k]);
      EXPECT_TRUE(std::isfinite(result.log_sum_exp[k]));
    }
  }
}

TEST(AttentionExtremes, AreForgottenByClear) {
  // Equal weights, and values whose sum is beyond float's range.
  const World<Mixed> huge({.length = 100}, std::vector<float>(100 * heads * 64),
                          std::vector<float>(100 * heads * 64, 2e37f));
  const World<Mixed> world({.length = 100});
  const std::vector<float> q = random_queries<Mixed>(1, 3);
  Partial<Mixed> partial;
  partial.add(huge.cache, *prepared(huge.cache, q, {}));
  partial.clear();
  partial.add(world.cache, *prepared(world.cache, q, {}));
  EXPECT_EQ(outcome(world.cache, partial), attend_whole(world.cache, q, {}));
}

// --- refusals

TEST(Attend, RefusesWhatDoesNotFitAndWritesNothing) {
  const World<Wide> world({.length = 40});
  AttentionWorkspace<Wide, 4> workspace;
  const std::vector<float> q = random_queries<Wide>(5, 1);
  std::vector<float> output(5 * 64, 7.0f);
  const auto status = [&](std::size_t sequence, std::size_t h, std::size_t in, std::size_t out,
                          const AttentionOptions& options) {
    return attend(world.cache, sequence, h, std::span<const float>(q.data(), in), options, workspace,
                  std::span<float>(output.data(), out));
  };
  EXPECT_EQ(status(0, 0, 0, 0, {}), Status::size_mismatch);
  EXPECT_EQ(status(0, 0, 127, 64, {}), Status::size_mismatch);
  EXPECT_EQ(status(0, 0, 129, 64, {}), Status::size_mismatch);
  EXPECT_EQ(status(0, 0, 5 * 128, 5 * 64, {}), Status::size_mismatch);  // five in a group of four
  EXPECT_EQ(workspace.queries.count(), 0u);
  EXPECT_EQ(status(0, 0, 128, 128, {}), Status::size_mismatch);
  EXPECT_EQ(status(0, 0, 2 * 128, 64, {}), Status::size_mismatch);
  EXPECT_EQ(status(1, 0, 128, 64, {}), Status::out_of_range);
  EXPECT_EQ(status(0, heads, 128, 64, {}), Status::out_of_range);
  EXPECT_EQ(status(0, 0, 128, 64, {.scale = nan}), Status::non_finite);
  EXPECT_EQ(status(0, 0, 128, 64, {.scale = infinity}), Status::non_finite);
  EXPECT_EQ(status(0, 0, 128, 64, {.soft_cap = nan}), Status::non_finite);
  EXPECT_EQ(status(0, 0, 128, 64, {.soft_cap = -infinity}), Status::non_finite);
  EXPECT_EQ(status(0, 0, 128, 64, {.scale = 1, .soft_cap = 1e-39f}), Status::non_finite);
  EXPECT_EQ(output, std::vector<float>(5 * 64, 7.0f));
  EXPECT_EQ(status(0, 0, 4 * 128, 4 * 64, {}), Status::ok);
  EXPECT_EQ(std::vector<float>(output.begin() + 4 * 64, output.end()), std::vector<float>(64, 7.0f));
  EXPECT_EQ(std::count(output.begin(), output.begin() + 4 * 64, 7.0f), 0);

  // After a refusal there are no queries, and nothing is added.
  EXPECT_EQ(workspace.queries.prepare(world.cache, 0, 0, std::span<const float>(), {}), Status::size_mismatch);
  AttentionPartial<Wide, 4> partial;
  partial.add(world.cache, workspace.queries);
  EXPECT_EQ(partial.count(), 0u);
  EXPECT_EQ(partial.finish(world.cache, std::span<float>(output)), Status::size_mismatch);
}

TYPED_TEST(Attention, AllocatesNothing) {
  const World<TypeParam> world({.length = 700, .sinks = 4, .recent = 40, .evicted = {1}});
  const std::vector<float> q = random_queries<TypeParam>(16, 3);
  const auto workspace = std::make_unique<AttentionWorkspace<TypeParam>>();
  const auto other = std::make_unique<Partial<TypeParam>>();
  std::vector<float> output(16 * ValueCodec<TypeParam>::dim);
  const std::size_t before = allocations;
  for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fastest}) {
    const AttentionOptions options{.soft_cap = 3, .arithmetic = arithmetic};
    ASSERT_EQ(attend(world.cache, 0, head, std::span<const float>(q), options, *workspace, std::span<float>(output)),
              Status::ok);
    other->clear();
    other->add(world.cache, workspace->queries, workspace->queries.part(1, 3));
    workspace->partial.merge(*other);
    ASSERT_TRUE(std::isfinite(workspace->partial.log_sum_exp(3)));
  }
  EXPECT_EQ(allocations, before);
}

using Queries = AttentionQueries<Mixed>;
static_assert(noexcept(std::declval<Queries&>().prepare(std::declval<const Mixed&>(), 0, 0, std::span<const float>(), {})));
static_assert(noexcept(std::declval<Partial<Mixed>&>().add(std::declval<const Mixed&>(), std::declval<const Queries&>(),
                                                           {})));
static_assert(noexcept(std::declval<Partial<Mixed>&>().merge(std::declval<const Partial<Mixed>&>())));
static_assert(noexcept(std::declval<const Partial<Mixed>&>().finish(std::declval<const Mixed&>(), std::span<float>())));
static_assert(noexcept(std::declval<const Partial<Mixed>&>().log_sum_exp(0)));
static_assert(detail::has_tiles<Tiled> && detail::has_tiles<Mixed> == (native_isa != Isa::scalar) &&
              !detail::has_tiles<KvCache<Tabulated, Float16<64>, Float16, 16>>);

}  // namespace
}  // namespace kvcodec
