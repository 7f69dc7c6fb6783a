// Scores and sums in integers (integer.hpp) for triplets whose lengths do not fit a byte with their directions: unit
// directions in bytes, and what a length makes of them after. A quantiser has, beside what integer.hpp asks for,
//
//   integer_lengths              how many lengths there are, at most 16
//   ScaledLengths                make() is the table of them
//
// its integer_planes are three, the third of which is the length's index, and its integer_value is a unit direction's.
//
// A score adds length times the inner product of a triplet's bytes, which is an exact integer of a query's triplet in 127ths
// of its own largest coordinate. A sum rounds weight times norm times length to 255ths of the largest that sixty-four tokens
// can have, positive and negative weights apart.
#pragma once

#include "integer.hpp"

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

template <class Q>
concept HasIntegerLengths = requires { Q::integer_lengths; } && Q::integer_lengths > 1;

/// What a prepared query has, of each triplet and in the order of transpose4: x, y, z, 0 in 127ths of the largest of them.
template <class Q>
  requires HasIntegerLengths<Q>
struct IntegerQuery<Q, true> {
  static constexpr std::size_t chunks = (Q::integer_fields + 63) / 64;
  std::int32_t words[chunks][4][lanes];  ///< of bytes
  std::int32_t shift[chunks][4][lanes];  ///< takes the bias of a row's bytes off
  float unit[chunks][4][lanes];          ///< of these times a row's bytes
};

namespace detail {

template <class Q, class Norm>
  requires HasIntegerLengths<Q>
struct IntegerKernels<Q, Norm> {
  using S = Simd<isa_of<Q>>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;
  using Bytes = typename S::Bytes;
  using Lengths = typename Q::ScaledLengths;
  static constexpr std::size_t fields = Q::integer_fields;
  static constexpr std::size_t chunk = 64;  ///< of rows

  KVCODEC_SHARED static void prepare(const float* x, IntegerQuery<Q>& query) noexcept {
    each_chunk<fields>([&](std::size_t c, auto size) KVCODEC_INLINE {
      std::int32_t words[64], sums[64];
      float units[64];
      for (std::size_t q = 0; q < 4; ++q) {
        Floats part[3], largest = S::broadcast(0.0f), nothing = largest;  // 0, or NaN where a coordinate is not finite
        for (std::size_t k = 0; k < 3; ++k) {
          part[k] = S::load_part(x + Q::integer_at(k) + 64 * c + 16 * q, quarter_size(size, q));
          largest = S::maximum(S::magnitude(part[k]), largest);
          nothing = S::add(nothing, S::multiply(part[k], S::broadcast(0.0f)));
        }
        // Less than 2^-120 is as good as zero.
        const Floats inverse = S::select(S::greater(largest, S::broadcast(0x1p-120f)), S::divide(S::broadcast(127.0f), largest), S::broadcast(0.0f));
        Ints rounded[3];
        for (std::size_t k = 0; k < 3; ++k) rounded[k] = S::clip(S::round_to_ints(S::multiply(part[k], inverse)), -127, 127);
        const auto byte = [](Ints a) { return S::bit_and(a, S::broadcast_int(255)); };
        S::store(S::bit_or(byte(rounded[0]), S::bit_or(S::template shift_left<8>(byte(rounded[1])), S::template shift_left<16>(byte(rounded[2])))),
                 words + 16 * q);
        S::store(S::add(rounded[0], S::add(rounded[1], rounded[2])), sums + 16 * q);
        S::store(S::add(S::multiply(largest, S::broadcast(1.0f / 127.0f / 127.0f)), nothing), units + 16 * q);
      }
      for (std::size_t t = 0; t < 64; ++t) {
        const std::size_t q = t / 4 % 4, l = t / 16 * 4 + t % 4;
        query.words[c][q][l] = words[t];
        query.shift[c][q][l] = -S::bias * sums[t];
        query.unit[c][q][l] = units[t];
      }
    });
  }

  template <class Query>
  KVCODEC_SHARED static void score(const Query* queries, std::size_t n, ConstPlanes rows, float* scores, std::size_t stride) noexcept {
    const float* lengths = table<Lengths>();
    for (std::size_t i = 0; i < rows.count; ++i) {
      const std::byte* code = rows.code(i);
      prefetch_ahead(code, Q::code_bytes);
      const float norm = Norm::load(rows.norm(i));
      Ints words[chunks][4];
      each_chunk<fields>([&](std::size_t c, auto size) KVCODEC_INLINE { load_words<size>(code, c, words[c]); });
      for (std::size_t k = 0; k < n; ++k) {
        Floats sum = S::broadcast(0.0f);
        for (std::size_t c = 0; c < chunks; ++c) {
          unrolled<4>([&](auto q) KVCODEC_INLINE {
            const IntegerQuery<Q>& query = queries[k];
            const Ints dot = S::dot4(S::load_ints(query.shift[c][q]), S::bytes_of(words[c][q]), S::load_bytes(query.words[c][q]));
            const Floats length = S::template lookup<Q::integer_lengths>(lengths, S::template shift_right<24>(words[c][q]));
            sum = S::fma(S::multiply(S::to_floats(dot), S::load(query.unit[c][q])), length, sum);
          });
        }
        scores[k * stride + i] = S::sum(sum) * norm;
      }
    }
  }

  template <class Accumulator>
  KVCODEC_SHARED static void accumulate(const float* weights, std::size_t stride, std::size_t n, ConstPlanes rows, Accumulator* sums) noexcept {
    for (std::size_t i = 0; i < rows.count; i += chunk) {
      float norms[chunk];
      const ConstPlanes some = sixty_four_rows<S, Norm>(rows, i, norms);
      for (std::size_t k = 0; k < n; ++k) {
        Floats products[4];
        float most, product[chunk];
        const bool finite = multiply<S>(weights + k * stride + i, norms, some.count, products, most);
        unrolled<4>([&](auto q) KVCODEC_INLINE { S::store(products[q], product + 16 * q); });
        if (finite && (most == 0 || most > 0x1p-100f)) {
          accumulate_sign(product, 1.0f, some, sums[k].rotated);
          accumulate_sign(product, -1.0f, some, sums[k].rotated);
        } else {  // not for integers
          for (std::size_t t = 0; t < some.count; ++t) Q().accumulate(product[t], some.code(t), sums[k].rotated);
        }
      }
    }
  }

 private:
  static constexpr std::size_t chunks = IntegerQuery<Q>::chunks;
  static constexpr std::size_t entries = 16;  ///< of a token's table of factors
  /// By token and length: weight times norm times length, in units.
  struct Factors {
    std::uint8_t bytes[chunk * entries];
    float unit;  ///< of these times a row's bytes
  };

  /// The triplets of a chunk as words of bytes, in the order of transpose4: x, y, z, and the length's index.
  template <std::size_t Size>
  KVCODEC_INLINE static void load_words(const std::byte* code, std::size_t c, Ints (&words)[4]) noexcept {
    const Bytes index = Q::template integer_bytes<0, Size>(code, c), signs = Q::template integer_bytes<1, Size>(code, c);
    const Bytes parts[4] = {Q::template integer_value<0>(index, signs), Q::template integer_value<1>(index, signs),
                            Q::template integer_value<2>(index, signs), Q::template integer_bytes<2, Size>(code, c)};
    Bytes bytes[4];
    S::transpose4(parts, bytes);
    unrolled<4>([&](auto k) KVCODEC_INLINE { words[k] = S::ints_of(bytes[k]); });
  }

  static constexpr float longest = Lengths::make().value[Q::integer_lengths - 1];

  /// Of the products of one sign.
  KVCODEC_SHARED static void accumulate_sign(const float* product, float sign, ConstPlanes rows, float* sums) noexcept {
    Floats largest = S::broadcast(0.0f);
    for (std::size_t i = 0; i < chunk; i += lanes) largest = S::maximum(largest, S::multiply(S::load(product + i), S::broadcast(sign)));
    const float most = S::largest(largest) * longest, inverse = 255.0f / most;
    if (!is_finite(inverse)) return;  // none, or none to speak of beside those of the other sign
    Factors factors;
    const Floats lengths = S::load_part(table<Lengths>(), Q::integer_lengths);
    for (std::size_t i = 0; i < chunk; i += 4) {
      Ints rounded[4];
      unrolled<4>([&](auto t) KVCODEC_INLINE {
        const Floats factor = S::multiply(lengths, S::broadcast(sign * product[i + t] * inverse));
        rounded[t] = S::clip(S::round_to_ints(factor), 0, 255);
      });
      S::store_bytes(S::narrow(rounded[0], rounded[1], rounded[2], rounded[3]), factors.bytes + entries * i);
    }
    factors.unit = sign * most / 255.0f / 127.0f;
    accumulate_block(factors, rows, sums);
  }

  KVCODEC_SHARED static void accumulate_block(const Factors& factors, ConstPlanes rows, float* sums) noexcept {
    each_chunk<fields>([&](std::size_t c, auto n) KVCODEC_INLINE {
      Ints sum[3][4];
      unrolled<4>([&](auto j) KVCODEC_INLINE { unrolled<3>([&](auto k) KVCODEC_INLINE { sum[k][j] = S::broadcast_int(0); }); });
      for (std::size_t i = 0; i < rows.count; i += 4) {
        Bytes plane[3][4], of_four[3][4];
        unrolled<4>([&](auto r) KVCODEC_INLINE {
          // Rows beyond the last are the last with factors of zero.
          const std::byte* code = rows.code(i + r < rows.count ? i + r : rows.count - 1);
          if (c == 0) prefetch_ahead(code, Q::code_bytes);
          plane[0][r] = Q::template integer_bytes<0, n>(code, c);
          plane[1][r] = Q::template integer_bytes<1, n>(code, c);
          plane[2][r] = S::template lookup<entries>(factors.bytes + entries * (i + r), Q::template integer_bytes<2, n>(code, c));
        });
        unrolled<3>([&](auto p) KVCODEC_INLINE { S::transpose4(plane[p], of_four[p]); });
        unrolled<4>([&](auto j) KVCODEC_INLINE {
          unrolled<3>([&](auto k) KVCODEC_INLINE {
            const Bytes value = S::unbiased(Q::template integer_value<k>(of_four[0][j], of_four[1][j]));
            sum[k][j] = S::dot4_unsigned(sum[k][j], of_four[2][j], value);
          });
        });
      }
      const Floats unit = S::broadcast(factors.unit);
      unrolled<3>([&](auto k) KVCODEC_INLINE {
        S::untranspose(sum[k]);
        unrolled<(n + 15) / 16>([&](auto j) KVCODEC_INLINE {
          constexpr std::size_t size = quarter_size(n, j);
          float* to = sums + Q::integer_at(k) + 64 * c + 16 * j;
          add_part<S, size>(S::multiply(S::to_floats(sum[k][j]), unit), to);
        });
      });
    });
  }
};

}  // namespace detail

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
