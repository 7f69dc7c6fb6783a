// What codecs are measured against: float16 rows scored and summed as well as this processor can, q4_0 rows scored as ggml
// does, reading and copying. Each is written for the machine's own instructions whatever KVCODEC_ISA is.
//
// From DRAM a plain float16 loop can be half as fast as one that prefetches, and a ratio to it would flatter every codec.
// Its lines are asked for in L2, which leaves L1's few outstanding misses to the loads: 10 % faster on an Intel server.
// Several rows at once share the sums across lanes; four queries share the conversions.
#pragma once

#include <kvcodec/half.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace bench {

inline constexpr std::size_t dim = 128;

/// So far ahead the lines of a stream are asked for.
inline constexpr std::size_t prefetch_distance = 4096;

enum class Level { L1, L2 };

template <Level To, std::size_t Bytes>
inline void prefetch_ahead(const void* p) {
  for (std::size_t at = 0; at < Bytes; at += 64)
    __builtin_prefetch(static_cast<const char*>(p) + prefetch_distance + at, 0, To == Level::L1 ? 3 : 2);
}

// The sums of four registers.
#if defined(__AVX2__)
inline void store_sums(const __m256* a, float* sums) {
  const __m256 abcd = _mm256_hadd_ps(_mm256_hadd_ps(a[0], a[1]), _mm256_hadd_ps(a[2], a[3]));
  _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps(abcd, 1)));
}
#endif
#if defined(__AVX512F__)
inline void store_sums(const __m512* a, float* sums) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a[0], a[1]), _mm512_unpackhi_ps(a[0], a[1]));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(a[2], a[3]), _mm512_unpackhi_ps(a[2], a[3]));
  const __m512 abcd = _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps(abcd, 1));
  _mm_storeu_ps(sums, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
}
#endif

// One register of floats: `count` of them, of `registers` that there are.
#if defined(__AVX512F__)
struct Lanes {
  using Vector = __m512;
  static constexpr std::size_t count = 16, registers = 32;

  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const float* x) { return _mm512_loadu_ps(x); }
  static Vector load(const std::uint16_t* halves) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halves)));
  }
  static Vector broadcast(float x) { return _mm512_set1_ps(x); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static void store(float* x, Vector a) { _mm512_storeu_ps(x, a); }
};
#elif defined(__AVX2__)
struct Lanes {
  using Vector = __m256;
  static constexpr std::size_t count = 8, registers = 16;

  static Vector zero() { return _mm256_setzero_ps(); }
  static Vector load(const float* x) { return _mm256_loadu_ps(x); }
  static Vector load(const std::uint16_t* halves) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halves)));
  }
  static Vector broadcast(float x) { return _mm256_set1_ps(x); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  static void store(float* x, Vector a) { _mm256_storeu_ps(x, a); }
};
#else
struct Lanes {
  static constexpr std::size_t count = 8, registers = 16;
  struct Vector {
    float lane[count];
  };

  static Vector zero() { return {}; }
  static Vector load(const float* x) {
    Vector a;
    std::memcpy(a.lane, x, sizeof a.lane);
    return a;
  }
  static Vector load(const std::uint16_t* halves) {
    Vector a;
    for (std::size_t l = 0; l < count; ++l) a.lane[l] = kvcodec::to_float(kvcodec::float16{halves[l]});
    return a;
  }
  static Vector broadcast(float x) {
    Vector a;
    for (float& lane : a.lane) lane = x;
    return a;
  }
  static Vector fma(Vector a, Vector b, Vector c) {
    for (std::size_t l = 0; l < count; ++l) c.lane[l] += a.lane[l] * b.lane[l];
    return c;
  }
  static void store(float* x, Vector a) { std::memcpy(x, a.lane, sizeof a.lane); }
};
inline void store_sums(const Lanes::Vector* a, float* sums) {
  for (std::size_t k = 0; k < 4; ++k) {
    sums[k] = 0;
    for (const float lane : a[k].lane) sums[k] += lane;
  }
}
#endif

/// scores[q * stride + i] = <query q, row i>. n is a multiple of 4.
template <std::size_t Queries>
inline void float16_scores(const std::uint16_t* rows, std::size_t n, const float* queries, float* scores, std::size_t stride) {
  // As many sums as leave room for the rows themselves.
  constexpr std::size_t at_once = Queries == 1 ? 4 : Lanes::registers / 2 / Queries;
  for (std::size_t i = 0; i < n; i += at_once) {
    const std::uint16_t* row = rows + i * dim;
    Lanes::Vector sum[at_once * Queries];
    for (auto& s : sum) s = Lanes::zero();
    prefetch_ahead<Level::L2, at_once * dim * 2>(row);
#pragma GCC unroll 16
    for (std::size_t d = 0; d < dim; d += Lanes::count) {
      Lanes::Vector x[at_once];
      for (std::size_t r = 0; r < at_once; ++r) x[r] = Lanes::load(row + r * dim + d);
      for (std::size_t q = 0; q < Queries; ++q) {
        const Lanes::Vector query = Lanes::load(queries + q * dim + d);
        for (std::size_t r = 0; r < at_once; ++r) sum[r * Queries + q] = Lanes::fma(x[r], query, sum[r * Queries + q]);
      }
    }
    float result[at_once * Queries];
    for (std::size_t k = 0; k < at_once * Queries; k += 4) store_sums(sum + k, result + k);
    for (std::size_t q = 0; q < Queries; ++q)
      for (std::size_t r = 0; r < at_once; ++r) scores[q * stride + i + r] = result[r * Queries + q];
  }
}

/// sums[q][d] += weights[q * stride + i] * row i [d]. n is a multiple of 16.
template <std::size_t Queries>
inline void float16_sums(const std::uint16_t* rows, std::size_t n, const float* weights, std::size_t stride, float* sums) {
  // Some coordinates of all queries at a time stay in registers, for 16 rows.
  constexpr std::size_t chunks = Queries == 1 ? 8 : Lanes::registers / 2 / Queries, width = chunks * Lanes::count;
  static_assert(dim % width == 0);
  for (std::size_t i = 0; i < n; i += 16) {
    for (std::size_t d = 0; d < dim; d += width) {
      Lanes::Vector sum[Queries][chunks];
      for (std::size_t q = 0; q < Queries; ++q)
        for (std::size_t c = 0; c < chunks; ++c) sum[q][c] = Lanes::load(sums + q * dim + d + c * Lanes::count);
      for (std::size_t r = 0; r < 16; ++r) {
        const std::uint16_t* x = rows + (i + r) * dim + d;
        if (d * 2 % 64 == 0) prefetch_ahead<Level::L2, width * 2>(x);
        Lanes::Vector value[chunks];
        for (std::size_t c = 0; c < chunks; ++c) value[c] = Lanes::load(x + c * Lanes::count);
        for (std::size_t q = 0; q < Queries; ++q) {
          const Lanes::Vector weight = Lanes::broadcast(weights[q * stride + i + r]);
          for (std::size_t c = 0; c < chunks; ++c) sum[q][c] = Lanes::fma(value[c], weight, sum[q][c]);
        }
      }
      for (std::size_t q = 0; q < Queries; ++q)
        for (std::size_t c = 0; c < chunks; ++c) Lanes::store(sums + q * dim + d + c * Lanes::count, sum[q][c]);
    }
  }
}

/// ggml's q4_0: for every 32 values a float16 scale and 32 nibbles, value j of 16 in the low and value 16 + j in the high one.
struct Q4Block {
  std::uint16_t scale;
  std::uint8_t nibbles[16];
};
static_assert(sizeof(Q4Block) == 18);
inline constexpr std::size_t q4_blocks = dim / 32;
using Q4Row = Q4Block[q4_blocks];
static_assert(sizeof(Q4Row) == 72);

inline void q4_encode(const float* x, Q4Block* row) {
  for (std::size_t b = 0; b < q4_blocks; ++b, x += 32) {
    float largest = 0;
    for (std::size_t j = 0; j < 32; ++j) largest = std::fabs(x[j]) > std::fabs(largest) ? x[j] : largest;
    const float scale = largest / -8, inverse = scale == 0 ? 0 : 1 / scale;
    const auto level = [&](std::size_t j) {
      const int rounded = static_cast<int>(x[j] * inverse + 8.5f);
      return static_cast<unsigned>(rounded < 15 ? rounded : 15);
    };
    row[b].scale = kvcodec::to_float16(scale).bits;
    for (std::size_t j = 0; j < 16; ++j) row[b].nibbles[j] = static_cast<std::uint8_t>(level(j) | level(j + 16) << 4);
  }
}

/// A query as q8_0: for every 32 values a scale and 32 int8. Nibbles are 8 too large: `offset` takes that off for each four.
struct alignas(64) Q8Query {
  std::int8_t values[dim];
  std::int32_t offset[dim / 4];
  float scale[q4_blocks];

  explicit Q8Query(const float* x) {
    for (std::size_t b = 0; b < q4_blocks; ++b) {
      float largest = 0;
      for (std::size_t j = 0; j < 32; ++j) largest = std::fmax(largest, std::fabs(x[32 * b + j]));
      scale[b] = kvcodec::to_float(kvcodec::to_float16(largest / 127));
      for (std::size_t j = 0; j < 32; ++j)
        values[32 * b + j] = static_cast<std::int8_t>(largest == 0 ? 0.0f : std::round(x[32 * b + j] * 127 / largest));
    }
    for (std::size_t g = 0; g < dim / 4; ++g)
      offset[g] = -8 * (values[4 * g] + values[4 * g + 1] + values[4 * g + 2] + values[4 * g + 3]);
  }
};

#if defined(__AVX512VBMI__) && defined(__AVX512VNNI__)
/// Two blocks a register: a permutation of bytes brings their nibbles into lanes of 16 low, 16 high, 16 low, 16 high.
struct Q4Lanes {
  using Vector = __m512;

  explicit Q4Lanes(const Q4Block* row) {
    const auto* bytes = reinterpret_cast<const char*>(row);
    const __m512i front = _mm512_loadu_si512(bytes), back = _mm512_loadu_si512(bytes + 8);
    const auto spread = [](__m512i x, int first, int second) {
      const __m512i ramp = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
      const __m512i begin = _mm512_inserti64x4(_mm512_set1_epi8(static_cast<char>(first)), _mm256_set1_epi8(static_cast<char>(second)), 1);
      const __m512i shift = _mm512_maskz_set1_epi16(0xff00ff00u, 4);
      return _mm512_and_si512(_mm512_srlv_epi16(_mm512_permutexvar_epi8(_mm512_add_epi8(ramp, begin), x), shift), _mm512_set1_epi8(15));
    };
    nibbles[0] = spread(front, 2, 20);
    nibbles[1] = spread(back, 38 - 8, 56 - 8);
    const __m512i scales = _mm512_castsi128_si512(_mm_setr_epi8(0, 1, 18, 19, 36, 37, 54, 55, 0, 0, 0, 0, 0, 0, 0, 0));
    scale = _mm_cvtph_ps(_mm512_castsi512_si128(_mm512_permutexvar_epi8(scales, front)));
  }

  Vector dot(const Q8Query& query) const {
    const __m512 factor = _mm512_castps128_ps512(_mm_mul_ps(scale, _mm_load_ps(query.scale)));
    const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const auto part = [&](std::size_t k) {
      return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_load_si512(query.offset + 16 * k), nibbles[k],
                                                    _mm512_load_si512(query.values + 64 * k)));
    };
    const __m512 sum = _mm512_mul_ps(part(0), _mm512_permutexvar_ps(first, factor));
    return _mm512_fmadd_ps(part(1), _mm512_permutexvar_ps(_mm512_add_epi32(first, _mm512_set1_epi32(2)), factor), sum);
  }

  __m512i nibbles[2];
  __m128 scale;
};
#elif defined(__AVX2__)
struct Q4Lanes {
  using Vector = __m256;

  explicit Q4Lanes(const Q4Block* row) {
    for (std::size_t b = 0; b < q4_blocks; ++b) {
      const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row[b].nibbles));
      nibbles[b] = _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(packed, 4), packed), _mm256_set1_epi8(15));
    }
    const std::uint64_t scales = row[0].scale | std::uint64_t{row[1].scale} << 16 | std::uint64_t{row[2].scale} << 32 |
                                 std::uint64_t{row[3].scale} << 48;
    scale = _mm_cvtph_ps(_mm_cvtsi64_si128(static_cast<long long>(scales)));
  }

  Vector dot(const Q8Query& query) const {
    const __m128 factor = _mm_mul_ps(scale, _mm_load_ps(query.scale));
    const __m256 factors = _mm256_set_m128(factor, factor);
    __m256 sum = _mm256_setzero_ps();
    const auto add = [&]<int B>(std::integral_constant<int, B>) {
      const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(query.values) + B);
      const __m256i offset = _mm256_load_si256(reinterpret_cast<const __m256i*>(query.offset) + B);
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
      const __m256i products = _mm256_dpbusd_epi32(offset, nibbles[B], values);
#elif defined(__AVXVNNI__)
      const __m256i products = _mm256_dpbusd_avx_epi32(offset, nibbles[B], values);
#else  // 2 * 15 * 127 fits 16 bits
      const __m256i products =
          _mm256_add_epi32(offset, _mm256_madd_epi16(_mm256_maddubs_epi16(nibbles[B], values), _mm256_set1_epi16(1)));
#endif
      sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(products), _mm256_permute_ps(factors, B * 0x55), sum);
    };
    add(std::integral_constant<int, 0>());
    add(std::integral_constant<int, 1>());
    add(std::integral_constant<int, 2>());
    add(std::integral_constant<int, 3>());
    return sum;
  }

  __m256i nibbles[q4_blocks];
  __m128 scale;
};
#endif

/// The same for q4_0 rows. n is a multiple of 4.
template <std::size_t Queries>
inline void q4_scores(const Q4Row* rows, std::size_t n, const Q8Query* queries, float* scores, std::size_t stride) {
#if defined(__AVX2__)
  constexpr std::size_t at_once = 4 / Queries;
  for (std::size_t i = 0; i < n; i += at_once) {
    Q4Lanes::Vector sum[4];
    prefetch_ahead<Level::L1, at_once * sizeof(Q4Row)>(rows + i);
    for (std::size_t r = 0; r < at_once; ++r) {
      const Q4Lanes row(rows[i + r]);
      for (std::size_t q = 0; q < Queries; ++q) sum[r * Queries + q] = row.dot(queries[q]);
    }
    float result[4];
    store_sums(sum, result);
    for (std::size_t q = 0; q < Queries; ++q)
      for (std::size_t r = 0; r < at_once; ++r) scores[q * stride + i + r] = result[r * Queries + q];
  }
#else
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t q = 0; q < Queries; ++q) {
      float score = 0;
      for (std::size_t b = 0; b < q4_blocks; ++b) {
        const std::int8_t* x = queries[q].values + 32 * b;
        std::int32_t sum = 0;
        for (std::size_t j = 0; j < 16; ++j) {
          const int nibbles = rows[i][b].nibbles[j];
          sum += ((nibbles & 15) - 8) * x[j] + ((nibbles >> 4) - 8) * x[j + 16];
        }
        score += kvcodec::to_float(kvcodec::float16{rows[i][b].scale}) * queries[q].scale[b] * static_cast<float>(sum);
      }
      scores[q * stride + i] = score;
    }
  }
#endif
}

/// The sum of a buffer, a multiple of 512 bytes: how fast memory can be read at all.
inline std::uint64_t stream_sum(std::span<const std::byte> buffer) {
  typedef std::uint64_t Wide __attribute__((vector_size(64)));
  Wide sum[8] = {};
  for (std::size_t at = 0; at < buffer.size(); at += sizeof sum) {
    prefetch_ahead<Level::L1, sizeof sum>(buffer.data() + at);
#pragma GCC unroll 8
    for (std::size_t k = 0; k < 8; ++k) {
      Wide x;
      std::memcpy(&x, buffer.data() + at + k * sizeof x, sizeof x);
      sum[k] += x;
    }
  }
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < 8; ++k)
    for (std::size_t l = 0; l < 8; ++l) total += sum[k][l];
  return total;
}

/// Copies rows of floats one by one, as an encoder meets them. The size is hidden: what a compiler makes of a copy of 512
/// bytes is slower than the C library's.
inline void copy_rows(const float* from, std::size_t n, float* to) {
  std::size_t bytes = dim * sizeof(float);
  asm volatile("" : "+r"(bytes));
  for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * dim, from + i * dim, bytes);
}

}  // namespace bench
