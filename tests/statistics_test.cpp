// Statistics, against published examples and against scipy 1.17.1 (numpy 2.4.6), whose call stands beside each value.
#include <kvcodec/quality/sources.hpp>
#include <kvcodec/quality/statistics.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kvcodec::quality {
namespace {

using Doubles = std::vector<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::nan("");

const Doubles males{19, 22, 16, 29, 24}, females{20, 11, 17, 12};  // Shier, The Mann-Whitney U test, 2004
const Doubles tied_x{1, 2, 2, 3, 5, 5, 5, 8}, tied_y{2, 3, 3, 4, 5, 9};
const Doubles heavy_x{-310.5, -2.25, -0.75, -0.1, 0.05, 0.4, 1.5, 2.75, 18.0, 4200.0};
const Doubles heavy_y{-41.0, -1.1, -0.3, 0.2, 0.9, 1.2, 3.3};
const Doubles low{1, 2, 3, 4}, high{10, 11, 12, 13, 14};

/// (i factor mod modulus) / divisor + offset, i = 0 to n - 1: different numbers where the modulus is prime.
Doubles residues(int n, int factor, int modulus, double divisor, double offset = 0) {
  Doubles x;
  for (int i = 0; i < n; ++i) x.push_back(i * factor % modulus / divisor + offset);
  return x;
}
const Doubles forty = residues(40, 37, 101, 8), thirty = residues(30, 53, 97, 7, 1.0625);

TEST(Quantile, IsLinearBetweenOrderStatistics) {  // numpy.quantile(x, q)
  const Doubles x{0.5, 7, 1, 3.25, -2};
  EXPECT_EQ(quantile(x, 0), -2);
  EXPECT_DOUBLE_EQ(quantile(x, 0.1), -1);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25), 0.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 1);
  EXPECT_DOUBLE_EQ(quantile(x, 0.9), 5.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.99), 6.85);
  EXPECT_EQ(quantile(x, 1), 7);
}

TEST(Quantile, TakesInfinitiesAndOneNumber) {
  EXPECT_EQ(quantile(Doubles{3}, 0.7), 3);
  EXPECT_EQ(quantile(Doubles{infinity, 1, infinity}, 0.75), infinity);
  EXPECT_EQ(quantile(Doubles{infinity, 1, 2}, 0.5), 2);
  EXPECT_TRUE(std::isnan(quantile(Doubles{}, 0.5)));
  EXPECT_TRUE(std::isnan(quantile(Doubles{1, nan, 2}, 0.5)));
}

TEST(Mean, HasAStandardErrorAndAnInterval) {
  const Doubles x{0.5, 7, 1, 3.25, -2};
  const MeanEstimate mean = mean_estimate(x);
  EXPECT_DOUBLE_EQ(mean.value, 1.95);
  EXPECT_DOUBLE_EQ(mean.standard_error, 1.5132745950421556);  // stats.sem(x)
  EXPECT_EQ(mean.n, 5u);
  const Interval interval = normal_interval(x);  // stats.norm.interval(0.95, loc=mean(x), scale=stats.sem(x))
  EXPECT_NEAR(interval.low, -1.0159637050020598, 1e-14);
  EXPECT_NEAR(interval.high, 4.91596370500206, 1e-14);
}

TEST(Mean, OfFewNumbers) {
  EXPECT_TRUE(std::isnan(mean_estimate({}).value));
  EXPECT_EQ(mean_estimate(Doubles{4}).value, 4);
  EXPECT_TRUE(std::isnan(mean_estimate(Doubles{4}).standard_error));
  EXPECT_EQ(mean_estimate(Doubles{4, 4}).standard_error, 0);
  EXPECT_TRUE(std::isnan(normal_interval({}).low));
  EXPECT_TRUE(std::isnan(normal_interval(Doubles{4}).high));
}

TEST(Bootstrap, GivesTheIntervalThatScipyGives) {
  // stats.bootstrap((x,), np.mean, method="percentile", n_resamples=100000): (5.0875, 7.3625); the quantiles of 10,000
  // means of deviation 0.58 have a standard error of 0.016.
  const Interval interval = bootstrap_interval(forty, 1);
  EXPECT_NEAR(interval.low, 5.0875, 0.07);
  EXPECT_NEAR(interval.high, 7.3625, 0.07);
  const Interval skewed = bootstrap_interval(heavy_x, 1, 100'000);  // n_resamples=200000: (-90.8, 1261.7)
  EXPECT_NEAR(skewed.low, -90.8, 3);
  EXPECT_NEAR(skewed.high, 1261.7, 25);
}

TEST(Bootstrap, IsGivenByItsSeed) {
  EXPECT_EQ(bootstrap_interval(forty, 5, 100).low, bootstrap_interval(forty, 5, 100).low);
  EXPECT_NE(bootstrap_interval(forty, 5, 100).low, bootstrap_interval(forty, 6, 100).low);
  EXPECT_EQ(bootstrap_interval(Doubles{4}, 1).low, 4);
  EXPECT_EQ(bootstrap_interval(Doubles{4}, 1).high, 4);
  EXPECT_TRUE(std::isnan(bootstrap_interval({}, 1).low));
  EXPECT_TRUE(std::isnan(bootstrap_interval(Doubles{1, nan}, 1).high));
}

TEST(Bootstrap, HoldsTheTrueMeanAsOftenAsItSays) {
  int hits = 0;
  constexpr int repetitions = 400;
  for (int i = 0; i < repetitions; ++i) {
    const auto rows = gaussian_rows(1, 60, 100 + static_cast<std::uint64_t>(i));
    const Interval interval = bootstrap_interval(Doubles(rows.begin(), rows.end()), 7, 400);
    hits += interval.low <= 0 && interval.high >= 0;
  }
  EXPECT_NEAR(hits, 0.94 * repetitions, 4.5 * std::sqrt(0.94 * 0.06 * repetitions));  // 0.94: 60 numbers, no t quantile
}

struct RankExample {
  const char* what;
  Doubles x, y;
  double u, p;
  bool exact;
};

TEST(MannWhitney, AgreesWithScipy) {
  const RankExample examples[] = {
      // stats.mannwhitneyu(x, y, method="exact")
      {"diabetes", males, females, 17, 0.1111111111111111, true},
      {"separate", low, high, 0, 0.015873015873015872, true},
      {"heavy tails", heavy_x, heavy_y, 39, 0.7396133278486219, true},
      {"one number", {3}, {1, 2, 4}, 2, 1, true},
      {"the middle", {1, 4}, {2, 3}, 2, 1, true},
      // stats.mannwhitneyu(x, y, method="asymptotic")
      {"ties", tied_x, tied_y, 21.5, 0.7921938701626743, false},
      {"many", forty, thirty, 502, 0.24722655687483797, false},
      {"all equal", {2, 2, 2}, {2, 2, 2, 2}, 6, 1, false},
  };
  for (const RankExample& e : examples) {
    SCOPED_TRACE(e.what);
    const MannWhitney forward = mann_whitney(e.x, e.y), backward = mann_whitney(e.y, e.x);
    const double pairs = static_cast<double>(e.x.size() * e.y.size());
    EXPECT_EQ(forward.u, e.u);
    EXPECT_EQ(backward.u, pairs - e.u);
    EXPECT_NEAR(forward.p, e.p, 1e-14);
    EXPECT_NEAR(backward.p, e.p, 1e-14);
    EXPECT_EQ(forward.exact, e.exact);
    EXPECT_NEAR(forward.rank_biserial, 2 * e.u / pairs - 1, 1e-15);
    EXPECT_NEAR(backward.rank_biserial, -forward.rank_biserial, 1e-15);
  }
}

TEST(MannWhitney, RankBiserialIsPositiveWhereTheFirstSampleIsAbove) {
  EXPECT_EQ(mann_whitney(high, low).rank_biserial, 1);
  EXPECT_EQ(mann_whitney(low, high).rank_biserial, -1);
  EXPECT_NEAR(mann_whitney(males, females).rank_biserial, 0.7, 1e-15);
}

TEST(MannWhitney, AgreesWithScipyOnThousands) {  // stats.mannwhitneyu(x, y, method="asymptotic")
  const MannWhitney test = mann_whitney(residues(2500, 17, 1009, 8), residues(2400, 29, 1013, 8, 2));
  EXPECT_EQ(test.u, 2900167.5);
  EXPECT_NEAR(test.p / 0.04372618316717309, 1, 1e-10);
}

TEST(MannWhitney, ExactLawAtItsLargestSizeIsNearTheNormalOne) {
  // stats.mannwhitneyu(x, y, method="exact"), n1 = n2 = 25; the normal law gives 0.361803488317166
  const MannWhitney exact = mann_whitney(residues(25, 37, 101, 8), residues(25, 53, 97, 7, 1.0625));
  EXPECT_TRUE(exact.exact);
  EXPECT_EQ(exact.u, 265.0);
  EXPECT_NEAR(exact.p, 0.3649938154178867, 1e-14);
  EXPECT_FALSE(mann_whitney(residues(26, 37, 101, 8), residues(25, 53, 97, 7, 1.0625)).exact);
}

TEST(MannWhitney, RejectsAsOftenAsItSays) {
  int rejected = 0;
  constexpr int repetitions = 2000;
  for (int i = 0; i < repetitions; ++i) {
    const auto rows = gaussian_rows(2, 40, 1000 + static_cast<std::uint64_t>(i));
    const Doubles all(rows.begin(), rows.end());
    rejected += mann_whitney(std::span(all).first(40), std::span(all).last(40)).p < 0.05;
  }
  EXPECT_NEAR(rejected, 0.05 * repetitions, 4.5 * std::sqrt(0.05 * 0.95 * repetitions));
}

struct DistanceExample {
  const char* what;
  Doubles x, y;
  double d, p;
};

TEST(KolmogorovSmirnov, AgreesWithScipy) {
  const DistanceExample examples[] = {
      // stats.ks_2samp(x, y, method="exact")
      {"diabetes", males, females, 0.6, 0.2857142857142857},
      {"ties", tied_x, tied_y, 0.20833333333333334, 0.9946719946719947},
      {"separate", low, high, 1, 0.015873015873015872},
      {"heavy tails", heavy_x, heavy_y, 0.2571428571428571, 0.8941279308926369},
      {"many", forty, thirty, 0.14166666666666666, 0.8422717112609579},
      {"one number", {3}, {1, 2, 4}, 0.6666666666666666, 1},
      {"all equal", {2, 2, 2}, {2, 2, 2, 2}, 0, 1},
  };
  for (const DistanceExample& e : examples) {
    SCOPED_TRACE(e.what);
    const KolmogorovSmirnov forward = kolmogorov_smirnov(e.x, e.y), backward = kolmogorov_smirnov(e.y, e.x);
    EXPECT_NEAR(forward.d, e.d, 1e-15);
    EXPECT_EQ(backward.d, forward.d);
    EXPECT_NEAR(forward.p, e.p, 1e-13);
    EXPECT_NEAR(backward.p, e.p, 1e-13);
    EXPECT_TRUE(forward.exact);
  }
}

TEST(KolmogorovSmirnov, KeepsTheDigitsOfASmallP) {  // 2 of C(60, 30) orders separate the samples
  const KolmogorovSmirnov test = kolmogorov_smirnov(residues(30, 1, 1000, 1), residues(30, 1, 1000, 1, 500));
  EXPECT_EQ(test.d, 1);
  EXPECT_NEAR(test.p * 118264581564861424.0 / 2, 1, 1e-13);
}

TEST(KolmogorovSmirnov, IsExactForThousands) {  // stats.ks_2samp(x, y, method="exact")
  const KolmogorovSmirnov test = kolmogorov_smirnov(residues(2500, 17, 1009, 8), residues(2400, 29, 1013, 8, 2));
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.d, 0.019783333333333333, 1e-15);
  EXPECT_NEAR(test.p, 0.7137008926577985, 1e-11);
}

TEST(KolmogorovSmirnov, TakesTheLimitOfManyNumbers) {  // special.kolmogorov(sqrt(n1 n2 / (n1 + n2)) d)
  const KolmogorovSmirnov test = kolmogorov_smirnov(residues(60000, 17, 10007, 8), residues(50000, 29, 9973, 8, 9));
  EXPECT_FALSE(test.exact);
  EXPECT_NEAR(test.d, 0.0072, 1e-15);
  EXPECT_NEAR(test.p / 0.11828052089846508, 1, 1e-10);
}

TEST(KolmogorovSmirnov, HasKolmogorovsLimit) {  // special.kolmogorov(t)
  EXPECT_EQ(detail::kolmogorov_tail(0), 1);
  EXPECT_NEAR(detail::kolmogorov_tail(0.3), 0.9999906941986655, 1e-14);
  EXPECT_NEAR(detail::kolmogorov_tail(0.5), 0.9639452436648751, 1e-14);
  EXPECT_NEAR(detail::kolmogorov_tail(0.8), 0.5441424115741981, 1e-14);
  EXPECT_NEAR(detail::kolmogorov_tail(0.999), 0.27107316411506394, 1e-14);
  EXPECT_NEAR(detail::kolmogorov_tail(1), 0.26999967167735456, 1e-14);
  EXPECT_NEAR(detail::kolmogorov_tail(1.5), 0.022217962616525127, 1e-15);
  EXPECT_NEAR(detail::kolmogorov_tail(3) / 3.045995948942526e-08, 1, 1e-13);
}

TEST(EnergyDistance, AgreesWithScipy) {                            // stats.energy_distance(x, y)
  EXPECT_NEAR(energy_distance(Doubles{0}, Doubles{2}), 2, 1e-15);  // from its documentation
  EXPECT_NEAR(energy_distance(Doubles{0, 0, 0, 8}, Doubles{0, 8}), 1, 1e-15);
  EXPECT_NEAR(energy_distance(males, females), 2.4979991993593598, 1e-14);
  EXPECT_NEAR(energy_distance(tied_x, tied_y), 0.48947250518628044, 1e-14);
  EXPECT_NEAR(energy_distance(low, high), 4.018706259482024, 1e-14);
  EXPECT_NEAR(energy_distance(heavy_x, heavy_y), 9.512374325378623, 1e-13);
  EXPECT_NEAR(energy_distance(forty, thirty), 0.47299073785354206, 1e-13);
  EXPECT_EQ(energy_distance(tied_x, tied_x), 0);
}

TEST(EnergyDistance, OfVectorsOfOneCoordinateIsThatOfNumbers) {
  for (const auto& [x, y] : {std::pair{males, females}, {tied_x, tied_y}, {heavy_x, heavy_y}, {forty, thirty}}) {
    EXPECT_NEAR(energy_distance(x, y, 1), energy_distance(x, y), 1e-12);
    EXPECT_NEAR(energy_distance(y, x, 1), energy_distance(x, y), 1e-12);
  }
}

TEST(EnergyDistance, OfVectors) {
  const Doubles x{0, 0, 3, 4, 1, -2}, y{1, 1, -2, 0.5};
  // sqrt(2 cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()) of scipy.spatial.distance
  EXPECT_NEAR(energy_distance(x, y, 2), 1.4705138406751337, 1e-14);
  EXPECT_NEAR(energy_distance(x, x, 2), 0, 1e-7);
}

TEST(TwoSamples, WithoutNumbersHaveNoAnswer) {
  for (const auto& [x, y] : {std::pair<Doubles, Doubles>{{}, {1}}, {{1}, {}}, {{}, {}}, {{1, nan}, {2}}, {{1}, {nan, 2}}}) {
    EXPECT_TRUE(std::isnan(mann_whitney(x, y).u));
    EXPECT_TRUE(std::isnan(mann_whitney(x, y).p));
    EXPECT_TRUE(std::isnan(mann_whitney(x, y).rank_biserial));
    EXPECT_TRUE(std::isnan(kolmogorov_smirnov(x, y).d));
    EXPECT_TRUE(std::isnan(kolmogorov_smirnov(x, y).p));
    EXPECT_TRUE(std::isnan(energy_distance(x, y)));
    EXPECT_TRUE(std::isnan(energy_distance(x, y, 1)));
  }
}

TEST(Standardize, TakesAwayUnits) {
  Doubles x{1, 700, 5, 3, 900, 5}, y{5, 800, 5};
  standardize(x, y, 3);
  const double unit = std::sqrt(1.5);  // 1, 3, 5 have a deviation of sqrt(8 / 3)
  EXPECT_NEAR(x[0], -unit, 1e-15);
  EXPECT_NEAR(x[1], -unit, 1e-15);
  EXPECT_EQ(x[3], 0);
  EXPECT_NEAR(x[4], unit, 1e-15);
  EXPECT_NEAR(y[0], unit, 1e-15);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(x[2], 0);
  EXPECT_EQ(y[2], 0);
  // .1 + .1 + .1 is not .3: the mean of equal numbers may not be one of them.
  Doubles equal{.1, .1}, same{.1};
  standardize(equal, same, 1);
  EXPECT_EQ(equal, (Doubles{0, 0}));
  EXPECT_EQ(same, Doubles{0});
}

}  // namespace
}  // namespace kvcodec::quality
