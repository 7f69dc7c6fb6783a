// The laws of the contract (include/kvcodec/concepts.hpp), for every codec, the library's and anybody's own. In a test of
// yours:
//
//   #include "laws.hpp"
//   INSTANTIATE_TEST_SUITE_P(MyCodec, CodecLaws, ::testing::ValuesIn(kvcodec_test::codecs<MyCodec<64>, MyCodec<128>>()));
#pragma once

#include "support/any_codec.hpp"
#include "support/guarded.hpp"
#include "support/random_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

class CodecLaws : public ::testing::TestWithParam<kvcodec_test::CodecFactory> {
 public:
  using Vector = std::vector<float>;
  using Row = std::vector<std::byte>;
  using Codec = std::unique_ptr<kvcodec_test::AnyCodec>;

  static Codec make(std::uint64_t seed) { return GetParam().make(seed); }
  const std::size_t dim = make(0)->dim, row_bytes = make(0)->row_bytes;

  std::span<const float> vector(const std::vector<float>& rows, std::size_t i) const { return std::span(rows).subspan(i * dim, dim); }
  static Row encode(const Codec& codec, std::span<const float> x) {
    Row row(codec->row_bytes, std::byte{0x5a});
    EXPECT_EQ(codec->encode(x, row.data()), kvcodec::Status::ok);
    return row;
  }
  static Vector decode(const Codec& codec, const std::byte* row) {
    Vector x(codec->dim, std::numeric_limits<float>::quiet_NaN());
    codec->decode(row, x);
    return x;
  }
  static bool same_bytes(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
  }

  template <kvcodec::Real T>
  void half_elements_are_their_float_values(T (*narrow)(float)) const;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CodecLaws);

TEST_P(CodecLaws, ManyRowsAreOneByOne) {
  const Codec codec = make(11);
  EXPECT_FALSE(codec->name.empty());
  constexpr std::byte untouched{0xc3};
  for (const std::size_t n : {1u, 2u, 3u, 15u, 16u, 17u, 31u, 33u}) {
    const auto x = kvcodec_test::gaussian_rows(n, dim, n);
    for (const std::size_t gap : {0u, 1u, 3u, 13u}) {
      const std::size_t stride = row_bytes + gap;
      std::vector<std::byte> memory(1 + n * stride + 1, untouched);
      std::byte* base = memory.data() + 1;
      ASSERT_EQ(codec->encode_rows(x, kvcodec::Rows{base, n, stride}).status, kvcodec::Status::ok);
      ASSERT_EQ(memory.front(), untouched);
      ASSERT_EQ(memory.back(), untouched);
      for (std::size_t i = 0; i < n; ++i) {
        const auto row = encode(codec, vector(x, i));
        ASSERT_EQ(std::memcmp(base + i * stride, row.data(), row.size()), 0) << "row " << i << " of " << n;
        for (std::size_t k = row_bytes; k < stride; ++k) ASSERT_EQ(base[i * stride + k], untouched) << "after row " << i;
      }
      const kvcodec::ConstRows rows(base, n, stride);
      Vector decoded(n * dim), scores(n), sum(dim), one_by_one(dim);
      ASSERT_EQ(codec->decode_rows(rows, decoded), kvcodec::Status::ok);
      constexpr auto exact = kvcodec::Arithmetic::exact;
      ASSERT_EQ(codec->score_rows(vector(x, n - 1), rows, scores, exact), kvcodec::Status::ok);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(same_bytes(decode(codec, rows[i]), vector(decoded, i)));
        ASSERT_EQ(scores[i], codec->score(vector(x, n - 1), rows[i]));
      }
      const auto weights = std::span<const float>(x).first(n);
      ASSERT_EQ(codec->accumulate_rows(weights, rows, sum, exact), kvcodec::Status::ok);
      codec->accumulate(weights, rows, one_by_one);
      ASSERT_EQ(sum, one_by_one);
    }
  }
}

TEST_P(CodecLaws, AGroupOfQueriesIsEachAlone) {
  const Codec codec = make(14);
  constexpr std::size_t n = 70, group = 7;  // more than a block, and a last one that is not whole
  const auto x = kvcodec_test::gaussian_rows(n, dim, 16);
  const auto queries = std::span(x).first(group * dim);
  std::vector<std::byte> codes(n * codec->code_bytes), norms(n * codec->norm_bytes + 1);
  const kvcodec::Planes rows{codes.data(), codec->code_bytes, norms.data(), codec->norm_bytes, n};
  ASSERT_EQ(codec->encode_rows(x, rows).status, kvcodec::Status::ok);
  for (const auto arithmetic : {kvcodec::Arithmetic::fastest, kvcodec::Arithmetic::exact}) {
    Vector together(group * n), alone(n), sums(group * dim), sum(dim);
    ASSERT_EQ(codec->score_rows(queries, rows, together, arithmetic), kvcodec::Status::ok);
    ASSERT_EQ(codec->accumulate_rows(together, rows, sums, arithmetic), kvcodec::Status::ok);
    for (std::size_t k = 0; k < group; ++k) {
      ASSERT_EQ(codec->score_rows(vector(x, k), rows, alone, arithmetic), kvcodec::Status::ok);
      ASSERT_TRUE(same_bytes(alone, std::span(together).subspan(k * n, n))) << "query " << k;
      ASSERT_EQ(codec->accumulate_rows(alone, rows, sum, arithmetic), kvcodec::Status::ok);
      ASSERT_TRUE(std::ranges::equal(sum, vector(sums, k))) << "query " << k;
    }
  }
}

TEST_P(CodecLaws, EncodingIsPure) {
  const auto x = kvcodec_test::gaussian_rows(1, dim, 3);
  const Codec codec = make(5), same = make(5), copy = codec->copy();
  const auto row = encode(codec, x);
  EXPECT_EQ(row, encode(same, x));
  EXPECT_EQ(row, encode(copy, x));
  Row elsewhere(row_bytes);
  std::thread([&] { (void)codec->encode(x, elsewhere.data()); }).join();
  EXPECT_EQ(row, elsewhere);
}

TEST_P(CodecLaws, ScoreIsTheInnerProductWithTheDecodedRow) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const Codec codec = make(seed);
    const auto x = kvcodec_test::gaussian_rows(20, dim, seed + 100);
    const auto q = kvcodec_test::gaussian_rows(20, dim, seed + 200);
    for (std::size_t i = 0; i < 20; ++i) {
      const auto row = encode(codec, vector(x, i));
      const auto decoded = decode(codec, row.data());
      const double exact = kvcodec_test::dot(vector(q, i), decoded);
      const double bound = 1e-5 * kvcodec_test::length(vector(q, i)) * kvcodec_test::length(vector(x, i));
      EXPECT_NEAR(static_cast<double>(codec->score(vector(q, i), row.data())), exact, bound);
      EXPECT_GT(kvcodec_test::length(decoded), 0.0);
    }
  }
}

TEST_P(CodecLaws, FinishIsTheWeightedSumOfDecodedRows) {
  const Codec codec = make(2);
  constexpr std::size_t n = 9;
  const auto x = kvcodec_test::gaussian_rows(n, dim, 7);
  const auto weights = kvcodec_test::gaussian_rows(1, n, 8);
  std::vector<double> exact(dim);
  std::vector<std::byte> rows;
  double bound = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = encode(codec, vector(x, i));
    rows.insert(rows.end(), row.begin(), row.end());
    const auto decoded = decode(codec, row.data());
    for (std::size_t k = 0; k < dim; ++k) exact[k] += static_cast<double>(weights[i]) * decoded[k];
    bound += 1e-5 * std::abs(static_cast<double>(weights[i])) * kvcodec_test::length(vector(x, i));
  }
  Vector out(dim);
  codec->accumulate(weights, {rows.data(), n, row_bytes}, out);
  double error = 0;
  for (std::size_t k = 0; k < dim; ++k) error += (out[k] - exact[k]) * (out[k] - exact[k]);
  EXPECT_LE(std::sqrt(error), bound);
}

TEST_P(CodecLaws, ZerosOfEitherSignDecodeToPositiveZero) {
  const Codec codec = make(4);
  for (const float zero : {0.0f, -0.0f}) {
    for (const float v : decode(codec, encode(codec, Vector(dim, zero)).data())) {
      EXPECT_EQ(v, 0.0f);
      EXPECT_FALSE(std::signbit(v));
    }
  }
}

TEST_P(CodecLaws, FiniteInputGivesFiniteOutput) {
  const Codec codec = make(6);
  const auto gaussian = kvcodec_test::gaussian_rows(1, dim, 9);
  const float extremes[] = {FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, -FLT_TRUE_MIN, 1e30f, 1e-30f, 65504.0f, 65520.0f, 125000.0f, 1e19f, 1e20f};
  std::vector<Vector> inputs;
  for (const float extreme : extremes) {
    Vector one(dim), all(dim, extreme), scaled(dim), mixed(dim);
    one[dim / 2] = extreme;
    for (std::size_t i = 0; i < dim; ++i) {
      scaled[i] = std::clamp(gaussian[i] * extreme, -FLT_MAX, FLT_MAX);
      mixed[i] = i % 2 == 0 ? gaussian[i] : extreme;
    }
    inputs.insert(inputs.end(), {one, all, scaled, mixed});
  }
  for (const auto& x : inputs) {
    const auto row = encode(codec, x);
    for (const float v : decode(codec, row.data())) ASSERT_TRUE(kvcodec::is_finite(v)) << x[0] << " " << x[1];
    std::vector<kvcodec::float16> half(dim);
    codec->decode(row.data(), half);
    for (const auto v : half) ASSERT_TRUE(kvcodec::is_finite(kvcodec::to_float(v)));
    std::vector<kvcodec::bfloat16> brain(dim);
    codec->decode(row.data(), brain);
    for (const auto v : brain) ASSERT_TRUE(kvcodec::is_finite(kvcodec::to_float(v)));
  }
}

TEST_P(CodecLaws, ANonFiniteRowIsReportedAndKeepsItsBytes) {
  const Codec codec = make(8);
  constexpr std::size_t n = 5;
  constexpr std::byte before{0x77};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, dim / 2, dim - 1}) {
      auto x = kvcodec_test::gaussian_rows(n, dim, 10);
      x[2 * dim + at] = bad;
      x[4 * dim + at] = bad;
      std::vector<std::byte> memory(n * row_bytes, before);
      const auto result = codec->encode_rows(x, kvcodec::Rows{memory.data(), n, row_bytes});
      EXPECT_EQ(result.status, kvcodec::Status::non_finite);
      EXPECT_EQ(result.first_bad_row, 2u);
      for (std::size_t i = 0; i < n; ++i) {
        const std::byte* row = memory.data() + i * row_bytes;
        if (i == 2 || i == 4) {
          EXPECT_TRUE(std::all_of(row, row + row_bytes, [](std::byte b) { return b == before; }));
        } else {
          EXPECT_EQ(std::memcmp(row, encode(codec, vector(x, i)).data(), row_bytes), 0);
        }
      }
    }
  }
}

TEST_P(CodecLaws, AnyBytesDecodeWithoutUndefinedBehaviour) {
  const Codec codec = make(9);
  kvcodec::SplitMix64 random(1);
  const auto q = kvcodec_test::gaussian_rows(1, dim, 12);
  constexpr float weights[] = {1.0f};
  for (int trial = 0; trial < 64; ++trial) {
    Row row(row_bytes);
    for (std::byte& b : row) b = trial == 0 ? std::byte{0xff} : static_cast<std::byte>(random() & 0xffu);
    Vector x = decode(codec, row.data());
    codec->accumulate(weights, {row.data(), 1, row_bytes}, x);
    volatile float score = codec->score(q, row.data());
    (void)score;
  }
}

template <kvcodec::Real T>
void CodecLaws::half_elements_are_their_float_values(T (*narrow)(float)) const {
  const Codec codec = make(10);
  const auto gaussian = kvcodec_test::gaussian_rows(1, dim, 13);
  std::vector<T> x(dim), back(dim), out(dim);
  Vector same(dim);
  for (std::size_t i = 0; i < dim; ++i) {
    x[i] = narrow(gaussian[i]);
    same[i] = kvcodec::to_float(x[i]);
  }
  Row row(row_bytes), rows(row_bytes);
  ASSERT_EQ(codec->encode(x, row.data()), kvcodec::Status::ok);
  EXPECT_EQ(row, encode(codec, same));
  codec->decode(row.data(), back);
  const auto wide = decode(codec, row.data());
  for (std::size_t i = 0; i < dim; ++i) EXPECT_EQ(back[i], narrow(wide[i]));
  EXPECT_EQ(codec->score(x, row.data()), codec->score(same, row.data()));
  EXPECT_EQ(codec->encode_rows(x, kvcodec::Rows{rows.data(), 1, row_bytes}).status, kvcodec::Status::ok);
  EXPECT_EQ(rows, row);
  EXPECT_EQ(codec->decode_rows({rows.data(), 1, row_bytes}, out), kvcodec::Status::ok);
  EXPECT_EQ(out, back);
  x[1] = narrow(std::numeric_limits<float>::infinity());
  EXPECT_EQ(codec->encode(x, row.data()), kvcodec::Status::non_finite);
}

TEST_P(CodecLaws, HalfElementsAreTheirFloatValues) {
  half_elements_are_their_float_values<kvcodec::float16>([](float v) { return kvcodec::to_float16(v); });
  half_elements_are_their_float_values<kvcodec::bfloat16>([](float v) { return kvcodec::to_bfloat16(v); });
}

TEST_P(CodecLaws, SizesThatDoNotFitWriteNothing) {
  const Codec codec = make(12);
  constexpr std::size_t n = 3;
  const auto x = kvcodec_test::gaussian_rows(n, dim, 14);
  const std::span<const float> all(x);
  constexpr std::byte before{0x11};
  std::vector<std::byte> memory(n * row_bytes, before);
  const kvcodec::Rows rows{memory.data(), n, row_bytes};
  constexpr auto refused = kvcodec::Status::size_mismatch;
  constexpr auto fastest = kvcodec::Arithmetic::fastest;
  EXPECT_EQ(codec->encode_rows(all.first(all.size() - 1), rows).status, refused);
  EXPECT_EQ(codec->encode_rows(all.first(dim), rows).status, refused);
  EXPECT_EQ(codec->encode_rows(all, kvcodec::Rows{memory.data(), n, row_bytes - 1}).status, refused);
  EXPECT_EQ(codec->encode_rows(all, kvcodec::Rows{nullptr, n, row_bytes}).status, refused);
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte b) { return b == before; }));

  Vector out(n * dim + 1, 42.0f);
  EXPECT_EQ(codec->decode_rows(rows, out), refused);
  EXPECT_EQ(codec->decode_rows({memory.data(), n, 1}, std::span(out).first(n * dim)), refused);
  EXPECT_EQ(codec->score_rows(vector(x, 0), kvcodec::ConstRows(rows), std::span(out).first(n + 1), fastest), refused);
  EXPECT_TRUE(std::ranges::all_of(out, [](float v) { return v == 42.0f; }));
  Vector zero(dim, 42.0f);
  EXPECT_EQ(codec->accumulate_rows(all.first(n - 1), kvcodec::ConstRows(rows), zero, fastest), refused);
  for (const float v : zero) EXPECT_EQ(v, 0.0f);
  EXPECT_EQ(codec->encode_rows(std::span<const float>(), kvcodec::Rows{}).status, kvcodec::Status::ok);  // no rows: nothing to do
}

TEST_P(CodecLaws, NothingOutsideTheRowIsTouched) {
  const Codec codec = make(13);
  constexpr std::size_t n = 3;
  const auto x = kvcodec_test::gaussian_rows(n, dim, 15);
  constexpr auto fastest = kvcodec::Arithmetic::fastest;
  for (const std::size_t gap : {0u, 1u, 7u}) {
    const std::size_t stride = row_bytes + gap;
    const kvcodec_test::Guarded memory((n - 1) * stride + row_bytes);
    for (const auto bytes : {memory.at_start(), memory.at_end()}) {
      const kvcodec::Rows rows{bytes.data(), n, stride};
      ASSERT_EQ(codec->encode_rows(x, rows).status, kvcodec::Status::ok);
      Vector out(n * dim), scores(n), sum(dim);
      ASSERT_EQ(codec->decode_rows(rows, out), kvcodec::Status::ok);
      ASSERT_EQ(codec->score_rows(vector(x, 0), kvcodec::ConstRows(rows), scores, fastest), kvcodec::Status::ok);
      ASSERT_EQ(codec->accumulate_rows(scores, kvcodec::ConstRows(rows), sum, fastest), kvcodec::Status::ok);
    }
  }
}

TEST_P(CodecLaws, TheDescriptorTellsRowsApart) {
  const Codec codec = make(21);
  const auto bytes = kvcodec::to_bytes(codec->descriptor());
  EXPECT_EQ(codec->refuse_unless_same(bytes), "");
  const Codec other = make(22);
  const auto x = kvcodec_test::gaussian_rows(1, dim, 17);
  if (encode(other, x) != encode(codec, x)) {  // without a rotation, seeds may make no difference
    EXPECT_NE(other->refuse_unless_same(bytes), "");
  }
  const auto read = kvcodec::descriptor_from_bytes(bytes);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(*read, codec->descriptor());
  EXPECT_EQ(read->codec_name(), codec->name);
  EXPECT_EQ(read->row_bytes, row_bytes);
}
