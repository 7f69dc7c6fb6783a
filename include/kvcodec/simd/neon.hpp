// The vocabulary in NEON (AArch64), four registers of four; the dot-product extension where the compiler's flags give it.
#pragma once

#include "scalar.hpp"

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <>
struct Simd<Isa::neon> {
  struct Floats {
    float32x4_t q[4];
  };
  struct Mask {
    uint32x4_t q[4];  // all ones or all zeros a lane
  };
  struct Ints {
    int32x4_t q[4];
  };
  struct Bytes {
    uint8x16_t q[4];
  };

#if defined(__ARM_FEATURE_DOTPROD)
  static constexpr bool has_dotprod = true;
#else
  static constexpr bool has_dotprod = false;
#endif

  // Floats

  static Floats load(const float* x) noexcept {
    return each<Floats>([&](std::size_t k) { return vld1q_f32(x + 4 * k); });
  }
  static Floats load_part(const float* x, std::size_t n) noexcept {
    float copy[16] = {};
    std::memcpy(copy, x, n * sizeof(float));
    return load(copy);
  }
  template <std::size_t N>
  static Floats repeat(const float* x) noexcept {
    static_assert(N == 1 || N == 2 || N == 4 || N == 8);
    if constexpr (N == 1) return broadcast(*x);
    if constexpr (N == 2) return each<Floats>([&](std::size_t) { return vcombine_f32(vld1_f32(x), vld1_f32(x)); });
    if constexpr (N >= 4) return each<Floats>([&](std::size_t k) { return vld1q_f32(x + 4 * k % N); });
  }
  template <class Half>
  KVCODEC_INLINE static Floats load_halves(const std::byte* from, std::size_t n) noexcept {
    std::byte copy[32] = {};
    if (n < 16) {
      std::memcpy(copy, from, 2 * n);
      from = copy;
    }
    return each<Floats>([&](std::size_t k) {
      const uint16x4_t halves = vreinterpret_u16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(from) + 8 * k));
      if constexpr (std::is_same_v<Half, float16>) return vcvt_f32_f16(vreinterpret_f16_u16(halves));
      else return vreinterpretq_f32_u32(vshll_n_u16(halves, 16));
    });
  }
  template <class Half>
  KVCODEC_INLINE static void store_halves(Floats a, std::byte* to, std::size_t n) noexcept {
    const float32x4_t limit = vdupq_n_f32(max_finite<Half>());
    std::byte copy[32];
    std::byte* const whole = n < 16 ? copy : to;
    four([&](std::size_t k) {
      const float32x4_t x = vminq_f32(vmaxq_f32(a.q[k], vnegq_f32(limit)), limit);
      uint16x4_t halves;
      if constexpr (std::is_same_v<Half, float16>) {
        halves = vreinterpret_u16_f16(vcvt_f16_f32(x));
      } else {
        const uint32x4_t u = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
        halves = vshrn_n_u32(vaddq_u32(vaddq_u32(u, odd), vdupq_n_u32(0x7fff)), 16);
      }
      vst1_u8(reinterpret_cast<std::uint8_t*>(whole) + 8 * k, vreinterpret_u8_u16(halves));
    });
    if (n < 16) std::memcpy(to, copy, 2 * n);
  }
  static void store(Floats a, float* x) noexcept {
    four([&](std::size_t k) { vst1q_f32(x + 4 * k, a.q[k]); });
  }
  static void store_part(Floats a, float* x, std::size_t n) noexcept {
    float copy[16];
    store(a, copy);
    std::memcpy(x, copy, n * sizeof(float));
  }
  static Floats broadcast(float x) noexcept {
    return each<Floats>([&](std::size_t) { return vdupq_n_f32(x); });
  }
  static Floats add(Floats a, Floats b) noexcept {
    return each<Floats>([&](std::size_t k) { return vaddq_f32(a.q[k], b.q[k]); });
  }
  static Floats subtract(Floats a, Floats b) noexcept {
    return each<Floats>([&](std::size_t k) { return vsubq_f32(a.q[k], b.q[k]); });
  }
  static Floats multiply(Floats a, Floats b) noexcept {
    Floats r = each<Floats>([&](std::size_t k) { return vmulq_f32(a.q[k], b.q[k]); });
    // Compilers fuse products that come from intrinsics too.
    asm("" : "+w"(r.q[0]), "+w"(r.q[1]), "+w"(r.q[2]), "+w"(r.q[3]));
    return r;
  }
  static Floats divide(Floats a, Floats b) noexcept {
    return each<Floats>([&](std::size_t k) { return vdivq_f32(a.q[k], b.q[k]); });
  }
  static Floats fma(Floats a, Floats b, Floats c) noexcept {
    return each<Floats>([&](std::size_t k) { return vfmaq_f32(c.q[k], a.q[k], b.q[k]); });
  }
  static Floats multiply_add(Floats a, Floats b, Floats c) noexcept { return fma(a, b, c); }
  static Floats root(Floats a) noexcept {
    return each<Floats>([&](std::size_t k) { return vsqrtq_f32(a.q[k]); });
  }
  static Floats magnitude(Floats a) noexcept {
    return each<Floats>([&](std::size_t k) { return vabsq_f32(a.q[k]); });
  }
  // Not vmaxq and vminq, which answer NaN where either is one.
  static Floats maximum(Floats a, Floats b) noexcept { return select(greater(a, b), a, b); }
  static Floats minimum(Floats a, Floats b) noexcept { return select(greater(b, a), a, b); }
  KVCODEC_INLINE static Floats negate(Floats a, std::uint32_t bits) noexcept {
    const int32x4_t to_top = {31, 30, 29, 28};
    const uint32x4_t sign = vdupq_n_u32(0x80000000u);
    return each<Floats>([&](std::size_t k) {
      const uint32x4_t flip = vandq_u32(vshlq_u32(vdupq_n_u32(bits >> (4 * k)), to_top), sign);
      return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a.q[k]), flip));
    });
  }
  template <unsigned Bit>
  static Floats negate_if(Floats a, Ints flags) noexcept {
    return each<Floats>([&](std::size_t k) {
      const uint32x4_t flip = vandq_u32(vshlq_n_u32(vreinterpretq_u32_s32(flags.q[k]), 31 - Bit), vdupq_n_u32(0x80000000u));
      return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a.q[k]), flip));
    });
  }
  static Floats select(Mask m, Floats a, Floats b) noexcept {
    return each<Floats>([&](std::size_t k) { return vbslq_f32(m.q[k], a.q[k], b.q[k]); });
  }
  template <std::size_t Stride>
  KVCODEC_INLINE static Floats butterfly(Floats a) noexcept {
    if constexpr (Stride >= 4) {
      constexpr std::size_t s = Stride / 4;
      return each<Floats>([&](std::size_t k) {
        return k & s ? vsubq_f32(a.q[k ^ s], a.q[k]) : vaddq_f32(a.q[k], a.q[k ^ s]);
      });
    } else {
      butterfly_of_8<Stride>(a.q[0], a.q[1]);
      butterfly_of_8<Stride>(a.q[2], a.q[3]);
      return a;
    }
  }
  static float sum(Floats a) noexcept {
    const float32x4_t four = vaddq_f32(vaddq_f32(a.q[0], a.q[2]), vaddq_f32(a.q[1], a.q[3]));
    return vpadds_f32(vadd_f32(vget_low_f32(four), vget_high_f32(four)));
  }
  static float largest(Floats a) noexcept { return vmaxvq_f32(vmaxq_f32(vmaxq_f32(a.q[0], a.q[2]), vmaxq_f32(a.q[1], a.q[3]))); }
  template <std::size_t N>
  KVCODEC_INLINE static Floats lookup(const float* table, Ints i) noexcept {
    if constexpr (N <= 32) {
      const Bytes index = each<Bytes>([&](std::size_t k) {  // of the four bytes of each entry
        return vreinterpretq_u8_s32(vmlaq_s32(vdupq_n_s32(0x03020100), i.q[k], vdupq_n_s32(0x04040404)));
      });
      const Bytes found = lookup<4 * N>(reinterpret_cast<const std::uint8_t*>(table), index);
      return each<Floats>([&](std::size_t k) { return vreinterpretq_f32_u8(found.q[k]); });
    } else {
      std::int32_t index[16];
      store(i, index);
      float found[16];
      for (std::size_t l = 0; l < 16; ++l) found[l] = table[index[l]];
      return load(found);
    }
  }
  KVCODEC_INLINE static void split_triplets(Floats a, Floats b, Floats c, Floats& x, Floats& y, Floats& z) noexcept {
    const uint8x16x3_t t0 = together(a.q[0], a.q[1], a.q[2]), t1 = together(a.q[3], b.q[0], b.q[1]);
    const uint8x16x3_t t2 = together(b.q[2], b.q[3], c.q[0]), t3 = together(c.q[1], c.q[2], c.q[3]);
    x = {{pick<0, 3, 6, 9>(t0), pick<0, 3, 6, 9>(t1), pick<0, 3, 6, 9>(t2), pick<0, 3, 6, 9>(t3)}};
    y = {{pick<1, 4, 7, 10>(t0), pick<1, 4, 7, 10>(t1), pick<1, 4, 7, 10>(t2), pick<1, 4, 7, 10>(t3)}};
    z = {{pick<2, 5, 8, 11>(t0), pick<2, 5, 8, 11>(t1), pick<2, 5, 8, 11>(t2), pick<2, 5, 8, 11>(t3)}};
  }
  KVCODEC_INLINE static void join_triplets(Floats x, Floats y, Floats z, Floats& a, Floats& b, Floats& c) noexcept {
    const uint8x16x3_t t0 = together(x.q[0], y.q[0], z.q[0]), t1 = together(x.q[1], y.q[1], z.q[1]);
    const uint8x16x3_t t2 = together(x.q[2], y.q[2], z.q[2]), t3 = together(x.q[3], y.q[3], z.q[3]);
    a = {{pick<0, 4, 8, 1>(t0), pick<5, 9, 2, 6>(t0), pick<10, 3, 7, 11>(t0), pick<0, 4, 8, 1>(t1)}};
    b = {{pick<5, 9, 2, 6>(t1), pick<10, 3, 7, 11>(t1), pick<0, 4, 8, 1>(t2), pick<5, 9, 2, 6>(t2)}};
    c = {{pick<10, 3, 7, 11>(t2), pick<0, 4, 8, 1>(t3), pick<5, 9, 2, 6>(t3), pick<10, 3, 7, 11>(t3)}};
  }

  KVCODEC_INLINE static void interleave(Floats a, Floats b, Floats& low, Floats& high) noexcept {
    low = {{vzip1q_f32(a.q[0], b.q[0]), vzip2q_f32(a.q[0], b.q[0]), vzip1q_f32(a.q[1], b.q[1]), vzip2q_f32(a.q[1], b.q[1])}};
    high = {{vzip1q_f32(a.q[2], b.q[2]), vzip2q_f32(a.q[2], b.q[2]), vzip1q_f32(a.q[3], b.q[3]), vzip2q_f32(a.q[3], b.q[3])}};
  }
  KVCODEC_INLINE static void deinterleave(Floats a, Floats b, Floats& even, Floats& odd) noexcept {
    even = {{vuzp1q_f32(a.q[0], a.q[1]), vuzp1q_f32(a.q[2], a.q[3]), vuzp1q_f32(b.q[0], b.q[1]), vuzp1q_f32(b.q[2], b.q[3])}};
    odd = {{vuzp2q_f32(a.q[0], a.q[1]), vuzp2q_f32(a.q[2], a.q[3]), vuzp2q_f32(b.q[0], b.q[1]), vuzp2q_f32(b.q[2], b.q[3])}};
  }

  // Masks

  template <std::size_t N>
  KVCODEC_INLINE static Mask first_lanes() noexcept {
    const uint32x4_t lane = {0, 1, 2, 3};
    return each<Mask>([&](std::size_t k) { return vcltq_u32(lane, vdupq_n_u32(N > 4 * k ? static_cast<std::uint32_t>(N - 4 * k) : 0)); });
  }
  static Mask greater(Floats a, Floats b) noexcept {
    return each<Mask>([&](std::size_t k) { return vcgtq_f32(a.q[k], b.q[k]); });
  }
  static Mask differ(Mask a, Mask b) noexcept {
    return each<Mask>([&](std::size_t k) { return veorq_u32(a.q[k], b.q[k]); });
  }
  KVCODEC_INLINE static std::uint32_t bits(Mask a) noexcept {
    const uint32x4_t bit = {1, 2, 4, 8};
    const auto part = [&](std::size_t k) { return vandq_u32(a.q[k], bit << static_cast<std::uint32_t>(4 * k)); };
    return vaddvq_u32(vorrq_u32(vorrq_u32(part(0), part(1)), vorrq_u32(part(2), part(3))));
  }

  // Ints

  static Ints broadcast_int(std::int32_t x) noexcept {
    return each<Ints>([&](std::size_t) { return vdupq_n_s32(x); });
  }
  static Ints add(Ints a, Ints b) noexcept {
    return each<Ints>([&](std::size_t k) { return vaddq_s32(a.q[k], b.q[k]); });
  }
  static Ints bit_or(Ints a, Ints b) noexcept {
    return each<Ints>([&](std::size_t k) { return vorrq_s32(a.q[k], b.q[k]); });
  }
  static Ints bit_and(Ints a, Ints b) noexcept {
    return each<Ints>([&](std::size_t k) { return vandq_s32(a.q[k], b.q[k]); });
  }
  template <unsigned N>
  static Ints shift_left(Ints a) noexcept {
    return each<Ints>([&](std::size_t k) { return vshlq_n_s32(a.q[k], N); });
  }
  template <unsigned N>
  static Ints shift_right(Ints a) noexcept {
    return each<Ints>([&](std::size_t k) {
      if constexpr (N == 0) return a.q[k];  // which the instruction cannot
      else return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(a.q[k]), N));
    });
  }
  static Ints clip(Ints a, std::int32_t low, std::int32_t high) noexcept {
    return each<Ints>([&](std::size_t k) { return vminq_s32(vmaxq_s32(a.q[k], vdupq_n_s32(low)), vdupq_n_s32(high)); });
  }
  static Ints count(Ints a, Mask m) noexcept {
    return each<Ints>([&](std::size_t k) { return vsubq_s32(a.q[k], vreinterpretq_s32_u32(m.q[k])); });
  }
  static Ints select(Mask m, Ints a, Ints b) noexcept {
    return each<Ints>([&](std::size_t k) { return vbslq_s32(m.q[k], a.q[k], b.q[k]); });
  }
  static std::int32_t sum(Ints a) noexcept {
    return vaddvq_s32(vaddq_s32(vaddq_s32(a.q[0], a.q[1]), vaddq_s32(a.q[2], a.q[3])));
  }
  static Floats to_floats(Ints a) noexcept {
    return each<Floats>([&](std::size_t k) { return vcvtq_f32_s32(a.q[k]); });
  }
  static Ints round_to_ints(Floats a) noexcept {
    return each<Ints>([&](std::size_t k) { return vcvtnq_s32_f32(a.q[k]); });
  }
  static Ints load_ints(const std::int32_t* x) noexcept {
    return each<Ints>([&](std::size_t k) { return vld1q_s32(x + 4 * k); });
  }
  template <std::size_t From = 0>
  KVCODEC_INLINE static Ints load_ints(const std::uint8_t* x) noexcept {
    return widen<0>(Bytes{{vextq_u8(vld1q_u8(x), vdupq_n_u8(0), From), {}, {}, {}}});
  }
  static void store(Ints a, std::uint8_t* x) noexcept { vst1q_u8(x, narrow(a, a, a, a).q[0]); }
  static void store(Ints a, std::int32_t* x) noexcept {
    four([&](std::size_t k) { vst1q_s32(x + 4 * k, a.q[k]); });
  }

  // Bytes

  static Bytes load_bytes(const void* from) noexcept {
    return each<Bytes>([&](std::size_t k) { return vld1q_u8(static_cast<const std::uint8_t*>(from) + 16 * k); });
  }
  static Bytes load_bytes(const void* from, std::size_t n) noexcept {
    std::uint8_t copy[64] = {};
    std::memcpy(copy, from, n);
    return load_bytes(copy);
  }
  static Bytes load_two(const void* low, const void* high, std::size_t n) noexcept {
    std::uint8_t copy[64] = {};
    std::memcpy(copy, low, n);
    std::memcpy(copy + 32, high, n);
    return load_bytes(copy);
  }
  static Bytes bytes_of(Ints a) noexcept {
    return each<Bytes>([&](std::size_t k) { return vreinterpretq_u8_s32(a.q[k]); });
  }
  static Ints ints_of(Bytes a) noexcept {
    return each<Ints>([&](std::size_t k) { return vreinterpretq_s32_u8(a.q[k]); });
  }
  static void store_bytes(Bytes a, void* to) noexcept {
    four([&](std::size_t k) { vst1q_u8(static_cast<std::uint8_t*>(to) + 16 * k, a.q[k]); });
  }
  KVCODEC_INLINE static Bytes narrow(Ints a, Ints b, Ints c, Ints d) noexcept {
    const auto one = [](Ints p) {
      const auto words = [&](std::size_t k) {
        return vreinterpretq_u8_u16(vuzp1q_u16(vreinterpretq_u16_s32(p.q[k]), vreinterpretq_u16_s32(p.q[k + 1])));
      };
      return vuzp1q_u8(words(0), words(2));
    };
    return {{one(a), one(b), one(c), one(d)}};
  }
  template <std::size_t Quarter>
  KVCODEC_INLINE static Ints widen(Bytes a) noexcept {
    const uint16x8_t low = vmovl_u8(vget_low_u8(a.q[Quarter])), high = vmovl_high_u8(a.q[Quarter]);
    return {{vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), vreinterpretq_s32_u32(vmovl_high_u16(low)),
             vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))), vreinterpretq_s32_u32(vmovl_high_u16(high))}};
  }
  template <unsigned Width, std::size_t Fields>
  KVCODEC_INLINE static void pack(Bytes fields, std::byte* to) noexcept {
    store_two<Width, Fields, 0>(join_qwords<Width>(fields.q[0]), to);
    store_two<Width, Fields, 2>(join_qwords<Width>(fields.q[1]), to);
    store_two<Width, Fields, 4>(join_qwords<Width>(fields.q[2]), to);
    store_two<Width, Fields, 6>(join_qwords<Width>(fields.q[3]), to);
  }
  static constexpr bool unpacks_at_bits = false;
  template <unsigned Width, std::size_t Fields, std::size_t Readable = bytes_for_bits(Width * Fields)>
  KVCODEC_INLINE static Bytes unpack(const std::byte* from) noexcept {
    return {{split_qwords<Width>(load_two<Width, Fields, Readable, 0>(from)),
             split_qwords<Width>(load_two<Width, Fields, Readable, 2>(from)),
             split_qwords<Width>(load_two<Width, Fields, Readable, 4>(from)),
             split_qwords<Width>(load_two<Width, Fields, Readable, 6>(from))}};
  }
  template <std::size_t N>
  KVCODEC_INLINE static Bytes lookup(const std::uint8_t* table, Bytes i) noexcept {
    constexpr std::size_t room = N <= 16 ? 16 : N <= 32 ? 32 : (N + 63) / 64 * 64;
    if constexpr (N < room) {
      std::uint8_t padded[room] = {};
      std::memcpy(padded, table, N);
      return lookup<room>(padded, i);
    } else if constexpr (N == 16) {
      const uint8x16_t t = vld1q_u8(table);
      return each<Bytes>([&](std::size_t k) { return vqtbl1q_u8(t, i.q[k]); });
    } else if constexpr (N == 32) {
      const uint8x16x2_t t = vld1q_u8_x2(table);
      return each<Bytes>([&](std::size_t k) { return vqtbl2q_u8(t, i.q[k]); });
    } else if constexpr (N == 64) {
      const uint8x16x4_t t = vld1q_u8_x4(table);
      return each<Bytes>([&](std::size_t k) { return vqtbl4q_u8(t, i.q[k]); });
    } else {
      const Bytes r = lookup<N - 64>(table, i);
      const uint8x16x4_t t = vld1q_u8_x4(table + N - 64);
      // An index below this part wraps round to one beyond it, where tbx keeps what there was.
      return each<Bytes>([&](std::size_t k) { return vqtbx4q_u8(r.q[k], t, vsubq_u8(i.q[k], vdupq_n_u8(N - 64))); });
    }
  }
  template <unsigned Mask>
  static Bytes select_bits(Bytes a, Bytes b) noexcept {
    return each<Bytes>([&](std::size_t k) { return vbslq_u8(vdupq_n_u8(Mask), b.q[k], a.q[k]); });
  }
  template <unsigned Bit>
  static Bytes negate_where(Bytes a, Bytes flags) noexcept {
    return each<Bytes>([&](std::size_t k) {
      const uint8x16_t negative = vreinterpretq_u8_s8(vnegq_s8(vreinterpretq_s8_u8(a.q[k])));
      return vbslq_u8(vtstq_u8(flags.q[k], vdupq_n_u8(1u << Bit)), negative, a.q[k]);
    });
  }
  static constexpr std::int32_t bias = 0;
  KVCODEC_INLINE static Ints dot4(Ints sum, Bytes a, Bytes b) noexcept {
    return each<Ints>([&](std::size_t k) {
      const int8x16_t x = vreinterpretq_s8_u8(a.q[k]), y = vreinterpretq_s8_u8(b.q[k]);
#if defined(__ARM_FEATURE_DOTPROD)
      return vdotq_s32(sum.q[k], x, y);
#else
      // Two products of values up to 127 fit a word.
      return vpadalq_s16(sum.q[k], vpaddq_s16(vmull_s8(vget_low_s8(x), vget_low_s8(y)), vmull_high_s8(x, y)));
#endif
    });
  }
  KVCODEC_INLINE static Ints dot4_unsigned(Ints sum, Bytes a, Bytes b) noexcept {
    const Bytes half = each<Bytes>([&](std::size_t k) { return vshrq_n_u8(a.q[k], 1); });
    const Bytes rest = each<Bytes>([&](std::size_t k) { return vsubq_u8(a.q[k], half.q[k]); });  // to 128, beyond a signed byte
    const Bytes most = each<Bytes>([&](std::size_t k) { return vminq_u8(rest.q[k], vdupq_n_u8(127)); });
    const Bytes one = each<Bytes>([&](std::size_t k) { return vsubq_u8(rest.q[k], most.q[k]); });
    return dot4(dot4(dot4(sum, half, b), most, b), one, b);
  }
  static Bytes unbiased(Bytes a) noexcept { return a; }
  template <unsigned Width, unsigned Shift>
  static Bytes field(Bytes a, Bytes b) noexcept {
    return each<Bytes>([&](std::size_t k) {
      uint8x16_t r = a.q[k];
      if constexpr (Shift != 0) r = vshrq_n_u8(r, Shift);
      if constexpr (Shift + Width > 8) r = vorrq_u8(r, vshlq_n_u8(b.q[k], 8 - Shift));
      return vandq_u8(r, vdupq_n_u8((1u << Width) - 1));
    });
  }
  static constexpr std::size_t registers = 8;
  static constexpr unsigned lookup_bits = 6;
  struct Sums {
    uint16x8_t word[8] = {};
  };
  static void add_bytes(Sums& sum, Bytes a) noexcept {
    for (std::size_t k = 0; k < 4; ++k) {
      sum.word[2 * k] = vaddw_u8(sum.word[2 * k], vget_low_u8(a.q[k]));
      sum.word[2 * k + 1] = vaddw_high_u8(sum.word[2 * k + 1], a.q[k]);
    }
  }
  static void widen_sums(const Sums& sum, Ints (&out)[4]) noexcept {
    for (std::size_t k = 0; k < 4; ++k) {
      out[k].q[0] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(sum.word[2 * k])));
      out[k].q[1] = vreinterpretq_s32_u32(vmovl_high_u16(sum.word[2 * k]));
      out[k].q[2] = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(sum.word[2 * k + 1])));
      out[k].q[3] = vreinterpretq_s32_u32(vmovl_high_u16(sum.word[2 * k + 1]));
    }
  }
  static Bytes broadcast4(std::uint32_t four) noexcept { return broadcast4(four, four); }
  static Bytes broadcast4(std::uint32_t low, std::uint32_t high) noexcept {
    return each<Bytes>([&](std::size_t k) { return vreinterpretq_u8_u32(vdupq_n_u32(k < 2 ? low : high)); });
  }
  KVCODEC_INLINE static Ints sum_rows(const Ints (&a)[16]) noexcept {
    const auto row = [&](std::size_t r) {
      return vaddq_s32(vaddq_s32(a[r].q[0], a[r].q[1]), vaddq_s32(a[r].q[2], a[r].q[3]));
    };
    return each<Ints>([&](std::size_t k) {
      return vpaddq_s32(vpaddq_s32(row(4 * k), row(4 * k + 1)), vpaddq_s32(row(4 * k + 2), row(4 * k + 3)));
    });
  }
  KVCODEC_INLINE static void transpose4(const Bytes (&row)[4], Bytes (&out)[4]) noexcept {
    four([&](std::size_t i) {
      const uint8x16_t r0 = row[0].q[i], r1 = row[1].q[i], r2 = row[2].q[i], r3 = row[3].q[i];
      const uint16x8_t low01 = vreinterpretq_u16_u8(vzip1q_u8(r0, r1)), high01 = vreinterpretq_u16_u8(vzip2q_u8(r0, r1));
      const uint16x8_t low23 = vreinterpretq_u16_u8(vzip1q_u8(r2, r3)), high23 = vreinterpretq_u16_u8(vzip2q_u8(r2, r3));
      out[0].q[i] = vreinterpretq_u8_u16(vzip1q_u16(low01, low23));
      out[1].q[i] = vreinterpretq_u8_u16(vzip2q_u16(low01, low23));
      out[2].q[i] = vreinterpretq_u8_u16(vzip1q_u16(high01, high23));
      out[3].q[i] = vreinterpretq_u8_u16(vzip2q_u16(high01, high23));
    });
  }
  KVCODEC_INLINE static void untranspose(Ints (&a)[4]) noexcept {
    const auto column = [&](std::size_t v) { return each<Ints>([&](std::size_t k) { return a[k].q[v]; }); };
    const Ints r[4] = {column(0), column(1), column(2), column(3)};
    four([&](std::size_t v) { a[v] = r[v]; });
  }

 private:
  template <class F>
  KVCODEC_INLINE static void four(F f) noexcept {
    f(0), f(1), f(2), f(3);
  }
  template <class T, class F>
  KVCODEC_INLINE static T each(F f) noexcept {
    return {{f(0), f(1), f(2), f(3)}};
  }
  /// Both registers' lanes l and l^Stride face each other in two others, and their sums and differences alternate back.
  template <std::size_t Stride>
  KVCODEC_INLINE static void butterfly_of_8(float32x4_t& a, float32x4_t& b) noexcept {
    const auto trn1 = [](float32x4_t p, float32x4_t q) {
      if constexpr (Stride == 1) return vtrn1q_f32(p, q);
      else return vreinterpretq_f32_f64(vtrn1q_f64(vreinterpretq_f64_f32(p), vreinterpretq_f64_f32(q)));
    };
    const auto trn2 = [](float32x4_t p, float32x4_t q) {
      if constexpr (Stride == 1) return vtrn2q_f32(p, q);
      else return vreinterpretq_f32_f64(vtrn2q_f64(vreinterpretq_f64_f32(p), vreinterpretq_f64_f32(q)));
    };
    const float32x4_t lower = trn1(a, b), upper = trn2(a, b);
    const float32x4_t sums = vaddq_f32(lower, upper), differences = vsubq_f32(lower, upper);
    a = trn1(sums, differences);
    b = trn2(sums, differences);
  }
  /// Twelve floats, and four of them.
  KVCODEC_INLINE static uint8x16x3_t together(float32x4_t a, float32x4_t b, float32x4_t c) noexcept {
    return {{vreinterpretq_u8_f32(a), vreinterpretq_u8_f32(b), vreinterpretq_u8_f32(c)}};
  }
  template <std::uint32_t A, std::uint32_t B, std::uint32_t C, std::uint32_t D>
  KVCODEC_INLINE static float32x4_t pick(uint8x16x3_t twelve) noexcept {
    const uint32x4_t lane = {A, B, C, D};
    const uint32x4_t bytes = vmlaq_u32(vdupq_n_u32(0x03020100), lane, vdupq_n_u32(0x04040404));
    return vreinterpretq_f32_u8(vqtbl3q_u8(twelve, vreinterpretq_u8_u32(bytes)));
  }
  /// Groups Group and Group+1 of eight fields: the Width bytes of each from or to the low end of a qword.
  template <unsigned Width, std::size_t Fields, std::size_t Readable, std::size_t Group>
  KVCODEC_INLINE static uint8x16_t load_two(const std::byte* from) noexcept {
    const std::uint64_t low = load_one<Width, Fields, Readable, Group>(from);
    const std::uint64_t high = load_one<Width, Fields, Readable, Group + 1>(from);
    return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
  }
  template <unsigned Width, std::size_t Fields, std::size_t Readable, std::size_t Group>
  KVCODEC_INLINE static std::uint64_t load_one(const std::byte* from) noexcept {
    constexpr std::size_t at = Width * Group;
    std::uint64_t word = 0;
    if constexpr (8 * Group >= Fields) {
      return 0;
    } else if constexpr (Readable < 8) {
      for (std::size_t k = at; k < Readable; ++k) word |= static_cast<std::uint64_t>(from[k]) << (8 * (k - at));
      return word;
    } else {
      constexpr std::size_t start = at + 8 <= Readable ? at : Readable - 8;
      std::memcpy(&word, from + start, 8);
      return word >> (8 * (at - start));
    }
  }
  template <unsigned Width, std::size_t Fields, std::size_t Group>
  KVCODEC_INLINE static void store_two(uint8x16_t joined, std::byte* to) noexcept {
    const uint64x2_t words = vreinterpretq_u64_u8(joined);
    store_one<Width, Fields, Group>(vgetq_lane_u64(words, 0), to);
    store_one<Width, Fields, Group + 1>(vgetq_lane_u64(words, 1), to);
  }
  template <unsigned Width, std::size_t Fields, std::size_t Group>
  KVCODEC_INLINE static void store_one(std::uint64_t word, std::byte* to) noexcept {
    if constexpr (8 * Group < Fields) {
      constexpr std::size_t at = Width * Group, rest = Fields - 8 * Group, bytes = bytes_for_bits(Width * Fields);
      if constexpr (rest < 8) word &= (std::uint64_t{1} << (Width * rest)) - 1;
      // Whole where there is room: the next group overwrites what follows this one's bytes.
      std::memcpy(to + at, &word, at + 8 <= bytes ? 8 : rest < 8 ? bytes - at : Width);
    }
  }
  /// Eight fields in the low bits of each qword, each to a byte of its own; and back. What lies above a field on the way is
  /// anything: inserting shifts (sli) drop it, a mask at the end.
  template <unsigned Width>
  KVCODEC_INLINE static uint8x16_t split_qwords(uint8x16_t packed) noexcept {
    if constexpr (Width == 8) {
      return packed;
    } else {
      const uint64x2_t q = vreinterpretq_u64_u8(packed);
      const uint32x4_t d = vreinterpretq_u32_u64(vsliq_n_u64(q, vshrq_n_u64(q, 4 * Width), 32));
      const uint16x8_t w = vreinterpretq_u16_u32(vsliq_n_u32(d, vshrq_n_u32(d, 2 * Width), 16));
      const uint8x16_t b = vreinterpretq_u8_u16(vsliq_n_u16(w, vshrq_n_u16(w, Width), 8));
      return vandq_u8(b, vdupq_n_u8((1u << Width) - 1));
    }
  }
  template <unsigned Width>
  KVCODEC_INLINE static uint8x16_t join_qwords(uint8x16_t fields) noexcept {
    if constexpr (Width == 8) {
      return fields;
    } else {
      const uint16x8_t w = vreinterpretq_u16_u8(fields);
      const uint32x4_t d = vreinterpretq_u32_u16(vsliq_n_u16(w, vshrq_n_u16(w, 8), Width));
      const uint64x2_t q = vreinterpretq_u64_u32(vsliq_n_u32(d, vshrq_n_u32(d, 16), 2 * Width));
      return vreinterpretq_u8_u64(vsliq_n_u64(q, vshrq_n_u64(q, 32), 4 * Width));
    }
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
