// A codec chosen at run time, behind virtual calls on many rows.
//
// with_codec compiles whatever it is given once for every codec there is. So all that is given to it here is this small
// wrapper, and everything that measures is compiled once.
#pragma once

#include "options.hpp"

#include "kvcodec/factory.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

/// The head sizes that this program takes: those of most models. Each costs half a minute of compilation, so those that
/// the library has beside them (kvcodec::AllDims) are the builder's choice: -DKVCODEC_COMPARE_DIMS=64,128,576
#ifndef KVCODEC_COMPARE_DIMS
#define KVCODEC_COMPARE_DIMS 64, 80, 96, 128, 256
#endif

namespace compare {

using kvcodec::ConstRows;
using kvcodec::Rows;
using HeadSizes = kvcodec::Dims<KVCODEC_COMPARE_DIMS>;

class AnyCodec {
 public:
  AnyCodec(std::size_t row_bytes_, double bits_, bool length_first_)
      : row_bytes(row_bytes_), bits(bits_), length_first(length_first_) {}
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

  const std::size_t row_bytes;
  const double bits;        ///< true bits a coordinate: everything stored
  const bool length_first;  ///< a row begins with its length as bfloat16, which a correction may choose (adjusted.hpp)
};

using SharedCodec = std::shared_ptr<const AnyCodec>;

template <class C>
inline constexpr bool begins_with_length = false;
template <kvcodec::DirectionQuantizer Q, kvcodec::Rotation R>
inline constexpr bool begins_with_length<kvcodec::RotationCodec<Q, R, kvcodec::NormType::bfloat16>> = true;

template <kvcodec::KeyCodec C>
class Wrapped final : public AnyCodec {
 public:
  explicit Wrapped(const C& codec)
      : AnyCodec(C::row_bytes, C::bits_per_coordinate, begins_with_length<C>), codec_(codec) {}

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

/// The named codec. blame: where dim comes from.
inline Result<SharedCodec> make_codec(std::string_view name, unsigned width, std::size_t dim, std::uint64_t seed,
                                const std::string& blame) {
  SharedCodec made;
  const Result<void> known = kvcodec::with_codec<HeadSizes>(name, dim, width, seed, [&](const auto& codec) {
    made = std::make_shared<Wrapped<std::remove_cvref_t<decltype(codec)>>>(codec);
  });
  if (known) return made;
  const std::string remedy = "; this program was built without it: -DKVCODEC_COMPARE_DIMS=" + std::to_string(dim);
  return error(blame + ": " + known.message() + (kvcodec::supported_dim(dim) ? remedy : ""));
}

}  // namespace compare
