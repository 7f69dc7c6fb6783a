// float16 and bfloat16: all 2^16 patterns both ways, every rounding boundary, against the oracle and, where the compiler
// has the type, against its own conversions.
#include "oracle/half.hpp"

#include <kvcodec/half.hpp>
#include <kvcodec/random.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace kvcodec {
namespace {

template <class Check>
void for_interesting_floats(Check check) {
  // Each 16-bit value as a float, half-way to its neighbours, and one step off those: where rounding decides.
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    for (const float x : {to_float(float16{static_cast<std::uint16_t>(bits)}), to_float(bfloat16{static_cast<std::uint16_t>(bits)})}) {
      const std::uint32_t u = float_bits(x);
      for (const std::uint32_t delta : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, ~0u, ~0xfffu})
        check(float_from_bits(u + delta));
    }
  }
  SplitMix64 random(3);
  for (int i = 0; i < 2'000'000; ++i) check(float_from_bits(static_cast<std::uint32_t>(random() >> 32)));
}

TEST(Half, EveryFloat16PatternWidensExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float16 h{static_cast<std::uint16_t>(bits)};
    const double wanted = kvcodec_oracle::float16_value(h.bits);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(to_float(h)));
      EXPECT_TRUE(std::isnan(to_float(to_float16(to_float(h)))));
      continue;
    }
    ASSERT_EQ(static_cast<double>(to_float(h)), wanted) << bits;
    ASSERT_EQ(std::signbit(to_float(h)), bits >= 0x8000u);
    ASSERT_EQ(to_float16(to_float(h)).bits, h.bits);
  }
}

TEST(Half, EveryBfloat16PatternWidensExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const bfloat16 h{static_cast<std::uint16_t>(bits)};
    const double wanted = kvcodec_oracle::bfloat16_value(h.bits);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(to_float(h)));
      EXPECT_TRUE(std::isnan(to_float(to_bfloat16(to_float(h)))));
      continue;
    }
    ASSERT_EQ(static_cast<double>(to_float(h)), wanted) << bits;
    ASSERT_EQ(to_bfloat16(to_float(h)).bits, h.bits);
  }
}

TEST(Half, NarrowingRoundsToNearestEvenAsTheOracleDoes) {
  std::size_t wrong = 0;
  for_interesting_floats([&](float x) {
    if (std::isnan(x)) {
      wrong += std::isnan(to_float(to_float16(x))) && std::isnan(to_float(to_bfloat16(x))) ? 0 : 1;
      return;
    }
    wrong += to_float16(x).bits == kvcodec_oracle::float16_bits(static_cast<double>(x)) ? 0 : 1;
    wrong += to_bfloat16(x).bits == kvcodec_oracle::bfloat16_bits(static_cast<double>(x)) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0u);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(to_float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(to_float16(65520.0f).bits, 0x7c00);            // ties to infinity
  EXPECT_EQ(to_float16(0x1p-24f).bits, 0x0001);            // the smallest subnormal
  EXPECT_EQ(to_float16(0x1p-25f).bits, 0x0000);            // ties to even: zero
  EXPECT_EQ(to_float16(0x1.000002p-25f).bits, 0x0001);
  EXPECT_EQ(to_float16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_bfloat16(1.00390625f).bits, 0x3f80);        // ties to even
  EXPECT_EQ(to_bfloat16(FLT_MAX).bits, 0x7f80);            // rounds up to infinity
  EXPECT_EQ(to_bfloat16(float_from_bits(0x7f800001u)).bits & 0x7fffu, 0x7fc0u);  // a NaN whose payload would be cut off
  EXPECT_EQ(saturate_to<float16>(1e9f).bits, 0x7bff);
  EXPECT_EQ(saturate_to<bfloat16>(-FLT_MAX).bits, 0xff7f);
  EXPECT_EQ(saturate_to<float>(std::numeric_limits<float>::infinity()), FLT_MAX);
  EXPECT_TRUE(std::isnan(saturate_to<float>(std::nanf(""))));
}

#if defined(__aarch64__)
#define KVCODEC_TEST_COMPILER_HALF __fp16  // g++ 12 has no _Float16 in C++ there
#elif defined(__FLT16_MAX__)
#define KVCODEC_TEST_COMPILER_HALF _Float16
#endif

TEST(Half, AgreesWithTheCompilersFloat16) {
#if defined(KVCODEC_TEST_COMPILER_HALF)
  using Theirs = KVCODEC_TEST_COMPILER_HALF;
  std::size_t wrong = 0;
  for_interesting_floats([&](float x) {
    const auto theirs = std::bit_cast<std::uint16_t>(static_cast<Theirs>(x));
    if (std::isnan(x)) wrong += (theirs & 0x7fffu) > 0x7c00u && (to_float16(x).bits & 0x7fffu) > 0x7c00u ? 0 : 1;
    else wrong += theirs == to_float16(x).bits ? 0 : 1;
  });
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto theirs = static_cast<float>(std::bit_cast<Theirs>(static_cast<std::uint16_t>(bits)));
    const float ours = to_float(float16{static_cast<std::uint16_t>(bits)});
    wrong += std::isnan(ours) ? !std::isnan(theirs) : float_bits(ours) != float_bits(theirs);
  }
  EXPECT_EQ(wrong, 0u);
#else
  GTEST_SKIP() << "this compiler has no half type here";
#endif
}

}  // namespace
}  // namespace kvcodec
