// Every codec, every width, head sizes of every factor, the smallest and the largest: a score is the inner product with the decoded row, a finished sum the sum of
// decoded rows, and distortion is what that many bits give.
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

template <class C>
Errors errors_of(const C& codec) {
  const auto x = kvcodec_test::gaussian_rows(row_count, C::dim, 1), q = kvcodec_test::gaussian_rows(row_count, C::dim, 2);
  std::vector<std::byte> memory(row_count * C::row_bytes);
  const Rows rows{memory.data(), row_count, C::row_bytes};
  EXPECT_EQ(codec.encode_rows(std::span<const float>(x), rows).status, Status::ok);
  std::vector<float> decoded(x.size());
  EXPECT_EQ(codec.decode_rows(rows, std::span<float>(decoded)), Status::ok);

  Errors errors;
  std::array<float, row_count> scores;
  for (std::size_t i = 0; i < row_count; ++i) {
    const std::span<const float, C::dim> query(q.data() + i * C::dim, C::dim);
    const auto prepared = codec.prepare(query);
    for (std::size_t j = 0; j < row_count; ++j) {
      scores[j] = codec.score(prepared, std::span<const std::byte, C::row_bytes>(rows[j], C::row_bytes));
      const auto row = std::span<const float>(decoded).subspan(j * C::dim, C::dim);
      const double scale = kvcodec_test::length(query) * kvcodec_test::length(std::span<const float>(x).subspan(j * C::dim, C::dim));
      errors.score = std::max(errors.score, std::abs(static_cast<double>(scores[j]) - kvcodec_test::dot(query, row)) / scale);
    }
  }
  typename C::Accumulator sum;
  for (std::size_t j = 0; j < row_count; ++j)
    codec.accumulate(scores[j], std::span<const std::byte, C::row_bytes>(rows[j], C::row_bytes), sum);
  std::array<float, C::dim> out;
  codec.finish(sum, out);
  double scale = 0, square = 0;
  std::array<double, C::dim> exact = {};
  for (std::size_t j = 0; j < row_count; ++j) {
    for (std::size_t k = 0; k < C::dim; ++k) exact[k] += static_cast<double>(scores[j]) * decoded[j * C::dim + k];
    scale += std::abs(static_cast<double>(scores[j])) * kvcodec_test::length(std::span<const float>(x).subspan(j * C::dim, C::dim));
    errors.distortion += kvcodec_test::relative_square_error(std::span<const float>(x).subspan(j * C::dim, C::dim),
                                                             std::span<const float>(decoded).subspan(j * C::dim, C::dim)) / row_count;
  }
  for (std::size_t k = 0; k < C::dim; ++k) square += (out[k] - exact[k]) * (out[k] - exact[k]);
  errors.finish = std::sqrt(square) / scale;
  return errors;
}

TEST(Sweep, ScoresAndSumsAreThoseOfDecodedRowsAtEveryDimAndWidth) {
  std::size_t codecs = 0;
  Errors worst;
  for (const auto& family : codec_families) {
    for (const std::size_t d : TestDims::value) {
      for (unsigned bits = family.first_bits; bits <= family.last_bits; ++bits) {
        Errors errors;
        const auto result = with_codec<TestDims>(family.name, d, bits, 5, [&](const auto& codec) { errors = errors_of(codec); });
        ASSERT_TRUE(result.ok()) << result.message();
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
