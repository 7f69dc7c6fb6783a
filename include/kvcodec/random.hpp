// The seeded generator behind every random choice a codec makes: SplitMix64 (Steele, Lea, Flood 2014).
//
// Our own, since the distributions of the standard library differ between implementations and a cache must be readable
// on another machine. A codec starts one generator from its seed; each of its parts draws what it needs, in the order in
// which a vector walks through them.
#pragma once

#include "config.hpp"

#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

class SplitMix64 {
 public:
  KVCODEC_HD constexpr explicit SplitMix64(std::uint64_t seed) noexcept : state_(seed) {}

  /// The next 64 random bits.
  KVCODEC_HD constexpr std::uint64_t operator()() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  /// Uniform on the open interval (0, 1): odd multiples of 2^-53, so that neither a logarithm nor its complement meets 0.
  KVCODEC_HD constexpr double uniform() noexcept {
    return static_cast<double>((*this)() >> 11 | 1u) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
