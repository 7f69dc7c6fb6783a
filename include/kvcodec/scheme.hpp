// Keys and values apart: a codec for each. Scores want little bias and average over few keys where attention is peaked;
// outputs average over many values. The three schemes of arXiv 2605.08114 spend the same budget of B bits a coordinate
// differently; any other pair is a KvScheme as well. bench/RESULTS.md has what measurement says of them.
#pragma once

#include "codec.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// A key codec and a value codec, whose dimensions may differ. An immutable value, like its parts.
template <KeyCodec K, ValueCodec V>
struct KvScheme {
  using Keys = K;
  using Values = V;

  static constexpr std::size_t token_bytes = K::row_bytes + V::row_bytes;  ///< of one token and head
  static constexpr double bits_per_coordinate = 8.0 * static_cast<double>(token_bytes) / static_cast<double>(K::dim + V::dim);

  K keys;
  V values;

  /// One seed for both: rows of keys and of values are never mixed, so they may share a rotation.
  KVCODEC_HD explicit KvScheme(std::uint64_t seed = 0) noexcept : keys(seed), values(seed) {}
  KVCODEC_HD KvScheme(const K& keys_, const V& values_) noexcept : keys(keys_), values(values_) {}
};

/// KV: scalar Lloyd-Max on both, no rotation.
template <std::size_t D, unsigned B>
using Kv = KvScheme<LloydMax<D, B>, LloydMax<D, B>>;

/// KQV: rotated; keys at B bits, values at B-1 bits and one of QJL.
template <std::size_t D, unsigned B>
using Kqv = KvScheme<TurboQuantMse<D, B>, TurboQuantProd<D, B>>;

/// QKQV: rotated; both at B-1 bits and one of QJL.
template <std::size_t D, unsigned B>
using Qkqv = KvScheme<TurboQuantProd<D, B>, TurboQuantProd<D, B>>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
