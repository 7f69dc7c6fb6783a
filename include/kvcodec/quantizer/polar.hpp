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
#include "../codebook/polar_angle.hpp"
#include "../codebook/table.hpp"
#include "../norm.hpp"
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

  constexpr unsigned bits(unsigned level) const noexcept { return static_cast<unsigned>(nibbles >> (4 * level) & 15u); }
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

/// How many blocks are left of d coordinates after so many levels, and how many coordinates the last of them has. The
/// others have 2^level.
constexpr std::size_t polar_blocks(std::size_t d, unsigned level) noexcept {
  for (; level > 0; --level) d = (d + 1) / 2;
  return d;
}
constexpr std::size_t polar_last_block(std::size_t d, unsigned level) noexcept {
  return d - ((polar_blocks(d, level) - 1) << level);
}
/// The levels down to one radius.
constexpr unsigned polar_depth(std::size_t d) noexcept {
  unsigned level = 0;
  while (polar_blocks(d, level) > 1) ++level;
  return level;
}

inline namespace KVCODEC_ISA_NAMESPACE {

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
  /// cos, sin, cos, sin, …
  struct Points {
    static constexpr Table<float, 2 * size> make() noexcept {
      Table<float, 2 * size> points{};
      for (std::size_t i = 0; i < size; ++i) {
        points.value[2 * i] = static_cast<float>(constant_cos(centroid(i)));
        points.value[2 * i + 1] = static_cast<float>(constant_sin(centroid(i)));
      }
      return points;
    }
  };
};

/// The tree of angles over D coordinates down to L.count levels: what both quantisers below are made of.
template <std::size_t D, PolarLevels L>
struct PolarTree {
  static_assert(supported_dim(D), "kvcodec: polar books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(L.count >= 1 && L.count <= polar_depth(D), "kvcodec: more polar levels than the coordinates have pairs");
  static_assert([] {
    for (unsigned l = 0; l < L.count; ++l)
      if (L.bits(l) < 1 || L.bits(l) > 6) return false;
    return true;
  }(), "kvcodec: a polar angle takes 1 to 6 bits");

  static constexpr std::size_t roots = polar_blocks(D, L.count);
  static constexpr std::size_t bits = [] {
    std::size_t sum = 0;
    for (unsigned l = 0; l < L.count; ++l) sum += L.bits(l) * (polar_blocks(D, l) / 2);
    return sum;
  }();
  static constexpr std::array<std::uint8_t, 8> parameters = [] {
    std::array<std::uint8_t, 8> p{};  // the nibbles; the last three bytes are for what is built on this
    for (unsigned i = 0; i < 5; ++i) p[i] = static_cast<std::uint8_t>(L.nibbles >> (8 * i) & 0xffu);
    return p;
  }();

  /// x: D coordinates, of which the radii of the roots are left in x[0, roots).
  KVCODEC_HD static void encode(float* x, std::byte* code) noexcept {
    BitWriter writer(code);
    encode_from<0>(x, writer);
    writer.finish();
  }

  /// x: the radii of the roots in x[0, roots), of which the D coordinates are made.
  KVCODEC_HD static void decode(const std::byte* code, float* x) noexcept {
    decode_down_to<L.count>(code, x);
  }

 private:
  template <unsigned Level>
  struct At {
    static constexpr std::size_t blocks = polar_blocks(D, Level), pairs = blocks / 2;
    static constexpr unsigned bits = L.bits(Level);
    static constexpr std::size_t size = std::size_t{1} << Level;
    /// Whether the last pair has a block of another size in it.
    static constexpr bool ragged = blocks % 2 == 0 && polar_last_block(D, Level) != size;
    using Book = PolarBook<size, size, bits>;
    using LastBook = PolarBook<size, blocks % 2 == 0 ? polar_last_block(D, Level) : size, bits>;
    static constexpr std::size_t even_pairs = ragged ? pairs - 1 : pairs;
    static constexpr std::size_t first_bit = [] {
      std::size_t sum = 0;
      for (unsigned l = 0; l != Level; ++l) sum += L.bits(l) * (polar_blocks(D, l) / 2);
      return sum;
    }();
  };

  template <class Book>
  KVCODEC_HD static std::int32_t classify(float first, float second) noexcept {
    const float* tangents = table<typename Book::Tangents>();
    std::int32_t index = 0;
    for (std::size_t k = 0; k != Book::boundaries; ++k) index += second > tangents[k] * first ? 1 : 0;
    return index;
  }

  template <unsigned Level>
  KVCODEC_HD static void encode_from(float* x, BitWriter& writer) noexcept {
    if constexpr (Level < L.count) {
      using Here = At<Level>;
      float first[Here::pairs], second[Here::pairs];
      for (std::size_t i = 0; i < Here::pairs; ++i) {
        first[i] = x[2 * i];
        second[i] = x[2 * i + 1];
      }
      std::int32_t index[Here::pairs] = {};
      if constexpr (Level == 0) {
        // The quadrant, and the point turned back into the first one. Its edges belong to the quadrant below.
        for (std::size_t i = 0; i < Here::pairs; ++i) {
          const float a = first[i], b = second[i];
          const bool lower = b < 0.0f, odd = lower ? a > 0.0f : a < 0.0f;
          const float along = odd ? b : a, across = odd ? -a : b;
          if constexpr (Here::bits == 1) index[i] = lower ? 1 : 0;
          else index[i] = ((lower ? 2 : 0) + (odd ? 1 : 0)) << (Here::bits - 2);
          x[i] = square_root(fma(a, a, b * b));
          first[i] = lower ? -along : along;
          second[i] = lower ? -across : across;
        }
      } else {
        for (std::size_t i = 0; i < Here::pairs; ++i) x[i] = square_root(fma(first[i], first[i], second[i] * second[i]));
      }
      const float* tangents = table<typename Here::Book::Tangents>();
      for (std::size_t k = 0; k != Here::Book::boundaries; ++k)
        for (std::size_t i = 0; i != Here::even_pairs; ++i) index[i] += second[i] > tangents[k] * first[i] ? 1 : 0;
      if constexpr (Here::ragged)
        index[Here::pairs - 1] = classify<typename Here::LastBook>(first[Here::pairs - 1], second[Here::pairs - 1]);
      if constexpr (Here::blocks % 2 != 0) x[Here::pairs] = x[Here::blocks - 1];
      for (std::size_t i = 0; i < Here::pairs; ++i) writer.put(static_cast<std::uint32_t>(index[i]), Here::bits);
      encode_from<Level + 1>(x, writer);
    }
  }

  template <unsigned Level>
  KVCODEC_HD static void decode_down_to(const std::byte* code, float* x) noexcept {
    if constexpr (Level > 0) {
      using Here = At<Level - 1>;
      float radius[Here::pairs];
      for (std::size_t i = 0; i < Here::pairs; ++i) radius[i] = x[i];
      if constexpr (Here::blocks % 2 != 0) x[Here::blocks - 1] = x[Here::pairs];
      const float* points = table<typename Here::Book::Points>();
      BitReader reader(code, Here::first_bit);
      for (std::size_t i = 0; i < Here::pairs; ++i) {
        const float* point = points + 2 * reader.get(Here::bits);
        if constexpr (Here::ragged)
          if (i == Here::even_pairs) point = table<typename Here::LastBook::Points>() + (point - points);
        x[2 * i] = radius[i] * point[0];
        x[2 * i + 1] = radius[i] * point[1];
      }
      decode_down_to<Level - 1>(code, x);
    }
  }
};

/// Angles only, down to one radius that the row's length stands for.
template <std::size_t D, PolarLevels L>
struct PolarQuantizer {
  using Tree = PolarTree<D, L>;
  static_assert(Tree::roots == 1, "kvcodec: PolarQuantizer goes down to one radius; PolarBlockQuantizer stores several");

  static constexpr std::size_t dim = D;
  static constexpr std::size_t code_bytes = bytes_for_bits(Tree::bits);
  static constexpr std::string_view name = "polarquant";
  static constexpr std::string_view qjl_name = "polarquant-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = Tree::parameters;

  KVCODEC_HD static void encode(const float* u, std::byte* code) noexcept {
    float x[D];
    for (std::size_t i = 0; i < D; ++i) x[i] = u[i];
    Tree::encode(x, code);
  }

  KVCODEC_HD static void decode(const std::byte* code, float* u) noexcept {
    u[0] = 1.0f;
    Tree::decode(code, u);
  }
};

/// A stored radius for each root of a shallower tree; the row has no other length.
template <std::size_t D, PolarLevels L, NormType Radius>
struct PolarBlockQuantizer {
  static_assert(Radius == NormType::float16 || Radius == NormType::bfloat16, "kvcodec: a block's radius is float16 or bfloat16");
  using Tree = PolarTree<D, L>;
  using Stored = NormReal<Radius>;

  static constexpr std::size_t dim = D;
  static constexpr std::size_t code_bytes = 2 * Tree::roots + bytes_for_bits(Tree::bits);
  static constexpr std::string_view name = "polarquant-block";
  static constexpr std::array<std::uint8_t, 8> parameters = [] {
    std::array<std::uint8_t, 8> p = Tree::parameters;
    p[7] = static_cast<std::uint8_t>(static_cast<unsigned>(Radius) + 1u);
    return p;
  }();

  /// u: a unit direction; length times it is coded. Radii beyond the stored type's range are all scaled down alike, so
  /// that the direction is kept.
  KVCODEC_HD static void encode(const float* u, float length, std::byte* code) noexcept {
    float x[D];
    for (std::size_t i = 0; i < D; ++i) x[i] = u[i];
    Tree::encode(x, code + 2 * Tree::roots);
    const float largest = largest_magnitude<Tree::roots>(x);
    const float limit = max_finite<Stored>();
    if (largest * length > limit) length = limit / largest;
    for (std::size_t i = 0; i < Tree::roots; ++i) store_half(saturate_to<Stored>(x[i] * length), code + 2 * i);
  }

  KVCODEC_HD static void decode(const std::byte* code, float* x) noexcept {
    for (std::size_t i = 0; i < Tree::roots; ++i) x[i] = to_float(load_half<Stored>(code + 2 * i));
    Tree::decode(code + 2 * Tree::roots, x);
  }

  KVCODEC_HD static float dot(const float* q, const std::byte* code) noexcept {
    float x[D];
    decode(code, x);
    if (!(largest_magnitude<D>(x) > 0x1p64f)) return dot_product<D>(q, x);
    for (std::size_t i = 0; i < D; ++i) x[i] *= 0x1p-64f;  // partial sums may be beyond a score's range where the sum is not
    return dot_product<D>(q, x) * 0x1p64f;
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
