// QJL residual: one more bit a coordinate round any direction quantiser, which makes inner products unbiased. QJL is arXiv
// 2406.03482; TurboQuant's "prod" form is arXiv 2504.19874, section 3.2; OCTOPUS-QJL is arXiv 2605.21226, section 3.
//
// The inner quantiser codes u as v. Of the residual r = u - v the row keeps its norm g = |r| and the signs z = sign(S r),
// sign(0) = +1, of a random projection S of its own. Then
//
//     u' = v + scale g S^T z,     <q, u'> = <q, v> + scale g <S q, z>,     E <q, u'> = <q, u> over S.
//
// The scale belongs to the kind of S (mixing them up loses a factor sqrt(d) of the term):
//
//                          unbiased                                            least squares
//   iid Gaussian, m x d    sqrt(pi/2) / m                                      m c / (m^2 c^2 + m (1 - c^2) + m (d - 1)), c = sqrt(2/pi)
//   orthogonal, d x d      1 / (d a),  a = Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2))    a
//
// (a is E|coordinate| of a uniform unit vector; 1/(d a) tends to sqrt(pi/(2 d)).) Unbiased is what keys want; its
// reconstruction has D = pi/2 (Gaussian) or pi/2 - 1 (orthogonal) times the inner one's; least squares 1/(1 + 2/pi) or
// 1 - 2/pi (each the limit of large d).
//
// Bytes:  | inner code | g: 2 bytes, bfloat16 or float16, little-endian | D signs, bit i: (S r)_i < 0, LSB first |
#pragma once

#include "../arithmetic.hpp"
#include "../bits.hpp"
#include "../concepts.hpp"
#include "../norm.hpp"
#include "../random.hpp"
#include "../transform/rotation.hpp"
#include "direction.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <type_traits>

namespace kvcodec {

enum class QjlScale : unsigned char { unbiased = 0, least_squares = 1 };

inline namespace KVCODEC_ISA_NAMESPACE {

/// E|coordinate| of a uniform unit vector of R^d, d even: Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)).
constexpr double mean_magnitude(std::size_t d) noexcept {
  double a = 2.0 / std::numbers::pi;  // d = 2; and a(n + 2) = a(n) n / (n + 1)
  for (std::size_t n = 2; n < d; n += 2) a *= static_cast<double>(n) / static_cast<double>(n + 1);
  return a;
}

// A projection gives, up to the constant factor `normaliser`, project(x, y): y = S x and back(y, x): x = S^T y, both of
// dim values, and the two scales.

/// S = signs + Hadamard in rounds: O(d log d). One round is biased on sparse residuals, which two are not.
template <std::size_t D, unsigned Rounds, Isa I = native_isa>
class OrthogonalProjection {
 public:
  static constexpr std::size_t dim = D;
  static constexpr std::uint8_t kind = Rounds;
  static constexpr float normaliser = SignedHadamard<D, Rounds, I>::scale;
  static constexpr double unbiased = 1.0 / (static_cast<double>(D) * mean_magnitude(D));
  static constexpr double least_squares = mean_magnitude(D);

  KVCODEC_HD explicit OrthogonalProjection(SplitMix64& random) noexcept : rotation_(random) {}

  KVCODEC_HD void project(const float* x, float* y) const noexcept {
    for (std::size_t i = 0; i < D; ++i) y[i] = x[i];
    rotation_.raw(y);
  }
  KVCODEC_HD void back(const float* y, float* x) const noexcept {
    for (std::size_t i = 0; i < D; ++i) x[i] = y[i];
    rotation_.raw_inverse(x);
  }

 private:
  SignedHadamard<D, Rounds, I> rotation_;
};

/// S of independent N(0, 1) entries, as in the papers: the reference to compare with. O(d^2) a row and a query, and the
/// codec is 4 d^2 bytes (64 KB at d = 128): not a thing to copy, or to put on a small stack.
template <std::size_t D, Isa I = native_isa>
class GaussianProjection {
 public:
  static constexpr std::size_t dim = D;
  static constexpr std::uint8_t kind = 0xff;
  static constexpr float normaliser = 1.0f;
  static constexpr double unbiased = constant_sqrt(std::numbers::pi / 2) / static_cast<double>(D);
  static constexpr double least_squares = [] {
    const double d = static_cast<double>(D), c2 = 2 / std::numbers::pi;
    return constant_sqrt(c2) / (d * c2 + (1 - c2) + (d - 1));
  }();

  KVCODEC_HD explicit GaussianProjection(SplitMix64& random) noexcept {
    for (auto& row : matrix_)
      for (float& entry : row) entry = static_cast<float>(random.gaussian());
  }

  KVCODEC_HD void project(const float* x, float* y) const noexcept {
    for (std::size_t i = 0; i < D; ++i) y[i] = sum_of_products<D, I>(matrix_[i], x);
  }
  KVCODEC_HD void back(const float* y, float* x) const noexcept {
    for (std::size_t j = 0; j < D; ++j) x[j] = 0.0f;
    using S = Simd<I>;
    for (std::size_t i = 0; i < D; ++i) {
      const auto factor = S::broadcast(y[i]);
      each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
        store_floats<D, I>(S::fma(load_block<D, I>(matrix_[i], b), factor, load_block<D, I>(x, b)), x, b);
      });
    }
  }

 private:
  float matrix_[D][D];
};

template <DirectionQuantizer Inner, class Projection, NormType ResidualNorm = NormType::bfloat16,
          QjlScale Scale = QjlScale::unbiased>
class QjlQuantizer {
  static_assert(Projection::dim == Inner::dim, "kvcodec: quantiser and projection are of different dimensions");
  static_assert(ResidualNorm == NormType::bfloat16 || ResidualNorm == NormType::float16,
                "kvcodec: a residual's norm is stored as bfloat16 or float16");
  using Stored = NormReal<ResidualNorm>;
  using S = Simd<isa_of<Inner>>;
  static constexpr std::size_t D = Inner::dim;
  static constexpr std::size_t inner_lifted = lifted_dim_of<Inner>;
  static constexpr std::size_t norm_at = Inner::code_bytes;
  static constexpr std::size_t signs_at = Inner::code_bytes + 2;
  /// Of <normaliser S q, z> in a query, and of normaliser S^T z in a row.
  static constexpr double scale = Scale == QjlScale::unbiased ? Projection::unbiased : Projection::least_squares;

 public:
  static constexpr std::size_t dim = D;
  static constexpr Isa isa = isa_of<Inner>;
  static constexpr std::size_t code_bytes = Inner::code_bytes + 2 + bytes_for_bits(D);
  static constexpr std::string_view name = Inner::qjl_name;
  static constexpr std::string_view unrotated_name = [] {
    if constexpr (requires { Inner::unrotated_qjl_name; }) return std::string_view(Inner::unrotated_qjl_name);
    return std::string_view(Inner::qjl_name);
  }();
  static constexpr std::array<std::uint8_t, 8> parameters = [] {
    std::array<std::uint8_t, 8> p = Inner::parameters;
    p[5] = Projection::kind;
    p[6] = static_cast<std::uint8_t>(ResidualNorm);
    p[7] = static_cast<std::uint8_t>(static_cast<unsigned>(Scale) + 1u);
    return p;
  }();

  /// A query brings its own projection along: the inner quantiser's values, then S q.
  static constexpr std::size_t lifted_dim = inner_lifted + D;

  KVCODEC_HD explicit QjlQuantizer(SplitMix64& random) noexcept
      : inner_(make_quantizer<Inner>(random)), projection_(random) {}

  KVCODEC_HD KVCODEC_SHARED void encode(const float* u, std::byte* code) const noexcept {
    inner_.encode(u, code);
    encode_residual(u, code);
  }

  KVCODEC_HD KVCODEC_SHARED void decode(const std::byte* code, float* u) const noexcept {
    inner_.decode(code, u);
    float signs[D], residual[D];
    const auto one = S::broadcast(1.0f);
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, isa>(S::negate(one, signs_of(code, b)), signs, b); });
    projection_.back(signs, residual);
    const auto factor = S::broadcast(residual_norm(code) * static_cast<float>(scale * static_cast<double>(Projection::normaliser)));
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      store_floats<D, isa>(S::fma(factor, load_block<D, isa>(residual, b), load_block<D, isa>(u, b)), u, b);
    });
  }

  KVCODEC_HD KVCODEC_SHARED void lift(float* q) const noexcept {
    if constexpr (inner_lifted > D) inner_.lift(q);
    projection_.project(q, q + inner_lifted);
    scale_by<D, isa>(q + inner_lifted, Projection::normaliser);
  }

  KVCODEC_HD KVCODEC_SHARED float dot(const float* q, const std::byte* code) const noexcept {
    auto sum = S::broadcast(0.0f);
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      sum = S::add(sum, S::negate(load_block<D, isa>(q + inner_lifted, b), signs_of(code, b)));
    });
    const float correction = residual_norm(code) * static_cast<float>(scale);
    return multiply_add(correction, S::sum(sum), direction_dot(inner_, q, code));
  }

  KVCODEC_HD KVCODEC_SHARED void accumulate(float weight, const std::byte* code, float* sum) const noexcept {
    direction_accumulate(inner_, weight, code, sum);
    const auto w = S::broadcast(weight * residual_norm(code));
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      float* to = sum + inner_lifted;
      store_floats<D, isa>(S::add(load_block<D, isa>(to, b), S::negate(w, signs_of(code, b))), to, b);
    });
  }

  /// The transpose of lift: adds the projected sums to the first D.
  KVCODEC_HD KVCODEC_SHARED void lower(float* sum) const noexcept {
    constexpr float factor = static_cast<float>(scale * static_cast<double>(Projection::normaliser));
    float scaled[D], residual[D];
    for (std::size_t i = 0; i < D; ++i) scaled[i] = factor * sum[inner_lifted + i];  // first: sums of large ones could overflow
    projection_.back(scaled, residual);
    if constexpr (inner_lifted > D) inner_.lower(sum);
    for (std::size_t i = 0; i < D; ++i) sum[i] += residual[i];
  }

 private:
  /// A function of its own, whose vectors are not on the stack while the inner quantiser encodes.
  KVCODEC_HD KVCODEC_SHARED void encode_residual(const float* u, std::byte* code) const noexcept {
    float residual[D], projected[D];
    inner_.decode(code, residual);
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      store_floats<D, isa>(S::subtract(load_block<D, isa>(u, b), load_block<D, isa>(residual, b)), residual, b);
    });
    const Stored norm = saturate_to<Stored>(square_root(sum_of_squares<D, isa>(residual)));
    store_half(norm, code + norm_at);
    projection_.project(residual, projected);
    std::byte* signs = code + signs_at;
    const auto zero = S::broadcast(0.0f);
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      const std::uint32_t negative = S::bits(S::greater(zero, load_block<D, isa>(projected, b)));
      signs[2 * b] = static_cast<std::byte>(negative & 0xffu);
      if (block_size<D>(b) > 8) signs[2 * b + 1] = static_cast<std::byte>(negative >> 8);
    });
  }

  KVCODEC_HD static float residual_norm(const std::byte* code) noexcept {
    return to_float(load_half<Stored>(code + norm_at));
  }

  /// The signs of block b, bit l of coordinate 16 b + l.
  KVCODEC_HD static std::uint32_t signs_of(const std::byte* code, std::size_t b) noexcept {
    const std::byte* signs = code + signs_at + 2 * b;
    const auto low = static_cast<std::uint32_t>(signs[0]);
    return block_size<D>(b) > 8 ? low | static_cast<std::uint32_t>(signs[1]) << 8 : low;
  }

  Inner inner_;
  Projection projection_;
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
