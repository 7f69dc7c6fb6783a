// A codec chosen at run time, behind virtual calls on many rows.
//
// with_codec compiles whatever it is given once for every codec there is. So all that is given to it here is this small
// wrapper, and everything that measures is compiled once.
#pragma once

#include "options.hpp"

#include "kvcodec/factory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The head sizes that this program takes: those of most models. Each costs seconds of compilation, so those that
/// the library has beside them (kvcodec::AllDims) are the builder's choice: -DKVCODEC_COMPARE_DIMS=64,128,576
#ifndef KVCODEC_COMPARE_DIMS
#define KVCODEC_COMPARE_DIMS 64, 80, 96, 112, 128, 192, 256, 576
#endif

namespace compare {

using kvcodec::ConstRows;
using kvcodec::Rows;
using HeadSizes = kvcodec::Dims<KVCODEC_COMPARE_DIMS>;

class AnyCodec {
 public:
  AnyCodec(std::string_view name_, unsigned width_, std::size_t row_bytes_, double bits_)
      : name(name_), width(width_), row_bytes(row_bytes_), bits(bits_) {}
  AnyCodec(const AnyCodec&) = delete;
  AnyCodec& operator=(const AnyCodec&) = delete;
  virtual ~AnyCodec() = default;

  /// Vectors are consecutive; their number is rows.count. Inputs are known to be finite and sizes to fit.
  virtual void encode(std::span<const float> vectors, Rows rows) const = 0;
  virtual void decode(ConstRows rows, std::span<float> vectors) const = 0;
  /// scores[i]: about <query, row i>, by the codec's own path on packed rows.
  virtual void score(std::span<const float> query, ConstRows rows, std::span<float> scores) const = 0;
  /// out: the sum of weights[i] * row i, by the codec's own path on packed rows.
  virtual void combine(std::span<const float> weights, ConstRows rows, std::span<float> out) const = 0;

  const std::string_view name;
  const unsigned width;  ///< the B of Octopus<D, B>
  const std::size_t row_bytes;
  const double bits;  ///< true bits a coordinate: everything stored
};

template <kvcodec::KeyCodec C>
class Wrapped final : public AnyCodec {
 public:
  Wrapped(const C& codec, unsigned width_)
      : AnyCodec(C::name, width_, C::row_bytes, C::bits_per_coordinate), codec_(codec) {}

  void encode(std::span<const float> vectors, Rows rows) const override {
    static_cast<void>(codec_.encode_rows(vectors, rows));
  }
  void decode(ConstRows rows, std::span<float> vectors) const override {
    static_cast<void>(codec_.decode_rows(rows, vectors));
  }
  void score(std::span<const float> query, ConstRows rows, std::span<float> scores) const override {
    static_cast<void>(codec_.score_rows(codec_.prepare(query.template first<C::dim>()), rows, scores));
  }
  void combine(std::span<const float> weights, ConstRows rows, std::span<float> out) const override {
    typename C::Accumulator sum;
    static_cast<void>(codec_.accumulate_rows(weights, rows, sum));
    codec_.finish(sum, out.template first<C::dim>());
  }

 private:
  C codec_;
};

using Codecs = std::vector<std::shared_ptr<const AnyCodec>>;

/// Every codec that there is, by name. The library's list, so that a new codec is compared without a change here.
inline constexpr auto& codec_families = kvcodec::codec_families;

inline std::string widths_of(const kvcodec::CodecFamily& family) {
  const std::string first = std::to_string(family.first_bits), last = std::to_string(family.last_bits);
  return first == last ? first : first + "-" + last;
}

inline std::string list_codecs() {
  std::string text;
  for (const auto& family : codec_families)
    text += (text.empty() ? "" : ", ") + std::string(family.name) + " (" + widths_of(family) + ")";
  return text;
}

/// The codecs and widths that the options ask for, in the library's order. A codec of one width only, such as float16, is
/// a baseline and there at whatever widths are asked for. blame: where dim comes from.
inline Result<Codecs> choose_codecs(const Options& options, std::size_t dim, const std::string& blame) {
  const auto wants_codec = [&](std::string_view name) { return options.codecs.empty() || contains(options.codecs, name); };
  const auto wants_width = [&](unsigned width) {
    return options.widths.empty() ? width <= 4 : contains(options.widths, width);
  };
  for (const std::string& name : options.codecs)
    if (std::ranges::none_of(codec_families, [&](const auto& family) { return family.name == name; }))
      return error("--codecs: unknown codec \"" + name + "\"; there are " + list_codecs());
  for (const unsigned width : options.widths)
    if (std::ranges::none_of(codec_families, [&](const auto& family) {
          return wants_codec(family.name) && width >= family.first_bits && width <= family.last_bits;
        }))
      return error("--bits: none of the chosen codecs has a width of " + std::to_string(width) + "; there are " +
                   list_codecs());

  Codecs codecs;
  for (const auto& family : codec_families) {
    if (!wants_codec(family.name)) continue;
    for (unsigned width = family.first_bits; width <= family.last_bits; ++width) {
      const bool baseline = family.first_bits == family.last_bits;
      if (!options.all_widths && !baseline && !wants_width(width)) continue;
      const Result<void> made =
          kvcodec::with_codec<HeadSizes>(family.name, dim, width, options.seed, [&](const auto& codec) {
            codecs.push_back(std::make_shared<Wrapped<std::remove_cvref_t<decltype(codec)>>>(codec, width));
          });
      if (made) continue;
      const std::string remedy = "; this program was built without it: -DKVCODEC_COMPARE_DIMS=" + std::to_string(dim);
      return error(blame + ": " + made.message() + (kvcodec::supported_dim(dim) ? remedy : ""));
    }
  }
  if (codecs.empty()) return error("--bits: none of the chosen codecs has any of these widths; there are " + list_codecs());
  return codecs;
}

}  // namespace compare
