// Every codec, every width, head sizes of every factor, the smallest and the largest: a score is the inner product with the
// decoded row, a finished sum the sum of decoded rows, and distortion is what that many bits give.
#include "support/dims.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kvcodec {
namespace {

#if defined(KVCODEC_TEST_DIMS)
using kvcodec_test::TestDims;
#else
using TestDims = Dims<4, 12, 40, 56, 64, 72, 96, 128, 576, 1024>;  // golden_test encodes at all of them
#endif
constexpr std::size_t row_count = 8;

struct Errors {
  double score = 0, finish = 0, distortion = 0;
};

/// What a codec makes of rows x and queries q: the decoded rows, the scores of each query and row, and the rows' sum with
/// the last query's scores as weights. Only this is compiled for every codec.
struct Outcome {
  std::vector<float> decoded, scores, sum;
};
template <class C>
Outcome outcome_of(const C& codec, std::span<const float> x, std::span<const float> q) {
  std::vector<std::byte> memory(row_count * C::row_bytes);
  Outcome outcome{std::vector<float>(x.size()), {}, std::vector<float>(C::dim)};
  typename C::Accumulator sum;
  for (std::size_t i = 0; i < row_count; ++i) {
    (void)codec.encode_row(x.data() + i * C::dim, memory.data() + i * C::row_bytes);
    codec.decode_row(memory.data() + i * C::row_bytes, outcome.decoded.data() + i * C::dim);
  }
  for (std::size_t i = 0; i < row_count; ++i) {
    const auto query = codec.prepare_row(q.data() + i * C::dim);
    for (std::size_t j = 0; j < row_count; ++j) outcome.scores.push_back(codec.score_row(query, memory.data() + j * C::row_bytes));
  }
  for (std::size_t j = 0; j < row_count; ++j)
    codec.accumulate_row(outcome.scores[outcome.scores.size() - row_count + j], memory.data() + j * C::row_bytes, sum);
  codec.finish_row(sum, outcome.sum.data());
  return outcome;
}

Errors errors_of(const Outcome& outcome, std::span<const float> x, std::span<const float> q) {
  const std::size_t d = x.size() / row_count;
  const auto row = [d](std::span<const float> all, std::size_t j) { return all.subspan(j * d, d); };
  Errors errors;
  double scale = 0, square = 0;
  std::vector<double> exact(d);
  for (std::size_t j = 0; j < row_count; ++j) {
    const auto decoded = row(outcome.decoded, j);
    for (std::size_t i = 0; i < row_count; ++i) {
      const double error = static_cast<double>(outcome.scores[i * row_count + j]) - kvcodec_test::dot(row(q, i), decoded);
      errors.score = std::max(errors.score, std::abs(error) / kvcodec_test::length(row(q, i)) / kvcodec_test::length(row(x, j)));
    }
    errors.distortion += kvcodec_test::relative_square_error(row(x, j), decoded) / row_count;
    const double weight = static_cast<double>(outcome.scores[(row_count - 1) * row_count + j]);
    for (std::size_t k = 0; k < d; ++k) exact[k] += weight * decoded[k];
    scale += std::abs(weight) * kvcodec_test::length(row(x, j));
  }
  for (std::size_t k = 0; k < d; ++k) square += (outcome.sum[k] - exact[k]) * (outcome.sum[k] - exact[k]);
  errors.finish = std::sqrt(square) / scale;
  return errors;
}

TEST(Sweep, ScoresAndSumsAreThoseOfDecodedRowsAtEveryDimAndWidth) {
  std::size_t codecs = 0;
  Errors worst;
  for (const auto& family : codec_families) {
    for (const std::size_t d : TestDims::value) {
      for (unsigned bits = family.first_bits; bits <= family.last_bits; ++bits) {
        const auto x = kvcodec_test::gaussian_rows(row_count, d, 1), q = kvcodec_test::gaussian_rows(row_count, d, 2);
        Outcome outcome;
        const auto result = with_codec<TestDims>(family.name, d, bits, 5, [&](const auto& codec) { outcome = outcome_of(codec, x, q); });
        ASSERT_TRUE(result.ok()) << result.message();
        const Errors errors = errors_of(outcome, x, q);
        ++codecs;
        EXPECT_LE(errors.score, 1e-5) << family.name << " d " << d << " bits " << bits;
        EXPECT_LE(errors.finish, 1e-5) << family.name << " d " << d << " bits " << bits;
        // Twice what each gives, for eight rows' luck: Lloyd-Max bits; QJL with pi/2 - 1 of the bits before its own; the block
        // design's .0321, whatever its "4 bits".
        const double room = family.name == "turboquant-prod" ? 10.0 : family.name == "polarquant-block" ? 0.0642 * 256 : 5.0;
        EXPECT_LT(errors.distortion, room * std::pow(0.25, bits < 16 ? bits : 8)) << family.name << " d " << d << " bits " << bits;
        worst.score = std::max(worst.score, errors.score);
        worst.finish = std::max(worst.finish, errors.finish);
      }
    }
  }
  std::printf("%zu codecs: worst score error %.1e |q||x|, worst sum error %.1e sum |w||x|\n", codecs, worst.score, worst.finish);
  EXPECT_EQ(codecs, std::size(TestDims::value) * (6 + 6 + 8 + 7 + 6 + 1 + 8 + 1 + 1));
}

}  // namespace
}  // namespace kvcodec
