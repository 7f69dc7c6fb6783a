// The bit order: LSB first, little-endian, against bytes written by hand.
#include <kvcodec/bits.hpp>
#include <kvcodec/random.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace kvcodec {
namespace {

template <std::size_t N>
std::array<int, N> bytes_of(const std::array<std::byte, N>& a) {
  std::array<int, N> out;
  for (std::size_t i = 0; i < N; ++i) out[i] = std::to_integer<int>(a[i]);
  return out;
}

TEST(Bits, ThreeBitFieldsCrossBytesLowBitsFirst) {
  const std::uint8_t fields[8] = {1, 2, 3, 4, 5, 6, 7, 0};
  std::array<std::byte, 3> row;
  pack<3, 8>(fields, row.data());
  // 000 111 110 101 100 011 010 001, read from the right: 0b11010001 0b01011000 0b00011111
  EXPECT_EQ(bytes_of(row), (std::array<int, 3>{0b11010001, 0b01011000, 0b00011111}));
}

TEST(Bits, FourBitFieldsTakeTheLowNibbleFirst) {
  const std::uint8_t fields[4] = {0x1, 0x2, 0xe, 0xf};
  std::array<std::byte, 2> row;
  pack<4, 4>(fields, row.data());
  EXPECT_EQ(bytes_of(row), (std::array<int, 2>{0x21, 0xfe}));
}

TEST(Bits, ATailFillsItsLastByteWithZeros) {
  const std::uint8_t fields[12] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
  std::array<std::byte, 5> row;
  row.fill(std::byte{0xaa});
  pack<3, 12>(fields, row.data());
  EXPECT_EQ(bytes_of(row), (std::array<int, 5>{0xff, 0xff, 0xff, 0xff, 0x0f}));
}

template <unsigned Width, std::size_t N>
void round_trip() {
  SplitMix64 random(Width);
  std::array<std::uint8_t, N> fields;
  for (auto& f : fields) f = static_cast<std::uint8_t>(random() & ((1u << Width) - 1));
  std::vector<std::byte> row(bytes_for_bits(N * Width)), streamed(row.size());
  pack<Width, N>(fields.data(), row.data());
  std::size_t seen = 0;
  unpack<Width, N>(row.data(), [&](std::size_t i, unsigned field) {
    EXPECT_EQ(i, seen++);
    EXPECT_EQ(field, fields[i]);
  });
  EXPECT_EQ(seen, N);
  BitWriter writer(streamed.data());
  for (const auto f : fields) writer.put(f, Width);
  writer.finish();
  EXPECT_EQ(row, streamed);  // the eight-at-a-time path and the stream are one format
  for (std::size_t first = 0; first < N; ++first) {
    BitReader reader(row.data(), first * Width);
    for (std::size_t i = first; i < N; ++i) ASSERT_EQ(reader.get(Width), fields[i]);
  }
}

TEST(Bits, EveryWidthRoundTripsWithAndWithoutATail) {
  [&]<std::size_t... W>(std::index_sequence<W...>) {
    (round_trip<W + 1, 32>(), ...);
    (round_trip<W + 1, 36>(), ...);
    (round_trip<W + 1, 4>(), ...);
  }(std::make_index_sequence<8>{});
}

}  // namespace
}  // namespace kvcodec
