// QJL residuals: unbiased on the keys that expose a wrong constant or too weak a projection, their published errors, and that
// the residual is not dead. Corrections: what each promises of <x, x'>.
#include "oracle/expected.hpp"
#include "oracle/qjl.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

namespace kvcodec {
namespace {

namespace expected = kvcodec_oracle::expected;
constexpr QjlOptions iid{.projection_rounds = 0}, for_values{.scale = QjlScale::least_squares};

enum class Key { gaussian, one_hot, two_hot, constant };

template <std::size_t D>
std::array<float, D> make_key(Key kind, kvcodec_oracle::RandomSource& source) {
  std::array<float, D> x = {};
  const std::size_t first = source.index(D), second = (first + 1 + source.index(D - 1)) % D;
  switch (kind) {
    case Key::gaussian: for (float& v : x) v = static_cast<float>(source.gaussian()); break;
    case Key::one_hot: x[first] = 2.0f; break;
    case Key::two_hot: x[first] = 1.0f; x[second] = 0.5f; break;
    case Key::constant: x.fill(0.7f); break;
  }
  return x;
}

struct Slope {
  double mean, standard_error;
};

/// Mean of <x, estimate> / |x|^2 over keys and seeds, by scoring with the key itself as the query: a query's part across
/// the key adds noise but no bias, since its sign is as often one as the other.
template <class C>
Slope slope(Key kind, std::size_t n) {
  kvcodec_oracle::RandomSource source(static_cast<std::uint64_t>(kind) + 5);
  double sum = 0, squares = 0;
  std::array<std::byte, C::row_bytes> row = {};
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = make_key<C::dim>(kind, source);
    const auto codec = std::make_unique<const C>(1000 * i + 17);
    EXPECT_EQ(codec->encode(x, row), Status::ok);
    const double ratio = static_cast<double>(codec->score(codec->prepare(std::span<const float, C::dim>(x)), row)) / kvcodec_test::dot(x, x);
    sum += ratio;
    squares += ratio * ratio;
  }
  const double mean = sum / static_cast<double>(n);
  return {mean, std::sqrt((squares / static_cast<double>(n) - mean * mean) / static_cast<double>(n))};
}

template <class C>
void expect_unbiased(const char* what, std::size_t n = 4000) {
  for (const Key kind : {Key::gaussian, Key::one_hot, Key::two_hot, Key::constant}) {
    const Slope s = slope<C>(kind, n);
    std::printf("%-28s key %d: <x, x'>/|x|^2 = %.4f +- %.4f\n", what, static_cast<int>(kind), s.mean, s.standard_error);
    EXPECT_NEAR(s.mean, 1.0, 0.01) << what << " key " << static_cast<int>(kind);
    EXPECT_LT(s.standard_error, 0.0025) << "too few seeds to tell";
  }
}

TEST(Qjl, EstimatesAreUnbiasedOverSeeds) {
  expect_unbiased<TurboQuantProd<128, 2>>("turboquant-prod 2");
  expect_unbiased<TurboQuantProd<128, 4>>("turboquant-prod 4");
  expect_unbiased<OctopusQjl<128, 2>>("octopus-qjl 2");
  expect_unbiased<OctopusQjl<128, 4>>("octopus-qjl 4");
  expect_unbiased<TurboQuantProd<80, 3>>("turboquant-prod 3, d 80");
  // Engines that rotate already: the residual of a sparse key is sparse, so the projection alone must do.
  expect_unbiased<TurboQuantProd<128, 3, Options{.rounds = 0}>>("no rotation, 3");
  expect_unbiased<TurboQuantProd<32, 2, Options{}, iid>>("Gaussian S, d 32, 2");
}

TEST(Qjl, OneRoundOfProjectionIsBiasedOnSparseResiduals) {
  // Why the default has two: <x, x'> of a one-hot residual is pi/2 times what it should be.
  using OneRound = TurboQuantProd<128, 2, Options{.rounds = 0}, QjlOptions{.projection_rounds = 1}>;
  EXPECT_GT(std::abs(slope<OneRound>(Key::one_hot, 2000).mean - 1.0), 0.03);
}

struct Measured {
  double distortion, error;
};

/// D, and E|q.e| for q ~ N(0, I): sqrt(2/pi) |e| given e.
template <class C>
Measured measure(std::size_t n) {
  auto codec = std::make_unique<const C>(3);
  const auto keys = kvcodec_test::gaussian_rows(n, C::dim, 4);
  std::array<std::byte, C::row_bytes> row = {};
  std::array<float, C::dim> back;
  Measured m = {};
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<const float, C::dim> x(keys.data() + i * C::dim, C::dim);
    if (i % 250 == 0) codec = std::make_unique<const C>(i);  // one projection is one draw
    EXPECT_EQ(codec->encode(x, row), Status::ok);
    codec->decode(row, back);
    const double d = kvcodec_test::relative_square_error(x, back);
    m.distortion += d / static_cast<double>(n);
    m.error += std::sqrt(2 / std::numbers::pi * d) * kvcodec_test::length(x) / static_cast<double>(n);
  }
  return m;
}

template <class C>
void expect_error(const char* what, double wanted, std::size_t n = 10'000) {
  const Measured m = measure<C>(n);
  std::printf("%-28s |q.e| %.3f (%.3f)  D %.4f\n", what, m.error, wanted, m.distortion);
  EXPECT_NEAR(m.error, wanted, 0.02 * wanted + 0.005) << what;  // the printed ones have two or three digits
}

constexpr OctopusOptions scalar{.rounding = Rounding::scalar};

TEST(Qjl, InnerProductErrorsAreThePublishedOnes) {
  expect_error<OctopusQjl<128, 2, scalar>>("octopus-qjl 2", expected::octopus_qjl_error[0]);
  expect_error<OctopusQjl<128, 3, scalar>>("octopus-qjl 3", expected::octopus_qjl_error[1]);
  expect_error<OctopusQjl<128, 4, scalar>>("octopus-qjl 4", expected::octopus_qjl_error[2]);
  expect_error<TurboQuantProd<128, 2>>("turboquant-prod 2", expected::turboquant_prod_orthogonal_error[0]);
  expect_error<TurboQuantProd<128, 3>>("turboquant-prod 3", expected::turboquant_prod_orthogonal_error[1]);
  expect_error<TurboQuantProd<128, 4>>("turboquant-prod 4", expected::turboquant_prod_orthogonal_error[2]);
  // The printed 6.65/3.72/2.04 are one draw, 1.4 to 3 % below what their own D implies (expected.hpp).
  expect_error<TurboQuantProd<128, 2, Options{}, iid>>("Gaussian S 2", expected::turboquant_prod_gaussian_implied[0], 4000);
  expect_error<TurboQuantProd<128, 3, Options{}, iid>>("Gaussian S 3", expected::turboquant_prod_gaussian_implied[1], 4000);
  expect_error<TurboQuantProd<128, 4, Options{}, iid>>("Gaussian S 4", expected::turboquant_prod_gaussian_implied[2], 4000);
}

template <unsigned B>
void expect_reconstruction() {
  const double inner = measure<TurboQuantMse<128, B - 1>>(10'000).distortion;
  const double half_pi = std::numbers::pi / 2;
  EXPECT_NEAR((measure<TurboQuantProd<128, B>>(10'000).distortion / inner), half_pi - 1, 0.01) << B;
  EXPECT_NEAR((measure<TurboQuantProd<128, B, Options{}, for_values>>(10'000).distortion / inner), 1 - 1 / half_pi, 0.01) << B;
  EXPECT_NEAR((measure<TurboQuantProd<128, B, Options{}, iid>>(2'000).distortion / inner), half_pi, 0.03) << B;
}

TEST(Qjl, ReconstructionIsAKnownPartOfTheInnerDistortion) {
  expect_reconstruction<2>();
  expect_reconstruction<3>();
  expect_reconstruction<4>();
}

TEST(Qjl, TheResidualIsAlive) {
  using C = TurboQuantProd<128, 3>;
  constexpr std::size_t residual_at = 2 + 32;  // after the norm and the inner code
  const C codec(1);
  const auto x = kvcodec_test::gaussian_rows(1, 128, 2), q = kvcodec_test::gaussian_rows(1, 128, 3);
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(codec.encode(std::span<const float, 128>(x.data(), 128), row), Status::ok);
  const auto query = codec.prepare(std::span<const float, 128>(q.data(), 128));
  const float whole = codec.score(query, row);
  auto silent = row;
  silent[residual_at] = silent[residual_at + 1] = std::byte{0};
  const TurboQuantMse<128, 2> inner(1);
  const float without = codec.score(query, silent);
  EXPECT_GT(std::abs(whole - without), 0.1f);
  // What is left is the inner codec's row, of the same seed.
  std::array<std::byte, 34> inner_row = {};
  ASSERT_EQ(inner.encode(std::span<const float, 128>(x.data(), 128), inner_row), Status::ok);
  EXPECT_TRUE(std::equal(inner_row.begin(), inner_row.end(), row.begin()));
  EXPECT_FLOAT_EQ(without, inner.score(inner.prepare(std::span<const float, 128>(q.data(), 128)), inner_row));
}

TEST(Qjl, AnExactlyCodedDirectionHasNoResidual) {
  // A direction that is a codeword of the inner book (d = 4, one bit: all coordinates +-1/2 up to the book's scale).
  using Inner = LloydMaxQuantizer<64, 2>;
  SplitMix64 random(1);
  const QjlQuantizer<Inner, OrthogonalProjection<64, 2>> quantizer(random);
  std::array<std::byte, Inner::code_bytes> inner_code = {};
  std::array<float, 64> u, back;
  Inner::decode(inner_code.data(), u.data());
  std::array<std::byte, decltype(quantizer)::code_bytes> code = {};
  quantizer.encode(u.data(), code.data());
  quantizer.decode(code.data(), back.data());
  EXPECT_EQ(u, back);
}

/// Sums of rows near float's range, and of rows so small that their scaled sums would be subnormal, are still theirs.
template <class C>
void expect_sums_at(float magnitude) {
  const C codec(1);
  const auto gaussian = kvcodec_test::gaussian_rows(1, C::dim, 2);
  std::array<float, C::dim> x, back, out;
  for (std::size_t i = 0; i < C::dim; ++i) x[i] = gaussian[i] * magnitude;
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(codec.encode(x, row), Status::ok);
  codec.decode(row, back);
  typename C::Accumulator sum;
  codec.accumulate(1.0f, row, sum);
  codec.finish(sum, out);
  double error = 0, square = 0;
  for (std::size_t i = 0; i < C::dim; ++i) {
    error += std::pow((static_cast<double>(out[i]) - static_cast<double>(back[i])) / static_cast<double>(magnitude), 2);
    square += std::pow(static_cast<double>(back[i]) / static_cast<double>(magnitude), 2);
  }
  EXPECT_LE(std::sqrt(error), 1e-5 * std::sqrt(square)) << C::name << " at " << magnitude;
  EXPECT_GT(square, 1.0);
}

TEST(Qjl, SumsHoldAtTheEndsOfTheRange) {
  for (const float magnitude : {1e36f, 1e-34f}) {
    expect_sums_at<TurboQuantProd<128, 3>>(magnitude);
    expect_sums_at<OctopusQjl<1024, 2, OctopusOptions{}, QjlOptions{.projection_rounds = 4}>>(magnitude);
    expect_sums_at<TurboQuantProd<64, 3, Options{}, iid>>(magnitude);
    expect_sums_at<TurboQuantMse<1024, 3>>(magnitude);
    expect_sums_at<PolarQuantBlock<128, Options{.norm = NormType::none}, polar_levels(4, 2), NormType::bfloat16>>(magnitude);
  }
}

template <std::size_t D>
void expect_scales() {
  using kvcodec_oracle::qjl_scale;
  const kvcodec_oracle::Projection orthogonal{D, D, true, {}}, independent{D, D, false, {}};
  EXPECT_NEAR((OrthogonalProjection<D, 2>::unbiased), qjl_scale(orthogonal, kvcodec_oracle::QjlScale::unbiased), 1e-12);
  EXPECT_NEAR((OrthogonalProjection<D, 2>::least_squares), qjl_scale(orthogonal, kvcodec_oracle::QjlScale::least_squares), 1e-12);
  EXPECT_NEAR(GaussianProjection<D>::unbiased, qjl_scale(independent, kvcodec_oracle::QjlScale::unbiased), 1e-12);
  EXPECT_NEAR(GaussianProjection<D>::least_squares, qjl_scale(independent, kvcodec_oracle::QjlScale::least_squares), 1e-12);
}

TEST(Qjl, ScalesAreTheOracles) {
  expect_scales<4>();
  expect_scales<80>();
  expect_scales<128>();
  expect_scales<1024>();
}

/// The quantiser beside the oracle's, on the projection's own matrix: signs, residual norm, reconstruction.
template <std::size_t D, class Projection>
void expect_as_the_oracle(bool orthogonal, double scale) {
  using Inner = LloydMaxQuantizer<D, 2>;
  SplitMix64 random(3), same(3);
  const QjlQuantizer<Inner, Projection> quantizer(random);
  const Projection projection(same);
  kvcodec_oracle::Projection s{D, D, orthogonal, std::vector<double>(D * D)};
  for (std::size_t j = 0; j < D; ++j) {
    std::array<float, D> unit = {}, column;
    unit[j] = 1.0f;
    projection.project(unit.data(), column.data());
    for (std::size_t i = 0; i < D; ++i) s.entries[i * D + j] = static_cast<double>(column[i]) * scale;
  }
  kvcodec_oracle::RandomSource source(8);
  for (int trial = 0; trial < 200; ++trial) {
    const auto u = kvcodec_oracle::normalised(source.gaussian_vector(D));
    std::array<float, D> x, inner, back;
    for (std::size_t i = 0; i < D; ++i) x[i] = static_cast<float>(u[i]);
    std::array<std::byte, QjlQuantizer<Inner, Projection>::code_bytes> code = {};
    quantizer.encode(x.data(), code.data());
    Inner::decode(code.data(), inner.data());
    const std::vector<double> exact(x.begin(), x.end()), v(inner.begin(), inner.end());
    auto wanted = kvcodec_oracle::qjl_encode(s, exact, v);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < D; ++i) {
      const bool negative = (std::to_integer<unsigned>(code[Inner::code_bytes + 2 + i / 8]) >> (i % 8) & 1u) != 0;
      differing += negative != (wanted.signs[i] < 0) ? 1 : 0;
      wanted.signs[i] = negative ? -1 : 1;
    }
    EXPECT_EQ(differing, 0u) << "trial " << trial;  // no projected coordinate is within float rounding of 0 in these trials
    const auto stored = static_cast<std::uint16_t>(std::to_integer<unsigned>(code[Inner::code_bytes]) | std::to_integer<unsigned>(code[Inner::code_bytes + 1]) << 8);
    EXPECT_NEAR(to_float(bfloat16{stored}), wanted.residual_norm, wanted.residual_norm * 0x1p-8);
    wanted.residual_norm = static_cast<double>(to_float(bfloat16{stored}));
    const auto decoded = kvcodec_oracle::qjl_decode(s, v, wanted, kvcodec_oracle::QjlScale::unbiased);
    quantizer.decode(code.data(), back.data());
    for (std::size_t i = 0; i < D; ++i) EXPECT_NEAR(back[i], decoded[i], 2e-6);
  }
}

TEST(Qjl, IsTheOracles) {
  expect_as_the_oracle<128, OrthogonalProjection<128, 2>>(true, 1.0 / 128);
  expect_as_the_oracle<80, OrthogonalProjection<80, 3>>(true, std::pow(80.0, -1.5));
  expect_as_the_oracle<64, GaussianProjection<64>>(false, 1.0);
}

template <Correction C>
using Corrected = TurboQuantMse<128, 2, Options{.norm = NormType::float32, .correction = C}>;

/// Mean <x, x'>/|x|^2, its largest distance from 1, the largest of ||x'|/|x| - 1|, and D.
template <class C>
std::array<double, 4> correction_of() {
  const C codec(2);
  const auto keys = kvcodec_test::gaussian_rows(2000, C::dim, 6);
  std::array<double, 4> result = {};
  for (std::size_t i = 0; i < 2000; ++i) {
    const std::span<const float, C::dim> x(keys.data() + i * C::dim, C::dim);
    std::array<std::byte, C::row_bytes> row = {};
    std::array<float, C::dim> back;
    EXPECT_EQ(codec.encode(x, row), Status::ok);
    codec.decode(row, back);
    const double ratio = kvcodec_test::dot(x, back) / kvcodec_test::dot(x, x);
    result[0] += ratio / 2000;
    result[1] = std::max(result[1], std::abs(ratio - 1));
    result[2] = std::max(result[2], std::abs(kvcodec_test::length(back) / kvcodec_test::length(x) - 1));
    result[3] += kvcodec_test::relative_square_error(x, back) / 2000;
  }
  return result;
}

TEST(Corrections, DoWhatTheyPromise) {
  const auto none = correction_of<Corrected<Correction::none>>(), norm = correction_of<Corrected<Correction::norm>>(),
             product = correction_of<Corrected<Correction::inner_product>>(), squares = correction_of<Corrected<Correction::least_squares>>();
  const double d = none[3];
  EXPECT_NEAR(none[0], 1 - d, 0.003);
  EXPECT_NEAR(norm[0], std::sqrt(1 - d), 0.003);
  EXPECT_LT(norm[2], 1e-6);
  EXPECT_LT(product[1], 1e-6);
  EXPECT_NEAR(product[3], d / (1 - d), 0.003);
  EXPECT_LE(squares[3], none[3]);
  EXPECT_LE(squares[3], norm[3]);
  EXPECT_LE(squares[3], product[3]);
}

TEST(Corrections, NeverRoundALengthToZero) {
  using C = TurboQuantMse<4, 1, Options{.norm = NormType::float16, .correction = Correction::least_squares}>;
  const std::array<float, 4> x = {1.42082e-8f, 2.27473e-8f, -2.22038e-8f, -1.31216e-8f};  // half of float16's smallest
  std::array<std::byte, C::row_bytes> row = {};
  ASSERT_EQ(C(0).encode(x, row), Status::ok);
  const bool zero_length = row[0] == std::byte{0} && row[1] == std::byte{0};
  EXPECT_TRUE(!zero_length || row[2] == std::byte{0});
}

TEST(Corrections, AreTheEncodersAlone) {
  const TurboQuantMse<64, 3> plain(4);
  const TurboQuantMse<64, 3, Options{.correction = Correction::inner_product}> corrected(4);
  const auto x = kvcodec_test::gaussian_rows(1, 64, 7);
  const std::span<const float, 64> key(x.data(), 64);
  std::array<std::byte, 26> a = {}, b = {};
  ASSERT_EQ(plain.encode(key, a), Status::ok);
  ASSERT_EQ(corrected.encode(key, b), Status::ok);
  EXPECT_TRUE(std::equal(a.begin() + 2, a.end(), b.begin() + 2));
  std::array<float, 64> by_one, by_other;
  plain.decode(b, by_one);
  corrected.decode(b, by_other);
  EXPECT_EQ(by_one, by_other);
  EXPECT_NE(refuse_unless_same(to_bytes(plain.descriptor()), corrected), "");
}

TEST(Gaussian, HasTheMomentsOfANormalVariable) {
  SplitMix64 random(9);
  constexpr int n = 400'000;
  double sum = 0, square = 0, fourth = 0, beyond = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.gaussian();
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
    beyond += std::abs(x) > 2.575829 ? 1 : 0;
  }
  EXPECT_NEAR(sum / n, 0, 0.008);
  EXPECT_NEAR(square / n, 1, 0.01);
  EXPECT_NEAR(fourth / n, 3, 0.08);
  EXPECT_NEAR(beyond / n, 0.01, 0.0008);
  for (const double x : {1e-300, 1e-9, 0.3, 0.5, 0.70710678, 0.9999999, 1.0, 2.0, 1e9})
    EXPECT_NEAR(detail::natural_log(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x))));
}

}  // namespace
}  // namespace kvcodec
