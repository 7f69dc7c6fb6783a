// Scores of whole interleaved pages (cache/page.hpp): lanes are tokens, so that nothing is summed across lanes and what
// depends on the query alone is worked out once a step, not once a row.
//
// Tables (a quantiser that gives tile_terms, tile_at and TilePatterns): the code is a stream of fields of F bits, a few
// coordinates each. A query has a table a field, of what each of the field's 2^F values adds to the score, in bytes; a page
// is scored by looking 64 tokens' fields up and adding bytes. Making the tables costs about what scoring some hundred rows
// does. Rounding: an entry is off by at most a 510th of the range of the widest table.
//
// Nibbles (4-bit scalar codes): the query's and the book's bytes as in integer.hpp, four code bytes of a token side by side.
#pragma once

#include "integer.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

/// Field f of F bits: its first byte, and where in that it begins.
template <unsigned F>
struct FieldPeriod {
  static constexpr std::size_t bytes = F == 8 ? 1 : F % 2 != 0 ? F : F % 4 != 0 ? F / 2 : F == 4 ? 1 : F;
  static constexpr std::size_t fields = 8 * bytes / F;
};

template <class Q>
struct TableTile {
  using S = Simd<isa_of<Q>>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;
  using Bytes = typename S::Bytes;
  static constexpr unsigned bits = Q::tile_bits;
  static constexpr std::size_t size = std::size_t{1} << bits, padded = size < 16 ? 16 : size;
  static constexpr std::size_t fields = Q::tile_fields;
  static_assert(fields * 255 < 65536, "kvcodec: the bytes of so many tables do not add up in 16 bits");

  struct Query {
    std::uint8_t table[fields][padded];
    float unit, shift;
  };

  /// x: a query's floats, as the quantiser's dot takes them.
  KVCODEC_SHARED static void tabulate(const float* x, Query& query) noexcept {
    const float* patterns = table<typename Q::TilePatterns>();
    float most = 0, nothing = 0;
    for (std::size_t f = 0; f < fields; ++f) {
      float reach = 0;
      for (std::size_t c = 0; c < Q::tile_terms; ++c) {
        const float q = coordinate(x, f, c);
        nothing += q * 0.0f;
        reach += absolute(q);
      }
      most = reach > most ? reach : most;
    }
    most *= Q::tile_largest;
    const float inverse = is_finite(127.0f / most) ? 127.0f / most : 0.0f;
    const Floats to_steps = S::broadcast(inverse);
    const Ints middle = S::broadcast_int(128);
    for (std::size_t f = 0; f < fields; ++f) {
      Ints part[4];
      for (std::size_t e = 0; e < padded; e += 64) {
        unrolled<4>([&](auto q) KVCODEC_INLINE {
          part[q] = middle;
          if (e + 16 * q >= padded) return;
          Floats sum = S::broadcast(0.0f);
          for (std::size_t c = 0; c < Q::tile_terms; ++c)
            sum = S::multiply_add(S::broadcast(coordinate(x, f, c)), S::load(patterns + c * padded + e + 16 * q), sum);
          part[q] = S::clip(S::add(S::round_to_ints(S::multiply(sum, to_steps)), middle), 0, 255);
        });
        const Bytes entries = S::narrow(part[0], part[1], part[2], part[3]);
        if constexpr (padded >= 64) {
          S::store_bytes(entries, query.table[f] + e);
        } else {
          std::uint8_t all[64];
          S::store_bytes(entries, all);
          std::memcpy(query.table[f], all, padded);
        }
      }
    }
    query.unit = most / 127.0f + nothing;
    query.shift = -128.0f * static_cast<float>(fields);
  }

  template <std::size_t N>
  KVCODEC_SHARED static void sums(const Query* queries, const std::byte* codes, Floats (&scores)[N][4]) noexcept {
    using Period = FieldPeriod<bits>;
    constexpr std::size_t whole = fields / Period::fields;
    typename S::Sums sum[N] = {};
    for (std::size_t p = 0; p < whole; ++p)
      period<Period::fields>(queries, p * Period::fields, codes + 64 * Period::bytes * p, sum);
    if constexpr (fields % Period::fields != 0)
      period<fields % Period::fields>(queries, whole * Period::fields, codes + 64 * Period::bytes * whole, sum);
    unrolled<N>([&](auto k) KVCODEC_INLINE {
      Ints total[4];
      S::widen_sums(sum[k], total);
      unrolled<4>([&](auto q) KVCODEC_INLINE {
        scores[k][q] = S::multiply(S::add(S::to_floats(total[q]), S::broadcast(queries[k].shift)), S::broadcast(queries[k].unit));
      });
    });
  }

 private:
  static float coordinate(const float* x, std::size_t f, std::size_t c) noexcept {
    const std::size_t at = Q::tile_at(f, c);
    return at < Q::tile_floats ? x[at] : 0.0f;
  }

  template <std::size_t Fields, std::size_t N>
  KVCODEC_INLINE static void period(const Query* queries, std::size_t first, const std::byte* codes, typename S::Sums (&sum)[N]) noexcept {
    // The last field may name coordinates that there are not, in a byte that there is not either.
    constexpr std::size_t left = Fields == FieldPeriod<bits>::fields
                                     ? FieldPeriod<bits>::bytes
                                     : Q::tile_code_bytes - fields / FieldPeriod<bits>::fields * FieldPeriod<bits>::bytes;
    constexpr std::size_t used = (Fields * bits + 7) / 8, bytes = used < left ? used : left;
    Bytes plane[bytes];
    unrolled<bytes>([&](auto j) KVCODEC_INLINE {
      plane[j] = S::load_bytes(codes + 64 * j);
      prefetch_ahead(codes + 64 * j, 64);
    });
    unrolled<Fields>([&](auto i) KVCODEC_INLINE {
      constexpr std::size_t j = i * bits / 8;
      constexpr unsigned shift = i * bits % 8;
      const Bytes field = S::template field<bits, shift>(plane[j], plane[j + 1 < bytes ? j + 1 : j]);
      unrolled<N>([&](auto k) KVCODEC_INLINE {
        S::add_bytes(sum[k], S::template lookup<padded>(queries[k].table[first + i], field));
      });
    });
  }
};

template <class Q>
struct NibbleTile {
  using S = Simd<isa_of<Q>>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;
  using Bytes = typename S::Bytes;
  static constexpr std::size_t groups = (Q::tile_code_bytes + 3) / 4;

  struct Query {
    std::uint32_t even[groups], odd[groups];  ///< coordinates 8g, 8g+2, … and 8g+1, 8g+3, … as bytes
    float unit;
    std::int32_t shift;
  };

  KVCODEC_SHARED static void tabulate(const IntegerQuery<Q>& integers, Query& query) noexcept {
    for (std::size_t g = 0; g < groups; ++g) {
      query.even[g] = query.odd[g] = 0;
      for (unsigned j = 0; j < 4; ++j) {
        const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(integers.bytes[i])) << (8 * j); };
        if (8 * g + 2 * j + 1 < sizeof integers.bytes) {
          query.even[g] |= byte(8 * g + 2 * j);
          query.odd[g] |= byte(8 * g + 2 * j + 1);
        }
      }
    }
    query.unit = integers.unit;
    query.shift = integers.shift;
  }

  template <std::size_t N>
  KVCODEC_SHARED static void sums(const Query* queries, const std::byte* codes, Floats (&scores)[N][4]) noexcept {
    static_assert(Q::tile_code_bytes % 4 == 0);
    const std::uint8_t* book = table<typename Q::BookOfBytes>();
    Ints sum[N][4];
    unrolled<N>([&](auto k) KVCODEC_INLINE {
      unrolled<4>([&](auto q) KVCODEC_INLINE { sum[k][q] = S::broadcast_int(queries[k].shift); });
    });
    for (std::size_t g = 0; g < groups; ++g) {
      unrolled<4>([&](auto q) KVCODEC_INLINE {
        const std::byte* at = codes + 256 * g + 64 * q;
        const Bytes packed = S::load_bytes(at);
        prefetch_ahead(at, 64);
        const Bytes low = S::template lookup<16>(book, S::template field<4, 0>(packed, packed));
        const Bytes high = S::template lookup<16>(book, S::template field<4, 4>(packed, packed));
        unrolled<N>([&](auto k) KVCODEC_INLINE {
          sum[k][q] = S::dot4(S::dot4(sum[k][q], low, S::broadcast4(queries[k].even[g])), high, S::broadcast4(queries[k].odd[g]));
        });
      });
    }
    unrolled<N>([&](auto k) KVCODEC_INLINE {
      unrolled<4>([&](auto q) KVCODEC_INLINE {
        scores[k][q] = S::multiply(S::to_floats(sum[k][q]), S::broadcast(queries[k].unit));
      });
    });
  }
};

/// The kind of tile that a quantiser names, if any.
template <class Q>
inline constexpr bool has_tile_kernels = [] {
  if constexpr (isa_of<Q> != Isa::scalar && requires { Q::tile_bytes; }) return Q::tile_bytes > 0;
  else return false;
}();
template <class Q, bool = has_tile_kernels<Q>>
struct TileOf {
  struct type {
    struct Query {};
  };
};
template <class Q>
struct TileOf<Q, true> {
  using type = std::conditional_t<Q::tile_bytes == 1, TableTile<Q>, NibbleTile<Q>>;
};

/// n queries with a page's 64 tokens: scores[k * stride + t], times norms[t].
template <class Tile>
inline void score_tile(const typename Tile::Query* queries, std::size_t n, const std::byte* codes, const float* norms, float* scores,
                       std::size_t stride) noexcept {
  using S = typename Tile::S;
  const auto some = [&]<std::size_t N>(Constant<N>, std::size_t first) {
    typename S::Floats sum[N][4];
    Tile::template sums<N>(queries + first, codes, sum);
    unrolled<4>([&](auto q) KVCODEC_INLINE {
      const auto norm = S::load(norms + 16 * q);
      unrolled<N>([&](auto k) KVCODEC_INLINE { S::store(S::multiply(sum[k][q], norm), scores + (first + k) * stride + 16 * q); });
    });
  };
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) some(Constant<4>(), k);
  for (; k < n; ++k) some(Constant<1>(), k);
}

}  // namespace detail

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
