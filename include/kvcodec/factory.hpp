// The run-time choice of a codec: with_codec("octopus", 128, 4, seed, [&](auto codec) { … }).
//
// Every combination is compiled into the call: about 800 codecs for all dimensions. A program that knows its head sizes
// names them, with_codec<Dims<64, 128>>(…), and compiles only those.
#pragma once

#include "codec.hpp"
#include "uncompressed.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kvcodec {

/// A list of head sizes.
template <std::size_t... D>
struct Dims {
  static constexpr std::size_t value[] = {D...};
};

/// Every head size that the library takes: 2^k * {1, 12, 20, 28, 36} from 4 to 1024.
using AllDims = Dims<4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 224, 256, 288, 320,
                     384, 448, 512, 576, 640, 768, 896, 1024>;

inline namespace KVCODEC_ISA_NAMESPACE {

/// What with_codec knows: names, and the widths each takes.
struct CodecFamily {
  std::string_view name;
  unsigned first_bits, last_bits;
};
inline constexpr CodecFamily codec_families[] = {
    {"octopus", 1, 6}, {"turboquant-mse", 1, 8}, {"lloyd-max", 1, 8}, {"float16", 16, 16}, {"bfloat16", 16, 16}};

namespace detail {

template <unsigned... B, class Make>
bool dispatch_bits(unsigned bits, std::integer_sequence<unsigned, B...>, Make make) {
  return ((bits == B + 1 && (make(std::integral_constant<unsigned, B + 1>{}), true)) || ...);
}

/// A function of its own for each codec: inlined into one, they would make a function that takes a compiler hours.
template <class C, class F>
[[gnu::noinline]] void call_with(std::uint64_t seed, F& f) {
  f(C(seed));
}

template <std::size_t D, class F>
void dispatch(std::string_view name, unsigned bits, std::uint64_t seed, F& f) {
  if (name == "octopus")
    dispatch_bits(bits, std::make_integer_sequence<unsigned, 6>{}, [&](auto width) { call_with<Octopus<D, width.value>>(seed, f); });
  else if (name == "turboquant-mse")
    dispatch_bits(bits, std::make_integer_sequence<unsigned, 8>{}, [&](auto width) { call_with<TurboQuantMse<D, width.value>>(seed, f); });
  else if (name == "lloyd-max")
    dispatch_bits(bits, std::make_integer_sequence<unsigned, 8>{}, [&](auto width) { call_with<LloydMax<D, width.value>>(seed, f); });
  else if (name == "float16")
    call_with<Float16<D>>(seed, f);
  else
    call_with<BFloat16<D>>(seed, f);
}

template <std::size_t... D, class F>
bool dispatch_dim(Dims<D...>, std::size_t dim, std::string_view name, unsigned bits, std::uint64_t seed, F& f) {
  return ((dim == D && (dispatch<D>(name, bits, seed, f), true)) || ...);
}

template <std::size_t... D>
std::string list(Dims<D...>) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::to_string(D)), ...);
  return text;
}

}  // namespace detail

/// Calls f with the named codec. The error names the unknown name, dimension or width and says which there are; f is then
/// not called. bits: 1 to 6 (octopus), 1 to 8 (turboquant-mse, lloyd-max), 16 (float16, bfloat16).
template <class DimList = AllDims, class F>
Result<void> with_codec(std::string_view name, std::size_t dim, unsigned bits, std::uint64_t seed, F&& f) {
  const CodecFamily* family = nullptr;
  std::string names;
  for (const auto& candidate : codec_families) {
    if (candidate.name == name) family = &candidate;
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
  }
  if (family == nullptr) return error("unknown codec \"" + std::string(name) + "\": there are " + names);
  if (bits < family->first_bits || bits > family->last_bits) {
    const std::string widths = family->first_bits == family->last_bits
                                   ? std::to_string(family->first_bits)
                                   : std::to_string(family->first_bits) + " to " + std::to_string(family->last_bits);
    return error("codec " + std::string(name) + " has no width of " + std::to_string(bits) + " bits: it takes " + widths);
  }
  if (!detail::dispatch_dim(DimList{}, dim, name, bits, seed, f))
    return error("codec " + std::string(name) + " has no dimension " + std::to_string(dim) + ": there are " +
                 detail::list(DimList{}));
  return {};
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
