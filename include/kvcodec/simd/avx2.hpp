// The vocabulary in AVX2, FMA and F16C (x86-64-v3): two registers of eight where AVX-512 has one of sixteen.
#pragma once

#include "../codebook/table.hpp"
#include "scalar.hpp"

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <>
struct Simd<Isa::avx2> {
  struct Floats {
    __m256 low, high;
  };
  struct Mask {
    __m256 low, high;  // all ones or all zeros a lane
  };
  struct Ints {
    __m256i low, high;
  };
  struct Bytes {
    __m256i low, high;
  };

  // Floats

  static Floats load(const float* x) noexcept { return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)}; }
  static Floats load_part(const float* x, std::size_t n) noexcept {
    return {_mm256_maskload_ps(x, first(n)), n > 8 ? _mm256_maskload_ps(x + 8, first(n - 8)) : _mm256_setzero_ps()};
  }
  template <std::size_t N>
  static Floats repeat(const float* x) noexcept {
    static_assert(N == 1 || N == 2 || N == 4 || N == 8);
    __m256 r;
    if constexpr (N == 1) r = _mm256_set1_ps(*x);
    if constexpr (N == 2) r = _mm256_castpd_ps(_mm256_broadcast_sd(reinterpret_cast<const double*>(x)));
    if constexpr (N == 4) r = _mm256_broadcast_ps(reinterpret_cast<const __m128*>(x));
    if constexpr (N == 8) r = _mm256_loadu_ps(x);
    return {r, r};
  }
  template <class Half>
  static Floats load_halves(const std::byte* from, std::size_t n) noexcept {
    std::byte copy[32] = {};
    if (n < 16) {
      std::memcpy(copy, from, 2 * n);
      from = copy;
    }
    const auto eight = [](const std::byte* p) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      if constexpr (std::is_same_v<Half, float16>) return _mm256_cvtph_ps(halves);
      else return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    };
    return {eight(from), eight(from + 16)};
  }
  template <class Half>
  static void store_halves(Floats a, std::byte* to, std::size_t n) noexcept {
    const __m256 limit = _mm256_set1_ps(max_finite<Half>());
    const auto eight = [&](__m256 x) {
      x = _mm256_min_ps(_mm256_max_ps(x, _mm256_sub_ps(_mm256_setzero_ps(), limit)), limit);
      if constexpr (std::is_same_v<Half, float16>) {
        return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
      } else {
        const __m256i u = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
        const __m256i r = _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff)), 16);
        return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
      }
    };
    std::byte copy[32];
    std::byte* const whole = n < 16 ? copy : to;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(whole), eight(a.low));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(whole + 16), eight(a.high));
    if (n < 16) std::memcpy(to, copy, 2 * n);
  }
  static void store(Floats a, float* x) noexcept {
    _mm256_storeu_ps(x, a.low);
    _mm256_storeu_ps(x + 8, a.high);
  }
  static void store_part(Floats a, float* x, std::size_t n) noexcept {
    _mm256_maskstore_ps(x, first(n), a.low);
    if (n > 8) _mm256_maskstore_ps(x + 8, first(n - 8), a.high);
  }
  static Floats broadcast(float x) noexcept { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static Floats add(Floats a, Floats b) noexcept { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  static Floats subtract(Floats a, Floats b) noexcept { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  static Floats multiply(Floats a, Floats b) noexcept {
    Floats r{_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
    asm("" : "+x"(r.low), "+x"(r.high));  // compilers fuse products that come from intrinsics too
    return r;
  }
  static Floats divide(Floats a, Floats b) noexcept { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  static Floats fma(Floats a, Floats b, Floats c) noexcept {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static Floats multiply_add(Floats a, Floats b, Floats c) noexcept { return fma(a, b, c); }
  static Floats root(Floats a) noexcept { return {_mm256_sqrt_ps(a.low), _mm256_sqrt_ps(a.high)}; }
  static Floats magnitude(Floats a) noexcept {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.low), _mm256_andnot_ps(sign, a.high)};
  }
  static Floats maximum(Floats a, Floats b) noexcept { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  static Floats minimum(Floats a, Floats b) noexcept { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  static Floats negate(Floats a, std::uint32_t bits) noexcept {
    const __m256i to_top = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
    const __m256i low = _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(bits)), to_top), sign);
    const __m256i high = _mm256_and_si256(_mm256_sllv_epi32(_mm256_set1_epi32(static_cast<int>(bits >> 8)), to_top), sign);
    return {_mm256_xor_ps(a.low, _mm256_castsi256_ps(low)), _mm256_xor_ps(a.high, _mm256_castsi256_ps(high))};
  }
  template <unsigned Bit>
  static Floats negate_if(Floats a, Ints flags) noexcept {
    const __m256i sign = _mm256_set1_epi32(static_cast<int>(0x80000000u));
    return {_mm256_xor_ps(a.low, _mm256_castsi256_ps(_mm256_and_si256(_mm256_slli_epi32(flags.low, 31 - Bit), sign))),
            _mm256_xor_ps(a.high, _mm256_castsi256_ps(_mm256_and_si256(_mm256_slli_epi32(flags.high, 31 - Bit), sign)))};
  }
  static Floats select(Mask m, Floats a, Floats b) noexcept {
    return {_mm256_blendv_ps(b.low, a.low, m.low), _mm256_blendv_ps(b.high, a.high, m.high)};
  }
  template <std::size_t Stride>
  static Floats butterfly(Floats a) noexcept {
    if constexpr (Stride == 8) return {_mm256_add_ps(a.low, a.high), _mm256_sub_ps(a.low, a.high)};
    else return {butterfly_of_8<Stride>(a.low), butterfly_of_8<Stride>(a.high)};
  }
  static float sum(Floats a) noexcept {
    const __m256 eight = _mm256_add_ps(a.low, a.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float largest(Floats a) noexcept {
    const __m256 eight = _mm256_max_ps(a.low, a.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  template <std::size_t N>
  static Floats lookup(const float* table, Ints i) noexcept {
    if constexpr (N <= 8) {
      const __m256 t = N == 8 ? _mm256_loadu_ps(table) : _mm256_maskload_ps(table, first(N));
      return {_mm256_permutevar8x32_ps(t, i.low), _mm256_permutevar8x32_ps(t, i.high)};
    } else if constexpr (N == 16) {
      const __m256 t0 = _mm256_loadu_ps(table), t1 = _mm256_loadu_ps(table + 8);
      const auto one = [&](__m256i k) {
        return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t0, k), _mm256_permutevar8x32_ps(t1, k),
                                _mm256_castsi256_ps(_mm256_slli_epi32(k, 28)));
      };
      return {one(i.low), one(i.high)};
    } else {
      return {_mm256_i32gather_ps(table, i.low, 4), _mm256_i32gather_ps(table, i.high, 4)};
    }
  }
  static void split_triplets(Floats a, Floats b, Floats c, Floats& x, Floats& y, Floats& z) noexcept {
    split_8(a.low, a.high, b.low, x.low, y.low, z.low);
    split_8(b.high, c.low, c.high, x.high, y.high, z.high);
  }
  static void join_triplets(Floats x, Floats y, Floats z, Floats& a, Floats& b, Floats& c) noexcept {
    join_8(x.low, y.low, z.low, a.low, a.high, b.low);
    join_8(x.high, y.high, z.high, b.high, c.low, c.high);
  }

  static void interleave(Floats a, Floats b, Floats& low, Floats& high) noexcept {
    const auto eight = [](__m256 x, __m256 y) {
      const __m256 outer = _mm256_unpacklo_ps(x, y), inner = _mm256_unpackhi_ps(x, y);
      return Floats{_mm256_permute2f128_ps(outer, inner, 0x20), _mm256_permute2f128_ps(outer, inner, 0x31)};
    };
    low = eight(a.low, b.low);
    high = eight(a.high, b.high);
  }
  static void deinterleave(Floats a, Floats b, Floats& even, Floats& odd) noexcept {
    // Shuffling works within 128 bits: a pair of x, one of y, another of x, another of y.
    const auto in_order = [](__m256 x) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8)); };
    even = {in_order(_mm256_shuffle_ps(a.low, a.high, 0x88)), in_order(_mm256_shuffle_ps(b.low, b.high, 0x88))};
    odd = {in_order(_mm256_shuffle_ps(a.low, a.high, 0xdd)), in_order(_mm256_shuffle_ps(b.low, b.high, 0xdd))};
  }

  // Masks

  template <std::size_t N>
  static Mask first_lanes() noexcept {
    return {_mm256_castsi256_ps(first(N)), _mm256_castsi256_ps(first(N > 8 ? N - 8 : 0))};
  }
  static Mask greater(Floats a, Floats b) noexcept {
    return {_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ), _mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ)};
  }
  static Mask differ(Mask a, Mask b) noexcept { return {_mm256_xor_ps(a.low, b.low), _mm256_xor_ps(a.high, b.high)}; }
  static std::uint32_t bits(Mask a) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_ps(a.low)) | static_cast<std::uint32_t>(_mm256_movemask_ps(a.high)) << 8;
  }

  // Ints

  static Ints broadcast_int(std::int32_t x) noexcept { return {_mm256_set1_epi32(x), _mm256_set1_epi32(x)}; }
  static Ints add(Ints a, Ints b) noexcept { return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)}; }
  static Ints bit_or(Ints a, Ints b) noexcept { return {_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)}; }
  static Ints bit_and(Ints a, Ints b) noexcept { return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)}; }
  template <unsigned N>
  static Ints shift_left(Ints a) noexcept {
    return {_mm256_slli_epi32(a.low, N), _mm256_slli_epi32(a.high, N)};
  }
  template <unsigned N>
  static Ints shift_right(Ints a) noexcept {
    return {_mm256_srli_epi32(a.low, N), _mm256_srli_epi32(a.high, N)};
  }
  static Ints clip(Ints a, std::int32_t low, std::int32_t high) noexcept {
    const __m256i least = _mm256_set1_epi32(low), most = _mm256_set1_epi32(high);
    return {_mm256_min_epi32(_mm256_max_epi32(a.low, least), most), _mm256_min_epi32(_mm256_max_epi32(a.high, least), most)};
  }
  static Ints count(Ints a, Mask m) noexcept {
    return {_mm256_sub_epi32(a.low, _mm256_castps_si256(m.low)), _mm256_sub_epi32(a.high, _mm256_castps_si256(m.high))};
  }
  static Ints select(Mask m, Ints a, Ints b) noexcept {
    return {_mm256_blendv_epi8(b.low, a.low, _mm256_castps_si256(m.low)), _mm256_blendv_epi8(b.high, a.high, _mm256_castps_si256(m.high))};
  }
  static std::int32_t sum(Ints a) noexcept {
    const __m256i eight = _mm256_add_epi32(a.low, a.high);
    const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  }
  static Floats to_floats(Ints a) noexcept { return {_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
  static Ints round_to_ints(Floats a) noexcept {
    // Adding 1.5 * 2^23 rounds to nearest whatever the rounding mode of conversions is set to.
    const __m256 magic = _mm256_set1_ps(12582912.0f);
    const __m256i zero = _mm256_castps_si256(magic);
    return {_mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(a.low, magic)), zero),
            _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(a.high, magic)), zero)};
  }
  static Ints load_ints(const std::int32_t* x) noexcept {
    const auto* p = reinterpret_cast<const __m256i*>(x);
    return {_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1)};
  }
  template <std::size_t From = 0>
  static Ints load_ints(const std::uint8_t* x) noexcept {
    const __m128i bytes = _mm_srli_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)), From);
    return {_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
  }
  static void store(Ints a, std::uint8_t* x) noexcept {
    const auto words = [](__m256i v) { return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)); };
    _mm_storeu_si128(reinterpret_cast<__m128i*>(x), _mm_packus_epi16(words(a.low), words(a.high)));
  }
  static void store(Ints a, std::int32_t* x) noexcept {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), a.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(x + 8), a.high);
  }

  // Bytes

  static Bytes load_bytes(const void* from) noexcept {
    const auto* p = static_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(p), _mm256_loadu_si256(p + 1)};
  }
  static Bytes load_bytes(const void* from, std::size_t n) noexcept {
    alignas(32) std::uint8_t copy[64] = {};
    std::memcpy(copy, from, n);
    return load_bytes(copy);
  }
  static Bytes load_two(const void* low, const void* high, std::size_t n) noexcept {
    if (n == 32) return {_mm256_loadu_si256(static_cast<const __m256i*>(low)), _mm256_loadu_si256(static_cast<const __m256i*>(high))};
    return {load_bytes(low, n).low, load_bytes(high, n).low};
  }
  static Bytes bytes_of(Ints a) noexcept { return {a.low, a.high}; }
  static Ints ints_of(Bytes a) noexcept { return {a.low, a.high}; }
  static void store_bytes(Bytes a, void* to) noexcept {
    auto* p = static_cast<__m256i*>(to);
    _mm256_storeu_si256(p, a.low);
    _mm256_storeu_si256(p + 1, a.high);
  }
  static Bytes narrow(Ints a, Ints b, Ints c, Ints d) noexcept {
    const auto two = [](Ints p, Ints q) {
      // Packing works within 128 bits: dword i of quarter k becomes dword k of quarter i.
      const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(p.low, p.high), _mm256_packs_epi32(q.low, q.high));
      return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    };
    return {two(a, b), two(c, d)};
  }
  template <std::size_t Quarter>
  static Ints widen(Bytes a) noexcept {
    const __m256i half = Quarter < 2 ? a.low : a.high;
    const __m128i q = Quarter % 2 == 0 ? _mm256_castsi256_si128(half) : _mm256_extracti128_si256(half, 1);
    return {_mm256_cvtepu8_epi32(q), _mm256_cvtepu8_epi32(_mm_srli_si128(q, 8))};
  }
  template <unsigned Width, std::size_t Fields>
  static void pack(Bytes fields, std::byte* to) noexcept {
    constexpr std::size_t bytes = bytes_for_bits(Width * Fields);
    if constexpr (Fields < 64) {
      const __m256i index = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
      fields.low = _mm256_and_si256(fields.low, _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(Fields)), index));
      fields.high = Fields <= 32 ? _mm256_setzero_si256()
                                 : _mm256_and_si256(fields.high, _mm256_cmpgt_epi8(_mm256_set1_epi8(static_cast<char>(Fields - 32)), index));
    }
    alignas(32) std::byte each[64 + 8] = {};
    if constexpr (Width == 8) {
      store_bytes(fields, each);
    } else {
      store_bytes({join_qwords<Width>(fields.low), join_qwords<Width>(fields.high)}, each);
      for (std::size_t k = 1; k < 8; ++k) std::memmove(each + k * Width, each + 8 * k, 8);
    }
    std::memcpy(to, each, bytes);
  }
  static constexpr bool unpacks_at_bits = false;
  template <unsigned Width, std::size_t Fields, std::size_t Readable = bytes_for_bits(Width * Fields)>
  static Bytes unpack(const std::byte* from) noexcept {
    if constexpr (Width == 8) {
      if constexpr (Readable >= 64) return load_bytes(from);
      else return load_bytes(from, bytes_for_bits(Width * Fields));
    } else if constexpr (Readable >= 16) {
      return {split_qwords<Width>(two_lanes<Width, 0, Readable>(from)), split_qwords<Width>(two_lanes<Width, 2, Readable>(from))};
    } else {
      constexpr std::size_t bytes = bytes_for_bits(Width * Fields);
      std::byte copy[16] = {};
      std::memcpy(copy, from, bytes);
      return unpack<Width, Fields, 16>(copy);
    }
  }
  template <std::size_t N>
  static Bytes lookup(const std::uint8_t* table, Bytes i) noexcept {
    const auto entry = [&](std::size_t k) { return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table + k))); };
    if constexpr (N <= 16) {
      alignas(16) std::uint8_t padded[16] = {};
      if constexpr (N < 16) std::memcpy(padded, table, N);
      const __m256i t = N < 16 ? _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(padded))) : entry(0);
      return {_mm256_shuffle_epi8(t, i.low), _mm256_shuffle_epi8(t, i.high)};
    } else {
      // pshufb answers 0 where bit 7 of the index is set: i - k saturated so that only 16 indices survive.
      Bytes r{_mm256_setzero_si256(), _mm256_setzero_si256()};
      const __m256i high = _mm256_set1_epi8(static_cast<char>(0xf0));
      for (std::size_t k = 0; k < N; k += 16) {
        const __m256i t = entry(k), here = _mm256_set1_epi8(static_cast<char>(k));
        const auto one = [&](__m256i index) {
          const __m256i mine = _mm256_cmpeq_epi8(_mm256_and_si256(index, high), here);
          return _mm256_and_si256(_mm256_shuffle_epi8(t, _mm256_andnot_si256(high, index)), mine);
        };
        r.low = _mm256_or_si256(r.low, one(i.low));
        r.high = _mm256_or_si256(r.high, one(i.high));
      }
      return r;
    }
  }
  template <unsigned Mask>
  static Bytes select_bits(Bytes a, Bytes b) noexcept {
    const __m256i mask = _mm256_set1_epi8(static_cast<char>(Mask));
    const auto one = [&](__m256i x, __m256i y) { return _mm256_or_si256(_mm256_andnot_si256(mask, x), _mm256_and_si256(mask, y)); };
    return {one(a.low, b.low), one(a.high, b.high)};
  }
  template <unsigned Bit>
  static Bytes negate_where(Bytes a, Bytes flags) noexcept {
    const __m256i bit = _mm256_set1_epi8(static_cast<char>(1u << Bit));
    const auto one = [&](__m256i x, __m256i f) {
      const __m256i m = _mm256_cmpeq_epi8(_mm256_and_si256(f, bit), bit);
      return _mm256_sub_epi8(_mm256_xor_si256(x, m), m);
    };
    return {one(a.low, flags.low), one(a.high, flags.high)};
  }
  static constexpr std::int32_t bias = 0;
  static Ints dot4(Ints sum, Bytes a, Bytes b) noexcept {
    // maddubs takes an unsigned first operand; |a| <= 127 keeps its words below saturation.
    const __m256i ones = _mm256_set1_epi16(1);
    const auto one = [&](__m256i x, __m256i y) {
      return _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x)), ones);
    };
    return {_mm256_add_epi32(sum.low, one(a.low, b.low)), _mm256_add_epi32(sum.high, one(a.high, b.high))};
  }
  static Ints dot4_unsigned(Ints sum, Bytes a, Bytes b) noexcept {
    // maddubs saturates words, so even and odd bytes apart.
    const auto one = [](__m256i x, __m256i y) {
      const __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(0xff)), _mm256_srai_epi16(_mm256_slli_epi16(y, 8), 8));
      return _mm256_add_epi32(even, _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(y, 8)));
    };
    return {_mm256_add_epi32(sum.low, one(a.low, b.low)), _mm256_add_epi32(sum.high, one(a.high, b.high))};
  }
  static Bytes unbiased(Bytes a) noexcept { return a; }
  template <unsigned Width, unsigned Shift>
  static Bytes field(Bytes a, Bytes b) noexcept {
    const auto one = [](__m256i x, __m256i y) {
      const __m256i mask = _mm256_set1_epi8(static_cast<char>((1u << Width) - 1));
      __m256i r = Shift == 0 ? x : _mm256_srli_epi16(x, Shift);
      if constexpr (Shift + Width > 8) {
        const __m256i first = _mm256_set1_epi8(static_cast<char>((1u << (8 - Shift)) - 1));
        r = _mm256_or_si256(_mm256_and_si256(r, first), _mm256_andnot_si256(first, _mm256_slli_epi16(y, 8 - Shift)));
      }
      return _mm256_and_si256(r, mask);
    };
    return {one(a.low, b.low), one(a.high, b.high)};
  }
  static constexpr std::size_t registers = 8;
  static constexpr unsigned lookup_bits = 4;
  /// Words: all bytes with the odd ones 256-fold, and the odd ones alone.
  struct Sums {
    __m256i all[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, odd[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  };
  static void add_bytes(Sums& sum, Bytes a) noexcept {
    sum.all[0] = _mm256_add_epi16(sum.all[0], a.low);
    sum.all[1] = _mm256_add_epi16(sum.all[1], a.high);
    sum.odd[0] = _mm256_add_epi16(sum.odd[0], _mm256_srli_epi16(a.low, 8));
    sum.odd[1] = _mm256_add_epi16(sum.odd[1], _mm256_srli_epi16(a.high, 8));
    asm("" : "+x"(sum.all[0]), "+x"(sum.all[1]), "+x"(sum.odd[0]), "+x"(sum.odd[1]));  // in this order: fewer spills
  }
  static void widen_sums(const Sums& sum, Ints (&out)[4]) noexcept {
    for (std::size_t h = 0; h < 2; ++h) {
      const __m256i even = _mm256_sub_epi16(sum.all[h], _mm256_slli_epi16(sum.odd[h], 8));
      const __m256i low = _mm256_unpacklo_epi16(even, sum.odd[h]), high = _mm256_unpackhi_epi16(even, sum.odd[h]);
      out[2 * h] = {_mm256_cvtepu16_epi32(_mm256_castsi256_si128(low)), _mm256_cvtepu16_epi32(_mm256_castsi256_si128(high))};
      out[2 * h + 1] = {_mm256_cvtepu16_epi32(_mm256_extracti128_si256(low, 1)), _mm256_cvtepu16_epi32(_mm256_extracti128_si256(high, 1))};
    }
  }
  static Bytes broadcast4(std::uint32_t four) noexcept { return broadcast4(four, four); }
  static Bytes broadcast4(std::uint32_t low, std::uint32_t high) noexcept {
    return {_mm256_set1_epi32(static_cast<int>(low)), _mm256_set1_epi32(static_cast<int>(high))};
  }
  static Ints sum_rows(const Ints (&a)[16]) noexcept {
    const auto eight = [&](std::size_t k) {
      const auto both = [&](std::size_t i) { return _mm256_add_epi32(a[k + i].low, a[k + i].high); };
      const __m256i s0 = _mm256_hadd_epi32(_mm256_hadd_epi32(both(0), both(1)), _mm256_hadd_epi32(both(2), both(3)));
      const __m256i s1 = _mm256_hadd_epi32(_mm256_hadd_epi32(both(4), both(5)), _mm256_hadd_epi32(both(6), both(7)));
      return _mm256_add_epi32(_mm256_permute2x128_si256(s0, s1, 0x20), _mm256_permute2x128_si256(s0, s1, 0x31));
    };
    return {eight(0), eight(8)};
  }
  static void transpose4(const Bytes (&row)[4], Bytes (&out)[4]) noexcept {
    const auto half = [](__m256i r0, __m256i r1, __m256i r2, __m256i r3, __m256i (&o)[4]) {
      const __m256i low01 = _mm256_unpacklo_epi8(r0, r1), high01 = _mm256_unpackhi_epi8(r0, r1);
      const __m256i low23 = _mm256_unpacklo_epi8(r2, r3), high23 = _mm256_unpackhi_epi8(r2, r3);
      o[0] = _mm256_unpacklo_epi16(low01, low23);
      o[1] = _mm256_unpackhi_epi16(low01, low23);
      o[2] = _mm256_unpacklo_epi16(high01, high23);
      o[3] = _mm256_unpackhi_epi16(high01, high23);
    };
    __m256i low[4], high[4];
    half(row[0].low, row[1].low, row[2].low, row[3].low, low);
    half(row[0].high, row[1].high, row[2].high, row[3].high, high);
    for (std::size_t k = 0; k < 4; ++k) out[k] = {low[k], high[k]};
  }
  static void untranspose(Ints (&a)[4]) noexcept {
    const auto quarter = [](__m256i p, __m256i q, bool upper) {
      return upper ? _mm256_permute2x128_si256(p, q, 0x31) : _mm256_permute2x128_si256(p, q, 0x20);
    };
    const Ints r[4] = {{quarter(a[0].low, a[1].low, false), quarter(a[2].low, a[3].low, false)},
                       {quarter(a[0].low, a[1].low, true), quarter(a[2].low, a[3].low, true)},
                       {quarter(a[0].high, a[1].high, false), quarter(a[2].high, a[3].high, false)},
                       {quarter(a[0].high, a[1].high, true), quarter(a[2].high, a[3].high, true)}};
    for (std::size_t v = 0; v < 4; ++v) a[v] = r[v];
  }

 private:
  /// All ones in the first n of eight lanes.
  static __m256i first(std::size_t n) noexcept {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  template <std::size_t Stride>
  static __m256 butterfly_of_8(__m256 a) noexcept {
    __m256 other;
    if constexpr (Stride == 4) other = _mm256_permute2f128_ps(a, a, 0x01);
    if constexpr (Stride == 2) other = _mm256_permute_ps(a, 0x4e);
    if constexpr (Stride == 1) other = _mm256_permute_ps(a, 0xb1);
    constexpr int upper = Stride == 4 ? 0xf0 : Stride == 2 ? 0xcc : 0xaa;
    return _mm256_blend_ps(_mm256_add_ps(a, other), _mm256_sub_ps(other, a), upper);
  }
  static void split_8(__m256 a, __m256 b, __m256 c, __m256& x, __m256& y, __m256& z) noexcept {
    const __m256 ab_x = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), c, 0x24);  // x0 x3' x6'' ... by lane mod 3
    const __m256 ab_y = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x24), c, 0x49);
    const __m256 ab_z = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x49), c, 0x92);
    x = _mm256_permutevar8x32_ps(ab_x, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
    y = _mm256_permutevar8x32_ps(ab_y, _mm256_setr_epi32(1, 4, 7, 2, 5, 0, 3, 6));
    z = _mm256_permutevar8x32_ps(ab_z, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
  }
  static void join_8(__m256 x, __m256 y, __m256 z, __m256& a, __m256& b, __m256& c) noexcept {
    const __m256 px = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
    const __m256 py = _mm256_permutevar8x32_ps(y, _mm256_setr_epi32(5, 0, 3, 6, 1, 4, 7, 2));
    const __m256 pz = _mm256_permutevar8x32_ps(z, _mm256_setr_epi32(2, 5, 0, 3, 6, 1, 4, 7));
    a = _mm256_blend_ps(_mm256_blend_ps(px, py, 0x92), pz, 0x24);
    b = _mm256_blend_ps(_mm256_blend_ps(pz, px, 0x92), py, 0x24);
    c = _mm256_blend_ps(_mm256_blend_ps(py, pz, 0x92), px, 0x24);
  }
  /// Bytes skip on, Width of them to each qword.
  template <unsigned Width, std::size_t Skip>
  struct SpreadIndex {
    static constexpr Table<std::uint8_t, 16> make() noexcept {
      Table<std::uint8_t, 16> t{};
      for (std::size_t k = 0; k < 16; ++k) {
        const std::size_t byte = Skip + k / 8 * Width + k % 8;
        t.value[k] = static_cast<std::uint8_t>(k % 8 < Width && byte < 16 ? byte : 0x80);
      }
      return t;
    }
  };
  /// Lanes Lane and Lane+1 of 128 bits: their 2*Width bytes, eight fields' worth a qword. Loads end within Readable bytes.
  template <unsigned Width, std::size_t Lane, std::size_t Readable>
  static __m256i two_lanes(const std::byte* from) noexcept {
    return _mm256_set_m128i(one_lane<Width, Lane + 1, Readable>(from), one_lane<Width, Lane, Readable>(from));
  }
  template <unsigned Width, std::size_t Lane, std::size_t Readable>
  static __m128i one_lane(const std::byte* from) noexcept {
    constexpr std::size_t at = 2 * Width * Lane;
    constexpr std::size_t start = at + 16 <= Readable ? at : Readable - 16;
    constexpr std::size_t skip = at - start;
    if constexpr (skip >= 16) {
      return _mm_setzero_si128();
    } else {
      const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + start));
      return _mm_shuffle_epi8(loaded, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table<SpreadIndex<Width, skip>>())));
    }
  }
  /// Eight fields in the low bits of each qword, each to a byte of its own; and back.
  template <unsigned Width>
  static __m256i split_qwords(__m256i q) noexcept {
    q = _mm256_or_si256(_mm256_and_si256(q, _mm256_set1_epi64x((1ll << (4 * Width)) - 1)),
                        _mm256_slli_epi64(_mm256_srli_epi64(q, 4 * Width), 32));
    q = _mm256_or_si256(_mm256_and_si256(q, _mm256_set1_epi32((1 << (2 * Width)) - 1)),
                        _mm256_slli_epi32(_mm256_srli_epi32(q, 2 * Width), 16));
    return _mm256_or_si256(_mm256_and_si256(q, _mm256_set1_epi16((1 << Width) - 1)), _mm256_slli_epi16(_mm256_srli_epi16(q, Width), 8));
  }
  template <unsigned Width>
  static __m256i join_qwords(__m256i fields) noexcept {
    __m256i word;
    if constexpr (Width == 7)
      word = _mm256_or_si256(_mm256_and_si256(fields, _mm256_set1_epi16(0xff)), _mm256_slli_epi16(_mm256_srli_epi16(fields, 8), 7));
    else word = _mm256_maddubs_epi16(fields, _mm256_set1_epi16(static_cast<short>(1 | 1 << (8 + Width))));
    const __m256i dword = _mm256_madd_epi16(word, _mm256_set1_epi32(1 | 1 << (16 + 2 * Width)));
    return _mm256_or_si256(_mm256_and_si256(dword, _mm256_set1_epi64x(0xffffffff)), _mm256_slli_epi64(_mm256_srli_epi64(dword, 32), 4 * Width));
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
