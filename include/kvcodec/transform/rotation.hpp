// Rotations: orthogonal maps after which the coordinates of any vector look Gaussian.
//
// A rotation R gives, on `dim` floats in place, raw(x) = R x / scale and raw_inverse(x) = R^-1 x / scale, and the
// constant scale. The factor is left to the caller, who has another product to merge it with.
#pragma once

#include "hadamard.hpp"

#include "../random.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kvcodec {

/// As the descriptor stores it.
enum class RotationKind : unsigned char { none = 0, signed_hadamard = 1, haar = 2 };

inline namespace KVCODEC_ISA_NAMESPACE {

template <class R>
concept Rotation = std::is_copy_constructible_v<R> && requires(const R r, float* x, SplitMix64& random) {
  R(random);                                      // draws what it needs from the codec's generator
  { R::dim } -> std::convertible_to<std::size_t>;
  { R::kind } -> std::convertible_to<RotationKind>;
  { R::rounds } -> std::convertible_to<unsigned>;
  { R::scale } -> std::convertible_to<float>;
  { r.raw(x) } noexcept;
  { r.raw_inverse(x) } noexcept;
};

/// The identity, for engines that rotate already and for the unrotated baseline.
template <std::size_t D>
struct NoRotation {
  static constexpr std::size_t dim = D;
  static constexpr RotationKind kind = RotationKind::none;
  static constexpr unsigned rounds = 0;
  static constexpr float scale = 1.0f;

  constexpr NoRotation() noexcept = default;
  KVCODEC_HD constexpr explicit NoRotation(SplitMix64&) noexcept {}
  KVCODEC_HD void raw(float*) const noexcept {}
  KVCODEC_HD void raw_inverse(float*) const noexcept {}
};

/// Rounds times (random signs, then H_D): R = H S_n ... H S_1. Signs come before H, since after it they would leave a
/// constant vector unrotated. One round is what the OCTOPUS paper (arXiv 2605.21226) and most ports use, and is not Haar
/// on sparse vectors (a one-hot vector becomes a constant one); bench/RESULTS.md has the measurement behind the default.
/// O(D log D), D/8 bytes a round.
template <std::size_t D, unsigned Rounds, Isa I = native_isa>
class SignedHadamard {
  static_assert(supported_dim(D),
                "kvcodec: this head size has no exact Hadamard transform; supported are d = 2^k * {1, 12, 20, 28, 36} "
                "with 4 <= d <= 1024");
  static_assert(Rounds >= 1 && Rounds <= 4, "kvcodec: signs + Hadamard takes 1 to 4 rounds");

 public:
  static constexpr std::size_t dim = D;
  static constexpr RotationKind kind = RotationKind::signed_hadamard;
  static constexpr unsigned rounds = Rounds;
  static constexpr float scale = [] {
    double s = 1;
    for (unsigned r = 0; r < Rounds; ++r) s /= constant_sqrt(static_cast<double>(D));
    return static_cast<float>(s);
  }();

  KVCODEC_HD constexpr explicit SignedHadamard(SplitMix64& random) noexcept {
    for (unsigned r = 0; r < Rounds; ++r) {
      for (std::size_t w = 0; w < words; w += 2) {
        const std::uint64_t bits = random();
        negative_[r][w] = static_cast<std::uint32_t>(bits & 0xffffffffu);
        if (w + 1 < words) negative_[r][w + 1] = static_cast<std::uint32_t>(bits >> 32);
      }
    }
  }

  KVCODEC_HD KVCODEC_SHARED void raw(float* x) const noexcept {
    typename Simd<I>::Floats v[blocks_of<D>];
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { v[b] = load_block<D, I>(x, b); });
    for (unsigned r = 0; r < Rounds; ++r) {
      flip_signs(r, v);
      detail::hadamard_blocks<D, false, I>(v);
    }
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(v[b], x, b); });
  }
  KVCODEC_HD KVCODEC_SHARED void raw_inverse(float* x) const noexcept {
    typename Simd<I>::Floats v[blocks_of<D>];
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { v[b] = load_block<D, I>(x, b); });
    for (unsigned r = Rounds; r-- > 0;) {
      detail::hadamard_blocks<D, true, I>(v);
      flip_signs(r, v);
    }
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(v[b], x, b); });
  }

  /// Whether round r negates coordinate i.
  KVCODEC_HD constexpr bool negates(unsigned r, std::size_t i) const noexcept {
    return (negative_[r][i / 32] >> (i % 32) & 1u) != 0;
  }

 private:
  static constexpr std::size_t words = (D + 31) / 32;

  KVCODEC_HD KVCODEC_INLINE void flip_signs(unsigned r, typename Simd<I>::Floats* v) const noexcept {
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { v[b] = Simd<I>::negate(v[b], negative_[r][b / 2] >> (16 * (b % 2))); });
  }

  std::uint32_t negative_[Rounds][words] = {};
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
