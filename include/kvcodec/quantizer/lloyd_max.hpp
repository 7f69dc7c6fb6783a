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
#include "../codebook/bisection.hpp"
#include "../codebook/sphere_marginal.hpp"
#include "../codebook/table.hpp"
#include "../simd/vector.hpp"
#include "../transform/hadamard.hpp"
#include "tile.hpp"

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

template <std::size_t D, unsigned B, Isa I = native_isa>
struct LloydMaxQuantizer {
  static_assert(supported_dim(D), "kvcodec: Lloyd-Max books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(B >= 1 && B <= 8, "kvcodec: Lloyd-Max takes 1 to 8 bits a coordinate");

  static constexpr std::size_t dim = D;
  static constexpr Isa isa = I;
  static constexpr std::size_t code_bytes = bytes_for_bits(D * B);
  static constexpr std::string_view name = "turboquant-mse";
  static constexpr std::string_view unrotated_name = "lloyd-max";
  static constexpr std::string_view qjl_name = "turboquant-prod";
  static constexpr std::string_view unrotated_qjl_name = "lloyd-max-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = {B};

  /// u: dim coordinates of a unit vector. code: code_bytes.
  KVCODEC_HD KVCODEC_SHARED static void encode(const float* u, std::byte* code) noexcept {
    each_chunk<D>([&](std::size_t c, auto n) KVCODEC_INLINE {
      typename S::Ints index[4];
      unrolled<4>([&](auto q) KVCODEC_INLINE {
        if constexpr (16 * q < n) {
          const auto x = load_block<n, I>(u + 64 * c, q);
          index[q] = count_below<SphereBoundaries<D, B>, B, I>([&](auto boundary) KVCODEC_INLINE { return S::greater(x, boundary); });
        } else {
          index[q] = S::broadcast_int(0);
        }
      });
      S::template pack<B, n>(S::narrow(index[0], index[1], index[2], index[3]), code + 8 * B * c);
    });
  }

  /// u: the coded direction.
  KVCODEC_HD KVCODEC_SHARED static void decode(const std::byte* code, float* u) noexcept {
    visit(code, [&](auto n, std::size_t at, std::size_t q, auto values) KVCODEC_INLINE { store_floats<n, I>(values, u + at, q); });
  }

  /// The inner product of q with the coded direction.
  KVCODEC_HD KVCODEC_SHARED static float dot(const float* q, const std::byte* code) noexcept {
    auto sum = S::broadcast(0.0f);
    visit(code, [&](auto n, std::size_t at, std::size_t b, auto values) KVCODEC_INLINE {
      sum = S::multiply_add(load_block<n, I>(q + at, b), values, sum);
    });
    return S::sum(sum);
  }

  /// sum += weight * the coded direction.
  KVCODEC_HD KVCODEC_SHARED static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    const auto w = S::broadcast(weight);
    visit(code, [&](auto n, std::size_t at, std::size_t q, auto values) KVCODEC_INLINE {
      store_floats<n, I>(S::multiply_add(w, values, load_block<n, I>(sum + at, q)), sum + at, q);
    });
  }

  /// In integers (integer.hpp) up to 4 bits: with more, rounding the book and the query to bytes would be felt. Sums see the
  /// fields within whole bytes, where they do not cross them.
  static constexpr std::size_t integer_components = B <= 4 ? 1 : 0, integer_fields = D, integer_planes = 1;
  static constexpr unsigned integer_packed_bits = (B == 2 || B == 4) && D * B % 8 == 0 ? B : 8;
  static constexpr float integer_unit = codebook::SphereMarginal<D, B>::positive[SphereCentroids<D, B>::half - 1] / 127.0f;
  static constexpr std::size_t integer_at(std::size_t) noexcept { return 0; }
  template <std::size_t, std::size_t N>
  KVCODEC_INLINE static typename Simd<I>::Bytes integer_bytes(const std::byte* code, std::size_t chunk) noexcept {
    return Simd<I>::template unpack<B, N>(code + 8 * B * chunk);
  }
  template <std::size_t>
  KVCODEC_INLINE static typename Simd<I>::Bytes integer_value(typename Simd<I>::Bytes index, typename Simd<I>::Bytes) noexcept {
    return Simd<I>::template lookup<16>(table<BookOfBytes>(), index);
  }

  /// The centroids in 127ths of the largest.
  struct BookOfBytes {
    static constexpr Table<std::uint8_t, 16> make() noexcept {
      constexpr auto book = SphereCentroids<D, B>::make();
      return detail::book_of_bytes<book.size, 16>(book, book.value[book.size - 1], Simd<I>::bias);
    }
  };

  /// Interleaved pages (tile.hpp): up to 3 bits in tables of two or three coordinates, or one or two where only small tables
  /// are fast; 4 bits by nibbles.
  static constexpr std::size_t tile_code_bytes = code_bytes;
  static constexpr std::size_t tile_bytes = B <= 3 && D * B <= 1024 ? 1 : B == 4 && code_bytes % 4 == 0 ? 4 : 0;
  static constexpr std::size_t tile_terms = (Simd<I>::lookup_bits >= 6 ? 6 : 4) / B > 0 ? (Simd<I>::lookup_bits >= 6 ? 6 : 4) / B : 1;
  static constexpr unsigned tile_bits = static_cast<unsigned>(tile_terms) * B;
  static constexpr std::size_t tile_fields = (D + tile_terms - 1) / tile_terms, tile_floats = D;
  static constexpr float tile_largest = codebook::SphereMarginal<D, B>::positive[SphereCentroids<D, B>::half - 1];
  static constexpr std::size_t tile_at(std::size_t field, std::size_t term) noexcept { return tile_terms * field + term; }
  /// By term and field: the coordinate's centroid.
  struct TilePatterns {
    static constexpr std::size_t size = std::size_t{1} << tile_bits, padded = size < 16 ? 16 : size;
    static constexpr Table<float, tile_terms * padded> make() noexcept {
      constexpr auto book = SphereCentroids<D, B>::make();
      Table<float, tile_terms * padded> patterns{};
      for (std::size_t c = 0; c < tile_terms; ++c)
        for (std::size_t e = 0; e < padded; ++e) patterns.value[c * padded + e] = book.value[(e >> (B * c)) % book.size];
      return patterns;
    }
  };

 private:
  using S = Simd<I>;

  /// f(n, at, q, values): the coded coordinates of block q of the n from coordinate `at` on; lanes beyond D are any.
  template <class F>
  KVCODEC_HD KVCODEC_INLINE static void visit(const std::byte* code, F f) noexcept {
    const float* centroids = table<SphereCentroids<D, B>>();
    each_chunk<D>([&](std::size_t c, auto n) KVCODEC_INLINE {
      const auto indices = S::template unpack<B, n>(code + 8 * B * c);
      unrolled<blocks_of<n>>([&](auto q) KVCODEC_INLINE {
        f(n, 64 * c, q, S::template lookup<(std::size_t{1} << B)>(centroids, S::template widen<q>(indices)));
      });
    });
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
