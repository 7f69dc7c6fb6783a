// The contract that users compile against, and its laws.
//
// Format      rows of a fixed size that mean vectors of a fixed dimension.
// Codec       a Format that encodes and decodes. An immutable value: its const functions may run on any number of threads,
//             are noexcept, and allocate, lock and print nothing.
// KeyCodec    a Codec whose packed rows can be scored against a query without rebuilding the vector.
// ValueCodec  a Codec whose packed rows can be summed with weights without rebuilding the vectors.
//
// Laws, each a test over every codec (tests/laws.hpp):
//   pure        the bytes of encode(x) depend on (codec, x) alone: not on other rows, the destination, or the machine.
//   consistent  score(prepare(q), row) = <q, decode(row)> within 1e-5 |q| |x|, and finish(sum of w * row) =
//               sum of w * decode(row) likewise. With a QJL
//               residual that product is an unbiased estimate of <q, x> over seeds.
//   total       any bytes decode without undefined behaviour; bytes that encode wrote decode to finite values.
//   zero        a vector of zeros, of either sign, decodes to +0 (with an offset: to within the codec's error of it).
//   refusing    a vector with a NaN or an infinity is reported and its row keeps the bytes it had.
//   contained   nothing outside [row, row + row_bytes) is read or written; rows need no alignment.
#pragma once

#include "descriptor.hpp"
#include "rows.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <class C>
concept Format = requires {
  { C::dim } -> std::convertible_to<std::size_t>;
  { C::row_bytes } -> std::convertible_to<std::size_t>;
  { C::bits_per_coordinate } -> std::convertible_to<double>;
  { C::name } -> std::convertible_to<std::string_view>;
};

template <class C>
concept Codec = Format<C> && std::copyable<C> && std::constructible_from<C, std::uint64_t> &&
    requires(const C c, std::span<const float, C::dim> x, std::span<std::byte, C::row_bytes> row,
             std::span<const std::byte, C::row_bytes> packed, std::span<float, C::dim> out, std::span<const float> xs,
             std::span<float> outs, Rows rows, ConstRows const_rows) {
  { c.encode(x, row) } noexcept -> std::same_as<Status>;
  { c.decode(packed, out) } noexcept;
  { c.encode_rows(xs, rows) } noexcept -> std::same_as<EncodeResult>;
  { c.decode_rows(const_rows, outs) } noexcept -> std::same_as<Status>;
  { c.descriptor() } noexcept -> std::same_as<Descriptor>;
};

template <class C>
concept KeyCodec = Codec<C> &&
    requires(const C c, const typename C::Query query, std::span<const float, C::dim> q,
             std::span<const std::byte, C::row_bytes> packed, ConstRows rows, std::span<float> scores) {
  { c.prepare(q) } noexcept -> std::same_as<typename C::Query>;
  { c.score(query, packed) } noexcept -> std::same_as<float>;
  { c.score_rows(query, rows, scores) } noexcept -> std::same_as<Status>;
};

template <class C>
concept ValueCodec = Codec<C> && std::default_initializable<typename C::Accumulator> &&
    requires(const C c, typename C::Accumulator sum, std::span<const std::byte, C::row_bytes> packed, ConstRows rows,
             std::span<const float> weights, float weight, std::span<float, C::dim> out) {
  { c.accumulate(weight, packed, sum) } noexcept;
  { c.accumulate_rows(weights, rows, sum) } noexcept -> std::same_as<Status>;
  { c.finish(sum, out) } noexcept;
};

/// What a codec is made of: turns a unit direction into code_bytes bytes and back. Pointers are to dim floats and
/// code_bytes bytes. A quantiser may also give dot(q, code) and accumulate(weight, code, sum) where it can do better than
/// decoding first, lift and lower where a query needs more than its coordinates (quantizer/direction.hpp), and parameters
/// for the descriptor. One whose code holds the length too (NormType::none) has encode(u, length, code) instead. Its
/// encoder follows the rules of arithmetic.hpp if its bytes are to be the same everywhere.
template <class Q>
concept DirectionQuantizer = requires(const Q quantizer, const float* u, float length, std::byte* code, const std::byte* packed,
                                      float* out) {
  { Q::dim } -> std::convertible_to<std::size_t>;
  { Q::code_bytes } -> std::convertible_to<std::size_t>;
  { Q::name } -> std::convertible_to<std::string_view>;
  requires requires { { quantizer.encode(u, code) } noexcept; } || requires { { quantizer.encode(u, length, code) } noexcept; };
  { quantizer.decode(packed, out) } noexcept;
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
