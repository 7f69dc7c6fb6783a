// Scores and sums in integers, for any quantiser whose decoded coordinates fit bytes: queries, codebooks and weights of 8
// bits, products summed exactly in 32. A quantiser says how its rows become bytes:
//
//   integer_components           of a field: 1 coordinate, or the 3 of a triplet
//   integer_fields               of a row
//   integer_unit                 the value of one unit of a byte
//   integer_at(k)                where in a prepared query's floats (and a sum's) component k of field 0 is; the others follow
//   integer_planes               bytes that say a field: 1, or 2
//   integer_bytes<P, N>(code, c) plane P of the N fields from 64c on
//   integer_value<K>(p0, p1)     component K of fields with these bytes: in [-127, 127] plus the vocabulary's bias
//   integer_packed_bits          of a field, where a row's bytes are whole fields of so few bits; else 8
//
// What the integers add to a codec's own error: a query is rounded to 127ths of its largest coordinate, a codebook to 127ths
// of its largest value, weights times norms to 127ths of the largest of sixty-four tokens. tests/integer_test.cpp holds it
// below 1 % of the variance for scores and 2 % for sums (rms 10 % and 14 %).
//
// Overflow: |sum| <= 1024 * 255 * 127 < 2^25 for scores, 64 * 255 * 127 < 2^21 for sums.
#pragma once

#include "../rows.hpp"
#include "../simd/vector.hpp"
#include "direction.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// Whether a quantiser has rows of bytes, on an instruction set that gains by them.
template <class Q>
inline constexpr bool has_integer_rows = [] {
  if constexpr (requires { Q::integer_components; }) return Q::integer_components > 0 && isa_of<Q> != Isa::scalar;
  else return false;
}();

/// What a prepared query has for integer rows.
template <class Q, bool = has_integer_rows<Q>>
struct IntegerQuery {};
template <class Q>
struct IntegerQuery<Q, true> {
  std::int8_t bytes[(Q::integer_fields + 63) / 64 * Q::integer_components * 64];  ///< by chunk of 64 fields, then component
  float unit;          ///< of bytes times a row's bytes
  std::int32_t shift;  ///< takes the bias of the row's bytes off a sum
};

namespace detail {

/// How many of n are in quarter q of sixty-four.
constexpr std::size_t quarter_size(std::size_t n, std::size_t q) noexcept {
  return n <= 16 * q ? 0 : n - 16 * q < 16 ? n - 16 * q : 16;
}

/// The norms of at most sixty-four rows, filled up with zeros to whole lanes.
template <class S, class Norm>
inline void load_norms(ConstPlanes rows, float* norms) noexcept {
  if constexpr (Norm::bytes == 2) {
    if (rows.norm_stride == 2) {
      for (std::size_t i = 0; i < rows.count; i += lanes) {
        const std::size_t n = rows.count - i < lanes ? rows.count - i : lanes;
        S::store(S::template load_halves<typename Norm::type>(rows.norm(i), n), norms + i);
      }
      return;
    }
  }
  for (std::size_t i = 0; i < rows.count; ++i) norms[i] = Norm::load(rows.norm(i));
  for (std::size_t i = rows.count; i % lanes != 0; ++i) norms[i] = 0;
}

/// The rows from `first` on, sixty-four or those that are left, and their norms. (A loop that took its body as a function
/// would cost a tenth of a sum's time.)
template <class S, class Norm>
KVCODEC_INLINE inline ConstPlanes sixty_four_rows(ConstPlanes rows, std::size_t first, float* norms) noexcept {
  const ConstPlanes some = rows.rows(first, rows.count - first < 64 ? rows.count - first : 64);
  load_norms<S, Norm>(some, norms);
  return some;
}

/// Weights times norms of at most sixty-four rows, zeros beyond, and the largest magnitude. False where one is not finite.
template <class S>
KVCODEC_INLINE inline bool multiply(const float* weights, const float* norms, std::size_t count, typename S::Floats (&product)[4],
                                    float& most) noexcept {
  typename S::Floats largest = S::broadcast(0.0f), total = S::broadcast(0.0f);
  unrolled<4>([&](auto q) KVCODEC_INLINE {
    const std::size_t n = quarter_size(count, q);
    product[q] = n == 0 ? S::broadcast(0.0f) : S::multiply(S::load_part(weights + 16 * q, n), S::load_part(norms + 16 * q, n));
    largest = S::maximum(largest, S::magnitude(product[q]));
    total = S::add(total, S::magnitude(product[q]));
  });
  most = S::largest(largest);
  return is_finite(S::sum(total));
}

/// to[0] to to[Size - 1] += values.
template <class S, std::size_t Size>
KVCODEC_INLINE inline void add_part(typename S::Floats values, float* to) noexcept {
  S::store_part(S::add(values, S::load_part(to, Size)), to, Size);
}

/// The quantiser's kernels; Norm names how a row's norm is read: Norm::load(const std::byte*), Norm::type.
template <class Q, class Norm>
struct IntegerKernels {
  using S = Simd<isa_of<Q>>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;
  using Bytes = typename S::Bytes;
  static constexpr std::size_t fields = Q::integer_fields, components = Q::integer_components;
  static constexpr std::size_t chunk = 64;  ///< of rows

  /// x: the query's floats, as the quantiser's dot takes them.
  KVCODEC_SHARED static void prepare(const float* x, IntegerQuery<Q>& query) noexcept {
    const Floats zero = S::broadcast(0.0f);
    Floats largest = zero, nothing = zero;  // 0, or NaN where a coordinate is not finite
    each_part([&](std::size_t, auto, std::size_t at, std::size_t n) KVCODEC_INLINE {
      const Floats part = S::load_part(x + at, n);
      largest = S::maximum(largest, S::magnitude(part));
      nothing = S::add(nothing, S::multiply(part, zero));
    });
    const float most = S::largest(largest);
    const float inverse = is_finite(127.0f / most) ? 127.0f / most : 0.0f;  // a query of less than 2^-120 is as good as zero
    Ints ints[4], sum = S::broadcast_int(0);
    const Ints low = S::broadcast_int(255);
    each_part([&](std::size_t v, auto q, std::size_t at, std::size_t n) KVCODEC_INLINE {
      const Ints rounded = S::clip(S::round_to_ints(S::multiply(S::load_part(x + at, n), S::broadcast(inverse))), -127, 127);
      sum = S::add(sum, rounded);
      ints[q] = S::bit_and(rounded, low);
      if constexpr (q == 3) S::store_bytes(S::narrow(ints[0], ints[1], ints[2], ints[3]), query.bytes + 64 * v);
    });
    query.shift = -S::bias * S::sum(sum);
    query.unit = most / 127.0f * Q::integer_unit + S::sum(nothing);
  }

  template <class Query>
  KVCODEC_SHARED static void score(const Query* queries, std::size_t n, ConstPlanes rows, float* scores, std::size_t stride) noexcept {
    for (std::size_t i = 0; i < rows.count; i += chunk) {
      float norms[chunk];
      const ConstPlanes some = sixty_four_rows<S, Norm>(rows, i, norms);
      for (std::size_t k = 0; k < n; k += 4) {
        float* to = scores + k * stride + i;
        if (n - k == 1) score_group<1>(queries + k, 1, some, norms, to, stride);
        else score_group<4>(queries + k, n - k < 4 ? n - k : 4, some, norms, to, stride);
      }
    }
  }

  template <class Accumulator>
  KVCODEC_SHARED static void accumulate(const float* weights, std::size_t stride, std::size_t n, ConstPlanes rows, Accumulator* sums) noexcept {
    for (std::size_t i = 0; i < rows.count; i += chunk) {
      float norms[chunk];
      const ConstPlanes some = sixty_four_rows<S, Norm>(rows, i, norms);
      for (std::size_t first = 0; first < n; first += group) {
        Weights w[group];
        float* to[group];
        std::size_t used = 0;
        for (std::size_t k = first; k < n && k < first + group; ++k) {
          if (round_weights(weights + k * stride + i, norms, some.count, w[used])) {
            if (w[used].unit != 0) to[used++] = sums[k].rotated;
          } else {  // not for integers: a weight or a norm is not finite
            for (std::size_t t = 0; t < some.count; ++t)
              Q().accumulate(weights[k * stride + i + t] * norms[t], some.code(t), sums[k].rotated);
          }
        }
        if (used == 1) accumulate_group<1>(w, 1, some, to);
        if (used > 1) accumulate_group<group>(w, used, some, to);
      }
    }
  }

 private:
  struct Weights {
    alignas(4) std::int8_t bytes[chunk];
    float unit;          ///< of these times a row's bytes
    std::int32_t shift;  ///< takes the bias of the rows' bytes off a sum
  };

  /// f(v, q, at, n): quarter q of vector v of bytes is the n floats from `at` on.
  template <class F>
  KVCODEC_INLINE static void each_part(F f) noexcept {
    each_chunk<fields>([&](std::size_t c, auto n) KVCODEC_INLINE {
      for (std::size_t k = 0; k < components; ++k)
        unrolled<4>([&](auto q) KVCODEC_INLINE { f(components * c + k, q, Q::integer_at(k) + 64 * c + 16 * q, quarter_size(n, q)); });
    });
  }

  /// Sixteen sums at a time: of 16 / N rows with each of N queries, of which `count` there are.
  template <std::size_t N, class Query>
  KVCODEC_SHARED static void score_group(const Query* queries, std::size_t count, ConstPlanes rows, const float* norms, float* scores,
                                         std::size_t stride) noexcept {
    constexpr std::size_t at_once = lanes / N;
    const std::int8_t* bytes[N];
    std::int32_t shift[lanes];
    float unit[lanes];
    for (std::size_t l = 0; l < lanes; ++l) {
      const Query& query = queries[l / at_once < count ? l / at_once : 0];
      bytes[l / at_once] = query.bytes;
      shift[l] = query.shift;
      unit[l] = query.unit;
    }
    const Ints shifts = S::load_ints(shift);
    const Floats units = S::load(unit);
    for (std::size_t i = 0; i < rows.count; i += at_once) {
      Ints sum[lanes];
      for (std::size_t r = 0; r < at_once; ++r) {
        const std::byte* code = rows.code(i + r < rows.count ? i + r : rows.count - 1);
        prefetch_ahead(code, Q::code_bytes);
        Ints row_sum[N];
        unrolled<N>([&](auto k) KVCODEC_INLINE { row_sum[k] = S::broadcast_int(0); });
        each_chunk<fields>([&](std::size_t c, auto n) KVCODEC_INLINE {
          const Bytes first = Q::template integer_bytes<0, n>(code, c);
          Bytes second = first;
          if constexpr (Q::integer_planes > 1) second = Q::template integer_bytes<1, n>(code, c);
          unrolled<components>([&](auto j) KVCODEC_INLINE {
            const Bytes row = Q::template integer_value<j>(first, second);
            unrolled<N>([&](auto k) KVCODEC_INLINE {
              const std::int8_t* const query = sizeof(IntegerQuery<Q>::bytes) * N > 8 * 64 ? read_here(bytes[k]) : bytes[k];
              row_sum[k] = S::dot4(row_sum[k], row, S::load_bytes(query + 64 * (components * c + j)));
            });
          });
        });
        unrolled<N>([&](auto k) KVCODEC_INLINE { sum[k * at_once + r] = row_sum[k]; });
      }
      Floats norm;
      if constexpr (N == 1) norm = S::load(norms + i);
      else norm = S::template repeat<at_once>(norms + i);
      const Floats score = S::multiply(S::multiply(S::to_floats(S::add(S::sum_rows(sum), shifts)), units), norm);
      const std::size_t n = rows.count - i < at_once ? rows.count - i : at_once;
      if constexpr (N == 1) {
        S::store_part(score, scores + i, n);
      } else {
        float each[lanes];
        S::store(score, each);
        for (std::size_t k = 0; k < count; ++k) std::memcpy(scores + k * stride + i, each + k * at_once, n * sizeof(float));
      }
    }
  }

  /// False where integers cannot say them: one is not finite, or all are below 2^-120. A unit of 0: all are zero.
  KVCODEC_SHARED static bool round_weights(const float* weights, const float* norms, std::size_t count, Weights& w) noexcept {
    Floats product[4];
    float most;
    if (!multiply<S>(weights, norms, count, product, most)) return false;
    const float inverse = 127.0f / most;
    w.unit = 0;
    if (!is_finite(inverse)) return most == 0;
    const Ints low = S::broadcast_int(255);
    Ints ints[4], sum = S::broadcast_int(0);
    unrolled<4>([&](auto q) KVCODEC_INLINE {
      const Ints rounded = S::round_to_ints(S::multiply(product[q], S::broadcast(inverse)));
      sum = S::add(sum, rounded);
      ints[q] = S::bit_and(rounded, low);
    });
    S::store_bytes(S::narrow(ints[0], ints[1], ints[2], ints[3]), w.bytes);
    w.unit = most / 127.0f * Q::integer_unit;
    w.shift = -S::bias * S::sum(sum);
    return true;
  }

  /// Fields that a byte of a row holds, where sums take rows' bytes as they are.
  static constexpr std::size_t packing = 8 / Q::integer_packed_bits;
  /// Values that a byte of a row gives: components, or fields.
  static constexpr std::size_t slots = components * packing;
  /// Queries that share a row's look-ups. Each has four sums a slot, and registers hold so many slots' at once.
  static constexpr bool many_registers = S::registers >= 32;
  static constexpr std::size_t group = many_registers ? (packing > 1 ? 2 : 4) : (packing == 4 ? 1 : 2);
  template <std::size_t N>
  static constexpr std::size_t slots_at_once = !many_registers ? 1 : N == 1 ? slots : 4 / N;

  /// N sums, of which `count` there are.
  template <std::size_t N>
  KVCODEC_SHARED static void accumulate_group(const Weights* weights, std::size_t count, ConstPlanes rows, float* const* sums) noexcept {
    const Weights* w[N];
    for (std::size_t k = 0; k < N; ++k) w[k] = weights + (k < count ? k : 0);
    each_chunk<fields / packing>([&](std::size_t c, auto n) KVCODEC_INLINE {
      constexpr std::size_t at_once = slots_at_once<N>;
      [[maybe_unused]] Floats kept[packing > 1 ? packing - 1 : 1][N][4];  // a byte's fields but its last, which go out in order
      unrolled<slots / at_once>([&](auto pass) KVCODEC_INLINE {
        Ints sum[at_once][N][4];  // this and kept: indexed by constants alone, or they are kept in memory
        sum_rows<n, at_once * pass, at_once, N>(w, rows, c, sum);
        unrolled<at_once>([&](auto s) KVCODEC_INLINE {
          constexpr std::size_t slot = at_once * pass + s;
          unrolled<N>([&](auto k) KVCODEC_INLINE {
            Floats values[4];
            in_order<n>(sum[s][k], *w[k], values);
            if constexpr (packing > 1 && slot + 1 < packing) {
              unrolled<4>([&](auto j) KVCODEC_INLINE { kept[slot][k][j] = values[j]; });
            } else if (k < count) {
              unrolled<(n + 15) / 16>([&](auto j) KVCODEC_INLINE {
                constexpr std::size_t size = quarter_size(n, j);
                float* const to = sums[k] + (64 * c + 16 * j) * packing;
                if constexpr (packing == 1) add_part<S, size>(values[j], to + Q::integer_at(slot));
                else add_fields<size * packing>([&](auto f) KVCODEC_INLINE { return f == slot ? values[j] : kept[f][k][j]; }, to);
              });
            }
          });
        });
      });
    });
  }

  /// Fours of rows in a vector, where N bytes of each are needed.
  template <std::size_t N>
  static constexpr std::size_t fours = packing > 1 && N <= 32 ? 2 : 1;

  /// The sums of `Count` slots of n bytes of each row, in the order of transpose4. Bytes of four rows are interleaved, so that
  /// dot4 adds what four tokens give one sum; then come fields and look-ups.
  template <std::size_t Size, std::size_t First, std::size_t Count, std::size_t N>
  KVCODEC_INLINE static void sum_rows(const Weights* const (&w)[N], ConstPlanes rows, std::size_t c, Ints (&sum)[Count][N][4]) noexcept {
    unrolled<Count>([&](auto s) KVCODEC_INLINE {
      unrolled<N>([&](auto k) KVCODEC_INLINE { unrolled<4>([&](auto j) KVCODEC_INLINE { sum[s][k][j] = S::broadcast_int(0); }); });
    });
    for (std::size_t i = 0; i < rows.count; i += 4 * fours<Size>) {
      Bytes plane[Q::integer_planes][4], of_four[Q::integer_planes][4];
      unrolled<4>([&](auto r) KVCODEC_INLINE {
        const auto code = [&](std::size_t row) KVCODEC_INLINE {
          const std::byte* at = rows.code(row < rows.count ? row : rows.count - 1);
          if (First == 0 && c == 0) prefetch_ahead(at, Q::code_bytes);
          return at;
        };
        const std::byte* at = code(i + r);
        if constexpr (fours<Size> == 2) {
          plane[0][r] = S::load_two(at + 64 * c, code(i + 4 + r) + 64 * c, Size);
        } else if constexpr (packing > 1) {
          plane[0][r] = S::load_bytes(at + 64 * c, Size);
        } else {
          unrolled<Q::integer_planes>([&](auto p) KVCODEC_INLINE { plane[p][r] = Q::template integer_bytes<p, Size>(at, c); });
        }
      });
      unrolled<Q::integer_planes>([&](auto p) KVCODEC_INLINE { S::transpose4(plane[p], of_four[p]); });
      Bytes factor[N];
      unrolled<N>([&](auto k) KVCODEC_INLINE {
        std::uint32_t four[2];
        std::memcpy(four, w[k]->bytes + i, 4 * fours<Size>);
        if constexpr (fours<Size> == 2) factor[k] = S::broadcast4(four[0], four[1]);
        else factor[k] = S::broadcast4(four[0]);
      });
      unrolled<4>([&](auto j) KVCODEC_INLINE {
        unrolled<Count>([&](auto s) KVCODEC_INLINE {
          const Bytes value = slot_value<First + s>(of_four[0][j], of_four[Q::integer_planes - 1][j]);
          unrolled<N>([&](auto k) KVCODEC_INLINE { sum[s][k][j] = S::dot4(sum[s][k][j], value, factor[k]); });
        });
      });
    }
  }

  template <std::size_t Slot>
  KVCODEC_INLINE static Bytes slot_value(Bytes first, Bytes second) noexcept {
    if constexpr (packing == 1) return Q::template integer_value<Slot>(first, second);
    else return Q::template integer_value<0>(S::template field<8 / packing, Slot * 8 / packing>(first, first), second);
  }

  /// The values of a slot, by byte, from its sums in the order of transpose4.
  template <std::size_t Size>
  KVCODEC_INLINE static void in_order(Ints (&sum)[4], const Weights& w, Floats (&values)[4]) noexcept {
    S::untranspose(sum);
    unrolled<4>([&](auto j) KVCODEC_INLINE {
      Ints total = S::add(sum[j], S::broadcast_int(w.shift));
      if constexpr (fours<Size> == 2 && j < 2) total = S::add(total, sum[j + 2]);
      values[j] = S::multiply(S::to_floats(total), S::broadcast(w.unit));
    });
  }

  /// field(f): that of sixteen bytes; `Size` fields in all.
  template <std::size_t Size, class F>
  KVCODEC_INLINE static void add_fields(F field, float* to) noexcept {
    Floats ordered[packing];
    if constexpr (packing == 2) {
      S::interleave(field(Constant<0>()), field(Constant<1>()), ordered[0], ordered[1]);
    } else {
      Floats even[2], odd[2];
      S::interleave(field(Constant<0>()), field(Constant<2>()), even[0], even[1]);
      S::interleave(field(Constant<1>()), field(Constant<3>()), odd[0], odd[1]);
      S::interleave(even[0], odd[0], ordered[0], ordered[1]);
      S::interleave(even[1], odd[1], ordered[2], ordered[3]);
    }
    unrolled<(Size + 15) / 16>([&](auto f) KVCODEC_INLINE { add_part<S, quarter_size(Size, f)>(ordered[f], to + 16 * f); });
  }
};

/// A book of values as bytes: 127 times a value over the largest, rounded, plus the bias.
template <std::size_t N, std::size_t Size>
constexpr Table<std::uint8_t, Size> book_of_bytes(const Table<float, N>& values, float largest, std::int32_t bias) noexcept {
  Table<std::uint8_t, Size> bytes{};
  for (std::size_t i = 0; i < N; ++i) {
    const double x = 127.0 * static_cast<double>(values.value[i]) / static_cast<double>(largest);
    bytes.value[i] = static_cast<std::uint8_t>((static_cast<int>(x < 0 ? x - 0.5 : x + 0.5) + bias) & 255);
  }
  return bytes;
}

}  // namespace detail

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
