// Loops over a vector of D floats in blocks of sixteen lanes, coordinate i in lane i mod 16 of block i / 16; lanes beyond D
// are zero. What arithmetic.hpp says of sums holds: the bits are the same on every instruction set.
#pragma once

#include "simd.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <std::size_t D>
inline constexpr std::size_t blocks_of = (D + lanes - 1) / lanes;

/// Asks for a row of so many bytes 4 KB ahead, which the hardware's prefetchers do not reach: rows come from memory in about
/// half the time.
KVCODEC_INLINE inline void prefetch_ahead(const std::byte* row, std::size_t bytes) noexcept {
#if defined(__GNUC__)
  for (std::size_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(row) + 4096 + at));
#endif
}

/// The same address, which the compiler takes for a new one: what is read from it in a loop is read there, where g++ would
/// read it before the loop, more of it than registers hold, and keep it on the stack.
template <class T>
KVCODEC_INLINE inline const T* read_here(const T* p) noexcept {
#if defined(__GNUC__)
  asm("" : "+r"(p));
#endif
  return p;
}

/// f(0) to f(N-1); unrolled up to a vector of 128.
template <std::size_t N, class F>
KVCODEC_HD KVCODEC_INLINE inline void each_block(F f) noexcept {
  if constexpr (N <= 8) {
    unrolled<N>(f);
  } else {
    for (std::size_t b = 0; b < N; ++b) f(b);
  }
}

/// N fields sixty-four at a time: f(c, size) for chunk c, size a Constant. A loop, since kernels' bodies are large.
template <std::size_t N, class F>
KVCODEC_HD KVCODEC_INLINE inline void each_chunk(F f) noexcept {
  if constexpr (N >= 64)
    for (std::size_t c = 0; c < N / 64; ++c) f(c, Constant<64>());
  if constexpr (N % 64 != 0) f(N / 64, Constant<N % 64>());
}

template <std::size_t D>
KVCODEC_HD constexpr std::size_t block_size(std::size_t b) noexcept {
  return D % lanes == 0 || b + 1 < blocks_of<D> ? lanes : D % lanes;
}

/// Block b of x, of any element type.
template <std::size_t D, Isa I, Real T>
KVCODEC_HD KVCODEC_INLINE inline typename Simd<I>::Floats load_block(const T* x, std::size_t b) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    if (block_size<D>(b) == lanes) return Simd<I>::load(x + lanes * b);
    return Simd<I>::load_part(x + lanes * b, block_size<D>(b));
  } else {
    static_assert(sizeof(T) == 2);
#if defined(__CUDA_ARCH__)
    typename Simd<I>::Floats r = {};
    for (std::size_t l = 0; l < block_size<D>(b); ++l) r.lane[l] = to_float(x[lanes * b + l]);
    return r;
#else
    return Simd<I>::template load_halves<T>(reinterpret_cast<const std::byte*>(x + lanes * b), block_size<D>(b));
#endif
  }
}

template <std::size_t D, Isa I>
KVCODEC_HD KVCODEC_INLINE inline void store_floats(typename Simd<I>::Floats a, float* x, std::size_t b) noexcept {
  if (block_size<D>(b) == lanes) Simd<I>::store(a, x + lanes * b);
  else Simd<I>::store_part(a, x + lanes * b, block_size<D>(b));
}

/// Stores block b, saturated to T's range; a NaN stays one.
template <std::size_t D, Isa I, Real T>
KVCODEC_HD KVCODEC_INLINE inline void store_block(typename Simd<I>::Floats a, T* x, std::size_t b) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    using S = Simd<I>;
    a = S::minimum(S::broadcast(FLT_MAX), S::maximum(S::broadcast(-FLT_MAX), a));
    store_floats<D, I>(a, x, b);
  } else {
    float values[lanes];
    Simd<I>::store(a, values);
    for (std::size_t l = 0; l < block_size<D>(b); ++l) x[lanes * b + l] = saturate_to<T>(values[l]);
  }
}

/// Sum of x[i]*y[i].
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline float sum_of_products(const float* x, const float* y) noexcept {
  using S = Simd<I>;
  auto sum = S::broadcast(0.0f);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { sum = S::fma(load_block<D, I>(x, b), load_block<D, I>(y, b), sum); });
  return S::sum(sum);
}

/// Sum of x[i]^2.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD inline float sum_of_squares(const float* x) noexcept {
  return sum_of_products<D, I>(x, x);
}

/// Sum of x[i]*y[i], for scores.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline float dot_product(const float* x, const float* y) noexcept {
  using S = Simd<I>;
  auto sum = S::broadcast(0.0f);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { sum = S::multiply_add(load_block<D, I>(x, b), load_block<D, I>(y, b), sum); });
  return S::sum(sum);
}

/// sum[i] += weight * x[i], for scores.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline void accumulate_product(float weight, const float* x, float* sum) noexcept {
  using S = Simd<I>;
  const auto w = S::broadcast(weight);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
    store_floats<D, I>(S::multiply_add(w, load_block<D, I>(x, b), load_block<D, I>(sum, b)), sum, b);
  });
}

/// The largest |x[i]|; a NaN is not seen.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline float largest_magnitude(const float* x) noexcept {
  using S = Simd<I>;
  auto largest = S::broadcast(0.0f);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { largest = S::maximum(S::magnitude(load_block<D, I>(x, b)), largest); });
  return S::largest(largest);
}

/// x[i] *= factor, each product rounded and none fused into what reads it.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD KVCODEC_SHARED inline void scale_by(float* x, float factor) noexcept {
  using S = Simd<I>;
  const auto f = S::broadcast(factor);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(S::multiply(load_block<D, I>(x, b), f), x, b); });
}

/// to[i] = x[i], of any element type.
template <std::size_t D, Isa I, Real T>
KVCODEC_HD KVCODEC_SHARED inline void load_vector(const T* x, float* to) noexcept {
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(load_block<D, I>(x, b), to, b); });
}

/// to[i] = (x[i] * first) * second, saturated. Two products, since that of the factors alone may be subnormal.
template <std::size_t D, Isa I, Real T>
KVCODEC_HD KVCODEC_SHARED inline void store_scaled(const float* x, float first, float second, T* to) noexcept {
  using S = Simd<I>;
  const auto f = S::broadcast(first), g = S::broadcast(second);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
    store_block<D, I>(S::multiply(S::multiply(load_block<D, I>(x, b), f), g), to, b);
  });
}

/// to[i] = x[i] + 0, saturated: -0 becomes +0.
template <std::size_t D, Isa I, Real T>
KVCODEC_HD KVCODEC_SHARED inline void store_vector(const float* x, T* to) noexcept {
  using S = Simd<I>;
  const auto zero = S::broadcast(0.0f);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_block<D, I>(S::add(load_block<D, I>(x, b), zero), to, b); });
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
