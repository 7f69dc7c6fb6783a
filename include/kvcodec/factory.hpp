// The run-time choice of a codec: with_codec("octopus", 128, 4, seed, [&](auto codec) { … }).
//
// Every combination is compiled into the call: about 1,450 codecs for all dimensions. A program that knows its head sizes
// names them, with_codec<Dims<64, 128>>(…), and compiles only those.
#pragma once

#include "codec.hpp"
#include "scheme.hpp"
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

namespace detail {

// A family: its name and widths, and the codec of each. A new codec is one of these and a place in the list below.
struct OctopusFamily {
  static constexpr CodecFamily info{"octopus", 1, 6};
  template <std::size_t D, unsigned B>
  using Codec = Octopus<D, B>;
};
struct OctopusQjlFamily {
  static constexpr CodecFamily info{"octopus-qjl", 1, 6};
  template <std::size_t D, unsigned B>
  using Codec = OctopusQjl<D, B>;
};
struct TurboQuantMseFamily {
  static constexpr CodecFamily info{"turboquant-mse", 1, 8};
  template <std::size_t D, unsigned B>
  using Codec = TurboQuantMse<D, B>;
};
struct TurboQuantProdFamily {
  static constexpr CodecFamily info{"turboquant-prod", 2, 8};
  template <std::size_t D, unsigned B>
  using Codec = TurboQuantProd<D, B>;
};
struct PolarQuantFamily {
  static constexpr CodecFamily info{"polarquant", 1, 6};
  template <std::size_t D, unsigned B>
  using Codec = PolarQuant<D, B>;
};
struct PolarQuantBlockFamily {
  static constexpr CodecFamily info{"polarquant-block", 4, 4};
  template <std::size_t D, unsigned>
  using Codec = PolarQuantBlock<D>;
};
struct LloydMaxFamily {
  static constexpr CodecFamily info{"lloyd-max", 1, 8};
  template <std::size_t D, unsigned B>
  using Codec = LloydMax<D, B>;
};
struct Float16Family {
  static constexpr CodecFamily info{"float16", 16, 16};
  template <std::size_t D, unsigned>
  using Codec = Float16<D>;
};
struct BFloat16Family {
  static constexpr CodecFamily info{"bfloat16", 16, 16};
  template <std::size_t D, unsigned>
  using Codec = BFloat16<D>;
};

template <class... Family>
struct FamilyList {
  static constexpr CodecFamily info[] = {Family::info...};
};
using CodecFamilies = FamilyList<OctopusFamily, OctopusQjlFamily, TurboQuantMseFamily, TurboQuantProdFamily, PolarQuantFamily,
                                 PolarQuantBlockFamily, LloydMaxFamily, Float16Family, BFloat16Family>;

// The schemes of arXiv 2605.08114 (scheme.hpp), by the same machinery.
struct KvFamily {
  static constexpr CodecFamily info{"kv", 1, 8};
  template <std::size_t D, unsigned B>
  using Codec = Kv<D, B>;
};
struct KqvFamily {
  static constexpr CodecFamily info{"kqv", 2, 8};
  template <std::size_t D, unsigned B>
  using Codec = Kqv<D, B>;
};
struct QkqvFamily {
  static constexpr CodecFamily info{"qkqv", 2, 8};
  template <std::size_t D, unsigned B>
  using Codec = Qkqv<D, B>;
};
using SchemeFamilies = FamilyList<KvFamily, KqvFamily, QkqvFamily>;

}  // namespace detail

inline constexpr auto& codec_families = detail::CodecFamilies::info;
inline constexpr auto& scheme_families = detail::SchemeFamilies::info;

namespace detail {

/// A function of its own for each codec: inlined into one, they would make a function that takes a compiler hours.
template <class C, class F>
[[gnu::noinline]] void call_with(std::uint64_t seed, F& f) {
  f(C(seed));
}

template <class Family, std::size_t D, class F, unsigned... I>
bool dispatch_bits(unsigned bits, std::uint64_t seed, F& f, std::integer_sequence<unsigned, I...>) {
  constexpr unsigned first = Family::info.first_bits;
  return ((bits == first + I && (call_with<typename Family::template Codec<D, first + I>>(seed, f), true)) || ...);
}

template <std::size_t D, class F, class... Family>
void dispatch(FamilyList<Family...>, std::string_view name, unsigned bits, std::uint64_t seed, F& f) {
  ((name == Family::info.name &&
    dispatch_bits<Family, D>(
        bits, seed, f, std::make_integer_sequence<unsigned, Family::info.last_bits - Family::info.first_bits + 1>{})) ||
   ...);
}

template <class Families, std::size_t... D, class F>
bool dispatch_dim(Dims<D...>, std::size_t dim, std::string_view name, unsigned bits, std::uint64_t seed, F& f) {
  return ((dim == D && (dispatch<D>(Families{}, name, bits, seed, f), true)) || ...);
}

template <std::size_t... D>
std::string list(Dims<D...>) {
  std::string text;
  ((text += (text.empty() ? "" : ", ") + std::to_string(D)), ...);
  return text;
}

/// Calls f with the named one of `Families`; what: "codec" or "scheme", for the messages.
template <class Families, class DimList, class F>
Result<void> with_named(std::string_view what, std::string_view name, std::size_t dim, unsigned bits, std::uint64_t seed, F& f) {
  const CodecFamily* family = nullptr;
  std::string names;
  for (const auto& candidate : Families::info) {
    if (candidate.name == name) family = &candidate;
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
  }
  const std::string subject = std::string(what) + " " + std::string(name);
  if (family == nullptr) return error("unknown " + std::string(what) + " \"" + std::string(name) + "\": there are " + names);
  if (bits < family->first_bits || bits > family->last_bits) {
    const std::string widths = family->first_bits == family->last_bits
                                   ? std::to_string(family->first_bits)
                                   : std::to_string(family->first_bits) + " to " + std::to_string(family->last_bits);
    return error(subject + " has no width of " + std::to_string(bits) + " bits: it takes " + widths);
  }
  if (!dispatch_dim<Families>(DimList{}, dim, name, bits, seed, f))
    return error(subject + " has no dimension " + std::to_string(dim) + ": there are " + list(DimList{}));
  return {};
}

}  // namespace detail

/// Calls f with the named codec. The error names the unknown name, dimension or width and says which there are; f is then
/// not called. codec_families lists names and widths.
template <class DimList = AllDims, class F>
Result<void> with_codec(std::string_view name, std::size_t dim, unsigned bits, std::uint64_t seed, F&& f) {
  return detail::with_named<detail::CodecFamilies, DimList>("codec", name, dim, bits, seed, f);
}

/// The same for a scheme of a key and a value codec, kv, kqv or qkqv at a budget of `bits`: f takes a KvScheme.
template <class DimList = AllDims, class F>
Result<void> with_scheme(std::string_view name, std::size_t dim, unsigned bits, std::uint64_t seed, F&& f) {
  return detail::with_named<detail::SchemeFamilies, DimList>("scheme", name, dim, bits, seed, f);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
