// Per-coordinate Lloyd-Max quantiser: TurboQuant's MSE form (arXiv 2504.19874, section 3.1) after a rotation, the scalar
// baseline of the K/V comparison (arXiv 2605.08114) without one.
//
// Each coordinate of the unit direction is replaced by the index of the nearest centroid of the book fitted to the exact
// marginal p(t) ~ (1-t^2)^((d-3)/2) of a uniform unit vector. Boundaries are midpoints; a tie goes to the lower index.
//
// Bytes: one stream of D fields of B bits, coordinate i at bit i*B, LSB first (bits.hpp).
//
//      byte 0                      byte 1
//   B=2  | i3 | i2 | i1 | i0 |       | i7 | i6 | i5 | i4 |      ...        D=128: 32 bytes
//   B=3  |i2 lo| i1  |  i0   |       |i5lo| i4 | i3 |i2 hi|      ...              48 bytes
//   B=4  |   i1    |   i0    |       |   i3    |   i2    |      ...              64 bytes
#pragma once

#include "../arithmetic.hpp"
#include "../bits.hpp"
#include "../codebook/sphere_marginal.hpp"
#include "../codebook/table.hpp"
#include "../transform/hadamard.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// All 2^B centroids in ascending order, from the positive half of a symmetric book.
template <std::size_t D, unsigned B>
struct SphereCentroids {
  static constexpr std::size_t half = std::size_t{1} << (B - 1);
  static constexpr Table<float, 2 * half> make() noexcept {
    Table<float, 2 * half> book{};
    for (std::size_t i = 0; i < half; ++i) {
      book.value[half + i] = codebook::SphereMarginal<D, B>::positive[i];
      book.value[half - 1 - i] = -codebook::SphereMarginal<D, B>::positive[i];
    }
    return book;
  }
};

/// The 2^B - 1 boundaries between them.
template <std::size_t D, unsigned B>
struct SphereBoundaries {
  static constexpr std::size_t count = (std::size_t{1} << B) - 1;
  static constexpr Table<float, count> make() noexcept {
    constexpr auto book = SphereCentroids<D, B>::make();
    Table<float, count> boundaries{};
    for (std::size_t i = 0; i < count; ++i) boundaries.value[i] = 0.5f * (book.value[i] + book.value[i + 1]);
    return boundaries;
  }
};

template <std::size_t D, unsigned B>
struct LloydMaxQuantizer {
  static_assert(supported_dim(D), "kvcodec: Lloyd-Max books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(B >= 1 && B <= 8, "kvcodec: Lloyd-Max takes 1 to 8 bits a coordinate");

  static constexpr std::size_t dim = D;
  static constexpr std::size_t code_bytes = bytes_for_bits(D * B);
  static constexpr std::string_view name = "turboquant-mse";
  static constexpr std::string_view unrotated_name = "lloyd-max";
  static constexpr std::string_view qjl_name = "turboquant-prod";
  static constexpr std::string_view unrotated_qjl_name = "lloyd-max-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = {B};

  /// u: dim coordinates of a unit vector. code: code_bytes.
  KVCODEC_HD static void encode(const float* u, std::byte* code) noexcept {
    std::uint8_t index[(D + lanes - 1) / lanes * lanes];
    for (std::size_t i = 0; i < D / lanes * lanes; i += lanes) classify(u + i, index + i);
    if constexpr (D % lanes != 0) {
      float tail[lanes] = {};
      for (std::size_t l = 0; l < D % lanes; ++l) tail[l] = u[D / lanes * lanes + l];
      classify(tail, index + D / lanes * lanes);
    }
    pack<B, D>(index, code);
  }

  /// u: the coded direction.
  KVCODEC_HD static void decode(const std::byte* code, float* u) noexcept {
    const float* centroids = table<SphereCentroids<D, B>>();
    unpack<B, D>(code, [&](std::size_t i, unsigned index) { u[i] = centroids[index]; });
  }

  /// The inner product of q with the coded direction.
  KVCODEC_HD static float dot(const float* q, const std::byte* code) noexcept {
    const float* centroids = table<SphereCentroids<D, B>>();
    float lane[lanes] = {};
    unpack<B, D>(code, [&](std::size_t i, unsigned index) {
      lane[i % lanes] = multiply_add(q[i], centroids[index], lane[i % lanes]);
    });
    return reduce(lane);
  }

  /// sum += weight * the coded direction.
  KVCODEC_HD static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    const float* centroids = table<SphereCentroids<D, B>>();
    unpack<B, D>(code, [&](std::size_t i, unsigned index) { sum[i] = multiply_add(weight, centroids[index], sum[i]); });
  }

 private:
  /// index[l] = how many boundaries lie below u[l], for sixteen coordinates.
  KVCODEC_HD static void classify(const float* u, std::uint8_t* index) noexcept {
    const float* boundaries = table<SphereBoundaries<D, B>>();
    std::int32_t below[lanes] = {};
    if constexpr (B <= 4) {
      unrolled<(std::size_t{1} << B) - 1>([&](std::size_t k) {
        for (std::size_t l = 0; l < lanes; ++l) below[l] += u[l] > boundaries[k] ? 1 : 0;
      });
    } else {
      // The same count by bisection: boundaries ascend, so those below u[l] are the first so many.
      for (std::int32_t step = 1 << (B - 1); step > 0; step /= 2)
        for (std::size_t l = 0; l < lanes; ++l) below[l] += step * static_cast<std::int32_t>(u[l] > boundaries[below[l] + step - 1]);
    }
    for (std::size_t l = 0; l < lanes; ++l) index[l] = static_cast<std::uint8_t>(below[l]);
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
