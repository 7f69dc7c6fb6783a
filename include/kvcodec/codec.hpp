// Codecs: norm -> rotation -> direction quantiser -> packed row.
//
//   row:  | length: 2 bytes (bfloat16, float16), 4 (float32) or none, little-endian | the quantiser's code |
//
// A row whose length is zero is all zero bytes and decodes to +0. A query meets a row in the rotated basis: it is rotated
// once (Query), and a weighted sum of rows is un-rotated once (Accumulator), by the same rotation object that encoded.
#pragma once

#include "concepts.hpp"
#include "norm.hpp"
#include "quantizer/direction.hpp"
#include "quantizer/lloyd_max.hpp"
#include "quantizer/octahedral.hpp"
#include "quantizer/polar.hpp"
#include "quantizer/qjl.hpp"
#include "row_interface.hpp"
#include "transform/rotation.hpp"

#include <cstring>

namespace kvcodec {

/// Template options of a codec, as in TurboQuantMse<128, 4, Options{.rounds = 1, .norm = NormType::float32}>.
struct Options {
  unsigned rounds = 3;                    ///< of signs + Hadamard, 1 to 4; 0: no rotation, for engines that rotate already
  NormType norm = NormType::bfloat16;
  Correction correction = Correction::none;  ///< the encoder's choice of the stored length
  Isa isa = Isa::native;                     ///< the instructions it runs on; rows and results are the same
};

/// The same for Octopus. direction_bits and length_bits are the split of a triplet's bits; 0: the paper's (b+1, b-1), and
/// (1, 1) at b = 1.
struct OctopusOptions {
  unsigned rounds = 3;
  NormType norm = NormType::bfloat16;
  Rounding rounding = Rounding::joint_3x3;  ///< the encoder's choice: rows read alike
  unsigned direction_bits = 0;
  unsigned length_bits = 0;
  Correction correction = Correction::none;
  Isa isa = Isa::native;
};

/// Of a QJL residual, as in TurboQuantProd<128, 4, Options{}, QjlOptions{.projection_rounds = 0}>.
struct QjlOptions {
  unsigned projection_rounds = 2;  ///< of signs + Hadamard, 1 to 4; 0: an iid Gaussian matrix, 4 d^2 bytes a codec
  NormType residual_norm = NormType::bfloat16;  ///< or float16
  QjlScale scale = QjlScale::unbiased;          ///< least_squares: the better reconstruction, for values
};

inline namespace KVCODEC_ISA_NAMESPACE {

template <DirectionQuantizer Quantizer, Rotation R, NormType Norm, Correction C = Correction::none>
class RotationCodec
    : public RowInterface<RotationCodec<Quantizer, R, Norm, C>, Quantizer::dim, kvcodec::norm_bytes(Norm) + Quantizer::code_bytes,
                          kvcodec::norm_bytes(Norm)> {
  static_assert(Quantizer::dim == R::dim, "kvcodec: quantiser and rotation are of different dimensions");
  using Stored = NormReal<Norm>;
  static constexpr std::size_t D = Quantizer::dim;
  static constexpr std::size_t lifted = lifted_dim_of<Quantizer>;
  static constexpr std::size_t code_at = kvcodec::norm_bytes(Norm);
  static constexpr Isa isa = isa_of<Quantizer>;
  static_assert(Norm != NormType::none || C == Correction::none, "kvcodec: without a stored length there is none to correct");

 public:
  static constexpr std::string_view name = [] {
    if constexpr (requires { Quantizer::unrotated_name; })
      if (R::kind == RotationKind::none) return std::string_view(Quantizer::unrotated_name);
    return std::string_view(Quantizer::name);
  }();
  static_assert(name.size() <= std::tuple_size_v<decltype(Descriptor::name)>, "kvcodec: a codec's name has at most 32 characters");

  /// A query in the rotated basis, and in what other bases the quantiser needs.
  struct Query : IntegerQuery<Quantizer> {
    float rotated[lifted];
  };
  /// A weighted sum of rows in the same bases. Starts at zero.
  struct Accumulator {
    float rotated[lifted] = {};
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
    d.correction = C;
    d.seed = seed_;
    d.set_name(name);
    return d;
  }

  KVCODEC_HD const R& rotation() const noexcept { return rotation_; }

  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* row) const noexcept {
    return encode_row(x, row, row + code_at);
  }
  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* norm, std::byte* code) const noexcept {
    alignas(64) float u[D];
    load_vector<D, isa>(x, u);
    const Length<Stored> length = measure<D, Stored, isa>(u);
    if (!length.finite) return Status::non_finite;
    if (length.divisor == 0.0f) {
      if constexpr (code_at > 0) std::memset(norm, 0, code_at);
      std::memset(code, 0, Quantizer::code_bytes);
      return Status::ok;
    }
    rotation_.raw(u);
    scale_by<D, isa>(u, R::scale / length.divisor);
    if constexpr (Norm == NormType::none) {
      quantizer_.encode(u, length.stored, code);
    } else {
      quantizer_.encode(u, code);
      if constexpr (C == Correction::none) {
        store(length.stored, norm);
      } else {
        float v[D];
        quantizer_.decode(code, v);
        const Stored corrected = saturate_to<Stored>(to_float(length.stored) * correction_factor<C, D, isa>(u, v));
        store(to_float(corrected) == 0.0f ? length.stored : corrected, norm);  // a length of zero is a row of zeros
      }
    }
    return Status::ok;
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    decode_row(row, row + code_at, x);
  }
  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* norm, const std::byte* code, T* x) const noexcept {
    const float length = load(norm);
    if (length == 0.0f) {
      for (std::size_t i = 0; i < D; ++i) x[i] = saturate_to<T>(0.0f);
      return;
    }
    alignas(64) float u[D];
    quantizer_.decode(code, u);
    if constexpr (Norm == NormType::none) {
      unrotate(u);
      store_vector<D, isa>(u, x);  // no length says that a row is +0
    } else {
      rotation_.raw_inverse(u);
      store_scaled<D, isa>(u, R::scale, length, x);
    }
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    Query query;
    load_vector<D, isa>(q, query.rotated);
    rotation_.raw(query.rotated);
    scale_by<D, isa>(query.rotated, R::scale);
    if constexpr (lifted > D) quantizer_.lift(query.rotated);
    if constexpr (has_integer_rows<Quantizer>) Integers::prepare(query.rotated, query);
    return query;
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    return score_row(query, row, row + code_at);
  }
  KVCODEC_HD float score_row(const Query& query, const std::byte* norm, const std::byte* code) const noexcept {
    return load(norm) * direction_dot(quantizer_, query.rotated, code);
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    accumulate_row(weight, row, row + code_at, sum);
  }
  KVCODEC_HD void accumulate_row(float weight, const std::byte* norm, const std::byte* code, Accumulator& sum) const noexcept {
    direction_accumulate(quantizer_, weight * load(norm), code, sum.rotated);
  }

  /// Blocks of rows for RowInterface: in integers, where the quantiser can.
  bool score_block(const Query* queries, std::size_t n, ConstPlanes rows, float* scores, std::size_t stride,
                   Arithmetic arithmetic) const noexcept requires(has_integer_rows<Quantizer>) {
    if (arithmetic == Arithmetic::fastest) Integers::score(queries, n, rows, scores, stride);
    return arithmetic == Arithmetic::fastest;
  }
  bool accumulate_block(const float* weights, std::size_t stride, std::size_t n, ConstPlanes rows, Accumulator* sums,
                        Arithmetic arithmetic) const noexcept requires(has_integer_rows<Quantizer>) {
    if (arithmetic == Arithmetic::fastest) Integers::accumulate(weights, stride, n, rows, sums);
    return arithmetic == Arithmetic::fastest;
  }

  /// Code bytes of a token that stand together in an interleaved page; 0: this codec has no kernels for those.
  static constexpr std::size_t tile_bytes = [] {
    if constexpr (detail::has_tile_kernels<Quantizer>) return Quantizer::tile_bytes;
    else return std::size_t{0};
  }();
  /// A query as interleaved pages are scored with it.
  using TileQuery = typename detail::TileOf<Quantizer>::type::Query;

  void tabulate_row(const Query& query, TileQuery& tile) const noexcept requires(tile_bytes > 0) {
    using Tile = typename detail::TileOf<Quantizer>::type;
    if constexpr (tile_bytes == 1) Tile::tabulate(query.rotated, tile);
    else Tile::tabulate(query, tile);
  }
  /// scores[k * stride + t] of n queries and the 64 tokens of an interleaved page, whose codes and norms these are. In
  /// integers, as with Arithmetic::fastest.
  void score_tile(const TileQuery* queries, std::size_t n, const std::byte* codes, const std::byte* norms, float* scores,
                  std::size_t stride) const noexcept requires(tile_bytes > 0) {
    float values[64];
    detail::load_norms<Simd<isa>, NormPlane>({codes, Quantizer::code_bytes, norms, code_at, 64}, values);
    detail::score_tile<typename detail::TileOf<Quantizer>::type>(queries, n, codes, values, scores, stride);
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    alignas(64) float u[lifted];
    for (std::size_t i = 0; i < lifted; ++i) u[i] = sum.rotated[i];
    if constexpr (lifted > D) quantizer_.lower(u);
    unrotate(u);
    store_vector<D, isa>(u, out);
  }

 private:
  /// u <- R^-1 u for u of any size: large ones are scaled before they are summed, which could overflow, small ones after,
  /// since the scaled might be subnormal.
  KVCODEC_HD void unrotate(float* u) const noexcept {
    const bool large = largest_magnitude<D, isa>(u) > 1.0f;
    if (large) scale_by<D, isa>(u, R::scale);
    rotation_.raw_inverse(u);
    if (!large) scale_by<D, isa>(u, R::scale);
  }

  KVCODEC_HD RotationCodec(std::uint64_t seed, SplitMix64 random) noexcept
      : seed_(seed), rotation_(random), quantizer_(make_quantizer<Quantizer>(random)) {}

  KVCODEC_HD static void store(Stored value, std::byte* row) noexcept {
    if constexpr (Norm == NormType::float32) {
      for (std::size_t i = 0; i < 4; ++i) row[i] = static_cast<std::byte>((float_bits(value) >> (8 * i)) & 0xffu);
    } else {
      store_half(value, row);
    }
  }
  /// How integer kernels read norms.
  struct NormPlane {
    using type = Stored;
    static constexpr std::size_t bytes = code_at;
    static float load(const std::byte* row) noexcept { return RotationCodec::load(row); }
  };
  using Integers = detail::IntegerKernels<Quantizer, NormPlane>;

  KVCODEC_HD static float load(const std::byte* row) noexcept {
    if constexpr (Norm == NormType::none) {
      return 1.0f;
    } else if constexpr (Norm == NormType::float32) {
      std::uint32_t bits = 0;
      for (std::size_t i = 0; i < 4; ++i) bits |= static_cast<std::uint32_t>(row[i]) << (8 * i);
      return float_from_bits(bits);
    } else {
      return to_float(load_half<Stored>(row));
    }
  }

  // Not [[no_unique_address]], though a quantiser is often empty: nvcc 13 gives a member of a class that has such members
  // another size on the device than on the host, so a codec within a codec would be read from the wrong place.
  std::uint64_t seed_;
  R rotation_;
  Quantizer quantizer_;
};

namespace detail {
template <std::size_t D, unsigned Rounds, Isa I>
struct RotationOf {
  using type = SignedHadamard<D, Rounds, I>;
};
template <std::size_t D, Isa I>
struct RotationOf<D, 0, I> {
  using type = NoRotation<D>;
};

constexpr unsigned octopus_direction_bits(unsigned b, OctopusOptions o) {
  return o.direction_bits != 0 ? o.direction_bits : b == 1 ? 1 : b + 1;
}
constexpr unsigned octopus_length_bits(unsigned b, OctopusOptions o) {
  return o.length_bits != 0 ? o.length_bits : b == 1 ? 1 : b - 1;
}
}  // namespace detail

namespace detail {
template <std::size_t D, QjlOptions O, Isa I>
struct ProjectionOf {
  using type = OrthogonalProjection<D, O.projection_rounds, I>;
};
template <std::size_t D, QjlOptions O, Isa I>
  requires(O.projection_rounds == 0)
struct ProjectionOf<D, O, I> {
  using type = GaussianProjection<D, I>;
};

template <DirectionQuantizer Inner, QjlOptions O>
using QjlOf = QjlQuantizer<Inner, typename ProjectionOf<Inner::dim, O, isa_of<Inner>>::type, O.residual_norm, O.scale>;

template <std::size_t D, unsigned B, OctopusOptions O>
using OctahedralOf = OctahedralQuantizer<D, octopus_direction_bits(B, O), octopus_length_bits(B, O), O.rounding, resolve(O.isa)>;
}  // namespace detail

/// OCTOPUS (arXiv 2605.21226) at B bits: triplets of 3B+1 bits (3 at B = 1). D=128: 40, 56, 72 bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, OctopusOptions O = OctopusOptions{}>
  requires(B >= 1 && B <= 6)
using Octopus =
    RotationCodec<detail::OctahedralOf<D, B, O>, typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, O.norm, O.correction>;

/// OCTOPUS-QJL: OCTOPUS at B bits and a QJL residual, one bit a coordinate more, as in its paper. Unbiased inner products.
/// D=128: 58, 74, 90 bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, OctopusOptions O = OctopusOptions{}, QjlOptions Q = QjlOptions{}>
  requires(B >= 1 && B <= 6)
using OctopusQjl = RotationCodec<detail::QjlOf<detail::OctahedralOf<D, B, O>, Q>,
                                 typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, O.norm, O.correction>;

/// TurboQuant (arXiv 2504.19874), MSE form, at B = 1 to 8 bits. D=128: 34, 50, 66 bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, Options O = Options{}>
using TurboQuantMse =
    RotationCodec<LloydMaxQuantizer<D, B, resolve(O.isa)>, typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, O.norm, O.correction>;

/// TurboQuant's inner-product form: B-1 bits MSE and one of QJL, B = 2 to 8. Unbiased inner products. D=128: 36, 52, 68
/// bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, Options O = Options{}, QjlOptions Q = QjlOptions{}>
  requires(B >= 2 && B <= 8)
using TurboQuantProd = RotationCodec<detail::QjlOf<LloydMaxQuantizer<D, B - 1, resolve(O.isa)>, Q>,
                                     typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, O.norm, O.correction>;

/// The scalar baseline (the KV scheme of arXiv 2605.08114): the same books and bytes without a rotation, B = 1 to 8.
template <std::size_t D, unsigned B, Options O = Options{.rounds = 0}>
using LloydMax = TurboQuantMse<D, B, O>;

/// PolarQuant (arXiv 2502.02617) with every angle at B bits and one radius, the row's length, B = 1 to 6. D=128: 34, 50, 66
/// bytes at B = 2, 3, 4.
template <std::size_t D, unsigned B, Options O = Options{}>
using PolarQuant =
    RotationCodec<PolarQuantizer<D, uniform_levels(polar_depth(D), B), resolve(O.isa)>, typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, O.norm,
                  O.correction>;

/// PolarQuant as its paper has it: four levels of angles and a radius per 16 coordinates, no length of the row beside
/// them. Bits a level, first the pairs'; the radius as float16 (whose range it has: longer rows keep their direction,
/// rows below 1e-7 vanish) or bfloat16. D=128: 62 bytes, 3.875 bits. D=4 and 8 have two and three levels.
template <std::size_t D, Options O = Options{.norm = NormType::none}, PolarLevels L = polar_levels(4, 2, 2, 2),
          NormType Radius = NormType::float16>
  requires(O.norm == NormType::none && O.correction == Correction::none)
using PolarQuantBlock = RotationCodec<PolarBlockQuantizer<D, at_most(polar_depth(D), L), Radius, resolve(O.isa)>,
                                      typename detail::RotationOf<D, O.rounds, resolve(O.isa)>::type, NormType::none>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
