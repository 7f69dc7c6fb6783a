// The generator: the reference sequence of SplitMix64, so that a seed means the same everywhere.
#include <kvcodec/random.hpp>

#include <gtest/gtest.h>

namespace kvcodec {
namespace {

TEST(SplitMix64, GivesTheReferenceSequence) {
  SplitMix64 random(1234567);
  for (const std::uint64_t wanted : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(random(), wanted);
}

TEST(SplitMix64, ZeroIsASeedLikeAnyOther) {
  SplitMix64 random(0);
  EXPECT_EQ(random(), 0xe220a8397b1dcdafu);
}

TEST(SplitMix64, UniformStaysInsideTheOpenInterval) {
  SplitMix64 random(5);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.uniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

}  // namespace
}  // namespace kvcodec
