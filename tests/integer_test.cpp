// What Arithmetic::fastest adds to a codec's own error: at most 1 % of its variance for scores, 2 % for sums (rows.hpp).
#include "support/any_codec.hpp"
#include "support/guarded.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace kvcodec {
namespace {

struct Added {
  double scores, sums;  // variance that integers add, over the codec's own
};

/// Heavy: coordinates whose logarithms are normal, as outlier channels have them; else Gaussian ones.
std::vector<float> rows_of(std::size_t n, std::size_t d, std::uint64_t seed, bool heavy) {
  auto x = kvcodec_test::gaussian_rows(n, d, seed);
  if (heavy)
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= std::exp(1.5f * static_cast<float>(std::sin(static_cast<double>(i % d) * 12.9898)));
  return x;
}

Added measure(const kvcodec_test::AnyCodec& codec, bool heavy) {
  constexpr std::size_t n = 2'048, group = 8;
  const std::size_t d = codec.dim;
  const auto x = rows_of(n, d, 31, heavy), q = rows_of(group, d, 32, heavy);
  std::vector<std::byte> codes(n * codec.code_bytes), norms(n * codec.norm_bytes);
  const Planes rows{codes.data(), codec.code_bytes, norms.data(), codec.norm_bytes, n};
  EXPECT_EQ(codec.encode_rows(x, rows).status, Status::ok);
  std::vector<float> weights = kvcodec_test::gaussian_rows(group, n, 33);
  for (float& w : weights) w = std::exp(2.0f * w);  // a softmax's weights: four orders of magnitude
  if (heavy)  // and of either sign, which a softmax's are not
    for (std::size_t i = 0; i < weights.size(); i += 3) weights[i] = -weights[i];

  const auto run = [&](Arithmetic arithmetic, std::vector<float>& scores, std::vector<float>& sums) {
    scores.resize(group * n);
    sums.resize(group * d);
    EXPECT_EQ(codec.score_rows(q, rows, scores, arithmetic), Status::ok);
    EXPECT_EQ(codec.accumulate_rows(weights, rows, sums, arithmetic), Status::ok);
  };
  std::vector<float> fast_scores, exact_scores, fast_sums, exact_sums;
  run(Arithmetic::fastest, fast_scores, fast_sums);
  run(Arithmetic::exact, exact_scores, exact_sums);
  const auto square = [](double v) { return v * v; };
  double own = 0, added = 0, own_sum = 0, added_sum = 0;
  for (std::size_t k = 0; k < group; ++k) {
    std::vector<double> sum(d, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      double dot = 0;
      for (std::size_t j = 0; j < d; ++j) {
        dot += static_cast<double>(q[k * d + j]) * x[i * d + j];
        sum[j] += static_cast<double>(weights[k * n + i]) * x[i * d + j];
      }
      own += square(static_cast<double>(exact_scores[k * n + i]) - dot);
      added += square(static_cast<double>(exact_scores[k * n + i]) - fast_scores[k * n + i]);
    }
    for (std::size_t j = 0; j < d; ++j) {
      own_sum += square(static_cast<double>(exact_sums[k * d + j]) - sum[j]);
      added_sum += square(static_cast<double>(exact_sums[k * d + j]) - fast_sums[k * d + j]);
    }
  }
  return {added / own, added_sum / own_sum};
}

/// Pages, interleaved, at the very end of readable memory.
template <class C>
void check_tiles() {
  if constexpr (C::tile_bytes > 0) {
    using Page = PageLayout<C>;
    constexpr std::size_t d = C::dim, n = 64 * 16, group = 5;
    const C codec(3);
    const auto x = rows_of(n, d, 31, false), q = rows_of(group, d, 32, false);
    std::vector<std::byte> open(Page::bytes), full(Page::bytes);
    const kvcodec_test::Guarded memory(64 * C::code_bytes);
    std::vector<typename C::Query> queries;
    const auto tiles = std::make_unique<typename C::TileQuery[]>(group);
    for (std::size_t k = 0; k < group; ++k) {
      queries.push_back(codec.prepare(std::span<const float, d>(q.data() + k * d, d)));
      codec.tabulate_row(queries[k], tiles[k]);
    }
    double own = 0, added = 0;
    for (std::size_t first = 0; first < n; first += 64) {
      const auto rows = std::span<const float>(x).subspan(first * d, 64 * d);
      ASSERT_EQ(codec.encode_rows(rows, Page::rows(open.data(), 0, 64)).status, Status::ok);
      Page::interleave(open.data(), full.data());
      const auto codes = memory.at_end();
      std::copy(full.begin(), full.begin() + 64 * C::code_bytes, codes.begin());
      std::vector<float> scores(group * 64), exact(group * 64);
      codec.score_tile(tiles.get(), group, codes.data(), full.data() + Page::norms_at, scores.data(), 64);
      ASSERT_EQ(codec.score_rows(std::span<const typename C::Query>(queries), Page::rows(std::as_const(open).data(), 0, 64),
                                 std::span<float>(exact), Arithmetic::exact), Status::ok);
      for (std::size_t k = 0; k < group; ++k) {
        for (std::size_t t = 0; t < 64; ++t) {
          double dot = 0;
          for (std::size_t j = 0; j < d; ++j) dot += static_cast<double>(q[k * d + j]) * rows[t * d + j];
          own += std::pow(static_cast<double>(exact[k * 64 + t]) - dot, 2);
          added += std::pow(static_cast<double>(exact[k * 64 + t]) - scores[k * 64 + t], 2);
        }
      }
    }
    EXPECT_LE(added, 0.01 * own) << C::name << " " << C::row_bytes;
    EXPECT_GT(added, 0.0);
  }
}

TEST(Tiles, ScoreAsTheRowsDoAndReadNoByteBeyondTheCodes) {
  check_tiles<TurboQuantMse<128, 1>>();
  check_tiles<TurboQuantMse<128, 2>>();
  check_tiles<TurboQuantMse<128, 3>>();
  check_tiles<TurboQuantMse<128, 4>>();
  check_tiles<TurboQuantMse<80, 2>>();
  check_tiles<TurboQuantMse<64, 3>>();
  check_tiles<Octopus<128, 2>>();
  check_tiles<Octopus<96, 2>>();
}

class Integers : public ::testing::TestWithParam<kvcodec_test::CodecFactory> {};
const auto measured = kvcodec_test::codecs<TurboQuantMse<128, 2>, TurboQuantMse<128, 3>, TurboQuantMse<128, 4>, TurboQuantMse<80, 4>,
                                           TurboQuantMse<256, 4>, LloydMax<128, 4>, Octopus<128, 1>, Octopus<128, 2>, Octopus<128, 3>,
                                           Octopus<128, 4>, Octopus<96, 3>>();
INSTANTIATE_TEST_SUITE_P(Codecs, Integers, ::testing::ValuesIn(measured));

TEST_P(Integers, AddLittleToTheCodecsOwnError) {
  const auto codec = GetParam().make(3);
  for (const bool heavy : {false, true}) {
    if (heavy && codec->name == "lloyd-max") continue;  // unrotated: its own error is then the input's outliers
    const Added added = measure(*codec, heavy);
    EXPECT_LE(added.scores, 0.01);
    EXPECT_LE(added.sums, 0.02);
    // And it is the integers that were measured, where there are any.
    if (native_isa != Isa::scalar && (codec->name != "octopus" || Simd<native_isa>::lookup_bits >= 6)) {
      EXPECT_GT(added.scores, 0.0);
    }
  }
}

template <class C>
void check_what_is_no_number() {
  const C codec(1);
  constexpr std::size_t n = 5;
  const auto x = kvcodec_test::gaussian_rows(n, 64, 5);
  std::vector<std::byte> memory(n * C::row_bytes);
  const Rows rows{memory.data(), n, C::row_bytes};
  ASSERT_EQ(codec.encode_rows(std::span<const float>(x), rows).status, Status::ok);
  std::vector<float> q(64, 1.0f), scores(n);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    q[7] = bad;
    ASSERT_EQ(codec.score_rows(codec.prepare(std::span<const float, 64>(q.data(), 64)), rows, scores), Status::ok);
    for (const float s : scores) EXPECT_FALSE(is_finite(s));
    typename C::Accumulator sum;
    std::vector<float> weights(n, 1.0f), out(64);
    weights[2] = bad;
    ASSERT_EQ(codec.accumulate_rows(std::span<const float>(weights), rows, sum), Status::ok);
    codec.finish(sum, std::span<float, 64>(out.data(), 64));
    for (const float v : out) EXPECT_FALSE(is_finite(v) && std::abs(v) < FLT_MAX);
  }
  // Zero queries and weights, and weights too small for a reciprocal.
  std::fill(q.begin(), q.end(), 0.0f);
  ASSERT_EQ(codec.score_rows(codec.prepare(std::span<const float, 64>(q.data(), 64)), rows, scores), Status::ok);
  for (const float s : scores) EXPECT_EQ(s, 0.0f);
  for (const float tiny : {0.0f, 1e-42f}) {
    typename C::Accumulator sum;
    std::vector<float> weights(n, tiny), out(64);
    ASSERT_EQ(codec.accumulate_rows(std::span<const float>(weights), rows, sum), Status::ok);
    codec.finish(sum, std::span<float, 64>(out.data(), 64));
    for (const float v : out) EXPECT_LT(std::abs(v), 1e-38f);
  }
}

TEST(IntegerScores, QueriesAndWeightsThatAreNoNumbersGiveNone) {
  check_what_is_no_number<TurboQuantMse<64, 4>>();
  check_what_is_no_number<Octopus<64, 2>>();
  check_what_is_no_number<Octopus<64, 4>>();
}

}  // namespace
}  // namespace kvcodec
