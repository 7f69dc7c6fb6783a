// A codec of one's own: a direction quantiser and an alias. This one keeps three levels a coordinate and packs five of them
// in a byte (3^5 = 243), 1.6 bits a coordinate; it is built as a test, and the laws of the contract hold for it.
#include "laws.hpp"

namespace {

template <std::size_t D>
struct TernaryQuantizer {
  static constexpr std::size_t dim = D;
  static constexpr std::size_t code_bytes = (D + 4) / 5;
  static constexpr std::string_view name = "ternary";

  // Lloyd-Max for N(0,1) at three levels is {-1.2240, 0, 1.2240}; a coordinate of a unit vector is N(0, 1/D), nearly.
  static constexpr float level = static_cast<float>(1.2240 / kvcodec::constant_sqrt(static_cast<double>(D)));

  /// u: D coordinates of a unit vector. Comparisons only, so the bytes are the same on every machine.
  static void encode(const float* u, std::byte* code) noexcept {
    for (std::size_t byte = 0; byte < code_bytes; ++byte) {
      unsigned packed = 0, place = 1;
      for (std::size_t i = 5 * byte; i < D && i < 5 * byte + 5; ++i, place *= 3)
        packed += place * (u[i] > level / 2 ? 2u : u[i] < -level / 2 ? 0u : 1u);
      code[byte] = static_cast<std::byte>(packed);
    }
  }

  /// Any byte is defined: digits beyond the fifth are not looked at.
  static void decode(const std::byte* code, float* u) noexcept {
    for (std::size_t byte = 0; byte < code_bytes; ++byte) {
      unsigned packed = std::to_integer<unsigned>(code[byte]);
      for (std::size_t i = 5 * byte; i < D && i < 5 * byte + 5; ++i, packed /= 3)
        u[i] = level * (static_cast<float>(packed % 3) - 1.0f);
    }
  }
};

template <std::size_t D>
using Ternary = kvcodec::RotationCodec<TernaryQuantizer<D>, kvcodec::SignedHadamard<D, 3>, kvcodec::NormType::bfloat16>;

static_assert(Ternary<128>::row_bytes == 28);  // 26 bytes of code and the norm: 1.75 bits a coordinate

const auto sizes = kvcodec_test::codecs<Ternary<64>, Ternary<80>, Ternary<128>>();
INSTANTIATE_TEST_SUITE_P(MyCodec, CodecLaws, ::testing::ValuesIn(sizes));

TEST(Ternary, HasTheDistortionOfThreeLevels) {
  const Ternary<128> codec;
  const auto x = kvcodec_test::gaussian_rows(4000, 128, 1);
  std::vector<std::byte> rows(4000 * codec.row_bytes);
  std::vector<float> back(x.size());
  ASSERT_EQ(codec.encode_rows(x, {rows.data(), 4000, codec.row_bytes}).status, kvcodec::Status::ok);
  ASSERT_EQ(codec.decode_rows({rows.data(), 4000, codec.row_bytes}, back), kvcodec::Status::ok);
  EXPECT_NEAR(kvcodec_test::relative_square_error(x, back), .188, .002);
}

}  // namespace
