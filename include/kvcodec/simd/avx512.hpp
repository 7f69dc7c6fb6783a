// The vocabulary in AVX-512: F, CD, BW, DQ and VL (x86-64-v4); VBMI and VNNI where the compiler's flags give them.
#pragma once

#include "../codebook/table.hpp"
#include "scalar.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 takes its own intrinsics, where they start from an undefined register, for reads of uninitialised memory.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <>
struct Simd<Isa::avx512> {
  using Floats = __m512;
  using Mask = __mmask16;
  struct Ints {
    __m512i v;
  };
  struct Bytes {
    __m512i v;
  };

#if defined(__AVX512VBMI__)
  static constexpr bool has_vbmi = true;
#else
  static constexpr bool has_vbmi = false;
#endif
#if defined(__AVX512VNNI__)
  static constexpr bool has_vnni = true;
#else
  static constexpr bool has_vnni = false;
#endif

  // Floats

  static Floats load(const float* x) noexcept { return _mm512_loadu_ps(x); }
  static Floats load_part(const float* x, std::size_t n) noexcept { return _mm512_maskz_loadu_ps(first(n), x); }
  template <std::size_t N>
  static Floats repeat(const float* x) noexcept {
    static_assert(N == 1 || N == 2 || N == 4 || N == 8);
    if constexpr (N == 1) return _mm512_set1_ps(*x);
    if constexpr (N == 2) return _mm512_broadcast_f32x2(_mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double*>(x))));
    if constexpr (N == 4) return _mm512_broadcast_f32x4(_mm_loadu_ps(x));
    if constexpr (N == 8) return _mm512_broadcast_f32x8(_mm256_loadu_ps(x));
  }
  template <class Half>
  static Floats load_halves(const std::byte* from, std::size_t n) noexcept {
    const __m256i halves = _mm256_maskz_loadu_epi16(first(n), from);
    if constexpr (std::is_same_v<Half, float16>) return _mm512_cvtph_ps(halves);
    else return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  template <class Half>
  static void store_halves(Floats a, std::byte* to, std::size_t n) noexcept {
    const __m512 limit = _mm512_set1_ps(max_finite<Half>());
    const __m512 bounded = _mm512_min_ps(_mm512_max_ps(a, _mm512_sub_ps(_mm512_setzero_ps(), limit)), limit);
    __m256i halves;
    if constexpr (std::is_same_v<Half, float16>) {
      halves = _mm512_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    } else {
      const __m512i u = _mm512_castps_si512(bounded);
      const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
      halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(u, odd), _mm512_set1_epi32(0x7fff)), 16));
    }
    _mm256_mask_storeu_epi16(to, first(n), halves);
  }
  static void store(Floats a, float* x) noexcept { _mm512_storeu_ps(x, a); }
  static void store_part(Floats a, float* x, std::size_t n) noexcept { _mm512_mask_storeu_ps(x, first(n), a); }
  static Floats broadcast(float x) noexcept { return _mm512_set1_ps(x); }
  static Floats add(Floats a, Floats b) noexcept { return _mm512_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) noexcept { return _mm512_sub_ps(a, b); }
  static Floats multiply(Floats a, Floats b) noexcept {
    Floats r = _mm512_mul_ps(a, b);
    asm("" : "+v"(r));  // compilers fuse products that come from intrinsics too
    return r;
  }
  static Floats divide(Floats a, Floats b) noexcept { return _mm512_div_ps(a, b); }
  static Floats fma(Floats a, Floats b, Floats c) noexcept { return _mm512_fmadd_ps(a, b, c); }
  static Floats multiply_add(Floats a, Floats b, Floats c) noexcept { return fma(a, b, c); }
  static Floats root(Floats a) noexcept { return _mm512_sqrt_ps(a); }
  static Floats magnitude(Floats a) noexcept { return _mm512_abs_ps(a); }
  static Floats maximum(Floats a, Floats b) noexcept { return _mm512_max_ps(a, b); }
  static Floats minimum(Floats a, Floats b) noexcept { return _mm512_min_ps(a, b); }
  static Floats negate(Floats a, std::uint32_t bits) noexcept {
    const __m512 sign = _mm512_set1_ps(-0.0f);
    return _mm512_mask_xor_ps(a, static_cast<__mmask16>(bits), a, sign);
  }
  template <unsigned Bit>
  static Floats negate_if(Floats a, Ints flags) noexcept {
    const __m512i sign = _mm512_and_si512(_mm512_slli_epi32(flags.v, 31 - Bit), _mm512_set1_epi32(static_cast<int>(0x80000000u)));
    return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), sign));
  }
  static Floats select(Mask m, Floats a, Floats b) noexcept { return _mm512_mask_blend_ps(m, b, a); }
  template <std::size_t Stride>
  static Floats butterfly(Floats a) noexcept {
    Floats other;
    if constexpr (Stride == 8) other = _mm512_shuffle_f32x4(a, a, 0x4e);
    if constexpr (Stride == 4) other = _mm512_shuffle_f32x4(a, a, 0xb1);
    if constexpr (Stride == 2) other = _mm512_permute_ps(a, 0x4e);
    if constexpr (Stride == 1) other = _mm512_permute_ps(a, 0xb1);
    constexpr auto upper = static_cast<__mmask16>(Stride == 8 ? 0xff00 : Stride == 4 ? 0xf0f0 : Stride == 2 ? 0xcccc : 0xaaaa);
    return _mm512_mask_sub_ps(_mm512_add_ps(a, other), upper, other, a);
  }
  static float sum(Floats a) noexcept {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float largest(Floats a) noexcept {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  template <std::size_t N>
  static Floats lookup(const float* table, Ints i) noexcept {
    if constexpr (N <= 16) return _mm512_permutexvar_ps(i.v, _mm512_maskz_loadu_ps(first(N), table));
    else if constexpr (N == 32) return _mm512_permutex2var_ps(load(table), i.v, load(table + 16));
    else if constexpr (N == 64)
      return _mm512_mask_blend_ps(_mm512_test_epi32_mask(i.v, _mm512_set1_epi32(32)),
                                  _mm512_permutex2var_ps(load(table), i.v, load(table + 16)),
                                  _mm512_permutex2var_ps(load(table + 32), i.v, load(table + 48)));
    else return _mm512_i32gather_ps(i.v, table, 4);
  }
  static void split_triplets(Floats a, Floats b, Floats c, Floats& x, Floats& y, Floats& z) noexcept {
    // Lane l comes from element 3l+k of the 48: of a and b first, the rest of c.
    x = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0), b);
    x = _mm512_mask_permutexvar_ps(x, 0xf800, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 7, 10, 13), c);
    y = _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0), b);
    y = _mm512_mask_permutexvar_ps(y, 0xf800, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 8, 11, 14), c);
    z = _mm512_permutex2var_ps(a, _mm512_setr_epi32(2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0), b);
    z = _mm512_mask_permutexvar_ps(z, 0xfc00, _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 6, 9, 12, 15), c);
  }
  static void join_triplets(Floats x, Floats y, Floats z, Floats& a, Floats& b, Floats& c) noexcept {
    a = _mm512_permutex2var_ps(x, _mm512_setr_epi32(0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5), y);
    a = _mm512_mask_permutexvar_ps(a, 0x4924, _mm512_setr_epi32(0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0), z);
    b = _mm512_permutex2var_ps(x, _mm512_setr_epi32(21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26), y);
    b = _mm512_mask_permutexvar_ps(b, 0x2492, _mm512_setr_epi32(0, 5, 0, 0, 6, 0, 0, 7, 0, 0, 8, 0, 0, 9, 0, 0), z);
    c = _mm512_permutex2var_ps(x, _mm512_setr_epi32(0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0), y);
    c = _mm512_mask_permutexvar_ps(c, 0x9249, _mm512_setr_epi32(10, 0, 0, 11, 0, 0, 12, 0, 0, 13, 0, 0, 14, 0, 0, 15), z);
  }

  static void interleave(Floats a, Floats b, Floats& low, Floats& high) noexcept {
    low = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b);
    high = _mm512_permutex2var_ps(a, _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31), b);
  }
  static void deinterleave(Floats a, Floats b, Floats& even, Floats& odd) noexcept {
    even = _mm512_permutex2var_ps(a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
    odd = _mm512_permutex2var_ps(a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
  }

  // Masks

  template <std::size_t N>
  static Mask first_lanes() noexcept {
    return first(N);
  }
  static Mask greater(Floats a, Floats b) noexcept { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static Mask differ(Mask a, Mask b) noexcept { return static_cast<Mask>(a ^ b); }
  static std::uint32_t bits(Mask a) noexcept { return a; }

  // Ints

  static Ints broadcast_int(std::int32_t x) noexcept { return {_mm512_set1_epi32(x)}; }
  static Ints add(Ints a, Ints b) noexcept { return {_mm512_add_epi32(a.v, b.v)}; }
  static Ints bit_or(Ints a, Ints b) noexcept { return {_mm512_or_si512(a.v, b.v)}; }
  static Ints bit_and(Ints a, Ints b) noexcept { return {_mm512_and_si512(a.v, b.v)}; }
  template <unsigned N>
  static Ints shift_left(Ints a) noexcept {
    return {_mm512_slli_epi32(a.v, N)};
  }
  template <unsigned N>
  static Ints shift_right(Ints a) noexcept {
    return {_mm512_srli_epi32(a.v, N)};
  }
  static Ints clip(Ints a, std::int32_t low, std::int32_t high) noexcept {
    return {_mm512_min_epi32(_mm512_max_epi32(a.v, _mm512_set1_epi32(low)), _mm512_set1_epi32(high))};
  }
  static Ints count(Ints a, Mask m) noexcept { return {_mm512_mask_add_epi32(a.v, m, a.v, _mm512_set1_epi32(1))}; }
  static Ints select(Mask m, Ints a, Ints b) noexcept { return {_mm512_mask_blend_epi32(m, b.v, a.v)}; }
  static std::int32_t sum(Ints a) noexcept {
    const __m256i eight = _mm256_add_epi32(_mm512_castsi512_si256(a.v), _mm512_extracti32x8_epi32(a.v, 1));
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  }
  static Floats to_floats(Ints a) noexcept { return _mm512_cvtepi32_ps(a.v); }
  static Ints round_to_ints(Floats a) noexcept {
    return {_mm512_cvt_roundps_epi32(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  static Ints load_ints(const std::int32_t* x) noexcept { return {_mm512_loadu_si512(x)}; }
  template <std::size_t From = 0>
  static Ints load_ints(const std::uint8_t* x) noexcept {
    return {_mm512_cvtepu8_epi32(_mm_srli_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)), From))};
  }
  static void store(Ints a, std::int32_t* x) noexcept { _mm512_storeu_si512(x, a.v); }
  static void store(Ints a, std::uint8_t* x) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x), _mm512_cvtepi32_epi8(a.v));
  }

  // Bytes

  static Bytes load_bytes(const void* from) noexcept { return {_mm512_loadu_si512(from)}; }
  static Bytes load_bytes(const void* from, std::size_t n) noexcept { return {_mm512_maskz_loadu_epi8(first_bytes(n), from)}; }
  static Bytes load_two(const void* low, const void* high, std::size_t n) noexcept {
    const auto half = [n](const void* from) {
      return n == 32 ? _mm256_loadu_si256(static_cast<const __m256i*>(from))
                     : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(first_bytes(n)), from);
    };
    return {_mm512_inserti64x4(_mm512_castsi256_si512(half(low)), half(high), 1)};
  }
  static Bytes bytes_of(Ints a) noexcept { return {a.v}; }
  static Ints ints_of(Bytes a) noexcept { return {a.v}; }
  static void store_bytes(Bytes a, void* to) noexcept { _mm512_storeu_si512(to, a.v); }
  static Bytes narrow(Ints a, Ints b, Ints c, Ints d) noexcept {
    // Packing works within 128 bits: dword i of quarter q becomes dword q of quarter i.
    const __m512i packed = _mm512_packus_epi16(_mm512_packs_epi32(a.v, b.v), _mm512_packs_epi32(c.v, d.v));
    return {_mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), packed)};
  }
  template <std::size_t Quarter>
  static Ints widen(Bytes a) noexcept {
    return {_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(a.v, Quarter))};
  }
  template <unsigned Width, std::size_t Fields>
  static void pack(Bytes fields, std::byte* to) noexcept {
    constexpr std::size_t bytes = bytes_for_bits(Width * Fields);
    if constexpr (Fields < 64) fields.v = _mm512_maskz_mov_epi8(first_bytes(Fields), fields.v);
    if constexpr (Width == 8) {
      _mm512_mask_storeu_epi8(to, first_bytes(bytes), fields.v);
    } else {
      pack_qwords<Width, bytes>(join_qwords<Width>(fields.v), to);
    }
  }
  static constexpr bool unpacks_at_bits = has_vbmi;
  template <unsigned Width, std::size_t Fields, std::size_t Readable = bytes_for_bits(Width * Fields), unsigned Shift = 0>
  static Bytes unpack(const std::byte* from) noexcept {
    static_assert(Shift == 0 || unpacks_at_bits);
    constexpr std::size_t bytes = bytes_for_bits(Width * Fields + Shift);
    __m512i packed;
    if constexpr (bytes == 64) packed = _mm512_loadu_si512(from);
    else if constexpr (bytes == 32) packed = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    else if constexpr (bytes == 16) packed = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    else packed = _mm512_maskz_loadu_epi8(first_bytes(bytes), from);
    if constexpr (Width == 8 && Shift == 0) return {packed};
    if constexpr (Width == 4 && Shift == 0) {
      const __m512i wide = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(packed));
      return {_mm512_and_si512(_mm512_or_si512(wide, _mm512_slli_epi16(wide, 4)), _mm512_set1_epi8(0x0f))};
    }
    if constexpr (has_vbmi) {
#if defined(__AVX512VBMI__)
      constexpr std::uint64_t shifts = [] {
        std::uint64_t s = 0;
        for (unsigned k = 0; k < 8; ++k) s |= std::uint64_t{k * Width + Shift} << (8 * k);
        return s;
      }();
      const __m512i spread = _mm512_permutexvar_epi8(spread_index<Width, false>(), packed);
      const __m512i fields = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(static_cast<long long>(shifts)), spread);
      return {_mm512_and_si512(fields, _mm512_set1_epi8(static_cast<char>((1u << Width) - 1)))};
#endif
    } else {
      alignas(64) std::byte copy[72] = {};
      _mm512_store_si512(copy, packed);
      std::uint64_t each[8];
      for (std::size_t k = 0; k < 8; ++k) std::memcpy(&each[k], copy + k * Width, 8);
      return {split_qwords<Width>(_mm512_loadu_si512(each))};
    }
  }
  template <std::size_t N>
  static Bytes lookup(const std::uint8_t* table, Bytes i) noexcept {
    if constexpr (N <= 16) {
      const __m128i t = _mm_maskz_loadu_epi8(static_cast<__mmask16>((1u << N) - 1u), table);
      return {_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), i.v)};
    } else if constexpr (has_vbmi && N <= 256) {
#if defined(__AVX512VBMI__)
      if constexpr (N <= 64) return {_mm512_permutexvar_epi8(i.v, _mm512_loadu_si512(table))};
      const __m512i low = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), i.v, _mm512_loadu_si512(table + 64));
      if constexpr (N <= 128) return {low};
      const __m512i high = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + (N > 128 ? 128 : 0)), i.v, _mm512_loadu_si512(table + (N > 128 ? 192 : 0)));
      return {_mm512_mask_blend_epi8(_mm512_movepi8_mask(i.v), low, high)};
#endif
    } else {
      __m512i r = _mm512_setzero_si512();
      for (std::size_t k = 0; k < N; k += 16) {
        const __m512i here = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + k)));
        const __m512i high = _mm512_and_si512(i.v, _mm512_set1_epi8(static_cast<char>(0xf0)));
        const __mmask64 mine = _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8(static_cast<char>(k)));
        r = _mm512_mask_shuffle_epi8(r, mine, here, _mm512_and_si512(i.v, _mm512_set1_epi8(0x0f)));
      }
      return {r};
    }
  }
  template <unsigned Mask>
  static Bytes select_bits(Bytes a, Bytes b) noexcept {
    return {_mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>(Mask)), b.v, a.v, 0xca)};
  }
  template <unsigned Bit>
  static Bytes negate_where(Bytes a, Bytes flags) noexcept {
    const __mmask64 m = _mm512_test_epi8_mask(flags.v, _mm512_set1_epi8(static_cast<char>(1u << Bit)));
    return {_mm512_mask_sub_epi8(a.v, m, _mm512_setzero_si512(), a.v)};
  }
  /// dpbusd takes an unsigned first operand: 128 above the signed value.
  static constexpr std::int32_t bias = 128;
  static Ints dot4(Ints sum, Bytes a, Bytes b) noexcept {
#if defined(__AVX512VNNI__)
    return {_mm512_dpbusd_epi32(sum.v, a.v, b.v)};
#else
    // maddubs saturates words, so even and odd bytes apart.
    const __m512i low = _mm512_set1_epi16(0xff);
    const __m512i even = _mm512_madd_epi16(_mm512_and_si512(a.v, low), _mm512_srai_epi16(_mm512_slli_epi16(b.v, 8), 8));
    const __m512i odd = _mm512_madd_epi16(_mm512_srli_epi16(a.v, 8), _mm512_srai_epi16(b.v, 8));
    return {_mm512_add_epi32(sum.v, _mm512_add_epi32(even, odd))};
#endif
  }
  static Ints dot4_unsigned(Ints sum, Bytes a, Bytes b) noexcept { return dot4(sum, a, b); }
  static Bytes unbiased(Bytes a) noexcept { return {_mm512_xor_si512(a.v, _mm512_set1_epi8(static_cast<char>(bias)))}; }
  template <unsigned Width, unsigned Shift>
  static Bytes field(Bytes a, Bytes b) noexcept {
    const __m512i mask = _mm512_set1_epi8(static_cast<char>((1u << Width) - 1));
    __m512i r = Shift == 0 ? a.v : _mm512_srli_epi16(a.v, Shift);
    if constexpr (Shift + Width > 8)  // of the first byte its upper bits, of the second what is above them
      r = _mm512_ternarylogic_epi32(_mm512_set1_epi8(static_cast<char>((1u << (8 - Shift)) - 1)), r, _mm512_slli_epi16(b.v, 8 - Shift), 0xca);
    if constexpr (has_vbmi && (Width == 6 || Width == 7)) return {r};  // which the look-up does not see
    else return {_mm512_and_si512(r, mask)};
  }
  static constexpr std::size_t registers = 32;
  static constexpr unsigned lookup_bits = has_vbmi ? 7 : 4;
  /// Words: all bytes with the odd ones 256-fold, and the odd ones alone.
  struct Sums {
    __m512i all = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
  };
  static void add_bytes(Sums& sum, Bytes a) noexcept {
    sum.all = _mm512_add_epi16(sum.all, a.v);
    sum.odd = _mm512_add_epi16(sum.odd, _mm512_srli_epi16(a.v, 8));
    asm("" : "+v"(sum.all), "+v"(sum.odd));  // or g++ adds them up in another order, and spills: 5.7 for 1.4 ns a row
  }
  static void widen_sums(const Sums& sum, Ints (&out)[4]) noexcept {
    const __m512i even = _mm512_sub_epi16(sum.all, _mm512_slli_epi16(sum.odd, 8));
    const __m512i low = _mm512_unpacklo_epi16(even, sum.odd), high = _mm512_unpackhi_epi16(even, sum.odd);
    unrolled<4>([&](auto q) KVCODEC_INLINE {
      constexpr int quarter = static_cast<int>(decltype(q)());  // a constant to the intrinsics at -O0 too
      out[quarter].v = _mm512_cvtepu16_epi32(_mm256_inserti128_si256(
          _mm256_castsi128_si256(_mm512_extracti32x4_epi32(low, quarter)), _mm512_extracti32x4_epi32(high, quarter), 1));
    });
  }
  static Bytes broadcast4(std::uint32_t four) noexcept { return {_mm512_set1_epi32(static_cast<int>(four))}; }
  static Bytes broadcast4(std::uint32_t low, std::uint32_t high) noexcept {
    return {_mm512_mask_set1_epi32(_mm512_set1_epi32(static_cast<int>(low)), 0xff00, static_cast<int>(high))};
  }
  static Ints sum_rows(const Ints (&a)[16]) noexcept {
    __m512i pair[8], four[4];
    for (std::size_t k = 0; k < 8; ++k)
      pair[k] = _mm512_add_epi32(_mm512_unpacklo_epi32(a[2 * k].v, a[2 * k + 1].v), _mm512_unpackhi_epi32(a[2 * k].v, a[2 * k + 1].v));
    for (std::size_t k = 0; k < 4; ++k)
      four[k] = _mm512_add_epi32(_mm512_unpacklo_epi64(pair[2 * k], pair[2 * k + 1]), _mm512_unpackhi_epi64(pair[2 * k], pair[2 * k + 1]));
    // Each quarter of four[k] holds rows 4k to 4k+3.
    const __m512i low = _mm512_add_epi32(_mm512_shuffle_i32x4(four[0], four[1], 0x88), _mm512_shuffle_i32x4(four[0], four[1], 0xdd));
    const __m512i high = _mm512_add_epi32(_mm512_shuffle_i32x4(four[2], four[3], 0x88), _mm512_shuffle_i32x4(four[2], four[3], 0xdd));
    return {_mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xdd))};
  }
  static void transpose4(const Bytes (&row)[4], Bytes (&out)[4]) noexcept {
    const __m512i low01 = _mm512_unpacklo_epi8(row[0].v, row[1].v), high01 = _mm512_unpackhi_epi8(row[0].v, row[1].v);
    const __m512i low23 = _mm512_unpacklo_epi8(row[2].v, row[3].v), high23 = _mm512_unpackhi_epi8(row[2].v, row[3].v);
    out[0].v = _mm512_unpacklo_epi16(low01, low23);
    out[1].v = _mm512_unpackhi_epi16(low01, low23);
    out[2].v = _mm512_unpacklo_epi16(high01, high23);
    out[3].v = _mm512_unpackhi_epi16(high01, high23);
  }
  static void untranspose(Ints (&a)[4]) noexcept {
    const __m512i low01 = _mm512_shuffle_i32x4(a[0].v, a[1].v, 0x44), high01 = _mm512_shuffle_i32x4(a[0].v, a[1].v, 0xee);
    const __m512i low23 = _mm512_shuffle_i32x4(a[2].v, a[3].v, 0x44), high23 = _mm512_shuffle_i32x4(a[2].v, a[3].v, 0xee);
    a[0].v = _mm512_shuffle_i32x4(low01, low23, 0x88);
    a[1].v = _mm512_shuffle_i32x4(low01, low23, 0xdd);
    a[2].v = _mm512_shuffle_i32x4(high01, high23, 0x88);
    a[3].v = _mm512_shuffle_i32x4(high01, high23, 0xdd);
  }

 private:
  static __mmask16 first(std::size_t n) noexcept { return static_cast<__mmask16>((1u << n) - 1u); }
  static __mmask64 first_bytes(std::size_t n) noexcept { return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1; }

  /// Of qword k's bytes, those at k * Width on (spreading), or the other way round (joining).
  template <unsigned Width, bool Join>
  struct SpreadIndex {
    static constexpr Table<std::uint8_t, 64> make() noexcept {
      Table<std::uint8_t, 64> t{};
      for (unsigned k = 0; k < 64; ++k)
        t.value[k] = static_cast<std::uint8_t>((Join ? 8 * (k / Width) + k % Width : k / 8 * Width + k % 8) % 64);
      return t;
    }
  };
  template <unsigned Width, bool Join>
  static __m512i spread_index() noexcept {
    return _mm512_loadu_si512(table<SpreadIndex<Width, Join>>());
  }
  /// Neighbours join: two fields a word, four a dword, eight in the low bits of a qword.
  template <unsigned Width>
  static __m512i join_qwords(__m512i fields) noexcept {
    __m512i word;
    if constexpr (Width == 7)
      word = _mm512_or_si512(_mm512_and_si512(fields, _mm512_set1_epi16(0xff)), _mm512_slli_epi16(_mm512_srli_epi16(fields, 8), 7));
    else word = _mm512_maddubs_epi16(fields, _mm512_set1_epi16(static_cast<short>(1 | 1 << (8 + Width))));
    const __m512i dword = _mm512_madd_epi16(word, _mm512_set1_epi32(1 | 1 << (16 + 2 * Width)));
    return _mm512_or_si512(_mm512_and_si512(dword, _mm512_set1_epi64(0xffffffff)),
                                          _mm512_slli_epi64(_mm512_srli_epi64(dword, 32), 4 * Width));
  }
  template <unsigned Width, std::size_t bytes>
  static void pack_qwords(__m512i qword, std::byte* to) noexcept {
    if constexpr (has_vbmi) {
#if defined(__AVX512VBMI__)
      const __m512i packed = _mm512_permutexvar_epi8(spread_index<Width, true>(), qword);
      if constexpr (bytes == 64) _mm512_storeu_si512(to, packed);
      else if constexpr (bytes == 32) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(packed));
      else if constexpr (bytes == 16) _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(packed));
      else _mm512_mask_storeu_epi8(to, first_bytes(bytes), packed);
#endif
    } else {
      alignas(64) std::uint64_t each[8];
      _mm512_store_si512(each, qword);
      for (std::size_t k = 0; k < bytes; k += Width)
        std::memcpy(to + k, &each[k / Width], bytes - k < Width ? bytes - k : Width);
    }
  }
  /// Eight fields in the low bits of each qword, each to a byte of its own.
  template <unsigned Width>
  static __m512i split_qwords(__m512i q) noexcept {
    q = _mm512_or_si512(_mm512_and_si512(q, _mm512_set1_epi64((1ll << (4 * Width)) - 1)),
                        _mm512_slli_epi64(_mm512_srli_epi64(q, 4 * Width), 32));
    q = _mm512_or_si512(_mm512_and_si512(q, _mm512_set1_epi32((1 << (2 * Width)) - 1)),
                        _mm512_slli_epi32(_mm512_srli_epi32(q, 2 * Width), 16));
    q = _mm512_or_si512(_mm512_and_si512(q, _mm512_set1_epi16((1 << Width) - 1)), _mm512_slli_epi16(_mm512_srli_epi16(q, Width), 8));
    return _mm512_and_si512(q, _mm512_set1_epi8(static_cast<char>((1u << Width) - 1)));
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
