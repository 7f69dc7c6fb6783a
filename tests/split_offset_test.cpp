// What is learned from sample rows: outlier channels for TurboQuant's split widths, and a head's mean row taken off first.
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace kvcodec {
namespace {

template <class C>
double distortion(const C& codec, const std::vector<float>& x) {
  const std::size_t n = x.size() / C::dim;
  std::vector<std::byte> memory(n * C::row_bytes);
  std::vector<float> back(x.size());
  const Rows rows{memory.data(), n, C::row_bytes};
  EXPECT_EQ(codec.encode_rows(std::span<const float>(x), rows).status, Status::ok);
  EXPECT_EQ(codec.decode_rows(rows, std::span<float>(back)), Status::ok);
  return kvcodec_test::relative_square_error(x, back);
}

std::vector<float> rows_with_large_channels(std::size_t d, std::span<const std::uint16_t> large, float factor) {
  auto x = kvcodec_test::gaussian_rows(500, d, 1);
  for (std::size_t i = 0; i < 500; ++i)
    for (const std::uint16_t channel : large) x[i * d + channel] *= factor;
  return x;
}

TEST(Split, TheRowIsTheTwoRowsOfItsChannels) {
  std::array<std::uint16_t, 16> large;
  for (std::size_t i = 0; i < 16; ++i) large[i] = static_cast<std::uint16_t>(61 - 3 * i);  // in any order
  const auto channels = OutlierChannels<64, 16>::of(large);
  ASSERT_TRUE(channels) << channels.message();
  using C = TurboQuantSplit<64, 2>;
  const C codec(7, *channels);
  const auto x = kvcodec_test::gaussian_rows(1, 64, 3);
  std::array<float, 16> high;
  std::array<float, 48> low;
  for (std::size_t i = 0, h = 0, l = 0; i < 64; ++i) (i % 3 == 1 && i >= 16 ? high[h++] : low[l++]) = x[i];
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(codec.encode(std::span<const float, 64>(x.data(), 64), row), Status::ok);
  std::array<std::byte, TurboQuantMse<16, 3>::row_bytes> high_row = {};
  ASSERT_EQ((TurboQuantMse<16, 3>(7).encode(high, high_row)), Status::ok);
  EXPECT_TRUE(std::equal(high_row.begin(), high_row.end(), row.begin()));
  // A half that is not finite leaves the whole row as it was.
  auto bad = x;
  bad[0] = std::numeric_limits<float>::infinity();
  const auto before = row;
  EXPECT_EQ(codec.encode(std::span<const float, 64>(bad.data(), 64), row), Status::non_finite);
  EXPECT_EQ(row, before);
}

TEST(Split, ChannelsAreRefusedByName) {
  std::array<std::uint16_t, 16> channels;
  for (std::size_t i = 0; i < 16; ++i) channels[i] = static_cast<std::uint16_t>(i);
  using Channels = OutlierChannels<64, 16>;
  EXPECT_TRUE(Channels::of(channels));
  EXPECT_EQ(Channels::of(std::span(channels).first(15)).message(), "15 outlier channels instead of 16");
  channels[3] = 64;
  EXPECT_EQ(Channels::of(channels).message(), "outlier channel 64 of 64");
  channels[3] = 9;
  EXPECT_EQ(Channels::of(channels).message(), "outlier channel 9 is named twice");
}

TEST(Split, DescriptorsKnowTheChannels) {
  std::array<std::uint16_t, 16> channels;
  for (std::size_t i = 0; i < 16; ++i) channels[i] = static_cast<std::uint16_t>(i);
  using C = TurboQuantSplit<64, 2>;
  const C first(1);
  EXPECT_EQ(refuse_unless_same(to_bytes(first.descriptor()), C(1, *OutlierChannels<64, 16>::of(channels))), "");
  channels[5] = 40;
  EXPECT_NE(refuse_unless_same(to_bytes(first.descriptor()), C(1, *OutlierChannels<64, 16>::of(channels))), "");
}

TEST(Split, DescriptorsKnowBothHalves) {
  using High = TurboQuantMse<32, 3>;
  const auto refusal = []<class A, class B>(const A& a, const B& b) { return refuse_unless_same(to_bytes(a.descriptor()), b); };
  const SplitCodec<High, TurboQuantMse<96, 2>> codec(1);
  EXPECT_EQ(refusal(codec, TurboQuantSplit<128, 2>(1)), "");
  EXPECT_NE(refusal(codec, SplitCodec<High, TurboQuantMse<96, 2, Options{.norm = NormType::float16}>>(1)), "");
  EXPECT_NE(refusal(codec, SplitCodec<High, LloydMax<96, 2>>(1)), "");
  EXPECT_NE(refusal(codec, SplitCodec<High, TurboQuantMse<96, 2, Options{.rounds = 2}>>(1)), "");
  using Two = SplitCodec<TurboQuantProd<32, 3>, TurboQuantMse<96, 2>>;
  using Three = SplitCodec<TurboQuantProd<32, 3, Options{}, QjlOptions{.projection_rounds = 3}>, TurboQuantMse<96, 2>>;
  EXPECT_NE(refusal(Two(1), Three(1)), "");
}

TEST(Split, ChosenChannelsAreBetterThanOthers) {
  std::vector<std::uint16_t> large;
  for (std::size_t i = 0; i < 32; ++i) large.push_back(static_cast<std::uint16_t>(4 * i + 2));
  auto x = rows_with_large_channels(128, large, 4.0f);
  for (std::size_t j = 0; j < 128; ++j) x[7 * 128 + j] = j == 0 ? 1e6f : x[7 * 128 + j];  // one wild row does not choose
  const auto chosen = outlier_channels(x, 128, 32);
  EXPECT_EQ(chosen, large);
  x[7 * 128] = 0;
  using C = TurboQuantSplit<128, 2>;
  const double with = distortion(C(1, *OutlierChannels<128, 32>::of(chosen)), x), without = distortion(C(1), x);
  const double two = distortion(TurboQuantMse<128, 2>(1), x), three = distortion(TurboQuantMse<128, 3>(1), x);
  std::printf("split 2.5: D %.4f with the right channels, %.4f with the first ones; 2 bits %.4f, 3 bits %.4f\n", with, without, two, three);
  EXPECT_LT(with, 0.6 * without);
  EXPECT_LT(with, 0.6 * two);
  EXPECT_EQ(C::bits_per_coordinate, 2.5);  // 2.25 and the two lengths
}

TEST(Calibration, TheRobustMeanIsNotPoisoned) {
  auto x = kvcodec_test::gaussian_rows(2000, 8, 5);
  for (std::size_t i = 0; i < 2000; ++i)
    for (std::size_t j = 0; j < 8; ++j) x[i * 8 + j] += static_cast<float>(j);
  for (std::size_t i = 0; i < 400; ++i) x[i * 8 + 3] = 1e30f;  // a fifth of the rows
  x[16] = std::numeric_limits<float>::quiet_NaN();
  const auto mean = robust_mean(x, 8);
  for (std::size_t j = 0; j < 8; ++j) EXPECT_NEAR(mean[j], static_cast<double>(j), j == 3 ? 0.4 : 0.1);
  EXPECT_EQ(robust_mean(std::vector<float>(), 4), std::vector<float>(4));
}

/// Rows around a constant like Qwen's key bias: norm about 700, in a few channels.
struct Biased {
  std::vector<float> x = kvcodec_test::gaussian_rows(512, 128, 6), mean;
  Biased() {
    for (std::size_t i = 0; i < 512; ++i)
      for (std::size_t j = 0; j < 128; ++j) x[i * 128 + j] += j % 32 == 5 ? 350.0f : 0.0f;
    mean = robust_mean(x, 128);
  }
};

TEST(Offset, DecidesWhereKeysShareAConstant) {
  const Biased data;
  using Plain = TurboQuantMse<128, 3>;
  const Plain plain(1);
  const OffsetCodec<Plain> shifted(plain, std::span<const float, 128>(data.mean.data(), 128));
  const auto queries = kvcodec_test::gaussian_rows(32, 128, 7);
  std::array<std::byte, Plain::row_bytes> row = {};
  double plain_error = 0, shifted_error = 0;
  for (std::size_t i = 0; i < 512; ++i) {
    const std::span<const float, 128> key(data.x.data() + i * 128, 128), query(queries.data() + i % 32 * 128, 128);
    const double exact = kvcodec_test::dot(query, key);
    ASSERT_EQ(plain.encode(key, row), Status::ok);
    plain_error += std::abs(static_cast<double>(plain.score(plain.prepare(query), row)) - exact) / 512;
    ASSERT_EQ(shifted.encode(key, row), Status::ok);
    shifted_error += std::abs(static_cast<double>(shifted.score(shifted.prepare(query), row)) - exact) / 512;
  }
  std::printf("mean |score error|, keys of norm 700: %.2f without the offset, %.2f with it\n", plain_error, shifted_error);
  EXPECT_GT(plain_error, 50.0);
  EXPECT_LT(shifted_error, 2.5);  // .186 of |q| sqrt(2/pi): as without any bias
}

TEST(Offset, ScoresSumsAndRowsAreThoseOfTheWholeVector) {
  const Biased data;
  using C = OffsetCodec<TurboQuantProd<128, 3>>;
  const C codec(TurboQuantProd<128, 3>(2), std::span<const float, 128>(data.mean.data(), 128));
  const auto q = kvcodec_test::gaussian_rows(1, 128, 8);
  const std::span<const float, 128> query(q.data(), 128);
  C::Accumulator sum;
  std::array<double, 128> exact = {};
  double shift = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    std::array<std::byte, C::row_bytes> row = {};
    std::array<float, 128> back;
    ASSERT_EQ(codec.encode(std::span<const float, 128>(data.x.data() + i * 128, 128), row), Status::ok);
    codec.decode(row, back);
    const float score = codec.score(codec.prepare(query), row), shifted = codec.score(codec.prepare_shifted(query), row);
    EXPECT_NEAR(score, kvcodec_test::dot(query, back), 1e-5 * 12 * 700);
    shift = static_cast<double>(score) - static_cast<double>(shifted);
    EXPECT_NEAR(shift, kvcodec_test::dot(query, data.mean), 1e-4 * 700);
    codec.accumulate(0.1f * static_cast<float>(i), row, sum);
    for (std::size_t j = 0; j < 128; ++j) exact[j] += 0.1 * static_cast<double>(i) * static_cast<double>(back[j]);
  }
  std::array<float, 128> out;
  codec.finish(sum, out);
  for (std::size_t j = 0; j < 128; ++j) EXPECT_NEAR(out[j], exact[j], 1e-5 * 19 * 700);
}

TEST(Offset, KeepsTheLawsWithAMean) {
  std::array<float, 64> mean;
  for (std::size_t i = 0; i < 64; ++i) mean[i] = i % 2 == 0 ? 1e38f : -3e38f;
  using C = OffsetCodec<Octopus<64, 2>>;
  const C codec(Octopus<64, 2>(1), mean);
  for (const float extreme : {0.0f, FLT_MAX, -FLT_MAX, 1e-30f}) {
    std::array<float, 64> x, back;
    x.fill(extreme);
    std::array<std::byte, C::row_bytes> row;
    row.fill(std::byte{0x5a});
    ASSERT_EQ(codec.encode(x, row), Status::ok);
    codec.decode(row, back);
    for (const float v : back) EXPECT_TRUE(is_finite(v));
    x[9] = std::numeric_limits<float>::quiet_NaN();
    const auto before = row;
    EXPECT_EQ(codec.encode(x, row), Status::non_finite);
    EXPECT_EQ(row, before);
  }
  EXPECT_NE(refuse_unless_same(to_bytes(codec.descriptor()), C(1)), "");
  EXPECT_EQ(refuse_unless_same(to_bytes(codec.descriptor()), C(Octopus<64, 2>(1), mean)), "");
}

}  // namespace
}  // namespace kvcodec
