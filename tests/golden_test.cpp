// Golden bytes: what every codec, width and head size encodes a fixed set of rows to. The same on every compiler, flag and
// back end, for good: a change here is a change of the format.
//
// tests/golden/rows.txt has a line each: name, dimension, bits, row bytes, the FNV-1a hash of all rows' bytes, the first
// row's first 16 bytes. To write it anew (after a deliberate change of the format): KVCODEC_WRITE_GOLDEN=1 golden_test.
#include "support/dims.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace kvcodec {
namespace {

using kvcodec_test::TestDims;
constexpr std::size_t row_count = 32;

/// Rows whose values are sums of small integers times a power of two: exact in float, and no libm behind them.
std::vector<float> golden_rows(std::size_t d) {
  SplitMix64 random(d);
  std::vector<float> x(row_count * d);
  const auto bell = [&] {
    int sum = 0;
    for (int k = 0; k < 4; ++k) sum += static_cast<int>(random() >> 44);  // 20 bits each
    return static_cast<float>(sum - (1 << 21)) * 0x1p-19f;
  };
  for (std::size_t row = 0; row < row_count; ++row) {
    float* v = x.data() + row * d;
    for (std::size_t i = 0; i < d; ++i) v[i] = bell();
    switch (row) {
      case 20: for (std::size_t i = 0; i < d; ++i) v[i] = i == d / 3 ? 2.5f : 0.0f; break;        // one-hot
      case 21: for (std::size_t i = 0; i < d; ++i) v[i] = i == 1 || i == d - 1 ? -1.0f : 0.0f; break;
      case 22: for (std::size_t i = 0; i < d; ++i) v[i] = 1.0f; break;                            // constant: ties everywhere
      case 23: for (std::size_t i = 0; i < d; ++i) v[i] = i % 2 == 0 ? 1.0f : -1.0f; break;
      case 24: v[0] *= 50.0f; v[d / 2] *= 50.0f; break;                                           // outlier channels
      case 25: for (std::size_t i = 0; i < d; ++i) v[i] *= 0x1p-120f; break;                      // squares underflow
      case 26: for (std::size_t i = 0; i < d; ++i) v[i] *= 0x1p110f; break;                       // squares overflow
      case 27: for (std::size_t i = 0; i < d; ++i) v[i] = FLT_MAX; break;                         // the norm overflows
      case 28: for (std::size_t i = 0; i < d; ++i) v[i] = -0.0f; break;
      case 29: for (std::size_t i = 0; i < d; ++i) v[i] = v[i] < 0 ? -0x1p-149f : 0x1p-149f; break;  // subnormal
      case 30: for (std::size_t i = 0; i < d; ++i) v[i] *= i % 4 == 0 ? 0x1p60f : 0x1p-60f; break;
      case 31: for (std::size_t i = 0; i < d; ++i) v[i] *= 40'000.0f; break;                      // beyond float16's range
      default: break;
    }
  }
  return x;
}

std::string line_of(std::string_view name, std::size_t dim, unsigned bits, std::size_t row_bytes, std::span<const std::byte> rows) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::byte b : rows) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
  std::ostringstream line;
  line << name << ' ' << dim << ' ' << bits << ' ' << row_bytes << std::hex << ' ' << hash << ' ';
  for (std::size_t i = 0; i < 16 && i < row_bytes; ++i) {
    line << "0123456789abcdef"[std::to_integer<unsigned>(rows[i]) >> 4] << "0123456789abcdef"[std::to_integer<unsigned>(rows[i]) & 15u];
  }
  return line.str();
}

template <class C>
std::string line_of(const C& codec, std::string_view name, unsigned bits) {
  const auto x = golden_rows(C::dim);
  std::vector<std::byte> rows(row_count * C::row_bytes);
  const EncodeResult result = codec.encode_rows(std::span<const float>(x), Rows{rows.data(), row_count, C::row_bytes});
  return result.status == Status::ok ? line_of(name, C::dim, bits, C::row_bytes, rows) : std::string(name) + ": not encoded";
}

std::vector<std::string> all_lines() {
  constexpr std::uint64_t seed = 42;
  std::vector<std::string> lines;
  for (const auto& family : codec_families) {
    for (const std::size_t d : TestDims::value) {
      for (unsigned bits = family.first_bits; bits <= family.last_bits; ++bits) {
        const auto result = with_codec<TestDims>(family.name, d, bits, seed, [&](const auto& codec) { lines.push_back(line_of(codec, family.name, bits)); });
        EXPECT_TRUE(result.ok()) << result.message();
      }
    }
  }
  using N = NormType;
  lines.push_back(line_of(TurboQuantMse<128, 4, Options{.rounds = 1}>(seed), "turboquant-mse/rounds=1", 4));
  lines.push_back(line_of(TurboQuantMse<80, 3, Options{.rounds = 2}>(seed), "turboquant-mse/rounds=2", 3));
  lines.push_back(line_of(TurboQuantMse<128, 3, Options{.norm = N::float16}>(seed), "turboquant-mse/norm=float16", 3));
  lines.push_back(line_of(TurboQuantMse<128, 3, Options{.norm = N::float32}>(seed), "turboquant-mse/norm=float32", 3));
  lines.push_back(line_of(Octopus<128, 3, OctopusOptions{.rounds = 1}>(seed), "octopus/rounds=1", 3));
  lines.push_back(line_of(Octopus<128, 3, OctopusOptions{.rounds = 0}>(seed), "octopus/rounds=0", 3));
  lines.push_back(line_of(Octopus<128, 2, OctopusOptions{.rounding = Rounding::scalar}>(seed), "octopus/scalar", 2));
  lines.push_back(line_of(Octopus<128, 4, OctopusOptions{.rounding = Rounding::joint_2x2}>(seed), "octopus/2x2", 4));
  lines.push_back(line_of(Octopus<64, 4, OctopusOptions{.norm = N::float32}>(seed), "octopus/norm=float32", 4));
  lines.push_back(line_of(Octopus<128, 3, OctopusOptions{.direction_bits = 3, .length_bits = 5}>(seed), "octopus/split=3,5", 3));
  lines.push_back(line_of(Octopus<128, 2, OctopusOptions{.direction_bits = 1, .length_bits = 3}>(seed), "octopus/split=1,3", 2));
  lines.push_back(line_of(Octopus<128, 4, OctopusOptions{.direction_bits = 4, .length_bits = 4}>(seed), "octopus/split=4,4", 4));
  constexpr QjlOptions gaussian{.projection_rounds = 0}, other{.projection_rounds = 3, .residual_norm = N::float16, .scale = QjlScale::least_squares};
  lines.push_back(line_of(TurboQuantProd<64, 3, Options{}, gaussian>(seed), "turboquant-prod/gaussian", 3));
  lines.push_back(line_of(TurboQuantProd<128, 4, Options{}, other>(seed), "turboquant-prod/rounds=3,float16,least-squares", 4));
  lines.push_back(line_of(OctopusQjl<128, 3, OctopusOptions{.rounds = 1, .rounding = Rounding::scalar}>(seed), "octopus-qjl/rounds=1,scalar", 3));
  lines.push_back(line_of(TurboQuantMse<128, 3, Options{.correction = Correction::norm}>(seed), "turboquant-mse/norm", 3));
  lines.push_back(line_of(TurboQuantMse<80, 2, Options{.correction = Correction::inner_product}>(seed), "turboquant-mse/inner-product", 2));
  lines.push_back(line_of(TurboQuantProd<128, 3, Options{.norm = N::float32, .correction = Correction::least_squares}>(seed), "turboquant-prod/least-squares", 3));
  lines.push_back(line_of(Octopus<96, 4, OctopusOptions{.correction = Correction::inner_product}>(seed), "octopus/inner-product", 4));
  constexpr Options inside{.norm = N::none};
  lines.push_back(line_of(PolarQuantBlock<128, inside, polar_levels(5, 3, 3, 3)>(seed), "polarquant-block/5333", 5));
  lines.push_back(line_of(PolarQuantBlock<80, inside, polar_levels(3, 2), N::bfloat16>(seed), "polarquant-block/32,bfloat16", 3));
  lines.push_back(line_of(TurboQuantSplit<128, 2>(seed), "turboquant-split", 2));
  std::array<std::uint16_t, 16> channels;
  for (std::size_t i = 0; i < 16; ++i) channels[i] = static_cast<std::uint16_t>(63 - 3 * i);
  lines.push_back(line_of(TurboQuantSplit<64, 3>(seed, *OutlierChannels<64, 16>::of(channels)), "turboquant-split/channels", 3));
  std::array<float, 128> mean;
  for (std::size_t i = 0; i < 128; ++i) mean[i] = static_cast<float>(static_cast<int>(i % 7) - 3) * 0.75f;
  lines.push_back(line_of(OffsetCodec<Octopus<128, 3>>(Octopus<128, 3>(seed), mean), "octopus+offset", 3));
  return lines;
}

TEST(Golden, EveryCodecWritesTheSameBytesEverywhere) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "golden" / "rows.txt";
  const auto lines = all_lines();
  if (std::getenv("KVCODEC_WRITE_GOLDEN") != nullptr) {
    std::ofstream file(path);
    for (const auto& line : lines) file << line << '\n';
    ASSERT_TRUE(file.good());
    GTEST_SKIP() << "wrote " << path;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  // A line's key is its name, dimension and bits; lines of dimensions that this build leaves out are passed over.
  const auto key = [](const std::string& line) { return line.substr(0, line.find(' ', line.find(' ', line.find(' ') + 1) + 1)); };
  std::map<std::string, std::string> golden;
  for (std::string line; std::getline(file, line);) golden[key(line)] = line;
  if (std::is_same_v<TestDims, AllDims>) {
    EXPECT_EQ(golden.size(), lines.size());
  }
  std::size_t differing = 0;
  for (const auto& line : lines) {
    if (golden[key(line)] == line) continue;
    if (++differing <= 10) ADD_FAILURE() << "golden  " << golden[key(line)] << "\nwritten " << line;
  }
  EXPECT_EQ(differing, 0u) << "of " << lines.size();
  std::printf("%zu codecs, %s\n", lines.size(), isa_name.data());
}

}  // namespace
}  // namespace kvcodec
