// The laws of the contract (include/kvcodec/concepts.hpp) as typed tests: every codec is instantiated with them, the
// library's and anybody's own. In a test of yours:
//
//   #include "laws.hpp"
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyCodec, CodecLaws, ::testing::Types<MyCodec<64>>);
#pragma once

#include "support/guarded.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <type_traits>
#include <vector>

namespace kvcodec_test {

/// The codecs that a list of laws is for: all that are named, or every third in build variants (KVCODEC_TEST_DIMS), whose
/// compile time is that of these lists.
template <class Kept, class... C>
struct EveryThird {
  using type = Kept;
};
template <class... Kept, class A, class... C>
struct EveryThird<::testing::Types<Kept...>, A, C...> : EveryThird<::testing::Types<Kept..., A>> {};
template <class... Kept, class A, class B, class C, class... Rest>
struct EveryThird<::testing::Types<Kept...>, A, B, C, Rest...> : EveryThird<::testing::Types<Kept..., A>, Rest...> {};

#if defined(KVCODEC_TEST_DIMS)
template <class... C>
using Codecs = typename EveryThird<::testing::Types<>, C...>::type;
#else
template <class... C>
using Codecs = ::testing::Types<C...>;
#endif

}  // namespace kvcodec_test

template <class C>
class CodecLaws : public ::testing::Test {
 public:
  static constexpr std::size_t dim = C::dim;
  static constexpr std::size_t row_bytes = C::row_bytes;
  using Vector = std::array<float, dim>;
  using Row = std::array<std::byte, row_bytes>;

  static std::span<const float, dim> vector(const std::vector<float>& rows, std::size_t i) {
    return std::span<const float, dim>(rows.data() + i * dim, dim);
  }
  static Row encode(const C& codec, std::span<const float, dim> x) {
    Row row;
    row.fill(std::byte{0x5a});
    EXPECT_EQ(codec.encode(x, row), kvcodec::Status::ok);
    return row;
  }
  static Vector decode(const C& codec, const Row& row) {
    Vector x;
    x.fill(std::numeric_limits<float>::quiet_NaN());
    codec.decode(row, x);
    return x;
  }
};
TYPED_TEST_SUITE_P(CodecLaws);

TYPED_TEST_P(CodecLaws, MeetsTheConcepts) {
  using C = TypeParam;
  static_assert(kvcodec::Format<C> && kvcodec::Codec<C> && kvcodec::KeyCodec<C> && kvcodec::ValueCodec<C>);
  static_assert(C::bits_per_coordinate == 8.0 * static_cast<double>(C::row_bytes) / static_cast<double>(C::dim));
  static_assert(std::is_trivially_copyable_v<C> && std::is_trivially_copyable_v<typename C::Query>);
  EXPECT_FALSE(C::name.empty());
}

TYPED_TEST_P(CodecLaws, ManyRowsAreOneByOne) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(11);
  constexpr std::byte untouched{0xc3};
  for (const std::size_t n : {1u, 2u, 3u, 15u, 16u, 17u, 31u, 33u}) {
    const auto x = kvcodec_test::gaussian_rows(n, Laws::dim, n);
    for (const std::size_t gap : {0u, 1u, 3u, 13u}) {
      const std::size_t stride = Laws::row_bytes + gap;
      std::vector<std::byte> memory(1 + n * stride + 1, untouched);
      std::byte* base = memory.data() + 1;
      const auto result = codec.encode_rows(std::span<const float>(x), kvcodec::Rows{base, n, stride});
      ASSERT_EQ(result.status, kvcodec::Status::ok);
      ASSERT_EQ(memory.front(), untouched);
      ASSERT_EQ(memory.back(), untouched);
      for (std::size_t i = 0; i < n; ++i) {
        const auto row = Laws::encode(codec, Laws::vector(x, i));
        ASSERT_EQ(std::memcmp(base + i * stride, row.data(), row.size()), 0) << "row " << i << " of " << n;
        for (std::size_t k = Laws::row_bytes; k < stride; ++k) ASSERT_EQ(base[i * stride + k], untouched) << "after row " << i;
      }
      const kvcodec::ConstRows rows(base, n, stride);
      std::vector<float> decoded(n * Laws::dim), scores(n);
      ASSERT_EQ(codec.decode_rows(rows, std::span<float>(decoded)), kvcodec::Status::ok);
      const auto query = codec.prepare(Laws::vector(x, n - 1));
      constexpr auto exact = kvcodec::Arithmetic::exact;
      ASSERT_EQ(codec.score_rows(query, rows, scores, exact), kvcodec::Status::ok);
      typename TypeParam::Accumulator sum, one_by_one;
      ASSERT_EQ(codec.accumulate_rows(std::span<const float>(x).first(n), rows, sum, exact), kvcodec::Status::ok);
      for (std::size_t i = 0; i < n; ++i) {
        typename Laws::Row row;
        std::memcpy(row.data(), base + i * stride, row.size());
        const auto alone = Laws::decode(codec, row);
        ASSERT_EQ(std::memcmp(alone.data(), decoded.data() + i * Laws::dim, sizeof alone), 0);
        ASSERT_EQ(scores[i], codec.score(query, row));
        codec.accumulate(x[i], row, one_by_one);
      }
      typename Laws::Vector a, b;
      codec.finish(sum, a);
      codec.finish(one_by_one, b);
      ASSERT_EQ(a, b);
    }
  }
}

TYPED_TEST_P(CodecLaws, AGroupOfQueriesIsEachAlone) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(14);
  constexpr std::size_t n = 70, group = 7;  // more than a block, and a last one that is not whole
  const auto x = kvcodec_test::gaussian_rows(n, Laws::dim, 16);
  std::vector<std::byte> codes(n * TypeParam::code_bytes), norms(n * TypeParam::norm_bytes + 1);
  const kvcodec::Planes rows{codes.data(), TypeParam::code_bytes, norms.data(), TypeParam::norm_bytes, n};
  ASSERT_EQ(codec.encode_rows(std::span<const float>(x), rows).status, kvcodec::Status::ok);
  std::vector<typename TypeParam::Query> queries;
  for (std::size_t k = 0; k < group; ++k) queries.push_back(codec.prepare(Laws::vector(x, k)));
  for (const auto arithmetic : {kvcodec::Arithmetic::fastest, kvcodec::Arithmetic::exact}) {
    std::vector<float> together(group * n), alone(n);
    ASSERT_EQ(codec.score_rows(std::span<const typename TypeParam::Query>(queries), rows, std::span<float>(together), arithmetic), kvcodec::Status::ok);
    std::vector<typename TypeParam::Accumulator> sums(group);
    ASSERT_EQ(codec.accumulate_rows(std::span<const float>(together), rows, std::span<typename TypeParam::Accumulator>(sums), arithmetic), kvcodec::Status::ok);
    for (std::size_t k = 0; k < group; ++k) {
      const std::span<const typename TypeParam::Query> query(&queries[k], 1);
      ASSERT_EQ(codec.score_rows(query, rows, std::span<float>(alone), arithmetic), kvcodec::Status::ok);
      ASSERT_EQ(std::memcmp(alone.data(), together.data() + k * n, n * sizeof(float)), 0) << "query " << k;
      typename TypeParam::Accumulator sum;
      ASSERT_EQ(codec.accumulate_rows(std::span<const float>(alone), rows, std::span<typename TypeParam::Accumulator>(&sum, 1), arithmetic), kvcodec::Status::ok);
      typename Laws::Vector a, b;
      codec.finish(sum, a);
      codec.finish(sums[k], b);
      ASSERT_EQ(a, b) << "query " << k;
    }
  }
}

TYPED_TEST_P(CodecLaws, EncodingIsPure) {
  using Laws = CodecLaws<TypeParam>;
  const auto x = kvcodec_test::gaussian_rows(1, Laws::dim, 3);
  const TypeParam codec(5), same(5), copy = codec;
  const auto row = Laws::encode(codec, Laws::vector(x, 0));
  EXPECT_EQ(row, Laws::encode(same, Laws::vector(x, 0)));
  EXPECT_EQ(row, Laws::encode(copy, Laws::vector(x, 0)));
  typename Laws::Row elsewhere = {};
  std::thread([&] { (void)codec.encode(Laws::vector(x, 0), elsewhere); }).join();
  EXPECT_EQ(row, elsewhere);
}

TYPED_TEST_P(CodecLaws, ScoreIsTheInnerProductWithTheDecodedRow) {
  using Laws = CodecLaws<TypeParam>;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const TypeParam codec(seed);
    const auto x = kvcodec_test::gaussian_rows(20, Laws::dim, seed + 100);
    const auto q = kvcodec_test::gaussian_rows(20, Laws::dim, seed + 200);
    for (std::size_t i = 0; i < 20; ++i) {
      const auto row = Laws::encode(codec, Laws::vector(x, i));
      const auto decoded = Laws::decode(codec, row);
      const double exact = kvcodec_test::dot(Laws::vector(q, i), decoded);
      const double bound = 1e-5 * kvcodec_test::length(Laws::vector(q, i)) * kvcodec_test::length(Laws::vector(x, i));
      EXPECT_NEAR(static_cast<double>(codec.score(codec.prepare(Laws::vector(q, i)), row)), exact, bound);
      EXPECT_GT(kvcodec_test::length(decoded), 0.0);
    }
  }
}

TYPED_TEST_P(CodecLaws, FinishIsTheWeightedSumOfDecodedRows) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(2);
  constexpr std::size_t n = 9;
  const auto x = kvcodec_test::gaussian_rows(n, Laws::dim, 7);
  const auto weights = kvcodec_test::gaussian_rows(1, n, 8);
  typename TypeParam::Accumulator sum;
  std::array<double, Laws::dim> exact = {};
  double bound = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = Laws::encode(codec, Laws::vector(x, i));
    const auto decoded = Laws::decode(codec, row);
    codec.accumulate(weights[i], row, sum);
    for (std::size_t k = 0; k < Laws::dim; ++k) exact[k] += static_cast<double>(weights[i]) * decoded[k];
    bound += 1e-5 * std::abs(static_cast<double>(weights[i])) * kvcodec_test::length(Laws::vector(x, i));
  }
  typename Laws::Vector out;
  codec.finish(sum, out);
  double error = 0;
  for (std::size_t k = 0; k < Laws::dim; ++k) error += (out[k] - exact[k]) * (out[k] - exact[k]);
  EXPECT_LE(std::sqrt(error), bound);
}

TYPED_TEST_P(CodecLaws, ZerosOfEitherSignDecodeToPositiveZero) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(4);
  for (const float zero : {0.0f, -0.0f}) {
    typename Laws::Vector x;
    x.fill(zero);
    for (const float v : Laws::decode(codec, Laws::encode(codec, x))) {
      EXPECT_EQ(v, 0.0f);
      EXPECT_FALSE(std::signbit(v));
    }
  }
}

TYPED_TEST_P(CodecLaws, FiniteInputGivesFiniteOutput) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(6);
  const auto gaussian = kvcodec_test::gaussian_rows(1, Laws::dim, 9);
  const float extremes[] = {FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, -FLT_TRUE_MIN, 1e30f, 1e-30f, 65504.0f, 65520.0f, 125000.0f, 1e19f, 1e20f};
  std::vector<typename Laws::Vector> inputs;
  for (const float extreme : extremes) {
    typename Laws::Vector one = {}, all, scaled, mixed;
    one[Laws::dim / 2] = extreme;
    all.fill(extreme);
    for (std::size_t i = 0; i < Laws::dim; ++i) {
      scaled[i] = std::clamp(gaussian[i] * extreme, -FLT_MAX, FLT_MAX);
      mixed[i] = i % 2 == 0 ? gaussian[i] : extreme;
    }
    inputs.insert(inputs.end(), {one, all, scaled, mixed});
  }
  for (const auto& x : inputs) {
    const auto row = Laws::encode(codec, x);
    for (const float v : Laws::decode(codec, row)) ASSERT_TRUE(kvcodec::is_finite(v)) << x[0] << " " << x[1];
    std::array<kvcodec::float16, Laws::dim> half;
    codec.decode(row, half);
    for (const auto v : half) ASSERT_TRUE(kvcodec::is_finite(kvcodec::to_float(v)));
    std::array<kvcodec::bfloat16, Laws::dim> brain;
    codec.decode(row, brain);
    for (const auto v : brain) ASSERT_TRUE(kvcodec::is_finite(kvcodec::to_float(v)));
  }
}

TYPED_TEST_P(CodecLaws, ANonFiniteRowIsReportedAndKeepsItsBytes) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(8);
  constexpr std::size_t n = 5;
  constexpr std::byte before{0x77};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {std::size_t{0}, Laws::dim / 2, Laws::dim - 1}) {
      auto x = kvcodec_test::gaussian_rows(n, Laws::dim, 10);
      x[2 * Laws::dim + at] = bad;
      x[4 * Laws::dim + at] = bad;
      std::vector<std::byte> memory(n * Laws::row_bytes, before);
      const auto result = codec.encode_rows(std::span<const float>(x), kvcodec::Rows{memory.data(), n, Laws::row_bytes});
      EXPECT_EQ(result.status, kvcodec::Status::non_finite);
      EXPECT_EQ(result.first_bad_row, 2u);
      for (std::size_t i = 0; i < n; ++i) {
        const std::byte* row = memory.data() + i * Laws::row_bytes;
        if (i == 2 || i == 4) {
          EXPECT_TRUE(std::all_of(row, row + Laws::row_bytes, [](std::byte b) { return b == before; }));
        } else {
          EXPECT_EQ(std::memcmp(row, Laws::encode(codec, Laws::vector(x, i)).data(), Laws::row_bytes), 0);
        }
      }
    }
  }
}

TYPED_TEST_P(CodecLaws, AnyBytesDecodeWithoutUndefinedBehaviour) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(9);
  kvcodec::SplitMix64 random(1);
  const auto q = kvcodec_test::gaussian_rows(1, Laws::dim, 12);
  const auto query = codec.prepare(Laws::vector(q, 0));
  for (int trial = 0; trial < 64; ++trial) {
    typename Laws::Row row;
    for (std::byte& b : row) b = trial == 0 ? std::byte{0xff} : static_cast<std::byte>(random() & 0xffu);
    typename Laws::Vector x;
    codec.decode(row, x);
    typename TypeParam::Accumulator sum;
    codec.accumulate(1.0f, row, sum);
    codec.finish(sum, x);
    volatile float score = codec.score(query, row);
    (void)score;
  }
}

TYPED_TEST_P(CodecLaws, HalfElementsAreTheirFloatValues) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(10);
  const auto check = [&]<class T>(T, auto narrow) {
    const auto gaussian = kvcodec_test::gaussian_rows(1, Laws::dim, 13);
    std::array<T, Laws::dim> x;
    typename Laws::Vector same;
    for (std::size_t i = 0; i < Laws::dim; ++i) {
      x[i] = narrow(gaussian[i]);
      same[i] = kvcodec::to_float(x[i]);
    }
    typename Laws::Row row;
    ASSERT_EQ(codec.encode(x, row), kvcodec::Status::ok);
    EXPECT_EQ(row, Laws::encode(codec, same));
    std::array<T, Laws::dim> back;
    codec.decode(row, back);
    const auto wide = Laws::decode(codec, row);
    for (std::size_t i = 0; i < Laws::dim; ++i) EXPECT_EQ(back[i], narrow(wide[i]));
    EXPECT_EQ(codec.score(codec.prepare(x), row), codec.score(codec.prepare(same), row));
    std::vector<std::byte> rows(Laws::row_bytes);
    EXPECT_EQ(codec.encode_rows(std::span<const T>(x), kvcodec::Rows{rows.data(), 1, Laws::row_bytes}).status, kvcodec::Status::ok);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), row.begin()));
    std::array<T, Laws::dim> out;
    EXPECT_EQ(codec.decode_rows(kvcodec::ConstRows(rows.data(), 1, Laws::row_bytes), std::span<T>(out)), kvcodec::Status::ok);
    EXPECT_EQ(out, back);
    x[1] = narrow(std::numeric_limits<float>::infinity());
    EXPECT_EQ(codec.encode(x, row), kvcodec::Status::non_finite);
  };
  check(kvcodec::float16{}, [](float v) { return kvcodec::to_float16(v); });
  check(kvcodec::bfloat16{}, [](float v) { return kvcodec::to_bfloat16(v); });
}

TYPED_TEST_P(CodecLaws, SizesThatDoNotFitWriteNothing) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(12);
  constexpr std::size_t n = 3;
  const auto x = kvcodec_test::gaussian_rows(n, Laws::dim, 14);
  const std::span<const float> all(x);
  constexpr std::byte before{0x11};
  std::vector<std::byte> memory(n * Laws::row_bytes, before);
  const kvcodec::Rows rows{memory.data(), n, Laws::row_bytes};
  const auto refused = kvcodec::Status::size_mismatch;
  EXPECT_EQ(codec.encode_rows(all.first(all.size() - 1), rows).status, refused);
  EXPECT_EQ(codec.encode_rows(all.first(Laws::dim), rows).status, refused);
  EXPECT_EQ(codec.encode_rows(all, {memory.data(), n, Laws::row_bytes - 1}).status, refused);
  EXPECT_EQ(codec.encode_rows(all, {nullptr, n, Laws::row_bytes}).status, refused);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == before; }));

  std::vector<float> out(n * Laws::dim + 1, 42.0f);
  EXPECT_EQ(codec.decode_rows(rows, std::span<float>(out)), refused);
  EXPECT_EQ(codec.decode_rows({memory.data(), n, 1}, std::span<float>(out).first(n * Laws::dim)), refused);
  const auto query = codec.prepare(Laws::vector(x, 0));
  EXPECT_EQ(codec.score_rows(query, rows, std::span<float>(out).first(n + 1)), refused);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float v) { return v == 42.0f; }));
  typename TypeParam::Accumulator sum;
  EXPECT_EQ(codec.accumulate_rows(all.first(n - 1), rows, sum), refused);
  typename Laws::Vector zero;
  codec.finish(sum, zero);
  for (const float v : zero) EXPECT_EQ(v, 0.0f);
  EXPECT_EQ(codec.encode_rows(std::span<const float>(), kvcodec::Rows{}).status, kvcodec::Status::ok);  // no rows: nothing to do
}

TYPED_TEST_P(CodecLaws, NothingOutsideTheRowIsTouched) {
  using Laws = CodecLaws<TypeParam>;
  const TypeParam codec(13);
  constexpr std::size_t n = 3;
  const auto x = kvcodec_test::gaussian_rows(n, Laws::dim, 15);
  const auto query = codec.prepare(Laws::vector(x, 0));
  for (const std::size_t gap : {0u, 1u, 7u}) {
    const std::size_t stride = Laws::row_bytes + gap;
    const kvcodec_test::Guarded memory((n - 1) * stride + Laws::row_bytes);
    for (const auto bytes : {memory.at_start(), memory.at_end()}) {
      const kvcodec::Rows rows{bytes.data(), n, stride};
      ASSERT_EQ(codec.encode_rows(std::span<const float>(x), rows).status, kvcodec::Status::ok);
      std::vector<float> out(n * Laws::dim), scores(n);
      ASSERT_EQ(codec.decode_rows(rows, std::span<float>(out)), kvcodec::Status::ok);
      ASSERT_EQ(codec.score_rows(query, rows, scores), kvcodec::Status::ok);
      typename TypeParam::Accumulator sum;
      ASSERT_EQ(codec.accumulate_rows(scores, rows, sum), kvcodec::Status::ok);
    }
  }
}

TYPED_TEST_P(CodecLaws, TheDescriptorTellsRowsApart) {
  const TypeParam codec(21);
  const auto bytes = kvcodec::to_bytes(codec.descriptor());
  EXPECT_EQ(kvcodec::refuse_unless_same(bytes, codec), "");
  const auto read = kvcodec::descriptor_from_bytes(bytes);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(*read, codec.descriptor());
  EXPECT_EQ(read->codec_name(), TypeParam::name);
  EXPECT_EQ(read->row_bytes, TypeParam::row_bytes);
}

REGISTER_TYPED_TEST_SUITE_P(CodecLaws, MeetsTheConcepts, ManyRowsAreOneByOne, AGroupOfQueriesIsEachAlone, EncodingIsPure,
                            ScoreIsTheInnerProductWithTheDecodedRow, FinishIsTheWeightedSumOfDecodedRows,
                            ZerosOfEitherSignDecodeToPositiveZero, FiniteInputGivesFiniteOutput,
                            ANonFiniteRowIsReportedAndKeepsItsBytes, AnyBytesDecodeWithoutUndefinedBehaviour,
                            HalfElementsAreTheirFloatValues, SizesThatDoNotFitWriteNothing, NothingOutsideTheRowIsTouched,
                            TheDescriptorTellsRowsApart);
