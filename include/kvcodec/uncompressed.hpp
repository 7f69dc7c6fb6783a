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

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <std::size_t D, class Half>
class Uncompressed : public RowInterface<Uncompressed<D, Half>, D, 2 * D> {
  static_assert(supported_dim(D), "kvcodec: supported head sizes are d = 2^k * {1, 12, 20, 28, 36} with 4 <= d <= 1024");
  static_assert(sizeof(Half) == 2);

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
    bool finite = true;
    for (std::size_t i = 0; i < D; ++i) finite = finite && is_finite(to_float(x[i]));
    if (!finite) return Status::non_finite;
    for (std::size_t i = 0; i < D; ++i) {
      store_half(saturate_to<Half>(to_float(x[i]) + 0.0f), row + 2 * i);  // -0 becomes +0, as in every other codec
    }
    return Status::ok;
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    for (std::size_t i = 0; i < D; ++i) x[i] = saturate_to<T>(load(row, i));
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    Query query;
    for (std::size_t i = 0; i < D; ++i) query.value[i] = to_float(q[i]);
    return query;
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    float x[D];
    for (std::size_t i = 0; i < D; ++i) x[i] = load(row, i);
    return dot_product<D>(query.value, x);
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    for (std::size_t i = 0; i < D; ++i) sum.value[i] = multiply_add(weight, load(row, i), sum.value[i]);
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    for (std::size_t i = 0; i < D; ++i) out[i] = saturate_to<T>(sum.value[i]);
  }

 private:
  KVCODEC_HD static float load(const std::byte* row, std::size_t i) noexcept {
    return to_float(load_half<Half>(row + 2 * i));
  }
};

template <std::size_t D>
using Float16 = Uncompressed<D, float16>;
template <std::size_t D>
using BFloat16 = Uncompressed<D, bfloat16>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
