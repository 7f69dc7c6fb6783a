// The quality measures, against examples worked out by hand.
#include <kvcodec/quality/attention.hpp>
#include <kvcodec/quality/distortion.hpp>
#include <kvcodec/quality/sources.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
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
