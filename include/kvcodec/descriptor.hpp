// The descriptor: 64 bytes that say everything needed to read rows again, kept beside a saved cache.
//
// A wrong seed, width or rotation gives plausible garbage, never an error; so a reader compares descriptors exactly and
// refuses anything else with a message that names the field.
//
//   byte  0  magic "KVCD"        4  version, u16         6  dim, u16          8  row_bytes, u32
//        12  quantiser parameters, 8 x u8               20  norm type, u8    21  rotation, u8   22  rounds, u8
//        23  correction, u8       24  seed, u64        32  codec name, 32 bytes, zero-padded
// Integers are little-endian.
#pragma once

#include "norm.hpp"
#include "result.hpp"
#include "transform/rotation.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvcodec {

struct Descriptor {
  static constexpr std::size_t bytes = 64;
  static constexpr std::uint16_t current_version = 1;

  std::uint16_t format_version = current_version;
  std::uint16_t dim = 0;
  std::uint32_t row_bytes = 0;
  std::array<std::uint8_t, 8> parameters{};  ///< the quantiser's: bits a coordinate; direction and length bits; …
  NormType norm = NormType::bfloat16;
  RotationKind rotation = RotationKind::none;
  std::uint8_t rounds = 0;
  Correction correction = Correction::none;
  std::uint64_t seed = 0;
  std::array<char, 32> name{};

  friend bool operator==(const Descriptor&, const Descriptor&) = default;

  /// At most 32 characters.
  void set_name(std::string_view text) noexcept {
    name = {};
    for (std::size_t i = 0; i < text.size(); ++i) name[i] = text[i];
  }

  std::string_view codec_name() const noexcept {
    std::size_t length = 0;
    while (length < name.size() && name[length] != '\0') ++length;
    return {name.data(), length};
  }
};

inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {
inline constexpr std::array<char, 4> descriptor_magic = {'K', 'V', 'C', 'D'};

template <class UInt>
void store_little_endian(UInt value, std::byte* to) noexcept {
  for (std::size_t i = 0; i < sizeof(UInt); ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffu);
}
template <class UInt>
UInt load_little_endian(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(UInt); ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<UInt>(value);
}
}  // namespace detail

/// What a codec that needs more than parameters to be read again, such as a head's mean row, leaves of it in a descriptor:
/// a hash (FNV-1a, 32 bits) in the last four parameters.
class DescriptorHash {
 public:
  /// Mixes in one number below 2^16.
  void add(std::uint32_t value) noexcept { hash_ = (hash_ ^ value) * 0x01000193u; }
  void store(Descriptor& d) const noexcept {
    for (std::size_t i = 0; i < 4; ++i) d.parameters[4 + i] = static_cast<std::uint8_t>(hash_ >> (8 * i) & 0xffu);
  }

 private:
  std::uint32_t hash_ = 0x811c9dc5u;
};

/// The descriptor's 64 bytes.
inline std::array<std::byte, Descriptor::bytes> to_bytes(const Descriptor& d) noexcept {
  std::array<std::byte, Descriptor::bytes> out{};
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(detail::descriptor_magic[i]);
  detail::store_little_endian(d.format_version, &out[4]);
  detail::store_little_endian(d.dim, &out[6]);
  detail::store_little_endian(d.row_bytes, &out[8]);
  for (std::size_t i = 0; i < d.parameters.size(); ++i) out[12 + i] = static_cast<std::byte>(d.parameters[i]);
  out[20] = static_cast<std::byte>(d.norm);
  out[21] = static_cast<std::byte>(d.rotation);
  out[22] = static_cast<std::byte>(d.rounds);
  out[23] = static_cast<std::byte>(d.correction);
  detail::store_little_endian(d.seed, &out[24]);
  for (std::size_t i = 0; i < d.name.size(); ++i) out[32 + i] = static_cast<std::byte>(d.name[i]);
  return out;
}

/// Reads a descriptor; the error says what is not one: the size, the magic, the version, or a value no codec has.
inline Result<Descriptor> descriptor_from_bytes(std::span<const std::byte> in) {
  if (in.size() != Descriptor::bytes)
    return error("not a kvcodec descriptor: " + std::to_string(in.size()) + " bytes instead of 64");
  for (std::size_t i = 0; i < 4; ++i)
    if (in[i] != static_cast<std::byte>(detail::descriptor_magic[i]))
      return error("not a kvcodec descriptor: it does not begin with \"KVCD\"");
  Descriptor d;
  d.format_version = detail::load_little_endian<std::uint16_t>(&in[4]);
  if (d.format_version != Descriptor::current_version)
    return error("kvcodec descriptor version " + std::to_string(d.format_version) + " instead of " +
                 std::to_string(Descriptor::current_version));
  d.dim = detail::load_little_endian<std::uint16_t>(&in[6]);
  d.row_bytes = detail::load_little_endian<std::uint32_t>(&in[8]);
  for (std::size_t i = 0; i < d.parameters.size(); ++i) d.parameters[i] = std::to_integer<std::uint8_t>(in[12 + i]);
  const auto norm = std::to_integer<std::uint8_t>(in[20]);
  if (norm > static_cast<std::uint8_t>(NormType::none))
    return error("kvcodec descriptor: unknown norm type " + std::to_string(norm));
  d.norm = static_cast<NormType>(norm);
  const auto rotation = std::to_integer<std::uint8_t>(in[21]);
  if (rotation > static_cast<std::uint8_t>(RotationKind::haar))
    return error("kvcodec descriptor: unknown rotation " + std::to_string(rotation));
  d.rotation = static_cast<RotationKind>(rotation);
  d.rounds = std::to_integer<std::uint8_t>(in[22]);
  const auto correction = std::to_integer<std::uint8_t>(in[23]);
  if (correction > static_cast<std::uint8_t>(Correction::least_squares))
    return error("kvcodec descriptor: unknown correction " + std::to_string(correction));
  d.correction = static_cast<Correction>(correction);
  d.seed = detail::load_little_endian<std::uint64_t>(&in[24]);
  for (std::size_t i = 0; i < d.name.size(); ++i) d.name[i] = static_cast<char>(std::to_integer<unsigned char>(in[32 + i]));
  return d;
}

/// Empty where both describe the same rows, else every field that differs: "seed 7 instead of 0, …".
inline std::string difference(const Descriptor& found, const Descriptor& wanted) {
  std::string text;
  const auto compare = [&](std::string_view field, const std::string& a, const std::string& b) {
    if (a == b) return;
    text += (text.empty() ? "" : ", ") + std::string(field) + " " + a + " instead of " + b;
  };
  const auto number = [](auto v) { return std::to_string(static_cast<std::uint64_t>(v)); };
  compare("version", number(found.format_version), number(wanted.format_version));
  // The whole field is compared, not only what comes before its first zero.
  compare("codec", std::string(found.name.data(), found.name.size()).c_str(),
          std::string(wanted.name.data(), wanted.name.size()).c_str());
  compare("dim", number(found.dim), number(wanted.dim));
  compare("row bytes", number(found.row_bytes), number(wanted.row_bytes));
  for (std::size_t i = 0; i < found.parameters.size(); ++i)
    compare("parameter " + std::to_string(i), number(found.parameters[i]), number(wanted.parameters[i]));
  compare("norm type", number(found.norm), number(wanted.norm));
  compare("rotation", number(found.rotation), number(wanted.rotation));
  compare("rounds", number(found.rounds), number(wanted.rounds));
  compare("correction", number(found.correction), number(wanted.correction));
  compare("seed", number(found.seed), number(wanted.seed));
  if (text.empty() && !(found == wanted)) text = "codec name padding differs";
  return text;
}

/// Empty when `saved` holds exactly this codec's descriptor, else why its rows must not be read with it.
template <class C>
std::string refuse_unless_same(std::span<const std::byte> saved, const C& codec) {
  const Result<Descriptor> found = descriptor_from_bytes(saved);
  if (!found.ok()) return found.message();
  const std::string text = difference(*found, codec.descriptor());
  return text.empty() ? text : "rows of another codec: " + text;
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
