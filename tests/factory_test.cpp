// with_codec: the type it names, and errors that name what is unknown.
#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

namespace kvcodec {
namespace {

using Few = Dims<64, 80, 128>;

std::string message(std::string_view name, std::size_t dim, unsigned bits) {
  bool called = false;
  const auto result = with_codec<Few>(name, dim, bits, 0, [&](const auto&) { called = true; });
  EXPECT_EQ(result.ok(), called);
  return result.message();
}

TEST(WithCodec, CallsWithTheNamedType) {
  bool right = false;
  const auto result = with_codec<Few>("octopus", 80, 3, 9, [&]<class C>(const C& codec) {
    right = std::is_same_v<C, Octopus<80, 3>> && codec.descriptor() == Octopus<80, 3>(9).descriptor();
  });
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(right);
  for (const auto& family : codec_families)
    for (unsigned bits = family.first_bits; bits <= family.last_bits; ++bits) {
      const auto each = with_codec<Few>(family.name, 64, bits, 0, [&]<class C>(const C&) { EXPECT_EQ(C::name, family.name); });
      EXPECT_TRUE(each.ok()) << each.message();
    }
}

TEST(WithCodec, ErrorsNameWhatIsUnknown) {
  EXPECT_EQ(message("octopuss", 64, 3), "unknown codec \"octopuss\": there are octopus, octopus-qjl, turboquant-mse, turboquant-prod, "
                                          "polarquant, polarquant-block, lloyd-max, float16, bfloat16");
  EXPECT_EQ(message("octopus", 100, 3), "codec octopus has no dimension 100: there are 64, 80, 128");
  EXPECT_EQ(message("octopus", 64, 7), "codec octopus has no width of 7 bits: it takes 1 to 6");
  EXPECT_EQ(message("octopus", 64, 0), "codec octopus has no width of 0 bits: it takes 1 to 6");
  EXPECT_EQ(message("float16", 64, 4), "codec float16 has no width of 4 bits: it takes 16");
  EXPECT_EQ(message("", 64, 4).substr(0, 16), "unknown codec \"\"");
}

TEST(WithScheme, CallsWithThePairOfCodecs) {
  bool right = false;
  const auto result = with_scheme<Few>("kqv", 80, 3, 9, [&]<class S>(const S& scheme) {
    right = std::is_same_v<S, KvScheme<TurboQuantMse<80, 3>, TurboQuantProd<80, 3>>> &&
            scheme.keys.descriptor() == TurboQuantMse<80, 3>(9).descriptor() && S::token_bytes == 32 + 34;
  });
  EXPECT_TRUE(result.ok()) << result.message();
  EXPECT_TRUE(right);
  EXPECT_EQ((Qkqv<128, 4>::token_bytes), 2 * 68u);
  EXPECT_EQ((Kv<128, 4>::bits_per_coordinate), 4.125);
  const auto refusal = [](std::string_view name, unsigned bits) { return with_scheme<Few>(name, 64, bits, 0, [](const auto&) {}).message(); };
  EXPECT_EQ(refusal("vk", 3), "unknown scheme \"vk\": there are kv, kqv, qkqv");
  EXPECT_EQ(refusal("kqv", 1), "scheme kqv has no width of 1 bits: it takes 2 to 8");
  // Any other pair, of any two dimensions.
  const KvScheme<Octopus<64, 3>, TurboQuantMse<128, 2>> other(5);
  EXPECT_EQ(other.token_bytes, 30u + 34u);
  EXPECT_EQ(other.bits_per_coordinate, 8.0 * 64 / 192);
}

}  // namespace
}  // namespace kvcodec
