// Uncompressed rows behind the same contract: for mixing (sinks, a recent window, protected layers) and as the honest
// baseline of every comparison.
//
//   row:  | x_0 | x_1 | …   each 2 bytes, little-endian
//
// Values beyond the type's range saturate to its largest finite one.
#pragma once

#include "arithmetic.hpp"
#include "concepts.hpp"
#include "row_interface.hpp"
#include "simd/vector.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <std::size_t D, class Half, Isa I = native_isa>
class Uncompressed : public RowInterface<Uncompressed<D, Half, I>, D, 2 * D> {
  static_assert(supported_dim(D), "kvcodec: supported head sizes are d = 2^k * {1, 12, 20, 28, 36} with 4 <= d <= 1024");
  static_assert(sizeof(Half) == 2);
  using S = Simd<I>;
  using Floats = typename S::Floats;

 public:
  static constexpr std::string_view name = std::is_same_v<Half, float16> ? "float16" : "bfloat16";

  struct Query {
    float value[D];
  };
  struct Accumulator {
    float value[D] = {};
  };

  /// Nothing here is random: the seed is taken for the contract's sake and does not tell rows apart.
  KVCODEC_HD explicit Uncompressed(std::uint64_t = 0) noexcept {}

  Descriptor descriptor() const noexcept {
    Descriptor d;
    d.dim = static_cast<std::uint16_t>(D);
    d.row_bytes = static_cast<std::uint32_t>(2 * D);
    d.parameters = {16};
    d.set_name(name);
    return d;
  }

  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* row) const noexcept {
    const Floats zero = S::broadcast(0.0f);
    Floats sum = zero;  // of products that are zero, or NaN where x is not finite
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE { sum = S::fma(load_block<D, I>(x, b), zero, sum); });
    if (S::sum(sum) != 0.0f) return Status::non_finite;
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE {  // -0 becomes +0, as in every other codec
      S::template store_halves<Half>(S::add(load_block<D, I>(x, b), zero), row + 2 * lanes * b, block_size<D>(b));
    });
    return Status::ok;
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE { store_block<D, I>(load(row, b), x, b); });
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    Query query;
    load_vector<D, I>(q, query.value);
    return query;
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    Floats sum = S::broadcast(0.0f);
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE { sum = S::multiply_add(load_block<D, I>(query.value, b), load(row, b), sum); });
    return S::sum(sum);
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    const Floats w = S::broadcast(weight);
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE {
      store_floats<D, I>(S::multiply_add(w, load(row, b), load_block<D, I>(sum.value, b)), sum.value, b);
    });
  }

  bool score_block(const Query* queries, std::size_t n, ConstPlanes rows, float* scores, std::size_t stride, Arithmetic) const noexcept {
    for (std::size_t i = 0; i < rows.count; ++i) {
      prefetch_ahead(rows.code(i), 2 * D);
      for (std::size_t k = 0; k < n; ++k) scores[k * stride + i] = score_row(queries[k], rows.code(i));
    }
    return true;
  }

  /// A part of each sum stays in registers while the rows of a tile, which stay in the first cache, are added to it.
  bool accumulate_block(const float* weights, std::size_t stride, std::size_t n, ConstPlanes rows, Accumulator* sums, Arithmetic) const noexcept {
    constexpr std::size_t tile = 64, part = blocks < 8 ? blocks : 8;
    for (std::size_t first = 0; first < rows.count; first += tile) {
      const std::size_t end = rows.count - first < tile ? rows.count : first + tile;
      for (std::size_t i = first; i < end; ++i) prefetch_ahead(rows.code(i), 2 * D);
      for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t at = 0; at < blocks; at += part) {
          Floats sum[part];
          const auto each = [&](auto f) KVCODEC_INLINE {
            unrolled<part>([&](auto b) KVCODEC_INLINE {
              if (blocks % part == 0 || at + b < blocks) f(sum[b], at + b);
            });
          };
          each([&](Floats& s, std::size_t b) KVCODEC_INLINE { s = load_block<D, I>(sums[k].value, b); });
          for (std::size_t i = first; i < end; ++i) {
            const Floats w = S::broadcast(weights[k * stride + i]);
            each([&](Floats& s, std::size_t b) KVCODEC_INLINE { s = S::multiply_add(w, load(rows.code(i), b), s); });
          }
          each([&](Floats& s, std::size_t b) KVCODEC_INLINE { store_floats<D, I>(s, sums[k].value, b); });
        }
      }
    }
    return true;
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    each_block<blocks>([&](std::size_t b) KVCODEC_INLINE { store_block<D, I>(load_block<D, I>(sum.value, b), out, b); });
  }

 private:
  static constexpr std::size_t blocks = blocks_of<D>;

  KVCODEC_HD KVCODEC_INLINE static Floats load(const std::byte* row, std::size_t b) noexcept {
    return S::template load_halves<Half>(row + 2 * lanes * b, block_size<D>(b));
  }
};

template <std::size_t D>
using Float16 = Uncompressed<D, float16>;
template <std::size_t D>
using BFloat16 = Uncompressed<D, bfloat16>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
