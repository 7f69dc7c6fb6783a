// Reads NumPy .npy files: float16 or float32, little-endian, C order, at least two axes, every value finite.
//
//   | \x93NUMPY | major, minor | header length: 2 bytes (version 1) or 4 (versions 2 and 3) | header | data |
//
// The header is a Python dict literal with exactly the keys descr, fortran_order and shape. A header may be hostile: a
// length or a shape is believed only once it is seen to fit the file, so nothing is allocated on its word.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include "kvcodec/half.hpp"
#include "kvcodec/result.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace compare {

using kvcodec::error;
using kvcodec::Result;

/// An array in C order: the last axis varies fastest.
struct Tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

inline std::string to_string(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

namespace npy {

inline constexpr std::size_t max_axes = 64;  // NumPy's own limit

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
};

/// Just enough of Python's grammar for the header: { 'key': value, … } of strings, booleans and tuples of integers.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool seen[3] = {};
    if (!take('{')) return {};
    while (!take('}')) {
      const auto key = string();
      if (!key || !take(':')) return {};
      const int index = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
      if (index < 0 || seen[index]) return {};
      seen[index] = true;
      if (!(index == 0 ? descr(header) : index == 1 ? boolean(header.fortran_order) : tuple(header.shape))) return {};
      if (take(',')) continue;
      if (!take('}')) return {};
      break;
    }
    skip_space();
    if (!rest_.empty() || !seen[0] || !seen[1] || !seen[2]) return {};
    return header;
  }

 private:
  void skip_space() {
    const std::size_t end = rest_.find_first_not_of(" \t\n\r");
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end);
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> string() {
    const char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
    if (quote == '\0') return {};
    const std::size_t end = rest_.find_first_of("'\"\\\n");
    if (end == std::string_view::npos || rest_[end] != quote) return {};
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool descr(Header& header) {
    const auto text = string();
    if (text) header.descr = *text;
    return text.has_value();
  }
  bool boolean(bool& value) {
    if (take(std::string_view("True"))) return value = true;
    value = false;
    return take(std::string_view("False"));
  }
  bool tuple(std::vector<std::size_t>& values) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip_space();
      std::size_t value = 0;
      const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (problem != std::errc{} || values.size() == max_axes) return false;  // no digits, or beyond size_t
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      values.push_back(value);
      if (take(',')) continue;
      return take(')');
    }
    return true;
  }

  std::string_view rest_;
};

inline std::uint32_t little_endian(std::span<const unsigned char> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/// What is wrong with a descr that is neither <f2 nor <f4. It comes from the file, so only some of it is repeated.
inline std::string bad_dtype(std::string_view descr) {
  std::string shown(descr.substr(0, 16));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return "has dtype '" + shown + "'" + (descr.starts_with('>') ? ", big-endian" : "") +
         "; little-endian float16 ('<f2') and float32 ('<f4') are read: array.astype('<f4') converts";
}

inline std::string coordinates(std::size_t flat, std::span<const std::size_t> shape) {
  std::vector<std::size_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) at[i] = flat % shape[i];
  return to_string(at);
}

}  // namespace npy

/// The array in the bytes of a whole file; the error says what is wrong with them.
inline Result<Tensor> parse_npy(std::span<const unsigned char> bytes) {
  if (bytes.empty()) return error("is empty (0 bytes)");
  if (bytes.size() < 6 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) return error("is not a .npy file");
  if (bytes.size() < 10) return error("is truncated: it ends inside its header");
  const unsigned major = bytes[6];
  if (major < 1 || major > 3) return error("is of .npy version " + std::to_string(major) + "; 1, 2 and 3 are known");
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return error("is truncated: it ends inside its header");
  const std::size_t length = npy::little_endian(bytes.subspan(8, length_bytes));
  bytes = bytes.subspan(8 + length_bytes);
  if (length > bytes.size()) return error("is truncated: it ends inside its header");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
  bytes = bytes.subspan(length);

  const std::optional<npy::Header> header = npy::HeaderParser(text).parse();
  if (!header)
    return error("has a .npy header that is not {'descr': '…', 'fortran_order': …, 'shape': (…)} of a plain array");
  const auto& shape = header->shape;
  if (header->descr != "<f2" && header->descr != "<f4") return error(npy::bad_dtype(header->descr));
  if (header->fortran_order) return error("is in Fortran order; numpy.ascontiguousarray(array) turns it into C order");
  if (shape.size() < 2) return error("has shape " + to_string(shape) + "; at least two axes are needed, [..., tokens, d]");

  const std::size_t size = header->descr == "<f2" ? 2 : 4;
  for (const std::size_t axis : shape)
    if (axis == 0) return error("is empty: its shape is " + to_string(shape));
  std::size_t count = 1;
  for (const std::size_t axis : shape) {
    if (axis > std::numeric_limits<std::size_t>::max() / size / count)
      return error("is truncated: no file can hold its shape " + to_string(shape));
    count *= axis;
  }
  if (bytes.size() != count * size) {
    const std::string sizes = "its shape " + to_string(shape) + " needs " + std::to_string(count * size) +
                              " bytes of data and " + std::to_string(bytes.size()) + " follow the header";
    return error((bytes.size() < count * size ? "is truncated: " : "has extra bytes at its end: ") + sizes);
  }

  Tensor tensor{shape, std::vector<float>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t raw = npy::little_endian(bytes.subspan(i * size, size));
    const float value =
        size == 2 ? kvcodec::to_float(kvcodec::float16{static_cast<std::uint16_t>(raw)}) : kvcodec::float_from_bits(raw);
    if (!kvcodec::is_finite(value))
      return error(std::string("is not finite: element ") + npy::coordinates(i, shape) + " (number " + std::to_string(i) +
                   ", counted from 0) is " +
                   (value != value ? "NaN"
                    : value > 0    ? "inf"
                                   : "-inf"));
    tensor.values[i] = value;
  }
  return tensor;
}

/// Reads a file. The error is one line that begins with the file's name.
inline Result<Tensor> read_npy(const std::string& path) {
  const auto fail = [&](std::string_view why) { return error(path + " " + std::string(why)); };
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) return fail("does not exist");
  if (!std::filesystem::is_regular_file(status)) return fail("is not a regular file");
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  std::ifstream file(path, std::ios::binary);
  if (problem || !file) return fail("cannot be opened for reading");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (file.bad() || static_cast<std::uintmax_t>(file.gcount()) != size) return fail("cannot be read to its end");
  Result<Tensor> tensor = parse_npy(bytes);
  if (!tensor) return fail(tensor.message());
  return tensor;
}

}  // namespace compare
