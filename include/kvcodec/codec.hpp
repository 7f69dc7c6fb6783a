// Codecs: norm -> rotation -> direction quantiser -> packed row.
//
//   row:  | length: 2 bytes (bfloat16, float16) or 4 (float32), little-endian | the quantiser's code |
//
// A row whose length is zero is all zero bytes and decodes to +0. A query meets a row in the rotated basis: it is rotated
// once (Query), and a weighted sum of rows is un-rotated once (Accumulator), by the same rotation object that encoded.
#pragma once

#include "concepts.hpp"
#include "norm.hpp"
#include "quantizer/lloyd_max.hpp"
#include "quantizer/octahedral.hpp"
#include "row_interface.hpp"
#include "transform/rotation.hpp"

#include <cstring>

namespace kvcodec {

/// Template options of a codec, as in TurboQuantMse<128, 4, Options{.rounds = 1, .norm = NormType::float32}>.
struct Options {
  unsigned rounds = 3;                    ///< of signs + Hadamard, 1 to 4; 0: no rotation, for engines that rotate already
  NormType norm = NormType::bfloat16;
};

/// The same for Octopus. direction_bits and length_bits are the split of a triplet's bits; 0: the paper's (b+1, b-1), and
/// (1, 1) at b = 1.
struct OctopusOptions {
  unsigned rounds = 3;
  NormType norm = NormType::bfloat16;
  Rounding rounding = Rounding::joint_3x3;  ///< the encoder's choice: rows read alike
  unsigned direction_bits = 0;
  unsigned length_bits = 0;
};

inline namespace KVCODEC_ISA_NAMESPACE {

template <DirectionQuantizer Quantizer, Rotation R, NormType Norm>
class RotationCodec : public RowInterface<RotationCodec<Quantizer, R, Norm>, Quantizer::dim,
                                          sizeof(NormReal<Norm>) + Quantizer::code_bytes> {
  static_assert(Quantizer::dim == R::dim, "kvcodec: quantiser and rotation are of different dimensions");
  using Stored = NormReal<Norm>;
  static constexpr std::size_t D = Quantizer::dim;
  static constexpr std::size_t norm_bytes = sizeof(Stored);

 public:
  static constexpr std::string_view name = [] {
    if constexpr (requires { Quantizer::unrotated_name; })
      if (R::kind == RotationKind::none) return std::string_view(Quantizer::unrotated_name);
    return std::string_view(Quantizer::name);
  }();
  static_assert(name.size() <= std::tuple_size_v<decltype(Descriptor::name)>, "kvcodec: a codec's name has at most 32 characters");

  /// A query in the rotated basis.
  struct Query {
    float rotated[D];
  };
  /// A weighted sum of rows in the rotated basis. Starts at zero.
  struct Accumulator {
    float rotated[D] = {};
  };

  /// The seed of every random choice; 0 is a seed like any other. Rows can be read only with the seed they were written with.
  KVCODEC_HD explicit RotationCodec(std::uint64_t seed = 0) noexcept : RotationCodec(seed, SplitMix64(seed)) {}

  Descriptor descriptor() const noexcept {
    Descriptor d;
    d.dim = static_cast<std::uint16_t>(D);
    d.row_bytes = static_cast<std::uint32_t>(RotationCodec::row_bytes);
    if constexpr (requires { Quantizer::parameters; }) d.parameters = Quantizer::parameters;
    d.norm = Norm;
    d.rotation = R::kind;
    d.rounds = static_cast<std::uint8_t>(R::rounds);
    d.seed = seed_;
    for (std::size_t i = 0; i < name.size(); ++i) d.name[i] = name[i];
    return d;
  }

  KVCODEC_HD const R& rotation() const noexcept { return rotation_; }

  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* row) const noexcept {
    alignas(64) float u[D];
    for (std::size_t i = 0; i < D; ++i) u[i] = to_float(x[i]);
    const Length<Stored> length = measure<D, Stored>(u);
    if (!length.finite) return Status::non_finite;
    if (length.divisor == 0.0f) {
      for (std::size_t i = 0; i < RotationCodec::row_bytes; ++i) row[i] = std::byte{0};
      return Status::ok;
    }
    rotation_.raw(u);
    round_products(u, D, R::scale / length.divisor);
    quantizer_.encode(u, row + norm_bytes);
    store(length.stored, row);
    return Status::ok;
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    const float length = load(row);
    if (length == 0.0f) {
      for (std::size_t i = 0; i < D; ++i) x[i] = saturate_to<T>(0.0f);
      return;
    }
    alignas(64) float u[D];
    quantizer_.decode(row + norm_bytes, u);
    rotation_.raw_inverse(u);
    // Two products: scale * length alone may be subnormal.
    for (std::size_t i = 0; i < D; ++i) x[i] = saturate_to<T>((u[i] * R::scale) * length);
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    Query query;
    for (std::size_t i = 0; i < D; ++i) query.rotated[i] = to_float(q[i]);
    rotation_.raw(query.rotated);
    for (std::size_t i = 0; i < D; ++i) query.rotated[i] *= R::scale;
    return query;
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    const std::byte* code = row + norm_bytes;
    if constexpr (requires { quantizer_.dot(query.rotated, code); }) {
      return load(row) * quantizer_.dot(query.rotated, code);
    } else {
      float u[D];
      quantizer_.decode(code, u);
      return load(row) * dot_product<D>(query.rotated, u);
    }
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    const float w = weight * load(row);
    const std::byte* code = row + norm_bytes;
    if constexpr (requires { quantizer_.accumulate(w, code, sum.rotated); }) {
      quantizer_.accumulate(w, code, sum.rotated);
    } else {
      float u[D];
      quantizer_.decode(code, u);
      for (std::size_t i = 0; i < D; ++i) sum.rotated[i] = multiply_add(w, u[i], sum.rotated[i]);
    }
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    alignas(64) float u[D];
    for (std::size_t i = 0; i < D; ++i) u[i] = sum.rotated[i];
    rotation_.raw_inverse(u);
    for (std::size_t i = 0; i < D; ++i) out[i] = saturate_to<T>(u[i] * R::scale);
  }

 private:
  KVCODEC_HD RotationCodec(std::uint64_t seed, SplitMix64 random) noexcept
      : seed_(seed), rotation_(random), quantizer_(make_quantizer(random)) {}

  KVCODEC_HD static Quantizer make_quantizer(SplitMix64& random) noexcept {
    if constexpr (std::is_constructible_v<Quantizer, SplitMix64&>) return Quantizer(random);
    else return Quantizer();
  }

  KVCODEC_HD static void store(Stored value, std::byte* row) noexcept {
    std::uint32_t bits;
    if constexpr (Norm == NormType::float32) bits = float_bits(value);
    else bits = value.bits;
    for (std::size_t i = 0; i < norm_bytes; ++i) row[i] = static_cast<std::byte>((bits >> (8 * i)) & 0xffu);
  }
  KVCODEC_HD static float load(const std::byte* row) noexcept {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < norm_bytes; ++i) bits |= static_cast<std::uint32_t>(row[i]) << (8 * i);
    if constexpr (Norm == NormType::float32) return float_from_bits(bits);
    else return to_float(Stored{static_cast<std::uint16_t>(bits)});
  }

  std::uint64_t seed_;
  [[no_unique_address]] R rotation_;
  [[no_unique_address]] Quantizer quantizer_;
};

namespace detail {
template <std::size_t D, unsigned Rounds>
struct RotationOf {
  using type = SignedHadamard<D, Rounds>;
};
template <std::size_t D>
struct RotationOf<D, 0> {
  using type = NoRotation<D>;
};

constexpr unsigned octopus_direction_bits(unsigned b, OctopusOptions o) {
  return o.direction_bits != 0 ? o.direction_bits : b == 1 ? 1 : b + 1;
}
constexpr unsigned octopus_length_bits(unsigned b, OctopusOptions o) {
  return o.length_bits != 0 ? o.length_bits : b == 1 ? 1 : b - 1;
}
}  // namespace detail

/// OCTOPUS (arXiv 2605.21226) at B bits: triplets of 3B+1 bits (3 at B = 1). D=128: 40, 56, 72 bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, OctopusOptions O = OctopusOptions{}>
  requires(B >= 1 && B <= 6)
using Octopus = RotationCodec<
    OctahedralQuantizer<D, detail::octopus_direction_bits(B, O), detail::octopus_length_bits(B, O), O.rounding>,
    typename detail::RotationOf<D, O.rounds>::type, O.norm>;

/// TurboQuant (arXiv 2504.19874), MSE form, at B = 1 to 8 bits. D=128: 34, 50, 66 bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, Options O = Options{}>
using TurboQuantMse = RotationCodec<LloydMaxQuantizer<D, B>, typename detail::RotationOf<D, O.rounds>::type, O.norm>;

/// The scalar baseline (the KV scheme of arXiv 2605.08114): the same books and bytes without a rotation, B = 1 to 8.
template <std::size_t D, unsigned B, Options O = Options{.rounds = 0}>
using LloydMax = RotationCodec<LloydMaxQuantizer<D, B>, typename detail::RotationOf<D, O.rounds>::type, O.norm>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
