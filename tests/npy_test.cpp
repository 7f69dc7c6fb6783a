// The .npy reader of examples/compare: what it reads, what it refuses and how it says so.
#include <compare/npy.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace compare {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes npy(std::string_view header, std::string_view data, unsigned version = 1) {
  Bytes bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<unsigned char>(version), 0};
  for (unsigned i = 0; i < (version == 1 ? 2u : 4u); ++i)
    bytes.push_back(static_cast<unsigned char>(header.size() >> (8 * i) & 0xff));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

std::string dict(std::string_view descr, std::string_view order, std::string_view shape) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }    \n";
}

// 1, -2, 0.5, 2^-24 (a subnormal)
constexpr std::string_view halves("\x00\x3c\x00\xc0\x00\x38\x01\x00", 8);
// 1, -2
constexpr std::string_view singles("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8);

void expect_error(const Bytes& bytes, std::string_view wanted) {
  const Result<Tensor> result = parse_npy(bytes);
  ASSERT_FALSE(result.ok()) << "accepted, where this was expected: " << wanted;
  EXPECT_NE(result.message().find(wanted), std::string::npos) << result.message() << "\nlacks: " << wanted;
  EXPECT_EQ(result.message().find('\n'), std::string::npos) << "more than one line";
}

TEST(Npy, ReadsFloat16) {
  const auto tensor = parse_npy(npy(dict("<f2", "False", "(2, 2)"), halves));
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  EXPECT_EQ(tensor->shape, (std::vector<std::size_t>{2, 2}));
  EXPECT_EQ(tensor->values, (std::vector<float>{1, -2, 0.5f, 0x1p-24f}));
}

TEST(Npy, ReadsFloat32InEveryVersion) {
  for (const unsigned version : {1u, 2u, 3u}) {
    const auto tensor = parse_npy(npy(dict("<f4", "False", "(1, 1, 2)"), singles, version));
    ASSERT_TRUE(tensor.ok()) << tensor.message();
    EXPECT_EQ(tensor->shape, (std::vector<std::size_t>{1, 1, 2}));
    EXPECT_EQ(tensor->values, (std::vector<float>{1, -2}));
  }
}

TEST(Npy, ReadsHeadersThatAreWrittenDifferently) {
  for (const std::string_view header : {
           "{\"shape\":(1,2),\"descr\":\"<f4\",\"fortran_order\":False}",
           " { 'fortran_order' : False , 'descr':'<f4', 'shape' : ( 1 , 2 , ) , } ",
       })
    EXPECT_TRUE(parse_npy(npy(header, singles)).ok()) << header;
}

TEST(Npy, RefusesWhatIsNotNpy) {
  expect_error({}, "is empty (0 bytes)");
  expect_error({'P', 'K', 3, 4, 0, 0, 0, 0, 0, 0}, "is not a .npy file");
  expect_error(npy(dict("<f4", "False", "(1, 2)"), singles, 4), "version 4");
  expect_error(npy(dict("<f4", "False", "(1, 2)"), singles, 0), "version 0");
}

TEST(Npy, RefusesEveryTruncationAndExtraBytes) {
  for (const unsigned version : {1u, 2u, 3u}) {
    const Bytes whole = npy(dict("<f2", "False", "(2, 2)"), halves, version);
    for (std::size_t size = 6; size < whole.size(); ++size)
      expect_error(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)), "is truncated");
    Bytes longer = whole;
    longer.push_back(0);
    expect_error(longer, "extra bytes at its end");
  }
}

TEST(Npy, RefusesOtherTypesByName) {
  for (const std::string_view descr : {"<f8", "<i4", "|u1", "<c8", "|b1", "<U4", "|V2", ""})
    expect_error(npy(dict(descr, "False", "(1, 2)"), singles), "has dtype '" + std::string(descr) + "'");
  expect_error(npy(dict(">f4", "False", "(1, 2)"), singles), "'>f4', big-endian");
  expect_error(npy(dict(">f2", "False", "(2, 2)"), halves), "'>f2', big-endian");
  const std::string hostile = "\x01\x1b[2J" + std::string(1000, 'x');
  expect_error(npy(dict(hostile, "False", "(1, 2)"), singles), "'??[2Jxxxxxxxxxxx'");
}

TEST(Npy, RefusesFortranOrder) { expect_error(npy(dict("<f4", "True", "(1, 2)"), singles), "is in Fortran order"); }

TEST(Npy, RefusesShapes) {
  expect_error(npy(dict("<f4", "False", "()"), singles), "has shape []");
  expect_error(npy(dict("<f4", "False", "(2,)"), singles), "has shape [2]");
  expect_error(npy(dict("<f4", "False", "(0, 64)"), ""), "is empty: its shape is [0, 64]");
  expect_error(npy(dict("<f4", "False", "(9223372036854775807, 0)"), ""), "is empty");
  // Products that wrap round to the size of the data, or to 0.
  expect_error(npy(dict("<f4", "False", "(4611686018427387905, 2)"), singles), "no file can hold");
  expect_error(npy(dict("<f4", "False", "(4294967296, 4294967296)"), singles), "no file can hold");
  expect_error(npy(dict("<f4", "False", "(1000000000000, 64)"), singles), "is truncated");
  expect_error(npy(dict("<f4", "False", "(99999999999999999999999, 2)"), singles), "header");
  expect_error(npy(dict("<f4", "False", "(-1, 2)"), singles), "header");
  std::string many = "(";
  for (int i = 0; i < 100; ++i) many += "1, ";
  expect_error(npy(dict("<f4", "False", many + "2)"), singles), "header");
}

TEST(Npy, RefusesHeadersThatAreNotThatDict) {
  const std::string good = dict("<f4", "False", "(1, 2)");
  for (const std::string& header : {
           std::string(),
           std::string("{"),
           std::string("{}"),
           std::string("{'descr': '<f4'}"),
           std::string("{'descr': '<f4', 'fortran_order': False}"),
           std::string("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), 'more': 1}"),
           std::string("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 2)}"),
           std::string("{'descr': '<f4, 'fortran_order': False, 'shape': (1, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': [1, 2]}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}"),
           std::string("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}"),
           std::string("{,}"),
           good + "}",
           good + std::string(1, '\0'),
       })
    expect_error(npy(header, singles), "has a .npy header that is not");
}

TEST(Npy, NamesTheFirstValueThatIsNotFinite) {
  const std::string header = dict("<f2", "False", "(1, 2, 2)");
  expect_error(npy(header, {"\x00\x3c\x00\xc0\x00\x7e\x00\x7c", 8}), "element [0, 1, 0] (number 2, counted from 0) is NaN");
  expect_error(npy(header, {"\x00\x3c\x00\x7c\x00\x7e\x01\x00", 8}), "element [0, 0, 1] (number 1, counted from 0) is inf");
  expect_error(npy(header, {"\x00\xfc\x00\x7c\x00\x7e\x01\x00", 8}), "element [0, 0, 0] (number 0, counted from 0) is -inf");
  expect_error(npy(dict("<f4", "False", "(1, 2)"), {"\x00\x00\x80\x3f\x00\x00\xc0\x7f", 8}), "element [0, 1]");
}

TEST(Npy, SurvivesAnyByteInItsHeader) {
  const Bytes good = npy(dict("<f2", "False", "(2, 2)"), halves);
  for (std::size_t i = 0; i < good.size() - halves.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes bad = good;
      bad[i] = static_cast<unsigned char>(value);
      const auto result = parse_npy(bad);
      if (result.ok()) {
        EXPECT_EQ(result->values.size(), 4u) << "byte " << i << " as " << value;
      }
    }
  }
}

TEST(Npy, NamesTheFile) {
  const std::string path = testing::TempDir() + "npy_test.npy";
  std::remove(path.c_str());
  const auto expect_message = [&](std::string_view wanted) {
    const auto result = read_npy(path);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.message(), path + " " + std::string(wanted));
  };
  expect_message("does not exist");
  std::ofstream(path, std::ios::binary).close();
  expect_message("is empty (0 bytes)");
  const Bytes bytes = npy(dict("<f4", "False", "(1, 2)"), singles);
  std::ofstream(path, std::ios::binary) << std::string(bytes.begin(), bytes.end());
  const auto result = read_npy(path);
  EXPECT_TRUE(result.ok()) << result.message();
  std::remove(path.c_str());
  EXPECT_EQ(read_npy(testing::TempDir()).message(), testing::TempDir() + " is not a regular file");
}

}  // namespace
}  // namespace compare
