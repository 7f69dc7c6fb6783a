// Constant tables that run on host and device. A run-time-indexed constexpr array is undefined in nvcc's device code, so
// each pass gets a variable of its own, initialised by the same constexpr function.
#pragma once

#include "../config.hpp"

#include <cstddef>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <class T, std::size_t N>
struct Table {
  static constexpr std::size_t size = N;
  T value[N];
};

namespace detail {
template <class Maker>
inline constexpr auto host_table = Maker::make();
#if defined(__CUDACC__)
template <class Maker>
__device__ const auto device_table = Maker::make();
#endif
}  // namespace detail

/// The values that Maker::make(), a constexpr function returning a Table, computes.
template <class Maker>
KVCODEC_HD inline const auto* table() noexcept {
#if defined(__CUDA_ARCH__)
  return &detail::device_table<Maker>.value[0];
#else
  return &detail::host_table<Maker>.value[0];
#endif
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
