// Recursive polar quantiser: the direction quantiser of PolarQuant (arXiv 2502.02617, section 3).
//
// Level 1 turns pairs of coordinates into a radius and an angle on [0, 2 pi); every further level does the same with pairs
// of radii, whose angle psi = atan2(second, first) lies in [0, pi/2]. For Gaussian coordinates an angle's density depends
// only on how many coordinates n1, n2 lie under the two radii: uniform at level 1, then cos^(n1-1) sin^(n2-1), one
// Lloyd-Max book each (codebook/polar_angle.hpp). An odd last block passes up a level as it is, so any even D has D-1
// angles under one radius.
//
// The encoder takes no arctangent: psi > beta is second > tan(beta) first, and at level 1 the same within the quadrant that
// the signs name. A tie goes to the lower index; the angle of (0, 0) is 0.
//
// Bytes. One LSB-first stream of angle indices: level 1 first, within a level by position.
//   PolarQuantizer, all levels:  | D-1 angles |                                   D=128, 4 bits: 64 bytes
//   PolarBlockQuantizer:         | radii, 2 bytes each, little-endian | angles |  D=128, 4 levels of 4,2,2,2 bits: 16 + 46
#pragma once

#include "../arithmetic.hpp"
#include "../bits.hpp"
#include "../codebook/bisection.hpp"
#include "../codebook/polar_angle.hpp"
#include "../codebook/table.hpp"
#include "../norm.hpp"
#include "../simd/fields.hpp"
#include "../simd/vector.hpp"
#include "../transform/hadamard.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace kvcodec {

/// Bits of an angle by level: level 1, the pairs of coordinates, in the low nibble. Made by polar_levels(4, 2, 2, 2). No
/// array: nvcc cannot spell a type that has one among its template arguments.
struct PolarLevels {
  unsigned count;
  std::uint64_t nibbles;

  KVCODEC_HD constexpr unsigned bits(unsigned level) const noexcept { return static_cast<unsigned>(nibbles >> (4 * level) & 15u); }
};

template <class... Bits>
constexpr PolarLevels polar_levels(Bits... bits) noexcept {
  static_assert(sizeof...(Bits) >= 1 && sizeof...(Bits) <= 10);
  PolarLevels levels{0, 0};
  // Too many bits become 15, which PolarTree refuses by name.
  ((levels.nibbles |= static_cast<std::uint64_t>(bits < 1 || bits > 15 ? 15 : bits) << (4 * levels.count++)), ...);
  return levels;
}

constexpr PolarLevels uniform_levels(unsigned count, unsigned bits) noexcept {
  PolarLevels levels{count, 0};
  for (unsigned l = 0; l < count; ++l) levels.nibbles |= std::uint64_t{bits} << (4 * l);
  return levels;
}

constexpr PolarLevels at_most(unsigned count, PolarLevels levels) noexcept {
  if (count >= levels.count) return levels;
  return {count, levels.nibbles & ((std::uint64_t{1} << (4 * count)) - 1)};
}

inline namespace KVCODEC_ISA_NAMESPACE {

/// How many blocks are left of d coordinates after so many levels, and how many coordinates the last of them has. The
/// others have 2^level.
KVCODEC_HD constexpr std::size_t polar_blocks(std::size_t d, unsigned level) noexcept {
  for (; level > 0; --level) d = (d + 1) / 2;
  return d;
}
KVCODEC_HD constexpr std::size_t polar_last_block(std::size_t d, unsigned level) noexcept {
  return d - ((polar_blocks(d, level) - 1) << level);
}
/// The levels down to one radius.
KVCODEC_HD constexpr unsigned polar_depth(std::size_t d) noexcept {
  unsigned level = 0;
  while (polar_blocks(d, level) > 1) ++level;
  return level;
}

/// Cosine and sine of each centroid, and tangents of the boundaries between them (one entry more than there are keeps a
/// table non-empty). N1 = 1 is the full circle of level 1: there the boundaries are those within a quadrant.
template <std::size_t N1, std::size_t N2, unsigned B>
struct PolarBook {
  static constexpr std::size_t size = std::size_t{1} << B;
  static constexpr std::size_t boundaries = N1 > 1 ? size - 1 : B > 2 ? size / 4 - 1 : 0;

  static constexpr double centroid(std::size_t i) noexcept {
    if constexpr (N1 > 1) return static_cast<double>(codebook::PolarAngle<N1, N2, B>::value[i]);
    else return 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(size);
  }
  struct Tangents {
    static constexpr Table<float, boundaries + 1> make() noexcept {
      Table<float, boundaries + 1> tangents{};
      for (std::size_t i = 0; i != boundaries; ++i) {  // may be none
        const double beta = 0.5 * (centroid(i) + centroid(i + 1));
        tangents.value[i] = static_cast<float>(constant_sin(beta) / constant_cos(beta));
      }
      return tangents;
    }
  };
  struct Cosines {
    static constexpr Table<float, size> make() noexcept {
      Table<float, size> cosines{};
      for (std::size_t i = 0; i < size; ++i) cosines.value[i] = static_cast<float>(constant_cos(centroid(i)));
      return cosines;
    }
  };
  struct Sines {
    static constexpr Table<float, size> make() noexcept {
      Table<float, size> sines{};
      for (std::size_t i = 0; i < size; ++i) sines.value[i] = static_cast<float>(constant_sin(centroid(i)));
      return sines;
    }
  };
};

/// The tree of angles over D coordinates down to L.count levels: what both quantisers below are made of.
template <std::size_t D, PolarLevels L, Isa I = native_isa>
struct PolarTree {
  static_assert(supported_dim(D), "kvcodec: polar books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(L.count >= 1 && L.count <= polar_depth(D), "kvcodec: more polar levels than the coordinates have pairs");
  static_assert([] {
    for (unsigned l = 0; l < L.count; ++l)
      if (L.bits(l) < 1 || L.bits(l) > 6) return false;
    return true;
  }(), "kvcodec: a polar angle takes 1 to 6 bits");
  using S = Simd<I>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;

  /// How many angles the levels before this one have, and bits.
  KVCODEC_HD static constexpr std::size_t first_angle(unsigned level) noexcept {
    std::size_t sum = 0;
    for (unsigned l = 0; l != level; ++l) sum += polar_blocks(D, l) / 2;
    return sum;
  }
  KVCODEC_HD static constexpr std::size_t first_bit(unsigned level) noexcept {
    std::size_t sum = 0;
    for (unsigned l = 0; l != level; ++l) sum += L.bits(l) * (polar_blocks(D, l) / 2);
    return sum;
  }
  static constexpr std::size_t roots = polar_blocks(D, L.count);
  static constexpr std::size_t bits = first_bit(L.count);
  static constexpr std::array<std::uint8_t, 8> parameters = [] {
    std::array<std::uint8_t, 8> p{};  // the nibbles; the last three bytes are for what is built on this
    for (unsigned i = 0; i < 5; ++i) p[i] = static_cast<std::uint8_t>(L.nibbles >> (8 * i) & 0xffu);
    return p;
  }();

  /// Blocks of sixteen coordinates, of which the radii of the roots are left in the first; lanes beyond D, and then beyond
  /// the roots, are zero.
  using Blocks = Floats[blocks_of<D>];
  KVCODEC_HD KVCODEC_INLINE static void encode(Blocks& x, std::byte* code) noexcept {
    alignas(64) std::uint8_t angles[room] = {};
    encode_from<0>(x, angles);
    write_from<0>(angles, code);
  }
  /// The radii of the roots, of which the coordinates are made.
  KVCODEC_HD KVCODEC_INLINE static void decode(const std::byte* code, Blocks& x) noexcept {
    alignas(64) std::uint8_t angles[room] = {};
    read_from<0>(code, angles);
    decode_down_to<L.count>(angles, x);
  }

  /// The same in memory, x[0, D) and x[0, roots).
  KVCODEC_HD KVCODEC_SHARED static void encode(float* x, std::byte* code) noexcept {
    Blocks v;
    load(x, v);
    encode(v, code);
    each_block<blocks_of<roots>>([&](std::size_t b) KVCODEC_INLINE { store_floats<roots, I>(v[b], x, b); });
  }
  KVCODEC_HD KVCODEC_SHARED static void decode(const std::byte* code, float* x) noexcept {
    Blocks v;
    each_block<blocks_of<roots>>([&](std::size_t b) KVCODEC_INLINE { v[b] = load_block<roots, I>(x, b); });
    decode(code, v);
    store(v, x);
  }

  KVCODEC_HD KVCODEC_INLINE static void load(const float* from, Blocks& x) noexcept {
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { x[b] = load_block<D, I>(from, b); });
  }
  KVCODEC_HD KVCODEC_INLINE static void store(const Blocks& x, float* to) noexcept {
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(x[b], to, b); });
  }
  KVCODEC_HD KVCODEC_INLINE static float dot(const float* q, const Blocks& x) noexcept {
    Floats sum[2] = {S::broadcast(0.0f), S::broadcast(0.0f)};  // two, which wait for each other half as long
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { sum[b % 2] = S::multiply_add(load_block<D, I>(q, b), x[b], sum[b % 2]); });
    return S::sum(S::add(sum[0], sum[1]));
  }
  KVCODEC_HD KVCODEC_INLINE static void add_to(float* sum, float weight, const Blocks& x) noexcept {
    const Floats w = S::broadcast(weight);
    each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE {
      store_floats<D, I>(S::multiply_add(w, x[b], load_block<D, I>(sum, b)), sum, b);
    });
  }

 private:
  template <unsigned Level>
  struct At {
    static constexpr std::size_t blocks = polar_blocks(D, Level), pairs = blocks / 2, next = blocks - pairs;
    static constexpr unsigned bits = L.bits(Level);
    static constexpr std::size_t size = std::size_t{1} << Level;
    /// The last pair may have a block of another size in it, and the last block no partner.
    static constexpr bool odd = blocks % 2 != 0, ragged = !odd && polar_last_block(D, Level) != size;
    using Book = PolarBook<size, size, bits>;
    using LastBook = PolarBook<size, ragged ? polar_last_block(D, Level) : size, bits>;
  };

  /// An angle's index is a byte here. Sixteen are read and written at a time, sixty-four packed, whether they exist or not.
  static constexpr std::size_t room = (first_angle(L.count) + 63) / 64 * 64 + 64;

  /// How many of a book's boundaries within 90 degrees lie below the angle of (first, second), neither negative.
  template <class Book, unsigned Bits>
  KVCODEC_HD KVCODEC_INLINE static Ints classify(Floats first, Floats second) noexcept {
    return count_below<typename Book::Tangents, Bits, I>(
        [&](Floats tangent) KVCODEC_INLINE { return S::greater(second, S::multiply(tangent, first)); });
  }

  template <unsigned Level>
  KVCODEC_HD KVCODEC_INLINE static void encode_from(Blocks& x, std::uint8_t* angles) noexcept {
    if constexpr (Level < L.count) {
      using Here = At<Level>;
      const Floats zero = S::broadcast(0.0f);
      each_block<blocks_of<Here::next>>([&](std::size_t b) KVCODEC_INLINE {
        Floats first, second;
        S::deinterleave(x[2 * b], 2 * b + 1 < blocks_of<Here::blocks> ? x[2 * b + 1] : zero, first, second);
        x[b] = S::root(S::fma(first, first, S::multiply(second, second)));
        Ints index;
        if constexpr (Level == 0) {
          // The quadrant, and the point turned back into the first one. Its edges belong to the quadrant below.
          const auto lower = S::greater(zero, second);
          const auto odd = S::greater(zero, S::select(lower, S::subtract(zero, first), first));
          index = S::count(S::broadcast_int(0), lower);
          if constexpr (Here::bits > 1) {
            constexpr unsigned within = Here::bits - 2;
            const Floats along = S::magnitude(first), across = S::magnitude(second);
            index = S::template shift_left<within>(S::count(S::add(index, index), odd));
            index = S::add(index, classify<typename Here::Book, within>(S::select(odd, across, along), S::select(odd, along, across)));
          }
        } else {
          index = classify<typename Here::Book, Here::bits>(first, second);
          if constexpr (Here::ragged)
            if (b + 1 == blocks_of<Here::next>)
              index = S::select(S::template first_lanes<(Here::pairs - 1) % lanes>(), index,
                                classify<typename Here::LastBook, Here::bits>(first, second));
          if constexpr (Here::odd)
            if (b + 1 == blocks_of<Here::next>) x[b] = S::select(S::template first_lanes<Here::pairs % lanes>(), x[b], first);
        }
        S::store(index, angles + first_angle(Level) + lanes * b);
      });
      encode_from<Level + 1>(x, angles);
    }
  }

  /// A level's indices. Few are taken from the sixteen that hold them at an address divisible by sixteen: a load that goes
  /// beyond what one store wrote waits for all that was stored before, and one row for another.
  template <unsigned Level>
  KVCODEC_HD KVCODEC_INLINE static Ints load_angles(const std::uint8_t* angles, std::size_t b) noexcept {
    constexpr std::size_t first = first_angle(Level), within = first % lanes;
    if constexpr (within + At<Level>::next <= lanes) return S::template load_ints<within>(angles + first - within);
    else return S::load_ints(angles + first + lanes * b);
  }

  template <unsigned Level>
  KVCODEC_HD KVCODEC_INLINE static void decode_down_to(const std::uint8_t* angles, Blocks& x) noexcept {
    if constexpr (Level > 0) {
      using Here = At<Level - 1>;
      using Book = typename Here::Book;
      constexpr std::size_t size = Book::size, count = blocks_of<Here::next>;
      each_block<count>([&](std::size_t i) KVCODEC_INLINE {
        const std::size_t b = count - 1 - i;  // from the last on, which leaves the radii to come where they are
        // Lanes beyond the level hold other levels' indices, which may have more bits.
        const Ints index = S::bit_and(load_angles<Level - 1>(angles, b), S::broadcast_int(size - 1));
        Floats cosine = S::template lookup<size>(table<typename Book::Cosines>(), index);
        Floats sine = S::template lookup<size>(table<typename Book::Sines>(), index);
        if constexpr (Here::ragged)
          if (i == 0) {
            using Last = typename Here::LastBook;
            const auto others = S::template first_lanes<(Here::pairs - 1) % lanes>();
            cosine = S::select(others, cosine, S::template lookup<size>(table<typename Last::Cosines>(), index));
            sine = S::select(others, sine, S::template lookup<size>(table<typename Last::Sines>(), index));
          }
        const Floats radius = x[b];
        Floats first = S::multiply(radius, cosine), high;
        if constexpr (Here::odd)
          if (i == 0) first = S::select(S::template first_lanes<Here::pairs % lanes>(), first, radius);
        S::interleave(first, S::multiply(radius, sine), x[2 * b], high);
        if (2 * b + 1 < blocks_of<Here::blocks>) x[2 * b + 1] = high;
      });
      decode_down_to<Level - 1>(angles, x);
    }
  }

  /// Levels of the same number of bits follow each other without a seam: one run of fields.
  template <unsigned Level>
  static constexpr unsigned run_end = [] {
    unsigned end = Level + 1;
    while (end < L.count && L.bits(end) == L.bits(Level)) ++end;
    return end;
  }();
  template <unsigned Level>
  KVCODEC_HD KVCODEC_INLINE static void write_from(const std::uint8_t* angles, std::byte* code) noexcept {
    if constexpr (Level < L.count) {
      constexpr unsigned end = run_end<Level>, width = L.bits(Level);
      constexpr std::size_t angle = first_angle(Level), bit = first_bit(Level);
      each_chunk<first_angle(end) - angle>([&](std::size_t c, auto n) KVCODEC_INLINE {
        write_fields<width, n, bit % 8, I>(S::load_bytes(angles + angle + 64 * c), code + bit / 8 + 8 * width * c);
      });
      write_from<end>(angles, code);
    }
  }
  template <unsigned Level>
  KVCODEC_HD KVCODEC_INLINE static void read_from(const std::byte* code, std::uint8_t* angles) noexcept {
    if constexpr (Level < L.count) {
      constexpr unsigned end = run_end<Level>, width = L.bits(Level);
      constexpr std::size_t angle = first_angle(Level), bit = first_bit(Level);
      each_chunk<first_angle(end) - angle>([&](std::size_t c, auto n) KVCODEC_INLINE {
        S::store_bytes(read_fields<width, n, bit % 8, I>(code + bit / 8 + 8 * width * c), angles + angle + 64 * c);
      });
      read_from<end>(code, angles);
    }
  }
};

/// Angles only, down to one radius that the row's length stands for.
template <std::size_t D, PolarLevels L, Isa I = native_isa>
struct PolarQuantizer {
  using Tree = PolarTree<D, L, I>;
  static_assert(Tree::roots == 1, "kvcodec: PolarQuantizer goes down to one radius; PolarBlockQuantizer stores several");

  static constexpr std::size_t dim = D;
  static constexpr Isa isa = I;
  static constexpr std::size_t code_bytes = bytes_for_bits(Tree::bits);
  static constexpr std::string_view name = "polarquant";
  static constexpr std::string_view qjl_name = "polarquant-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = Tree::parameters;

  KVCODEC_HD KVCODEC_SHARED static void encode(const float* u, std::byte* code) noexcept {
    typename Tree::Blocks x;
    Tree::load(u, x);
    Tree::encode(x, code);
  }

  KVCODEC_HD KVCODEC_SHARED static void decode(const std::byte* code, float* u) noexcept {
    typename Tree::Blocks x;
    decode(code, x);
    Tree::store(x, u);
  }

  KVCODEC_HD KVCODEC_SHARED static float dot(const float* q, const std::byte* code) noexcept {
    typename Tree::Blocks x;
    decode(code, x);
    return Tree::dot(q, x);
  }

  KVCODEC_HD KVCODEC_SHARED static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    typename Tree::Blocks x;
    decode(code, x);
    Tree::add_to(sum, weight, x);
  }

 private:
  KVCODEC_HD KVCODEC_INLINE static void decode(const std::byte* code, typename Tree::Blocks& x) noexcept {
    using S = Simd<I>;
    x[0] = S::select(S::template first_lanes<1>(), S::broadcast(1.0f), S::broadcast(0.0f));
    Tree::decode(code, x);
  }
};

/// A stored radius for each root of a shallower tree; the row has no other length.
template <std::size_t D, PolarLevels L, NormType Radius, Isa I = native_isa>
struct PolarBlockQuantizer {
  static_assert(Radius == NormType::float16 || Radius == NormType::bfloat16, "kvcodec: a block's radius is float16 or bfloat16");
  using Tree = PolarTree<D, L, I>;
  using Stored = NormReal<Radius>;

  static constexpr std::size_t dim = D;
  static constexpr Isa isa = I;
  static constexpr std::size_t code_bytes = 2 * Tree::roots + bytes_for_bits(Tree::bits);
  static constexpr std::string_view name = "polarquant-block";
  static constexpr std::array<std::uint8_t, 8> parameters = [] {
    std::array<std::uint8_t, 8> p = Tree::parameters;
    p[7] = static_cast<std::uint8_t>(static_cast<unsigned>(Radius) + 1u);
    return p;
  }();

  /// u: a unit direction; length times it is coded. Radii beyond the stored type's range are all scaled down alike, so
  /// that the direction is kept.
  KVCODEC_HD KVCODEC_SHARED static void encode(const float* u, float length, std::byte* code) noexcept {
    typename Tree::Blocks x;
    Tree::load(u, x);
    Tree::encode(x, code + 2 * Tree::roots);
    Floats largest = S::broadcast(0.0f);
    each_root([&](std::size_t b, std::size_t) KVCODEC_INLINE { largest = S::maximum(x[b], largest); });
    const float most = S::largest(largest), limit = max_finite<Stored>();
    if (most * length > limit) length = limit / most;
    each_root([&](std::size_t b, std::size_t n) KVCODEC_INLINE {
      S::template store_halves<Stored>(S::multiply(x[b], S::broadcast(length)), code + 2 * lanes * b, n);
    });
  }

  KVCODEC_HD KVCODEC_SHARED static void decode(const std::byte* code, float* to) noexcept {
    typename Tree::Blocks x;
    decode(code, 1.0f, x);
    Tree::store(x, to);
  }

  KVCODEC_HD KVCODEC_SHARED static float dot(const float* q, const std::byte* code) noexcept {
    float scale = 1.0f;
    if constexpr (Radius == NormType::bfloat16) {  // partial sums may be beyond a score's range where the sum is not
      Floats largest = S::broadcast(0.0f);
      each_root([&](std::size_t b, std::size_t n) KVCODEC_INLINE { largest = S::maximum(S::magnitude(radii(code, b, n)), largest); });
      if (S::bits(S::greater(largest, S::broadcast(0x1p64f))) != 0) scale = 0x1p-64f;
    }
    typename Tree::Blocks x;
    decode(code, scale, x);
    return Tree::dot(q, x) * (1.0f / scale);
  }

  KVCODEC_HD KVCODEC_SHARED static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    typename Tree::Blocks x;
    decode(code, 1.0f, x);
    Tree::add_to(sum, weight, x);
  }

 private:
  using S = Simd<I>;
  using Floats = typename S::Floats;

  /// f(b, n): block b of the radii has n.
  template <class F>
  KVCODEC_HD KVCODEC_INLINE static void each_root(F f) noexcept {
    each_block<blocks_of<Tree::roots>>([&](std::size_t b) KVCODEC_INLINE { f(b, block_size<Tree::roots>(b)); });
  }
  KVCODEC_HD KVCODEC_INLINE static Floats radii(const std::byte* code, std::size_t b, std::size_t n) noexcept {
    return S::template load_halves<Stored>(code + 2 * lanes * b, n);
  }
  KVCODEC_HD KVCODEC_INLINE static void decode(const std::byte* code, float scale, typename Tree::Blocks& x) noexcept {
    each_root([&](std::size_t b, std::size_t n) KVCODEC_INLINE { x[b] = S::multiply(radii(code, b, n), S::broadcast(scale)); });
    Tree::decode(code + 2 * Tree::roots, x);
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
