// What every direction quantiser can do, whether it gives it itself or not.
//
// A query may have to bring more than its D rotated coordinates (a QJL residual is scored in a basis of its own). Such a
// quantiser names lifted_dim > D and gives lift(q), which fills q[D, lifted_dim) from q[0, D) once a query, and its
// transpose lower(sum), which adds to sum[0, D) what the rest of a weighted sum amounts to, once an output. dot and
// accumulate then work on lifted_dim values: <lift(q), row> = <q, decode(row)>.
#pragma once

#include "../arithmetic.hpp"
#include "../concepts.hpp"
#include "../random.hpp"
#include "../simd/vector.hpp"

#include <cstddef>
#include <type_traits>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// How many values a prepared query has.
template <class Q>
inline constexpr std::size_t lifted_dim_of = [] {
  if constexpr (requires { Q::lifted_dim; }) return std::size_t{Q::lifted_dim};
  else return std::size_t{Q::dim};
}();

/// The instructions that a quantiser is written for: the translation unit's where it does not say.
template <class Q>
inline constexpr Isa isa_of = [] {
  if constexpr (requires { Q::isa; }) return Q::isa;
  else return native_isa;
}();

/// A quantiser, given the codec's generator where it draws from one.
template <class Q>
KVCODEC_HD inline Q make_quantizer(SplitMix64& random) noexcept {
  if constexpr (std::is_constructible_v<Q, SplitMix64&>) return Q(random);
  else return Q();
}

/// The inner product of the prepared query q with the coded direction.
template <class Q>
KVCODEC_HD inline float direction_dot(const Q& quantizer, const float* q, const std::byte* code) noexcept {
  if constexpr (requires { quantizer.dot(q, code); }) {
    return quantizer.dot(q, code);
  } else {
    float u[Q::dim];
    quantizer.decode(code, u);
    return dot_product<Q::dim, isa_of<Q>>(q, u);
  }
}

/// sum += weight * the coded direction.
template <class Q>
KVCODEC_HD inline void direction_accumulate(const Q& quantizer, float weight, const std::byte* code, float* sum) noexcept {
  if constexpr (requires { quantizer.accumulate(weight, code, sum); }) {
    quantizer.accumulate(weight, code, sum);
  } else {
    float u[Q::dim];
    quantizer.decode(code, u);
    accumulate_product<Q::dim, isa_of<Q>>(weight, u, sum);
  }
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
