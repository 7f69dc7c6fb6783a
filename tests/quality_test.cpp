// The quality measures, against examples worked out by hand.
#include <kvcodec/quality/attention.hpp>
#include <kvcodec/quality/distortion.hpp>
#include <kvcodec/quality/sources.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

namespace kvcodec::quality {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Distortion, OfOneKnownRow) {
  const Distortion d = distortion(Floats{3, 4}, Floats{3, 3}, 2);
  EXPECT_NEAR(d.relative_error, 1.0 / 25, 1e-15);
  EXPECT_NEAR(d.cosine, 21 / (5 * std::sqrt(18.0)), 1e-15);
  EXPECT_EQ(d.rows, 1u);
  EXPECT_EQ(d.zero_rows, 0u);
}

TEST(Distortion, WeighsRowsAlikeHoweverLong) {
  const Distortion d = distortion(Floats{300, 400, 1, 0}, Floats{300, 300, 0, 0}, 2);
  EXPECT_NEAR(d.relative_error, (1.0 / 25 + 1) / 2, 1e-15);
  EXPECT_NEAR(d.cosine, 21 / (5 * std::sqrt(18.0)) / 2, 1e-15);  // a row decoded to zeros counts as 0
}

TEST(Distortion, LeavesZeroRowsOutOfTheMeans) {
  const Distortion d = distortion(Floats{0, 0, 3, 4, 0, -0.0f}, Floats{0, 0, 3, 3, 0, 0}, 2);
  EXPECT_NEAR(d.relative_error, 1.0 / 25, 1e-15);
  EXPECT_EQ(d.rows, 1u);
  EXPECT_EQ(d.zero_rows, 2u);
  EXPECT_EQ(distortion(Floats{0, 0}, Floats{0, 0}, 2).relative_error, 0);
}

TEST(Distortion, ShowsAZeroRowThatCameBackAsSomethingElse) {
  EXPECT_EQ(distortion(Floats{0, 0, 3, 4}, Floats{0, 1e-6f, 3, 4}, 2).relative_error, infinity);
}

TEST(Distortion, TakesAnyFloats) {
  EXPECT_NEAR(distortion(Floats{3e38f, 0}, Floats{0, 3e38f}, 2).relative_error, 2, 1e-12);
  EXPECT_NEAR(distortion(Floats{1e-45f, 0}, Floats{0, 1e-45f}, 2).relative_error, 2, 1e-12);
}

TEST(Distortion, GathersOverCalls) {
  DistortionSum sum;
  sum.add(Floats{3, 4}, Floats{3, 3}, 2);
  sum.add(Floats{1, 0, 0, 2}, Floats{1, 0, 0, 0}, 2);
  EXPECT_NEAR(sum.mean().relative_error, (1.0 / 25 + 0 + 1) / 3, 1e-15);
  EXPECT_EQ(sum.mean().rows, 3u);
}

TEST(Angle, OfKnownVectors) {
  constexpr double pi = std::numbers::pi;
  EXPECT_NEAR(angle(Floats{3, 0}, Floats{2, 2}), pi / 4, 1e-15);
  EXPECT_NEAR(angle(Floats{3, 4}, Floats{-8, 6}), pi / 2, 1e-15);
  EXPECT_NEAR(angle(Doubles{1, 2, 3}, Doubles{-2, -4, -6}), pi, 1e-15);
  EXPECT_EQ(angle(Doubles{1, 2, 3}, Doubles{1, 2, 3}), 0);
  EXPECT_EQ(angle(Floats{0, 0}, Floats{0, 1}), pi / 2);
  EXPECT_EQ(angle(Floats{0, 1}, Floats{0, 0}), pi / 2);
  EXPECT_EQ(angle(Floats{0, 0}, Floats{0, 0}), 0);
}

TEST(Angle, KeepsItsDigitsNearZeroAndPi) {
  for (const double small : {1e-3, 1e-9, 1e-15}) {
    const Doubles turned{std::cos(small), std::sin(small)}, back{-turned[0], -turned[1]};
    EXPECT_NEAR(angle(Doubles{7, 0}, turned) / small, 1, 1e-12);
    EXPECT_NEAR(angle(Doubles{7, 0}, back), std::numbers::pi - small, 1e-15);
  }
  EXPECT_NEAR(angle(Floats{3e38f, 1e32f}, Floats{1e-38f, 0}), 1e32 / 3e38, 1e-13);
}

TEST(Angle, IsAveragedOverRows) {
  const Floats x{3, 0, 0, 5, 1, 0, 0, 0}, y{2, 2, 0, 1, 0, 0, 0, 0};
  EXPECT_NEAR(distortion(x, y, 2).angle, std::numbers::pi * (0.25 + 0 + 0.5) / 3, 1e-15);  // decoded to zeros: pi/2
}

TEST(Shannon, OneBitIsSixDecibels) {
  EXPECT_DOUBLE_EQ(shannon_distortion(1), 0.25);
  EXPECT_DOUBLE_EQ(shannon_distortion(2.5), 0.03125);
  EXPECT_NEAR(db_over_shannon(shannon_distortion(3.25), 3.25), 0, 1e-12);
  EXPECT_NEAR(db_over_shannon(0.25, 2), 6.0206, 1e-4);
  EXPECT_EQ(db_over_shannon(0, 2), -infinity);
}

TEST(Shannon, PublishedCodersAtTwoBits) {
  EXPECT_NEAR(db_over_shannon(0.1160, 8 * 34 / 128.0), 3.44, 0.005);  // TurboQuant, d = 128
  EXPECT_NEAR(db_over_shannon(0.0832, 8 * 40 / 128.0), 4.25, 0.005);  // OCTOPUS
}

TEST(Attention, ScalesAndMasks) {
  EXPECT_DOUBLE_EQ(softmax_scale(64), 0.125);
  EXPECT_EQ(visible_keys(0, 10, true), 1u);
  EXPECT_EQ(visible_keys(9, 10, true), 10u);
  EXPECT_EQ(visible_keys(12, 10, true), 10u);
  EXPECT_EQ(visible_keys(0, 10, false), 10u);
}

TEST(Attention, ScoresAreInnerProducts) {
  Doubles scores(3);
  attention_scores(Floats{1, -2}, Floats{1, 0, 0, 1, 3, 4}, scores);
  EXPECT_EQ(scores, (Doubles{1, -2, -5}));
}

TEST(Attention, SoftmaxOfKnownScores) {
  Doubles weights(2);
  softmax(Doubles{0, std::log(3.0)}, 1, weights);
  EXPECT_NEAR(weights[0], 0.25, 1e-15);
  EXPECT_NEAR(weights[1], 0.75, 1e-15);
  softmax(Doubles{0, std::log(3.0)}, 2, weights);
  EXPECT_NEAR(weights[0], 0.1, 1e-15);
  EXPECT_NEAR(weights[1], 0.9, 1e-15);
}

TEST(Attention, SoftmaxNeitherOverflowsNorLosesSmallWeights) {
  Doubles logs(2);
  log_softmax(Doubles{1e6, 1e6 + 5000}, 1, logs);
  EXPECT_NEAR(logs[0], -5000, 1e-9);
  EXPECT_NEAR(logs[1], 0, 1e-9);
}

TEST(Attention, WeightedSum) {
  Doubles output(2);
  weighted_sum(Doubles{0.25, 0.75}, Floats{4, 0, 8, -4}, output);
  EXPECT_EQ(output, (Doubles{7, -3}));
}

Doubles logs_of(Doubles p) {
  for (double& x : p) x = std::log(x);
  return p;
}

TEST(Divergence, OfTwoKnownDistributions) {
  const Doubles even = logs_of({0.5, 0.5}), skewed = logs_of({0.25, 0.75});
  EXPECT_NEAR(kl_divergence(even, skewed), 0.5 * std::log(4.0 / 3), 1e-15);
  EXPECT_NEAR(kl_divergence(skewed, even), 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-15);
  EXPECT_EQ(kl_divergence(even, even), 0);
}

TEST(Divergence, SeesWeightsThatUnderflow) {
  const Doubles even = logs_of({0.5, 0.5});
  EXPECT_NEAR(kl_divergence(even, Doubles{0, -2000}), 1000 - std::log(2.0), 1e-9);
  EXPECT_NEAR(kl_divergence(Doubles{0, -2000}, even), std::log(2.0), 1e-15);
  EXPECT_NEAR(kl_divergence(Doubles{0, -infinity}, Doubles{0, -infinity}), 0, 1e-15);
  EXPECT_TRUE(std::isnan(kl_divergence(Doubles{std::nan(""), 0}, even)));  // no perfect score for what is no number
}

TEST(TopK, IsOrderedAndTiesGoToTheLowerIndex) {
  using Indices = std::vector<std::size_t>;
  EXPECT_EQ(top_k(Doubles{1, 5, 3, 4, 2}, 3), (Indices{1, 3, 2}));
  EXPECT_EQ(top_k(Doubles{2, 2, 2, 2}, 2), (Indices{0, 1}));
  EXPECT_EQ(top_k(Doubles{1, 3, 3}, 2), (Indices{1, 2}));
  EXPECT_EQ(top_k(Doubles{2, 1}, 5), (Indices{0, 1}));
  EXPECT_EQ(top_k(Doubles{std::nan(""), 1, std::nan(""), 2}, 2), (Indices{3, 1}));
  EXPECT_TRUE(top_k(Doubles{1, 2}, 0).empty());
}

TEST(TopK, Recall) {
  const Doubles reference{9, 8, 7, 1, 0};
  EXPECT_DOUBLE_EQ(top_k_recall(reference, reference, 3), 1);
  EXPECT_DOUBLE_EQ(top_k_recall(reference, Doubles{7, 8, 9, 1, 0}, 3), 1);  // order does not matter
  EXPECT_DOUBLE_EQ(top_k_recall(reference, Doubles{9, 8, 0, 1, 7}, 3), 2.0 / 3);
  EXPECT_DOUBLE_EQ(top_k_recall(reference, Doubles{0, 0, 0, 1, 1}, 2), 0);
  EXPECT_DOUBLE_EQ(top_k_recall(Doubles{1, 2}, Doubles{2, 1}, 5), 1);
}

TEST(OutputError, IsRelative) {
  EXPECT_DOUBLE_EQ(relative_error(Doubles{3, 4}, Doubles{3, 3}), 0.2);
  EXPECT_EQ(relative_error(Doubles{0, 0}, Doubles{0, 0}), 0);
  EXPECT_EQ(relative_error(Doubles{0, 0}, Doubles{0, 1}), infinity);
}

TEST(ArgmaxShift, IsAnotherTopKey) {
  EXPECT_FALSE(argmax_shifts(Doubles{1, 3, 2}, Doubles{2, 9, 1}));
  EXPECT_TRUE(argmax_shifts(Doubles{1, 3, 2}, Doubles{0, 8, 9}));
  EXPECT_FALSE(argmax_shifts(Doubles{3, 3}, Doubles{1, 0}));  // a tie is the lower index
  EXPECT_TRUE(argmax_shifts(Doubles{1, 3}, Doubles{std::nan(""), std::nan("")}));
}

TEST(AttentionOutput, OfKnownScores) {  // scaled by 1/sqrt(4): 0 and ln 3
  const float two_ln3 = static_cast<float>(2 * std::log(3.0));
  Doubles output(2);
  attention_output(Floats{1, 0, 0, 0}, Floats{0, 5, 0, 0, two_ln3, 0, 0, 0}, Floats{4, 0, 8, -4}, output);
  EXPECT_NEAR(output[0], 7, 1e-6);
  EXPECT_NEAR(output[1], -3, 1e-6);
}

TEST(AttentionErrorSum, GathersOverQueries) {
  AttentionErrorSum sum(1);
  const double ln3 = std::log(3.0);
  sum.add_scores(Doubles{0, ln3}, Doubles{0, ln3}, 1);      // no divergence
  sum.add_scores(Doubles{0, 0}, Doubles{0, 2 * ln3}, 0.5);  // even against 1/4, 3/4; the tie's first key no longer first
  sum.add_scores(Doubles{0, -ln3}, Doubles{2, 2}, 1);       // 3/4, 1/4 against even
  const double even_skewed = 0.5 * std::log(4.0 / 3), skewed_even = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  ASSERT_GT(even_skewed, skewed_even);
  sum.add_output(Doubles{3, 4}, Doubles{3, 3});
  sum.add_output(Doubles{3, 4}, Doubles{3, 1});
  const AttentionError e = sum.result();
  EXPECT_EQ(e.queries, 3u);
  EXPECT_NEAR(e.kl_mean, (even_skewed + skewed_even) / 3, 1e-15);
  EXPECT_NEAR(e.kl_worst, even_skewed, 1e-15);
  EXPECT_NEAR(e.kl_p50, skewed_even, 1e-15);
  EXPECT_NEAR(e.kl_p90, 0.2 * skewed_even + 0.8 * even_skewed, 1e-15);
  EXPECT_NEAR(e.kl_p99, 0.02 * skewed_even + 0.98 * even_skewed, 1e-15);
  EXPECT_NEAR(e.recall, 2.0 / 3, 1e-15);
  EXPECT_NEAR(e.argmax_shift_rate, 1.0 / 3, 1e-15);
  EXPECT_NEAR(e.output_error, 0.4, 1e-15);
  EXPECT_NEAR(e.output_error_worst, 0.6, 1e-15);
}

TEST(AttentionErrorSum, ShowsWhatIsMissingAndWhatIsNaN) {
  AttentionErrorSum sum;
  EXPECT_TRUE(std::isnan(sum.result().kl_mean));
  EXPECT_TRUE(std::isnan(sum.result().recall));
  EXPECT_TRUE(std::isnan(sum.result().argmax_shift_rate));
  sum.add_scores(Doubles{1, 2}, Doubles{1, 2}, 1);
  EXPECT_EQ(sum.result().kl_worst, 0);
  EXPECT_TRUE(std::isnan(sum.result().output_error));
  sum.add_scores(Doubles{1, 2}, Doubles{1, std::nan("")}, 1);
  EXPECT_TRUE(std::isnan(sum.result().kl_mean));
  EXPECT_TRUE(std::isnan(sum.result().kl_worst));
  EXPECT_TRUE(std::isnan(sum.result().kl_p50));
}

TEST(AttentionErrorOfRows, IsThatOfTheirScoresAndOutputs) {
  constexpr std::size_t d = 16, n = 40;
  const Floats queries = gaussian_rows(9, d, 1, 2), keys = gaussian_rows(n, d, 2), values = gaussian_rows(n, 8, 3);
  Floats coded_keys = keys, coded_values = values;
  const Floats noise = gaussian_rows(n, d, 4, 0.3);
  for (std::size_t i = 0; i < keys.size(); ++i) coded_keys[i] += noise[i];
  for (std::size_t i = 0; i < values.size(); ++i) coded_values[i] += noise[i];
  AttentionErrorSum sum(3);
  for (std::size_t q = 0; q < queries.size(); q += d) {
    const auto query = std::span(queries).subspan(q, d);
    Doubles reference(n), coded(n), output(8), coded_output(8);
    attention_scores(query, keys, reference);
    attention_scores(query, coded_keys, coded);
    sum.add_scores(reference, coded, 0.25);
    attention_output(query, keys, values, output);
    attention_output(query, coded_keys, coded_values, coded_output);
    sum.add_output(output, coded_output);
  }
  const AttentionError e = attention_error(queries, keys, values, coded_keys, coded_values, d, 3), wanted = sum.result();
  EXPECT_GT(e.kl_mean, 0);
  EXPECT_EQ(e.kl_mean, wanted.kl_mean);
  EXPECT_EQ(e.kl_p90, wanted.kl_p90);
  EXPECT_EQ(e.recall, wanted.recall);
  EXPECT_LT(e.recall, 1);
  EXPECT_GT(e.output_error, 0);
  EXPECT_NEAR(e.output_error, wanted.output_error, 1e-14);
  EXPECT_EQ(e.queries, 9u);
  EXPECT_EQ(attention_error(queries, keys, values, keys, values, d).output_error_worst, 0);
}

TEST(GaussianSource, HasTheMomentsOfANormalDistribution) {
  const Floats x = gaussian_rows(1000, 200, 7);
  double mean = 0, square = 0, fourth = 0, neighbours = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    mean += v;
    square += v * v;
    fourth += v * v * v * v;
    if (i % 2 == 1) neighbours += v * static_cast<double>(x[i - 1]);  // the two numbers of one draw
  }
  const double n = static_cast<double>(x.size());  // every bound below is 4.5 standard errors
  EXPECT_NEAR(mean / n, 0, 4.5 / std::sqrt(n));
  EXPECT_NEAR(square / n, 1, 4.5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 4.5 * std::sqrt(96 / n));
  EXPECT_NEAR(neighbours / (n / 2), 0, 4.5 / std::sqrt(n / 2));
}

TEST(GaussianSource, IsGivenByItsSeed) {
  EXPECT_EQ(gaussian_rows(3, 5, 1), gaussian_rows(3, 5, 1));
  EXPECT_NE(gaussian_rows(3, 5, 1), gaussian_rows(3, 5, 2));
  const Floats one = gaussian_rows(3, 5, 1), twice = gaussian_rows(3, 5, 1, 2.0);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(twice[i], 2 * one[i]);
}

}  // namespace
}  // namespace kvcodec::quality
