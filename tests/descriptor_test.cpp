// The descriptor refuses everything but the exact thing, and says what differs.
#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvcodec {
namespace {

using C = Octopus<128, 3>;

bool mentions(const std::string& text, std::string_view word) { return text.find(word) != std::string::npos; }

TEST(Descriptor, LayoutIsFixed) {
  const auto bytes = to_bytes(C(0x1122334455667788u).descriptor());
  const unsigned wanted[64] = {'K', 'V', 'C', 'D', 1, 0, 128, 0, 56, 0, 0, 0, 4, 2, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0,
                               0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 'o', 'c', 't', 'o', 'p', 'u', 's'};
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(std::to_integer<unsigned>(bytes[i]), wanted[i]) << "byte " << i;
}

TEST(Descriptor, EveryOtherCodecIsRefusedByTheFieldThatDiffers) {
  const C codec(7);
  const auto refusal = [&](const auto& other) { return refuse_unless_same(to_bytes(other.descriptor()), codec); };
  EXPECT_EQ(refusal(C(7)), "");
  EXPECT_TRUE(mentions(refusal(C(8)), "seed 8 instead of 7"));
  EXPECT_TRUE(mentions(refusal(Octopus<128, 4>(7)), "row bytes 72 instead of 56"));
  EXPECT_TRUE(mentions(refusal(Octopus<64, 3>(7)), "dim 64 instead of 128"));
  EXPECT_TRUE(mentions(refusal(TurboQuantMse<128, 3>(7)), "codec turboquant-mse instead of octopus"));
  EXPECT_TRUE(mentions(refusal(Octopus<128, 3, OctopusOptions{.rounds = 1}>(7)), "rounds 1 instead of 3"));
  EXPECT_TRUE(mentions(refusal(Octopus<128, 3, OctopusOptions{.rounds = 0}>(7)), "rotation 0 instead of 1"));
  EXPECT_TRUE(mentions(refusal(Octopus<128, 3, OctopusOptions{.norm = NormType::float16}>(7)), "norm type 1 instead of 0"));
  EXPECT_TRUE(mentions(refusal(Octopus<128, 3, OctopusOptions{.direction_bits = 3, .length_bits = 4}>(7)), "parameter 0 3 instead of 4"));
  // Rounding is the encoder's own affair: the rows read alike.
  EXPECT_EQ(refusal(Octopus<128, 3, OctopusOptions{.rounding = Rounding::scalar}>(7)), "");
}

TEST(Descriptor, AnySingleChangedByteIsRefused) {
  const C codec(7);
  const auto good = to_bytes(codec.descriptor());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : {1u, 0x80u, 0xffu}) {
      auto bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      EXPECT_NE(refuse_unless_same(bad, codec), "") << "byte " << i << " changed by " << flip;
    }
  }
}

TEST(Descriptor, WrongSizesAreRefused) {
  const C codec(7);
  const auto good = to_bytes(codec.descriptor());
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.push_back(std::byte{0});
  EXPECT_TRUE(mentions(refuse_unless_same(longer, codec), "65 bytes"));
  EXPECT_TRUE(mentions(refuse_unless_same(std::span<const std::byte>(good).first(63), codec), "63 bytes"));
  EXPECT_TRUE(mentions(refuse_unless_same(std::span<const std::byte>(), codec), "0 bytes"));
}

}  // namespace
}  // namespace kvcodec
