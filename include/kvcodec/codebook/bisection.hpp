// Which of ascending boundaries a value lies between, for sixteen lanes at once: log2 of their number of look-ups and
// comparisons in place of one comparison each.
#pragma once

#include "../simd/simd.hpp"
#include "table.hpp"

#include <cstddef>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// The first 2^Bits - 1 boundaries of a table as bisection meets them: level k's 2^k from 2^k - 1 on.
template <class Boundaries, unsigned Bits>
struct BisectionOrder {
  static constexpr Table<float, (std::size_t{1} << Bits) - 1> make() noexcept {
    constexpr auto ascending = Boundaries::make();
    Table<float, (std::size_t{1} << Bits) - 1> t{};
    for (unsigned k = 0; k < Bits; ++k)
      for (std::size_t i = 0; i < std::size_t{1} << k; ++i)
        t.value[(std::size_t{1} << k) - 1 + i] = ascending.value[(i << (Bits - k)) + (std::size_t{1} << (Bits - k - 1)) - 1];
    return t;
  }
};

/// How many of the boundaries lie below: above(b) says in which lanes boundary b does. It must say so for no boundary that
/// is larger than one for which it does not.
template <class Boundaries, unsigned Bits, Isa I, class Above>
KVCODEC_HD KVCODEC_INLINE inline typename Simd<I>::Ints count_below(Above above) noexcept {
  using S = Simd<I>;
  if constexpr (Bits == 0) {
    return S::broadcast_int(0);
  } else {
    const float* t = table<BisectionOrder<Boundaries, Bits>>();
    auto below = S::count(S::broadcast_int(0), above(S::broadcast(t[0])));
    unrolled<Bits - 1>([&](auto k) KVCODEC_INLINE {
      constexpr std::size_t size = std::size_t{2} << k;
      below = S::count(S::add(below, below), above(S::template lookup<size>(t + size - 1, below)));
    });
    return below;
  }
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
