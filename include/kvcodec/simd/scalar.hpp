// The vocabulary's specification: every operation as a loop over its lanes. simd.hpp says what each means; the other files
// say the same in instructions. Also what device code runs.
#pragma once

#include "../arithmetic.hpp"
#include "../bits.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <Isa I>
struct Simd;

template <>
struct Simd<Isa::scalar> {
  struct Floats {
    float lane[16];
  };
  struct Ints {
    std::int32_t lane[16];
  };
  struct Mask {
    std::int32_t lane[16];  // 0 or -1
  };
  struct Bytes {
    std::uint8_t lane[64];
  };

  // Floats

  KVCODEC_HD static Floats load(const float* x) noexcept { return load_part(x, 16); }
  KVCODEC_HD static Floats load_part(const float* x, std::size_t n) noexcept {
    Floats r = {};
    for (std::size_t l = 0; l < n; ++l) r.lane[l] = x[l];
    return r;
  }
  template <std::size_t N>
  KVCODEC_HD static Floats repeat(const float* x) noexcept {
    return each([&](std::size_t l) { return x[l % N]; });
  }
  template <class Half>
  KVCODEC_HD static Floats load_halves(const std::byte* from, std::size_t n) noexcept {
    Floats r = {};
    for (std::size_t l = 0; l < n; ++l) r.lane[l] = to_float(load_half<Half>(from + 2 * l));
    return r;
  }
  template <class Half>
  KVCODEC_HD static void store_halves(Floats a, std::byte* to, std::size_t n) noexcept {
    for (std::size_t l = 0; l < n; ++l) store_half(saturate_to<Half>(a.lane[l]), to + 2 * l);
  }
  KVCODEC_HD static void store(Floats a, float* x) noexcept { store_part(a, x, 16); }
  KVCODEC_HD static void store_part(Floats a, float* x, std::size_t n) noexcept {
    for (std::size_t l = 0; l < n; ++l) x[l] = a.lane[l];
  }
  KVCODEC_HD static Floats broadcast(float x) noexcept {
    return each([&](std::size_t) { return x; });
  }
  KVCODEC_HD static Floats add(Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return a.lane[l] + b.lane[l]; });
  }
  KVCODEC_HD static Floats subtract(Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return a.lane[l] - b.lane[l]; });
  }
  KVCODEC_HD static Floats multiply(Floats a, Floats b) noexcept {
#if defined(__CUDA_ARCH__)
    return each([&](std::size_t l) { return __fmul_rn(a.lane[l], b.lane[l]); });
#else
    Floats r = each([&](std::size_t l) { return a.lane[l] * b.lane[l]; });
#if defined(__GNUC__)
    asm("" : "+m"(r));  // what has been in memory has been rounded
#endif
    return r;
#endif
  }
  KVCODEC_HD static Floats divide(Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return a.lane[l] / b.lane[l]; });
  }
  KVCODEC_HD static Floats fma(Floats a, Floats b, Floats c) noexcept {
    return each([&](std::size_t l) { return kvcodec::fma(a.lane[l], b.lane[l], c.lane[l]); });
  }
  KVCODEC_HD static Floats multiply_add(Floats a, Floats b, Floats c) noexcept {
    return each([&](std::size_t l) { return kvcodec::multiply_add(a.lane[l], b.lane[l], c.lane[l]); });
  }
  KVCODEC_HD static Floats root(Floats a) noexcept {
    return each([&](std::size_t l) { return square_root(a.lane[l]); });
  }
  KVCODEC_HD static Floats magnitude(Floats a) noexcept {
    return each([&](std::size_t l) { return absolute(a.lane[l]); });
  }
  KVCODEC_HD static Floats maximum(Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return a.lane[l] > b.lane[l] ? a.lane[l] : b.lane[l]; });
  }
  KVCODEC_HD static Floats minimum(Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return a.lane[l] < b.lane[l] ? a.lane[l] : b.lane[l]; });
  }
  KVCODEC_HD static Floats negate(Floats a, std::uint32_t bits) noexcept {
    return each([&](std::size_t l) { return float_from_bits(float_bits(a.lane[l]) ^ (bits >> l & 1u) << 31); });
  }
  template <unsigned Bit>
  KVCODEC_HD static Floats negate_if(Floats a, Ints flags) noexcept {
    return each([&](std::size_t l) {
      return float_from_bits(float_bits(a.lane[l]) ^ (static_cast<std::uint32_t>(flags.lane[l]) >> Bit & 1u) << 31);
    });
  }
  KVCODEC_HD static Floats select(Mask m, Floats a, Floats b) noexcept {
    return each([&](std::size_t l) { return m.lane[l] != 0 ? a.lane[l] : b.lane[l]; });
  }
  template <std::size_t Stride>
  KVCODEC_HD static Floats butterfly(Floats a) noexcept {
    return each([&](std::size_t l) { return l & Stride ? a.lane[l ^ Stride] - a.lane[l] : a.lane[l] + a.lane[l ^ Stride]; });
  }
  KVCODEC_HD static float sum(Floats a) noexcept { return reduce(a.lane); }
  KVCODEC_HD static float largest(Floats a) noexcept {
    float r = a.lane[0];
    for (std::size_t l = 1; l < lanes; ++l) r = a.lane[l] > r ? a.lane[l] : r;
    return r;
  }
  template <std::size_t N>
  KVCODEC_HD static Floats lookup(const float* table, Ints i) noexcept {
    return each([&](std::size_t l) { return table[i.lane[l]]; });
  }
  KVCODEC_HD static void split_triplets(Floats a, Floats b, Floats c, Floats& x, Floats& y, Floats& z) noexcept {
    float all[48];
    for (std::size_t l = 0; l < 16; ++l) {
      all[l] = a.lane[l];
      all[16 + l] = b.lane[l];
      all[32 + l] = c.lane[l];
    }
    for (std::size_t l = 0; l < 16; ++l) {
      x.lane[l] = all[3 * l];
      y.lane[l] = all[3 * l + 1];
      z.lane[l] = all[3 * l + 2];
    }
  }
  KVCODEC_HD static void join_triplets(Floats x, Floats y, Floats z, Floats& a, Floats& b, Floats& c) noexcept {
    float all[48];
    for (std::size_t l = 0; l < 16; ++l) {
      all[3 * l] = x.lane[l];
      all[3 * l + 1] = y.lane[l];
      all[3 * l + 2] = z.lane[l];
    }
    for (std::size_t l = 0; l < 16; ++l) {
      a.lane[l] = all[l];
      b.lane[l] = all[16 + l];
      c.lane[l] = all[32 + l];
    }
  }

  KVCODEC_HD static void interleave(Floats a, Floats b, Floats& low, Floats& high) noexcept {
    for (std::size_t l = 0; l < 8; ++l) {
      low.lane[2 * l] = a.lane[l];
      low.lane[2 * l + 1] = b.lane[l];
      high.lane[2 * l] = a.lane[8 + l];
      high.lane[2 * l + 1] = b.lane[8 + l];
    }
  }
  KVCODEC_HD static void deinterleave(Floats a, Floats b, Floats& even, Floats& odd) noexcept {
    for (std::size_t l = 0; l < 8; ++l) {
      even.lane[l] = a.lane[2 * l];
      odd.lane[l] = a.lane[2 * l + 1];
      even.lane[8 + l] = b.lane[2 * l];
      odd.lane[8 + l] = b.lane[2 * l + 1];
    }
  }

  // Masks

  template <std::size_t N>
  KVCODEC_HD static Mask first_lanes() noexcept {
    Mask r;
    for (std::size_t l = 0; l < 16; ++l) r.lane[l] = static_cast<int>(l) < static_cast<int>(N) ? -1 : 0;
    return r;
  }
  KVCODEC_HD static Mask greater(Floats a, Floats b) noexcept {
    Mask r;
    for (std::size_t l = 0; l < 16; ++l) r.lane[l] = a.lane[l] > b.lane[l] ? -1 : 0;
    return r;
  }
  KVCODEC_HD static Mask differ(Mask a, Mask b) noexcept {
    Mask r;
    for (std::size_t l = 0; l < 16; ++l) r.lane[l] = a.lane[l] ^ b.lane[l];
    return r;
  }
  KVCODEC_HD static std::uint32_t bits(Mask a) noexcept {
    std::uint32_t r = 0;
    for (std::size_t l = 0; l < 16; ++l) r |= (static_cast<std::uint32_t>(a.lane[l]) & 1u) << l;
    return r;
  }

  // Ints

  KVCODEC_HD static Ints broadcast_int(std::int32_t x) noexcept {
    return each_int([&](std::size_t) { return x; });
  }
  KVCODEC_HD static Ints add(Ints a, Ints b) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] + b.lane[l]; });
  }
  KVCODEC_HD static Ints bit_or(Ints a, Ints b) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] | b.lane[l]; });
  }
  KVCODEC_HD static Ints bit_and(Ints a, Ints b) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] & b.lane[l]; });
  }
  template <unsigned N>
  KVCODEC_HD static Ints shift_left(Ints a) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] << N; });
  }
  template <unsigned N>
  KVCODEC_HD static Ints shift_right(Ints a) noexcept {
    return each_int([&](std::size_t l) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(a.lane[l]) >> N); });
  }
  KVCODEC_HD static Ints clip(Ints a, std::int32_t low, std::int32_t high) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] < low ? low : a.lane[l] > high ? high : a.lane[l]; });
  }
  KVCODEC_HD static Ints count(Ints a, Mask m) noexcept {
    return each_int([&](std::size_t l) { return a.lane[l] - m.lane[l]; });
  }
  KVCODEC_HD static Ints select(Mask m, Ints a, Ints b) noexcept {
    return each_int([&](std::size_t l) { return m.lane[l] != 0 ? a.lane[l] : b.lane[l]; });
  }
  KVCODEC_HD static std::int32_t sum(Ints a) noexcept {
    std::int32_t s = 0;
    for (std::size_t l = 0; l < lanes; ++l) s += a.lane[l];
    return s;
  }
  KVCODEC_HD static Floats to_floats(Ints a) noexcept {
    return each([&](std::size_t l) { return static_cast<float>(a.lane[l]); });
  }
  KVCODEC_HD static Ints round_to_ints(Floats a) noexcept {
    // Adding and taking off 1.5 * 2^23 rounds to the nearest integer, ties to even.
    return each_int([&](std::size_t l) {
      return static_cast<std::int32_t>(float_bits(a.lane[l] + 12582912.0f)) - static_cast<std::int32_t>(0x4b400000);
    });
  }
  KVCODEC_HD static Ints load_ints(const std::int32_t* x) noexcept {
    return each_int([&](std::size_t l) { return x[l]; });
  }
  template <std::size_t From = 0>
  KVCODEC_HD static Ints load_ints(const std::uint8_t* x) noexcept {
    return each_int([&](std::size_t l) { return From + l < 16 ? std::int32_t{x[From + l]} : 0; });
  }
  KVCODEC_HD static void store(Ints a, std::int32_t* x) noexcept {
    for (std::size_t l = 0; l < 16; ++l) x[l] = a.lane[l];
  }
  KVCODEC_HD static void store(Ints a, std::uint8_t* x) noexcept {
    for (std::size_t l = 0; l < 16; ++l) x[l] = static_cast<std::uint8_t>(a.lane[l]);
  }

  // Bytes

  KVCODEC_HD static Bytes load_bytes(const void* from) noexcept { return load_bytes(from, 64); }
  KVCODEC_HD static Bytes load_bytes(const void* from, std::size_t n) noexcept {
    Bytes r = {};
    for (std::size_t l = 0; l < n; ++l) r.lane[l] = static_cast<const std::uint8_t*>(from)[l];
    return r;
  }
  KVCODEC_HD static Bytes load_two(const void* low, const void* high, std::size_t n) noexcept {
    Bytes r = {};
    for (std::size_t l = 0; l < n; ++l) {
      r.lane[l] = static_cast<const std::uint8_t*>(low)[l];
      r.lane[32 + l] = static_cast<const std::uint8_t*>(high)[l];
    }
    return r;
  }
  KVCODEC_HD static Bytes bytes_of(Ints a) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l) r.lane[l] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(a.lane[l / 4]) >> (8 * (l % 4)) & 0xffu);
    return r;
  }
  KVCODEC_HD static Ints ints_of(Bytes a) noexcept {
    return each_int([&](std::size_t l) {
      std::uint32_t word = 0;
      for (std::size_t k = 0; k < 4; ++k) word |= static_cast<std::uint32_t>(a.lane[4 * l + k]) << (8 * k);
      return static_cast<std::int32_t>(word);
    });
  }
  KVCODEC_HD static void store_bytes(Bytes a, void* to) noexcept {
    for (std::size_t l = 0; l < 64; ++l) static_cast<std::uint8_t*>(to)[l] = a.lane[l];
  }
  KVCODEC_HD static Bytes narrow(Ints a, Ints b, Ints c, Ints d) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 16; ++l) {
      r.lane[l] = static_cast<std::uint8_t>(a.lane[l]);
      r.lane[16 + l] = static_cast<std::uint8_t>(b.lane[l]);
      r.lane[32 + l] = static_cast<std::uint8_t>(c.lane[l]);
      r.lane[48 + l] = static_cast<std::uint8_t>(d.lane[l]);
    }
    return r;
  }
  template <std::size_t Quarter>
  KVCODEC_HD static Ints widen(Bytes a) noexcept {
    return each_int([&](std::size_t l) { return static_cast<std::int32_t>(a.lane[16 * Quarter + l]); });
  }
  template <unsigned Width, std::size_t Fields>
  KVCODEC_HD static void pack(Bytes fields, std::byte* to) noexcept {
    kvcodec::pack<Width, Fields>(fields.lane, to);
  }
  static constexpr bool unpacks_at_bits = false;
  template <unsigned Width, std::size_t Fields, std::size_t Readable = bytes_for_bits(Width * Fields)>
  KVCODEC_HD static Bytes unpack(const std::byte* from) noexcept {
    Bytes r = {};
    kvcodec::unpack<Width, Fields>(from, [&](std::size_t i, unsigned field) { r.lane[i] = static_cast<std::uint8_t>(field); });
    return r;
  }
  template <std::size_t N>
  KVCODEC_HD static Bytes lookup(const std::uint8_t* table, Bytes i) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l) r.lane[l] = table[i.lane[l] % N];
    return r;
  }
  template <unsigned Mask>
  KVCODEC_HD static Bytes select_bits(Bytes a, Bytes b) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l) r.lane[l] = static_cast<std::uint8_t>((a.lane[l] & ~Mask) | (b.lane[l] & Mask));
    return r;
  }
  template <unsigned Bit>
  KVCODEC_HD static Bytes negate_where(Bytes a, Bytes flags) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l) r.lane[l] = static_cast<std::uint8_t>(flags.lane[l] >> Bit & 1u ? 256u - a.lane[l] : a.lane[l]);
    return r;
  }
  /// What dot4's first operand is above its value.
  static constexpr std::int32_t bias = 0;
  KVCODEC_HD static Ints dot4(Ints sum, Bytes a, Bytes b) noexcept {
    return each_int([&](std::size_t l) {
      std::int32_t s = sum.lane[l];
      for (std::size_t k = 4 * l; k < 4 * l + 4; ++k)
        s += static_cast<std::int32_t>(static_cast<std::int8_t>(a.lane[k])) * static_cast<std::int8_t>(b.lane[k]);
      return s;
    });
  }
  KVCODEC_HD static Ints dot4_unsigned(Ints sum, Bytes a, Bytes b) noexcept {
    return each_int([&](std::size_t l) {
      std::int32_t s = sum.lane[l];
      for (std::size_t k = 4 * l; k < 4 * l + 4; ++k) s += static_cast<std::int32_t>(a.lane[k]) * static_cast<std::int8_t>(b.lane[k]);
      return s;
    });
  }
  KVCODEC_HD static Bytes unbiased(Bytes a) noexcept { return a; }
  template <unsigned Width, unsigned Shift>
  KVCODEC_HD static Bytes field(Bytes a, Bytes b) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l)
      r.lane[l] = static_cast<std::uint8_t>((a.lane[l] | static_cast<unsigned>(b.lane[l]) << 8) >> Shift & ((1u << Width) - 1));
    return r;
  }
  static constexpr std::size_t registers = 8;
  /// The largest power of two whose look-up of bytes is one or two instructions.
  static constexpr unsigned lookup_bits = 8;
  struct Sums {
    std::uint16_t lane[64];
  };
  KVCODEC_HD static void add_bytes(Sums& sum, Bytes a) noexcept {
    for (std::size_t l = 0; l < 64; ++l) sum.lane[l] = static_cast<std::uint16_t>(sum.lane[l] + a.lane[l]);
  }
  KVCODEC_HD static void widen_sums(const Sums& sum, Ints (&out)[4]) noexcept {
    for (std::size_t l = 0; l < 64; ++l) out[l / 16].lane[l % 16] = sum.lane[l];
  }
  KVCODEC_HD static Bytes broadcast4(std::uint32_t four) noexcept { return broadcast4(four, four); }
  KVCODEC_HD static Bytes broadcast4(std::uint32_t low, std::uint32_t high) noexcept {
    Bytes r;
    for (std::size_t l = 0; l < 64; ++l) r.lane[l] = static_cast<std::uint8_t>((l < 32 ? low : high) >> (8 * (l % 4)) & 0xffu);
    return r;
  }
  KVCODEC_HD static Ints sum_rows(const Ints (&a)[16]) noexcept {
    return each_int([&](std::size_t l) {
      std::int32_t s = 0;
      for (std::size_t k = 0; k < 16; ++k) s += a[l].lane[k];
      return s;
    });
  }
  KVCODEC_HD static void transpose4(const Bytes (&row)[4], Bytes (&out)[4]) noexcept {
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < 64; ++l) out[k].lane[l] = row[l % 4].lane[16 * (l / 16) + 4 * k + l / 4 % 4];
  }
  KVCODEC_HD static void untranspose(Ints (&a)[4]) noexcept {
    Ints r[4];
    for (std::size_t v = 0; v < 4; ++v)
      for (std::size_t l = 0; l < 16; ++l) r[v].lane[l] = a[l / 4].lane[4 * v + l % 4];
    for (std::size_t v = 0; v < 4; ++v) a[v] = r[v];
  }

 private:
  template <class F>
  KVCODEC_HD static Floats each(F f) noexcept {
    Floats r;
    for (std::size_t l = 0; l < 16; ++l) r.lane[l] = f(l);
    return r;
  }
  template <class F>
  KVCODEC_HD static Ints each_int(F f) noexcept {
    Ints r;
    for (std::size_t l = 0; l < 16; ++l) r.lane[l] = f(l);
    return r;
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
