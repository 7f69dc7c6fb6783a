// Octahedral triplet quantiser: the direction quantiser of OCTOPUS (arXiv 2605.21226, section 3).
//
// Three consecutive coordinates t (the last triplet padded with zeros) are a length rho and a direction n on the sphere.
// The octahedral map flattens n to a square: l = |x|+|y|+|z|, p = n/l; (xi,eta) = (p_x,p_y) where p_z >= 0, else
// (sgn(p_x)(1-|p_y|), sgn(p_y)(1-|p_x|)), sgn(+-0) = +1. One Lloyd-Max book for xi and eta, one for rho.
//
// The map commutes with the signs of x and y, and both books' mirror images are never the better choice, so the search
// runs on magnitudes: with a = |x|, b = |y| and z signed, |xi| l = a where z >= 0, else a + |z|, and likewise for eta.
//
// Joint rounding (an encoder's choice; rows decode alike): among the cells near the scalar one, take the largest
// s = t.n(xi,eta), the first of equals, and code the length nearest to s, the least-squares length along n, not ||t||.
// Cells are compared by (t.m)^2 |m'|^2 > (t.m')^2 |m|^2, where m is the unfolded point before it is normalised, and
// lengths by (t.m)^2 > boundary^2 |m|^2: no root and no division, and one formula for every back end.
//
// Bytes. A triplet has an index (|xi|, |eta|, and the length where all fit a byte) and two signs (bit 0: x < 0, bit 1:
// y < 0). H = DirectionBits-1 bits a magnitude, N = LengthBits. One LSB-first stream, planes following without padding,
// T = ceil(D/3) triplets each:
//
//   2H+N+2 <= 8        [ T x (2H+N+2):  |xi| H | |eta| H | length N | signs 2 ]                   b = 1, 2
//   else 2H+N <= 8     [ T x (2H+N):    |xi| H | |eta| H | length N ] [ T x 2: signs ]            b = 3: index is a byte
//   else               [ T x 2H: |xi| H | |eta| H ] [ T x 2: signs ] [ T x N: length ]            b = 4: index is a byte
//
// (fields named from their low bits up). D=128: 43 triplets, 38/54/70 bytes at b = 2/3/4.
#pragma once

#include "../arithmetic.hpp"
#include "../bits.hpp"
#include "../codebook/bisection.hpp"
#include "../codebook/octahedral_direction.hpp"
#include "../codebook/table.hpp"
#include "../codebook/triplet_norm.hpp"
#include "../simd/fields.hpp"
#include "../simd/vector.hpp"
#include "../transform/hadamard.hpp"
#include "scaled_integer.hpp"
#include "tile.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvcodec {

/// How the encoder picks a triplet's cell. scalar: the nearest levels of xi and eta. joint_2x2: the best of these and the
/// next levels above them (the papers' 2x2, of little use: half the time the other level lies on the far side). joint_3x3:
/// the best of the scalar cell and its eight neighbours, which is the best of all.
enum class Rounding : unsigned char { scalar = 1, joint_2x2 = 2, joint_3x3 = 3 };

inline namespace KVCODEC_ISA_NAMESPACE {

/// Magnitudes |xi| of a direction book of Bits bits, ascending.
template <unsigned Bits>
struct OctahedralMagnitudes {
  static constexpr std::size_t count = std::size_t{1} << (Bits - 1);
  static constexpr Table<float, count> make() noexcept {
    Table<float, count> magnitudes{};
    for (std::size_t i = 0; i < count; ++i) magnitudes.value[i] = codebook::OctahedralDirection<Bits>::positive[i];
    return magnitudes;
  }
};

/// The boundaries between them (one more entry than needed keeps the 1-bit book's table non-empty).
template <unsigned Bits>
struct OctahedralBoundaries {
  static constexpr Table<float, OctahedralMagnitudes<Bits>::count> make() noexcept {
    constexpr auto book = OctahedralMagnitudes<Bits>::make();
    Table<float, book.size> boundaries{};
    for (std::size_t i = 0; i + 1 < book.size; ++i) boundaries.value[i] = 0.5f * (book.value[i] + book.value[i + 1]);
    boundaries.value[book.size - 1] = 1.0f;
    return boundaries;
  }
};

/// Oct^-1 before normalisation, for magnitudes: (x, y, z) with x, y >= 0.
struct UnfoldedPoint {
  float x, y, z;
};
KVCODEC_HD constexpr UnfoldedPoint octahedral_unfold(float xi, float eta) noexcept {
  // Where z < 0 the point is (1 - eta, 1 - xi): written as selects, which vectorise where a branch does not.
  const float other_x = 1.0f - eta, other_y = 1.0f - xi;
  const float z = other_y - eta;
  return {z >= 0.0f ? xi : other_x, z >= 0.0f ? eta : other_y, z};
}

/// Unit directions of all cells with x, y >= 0, index = |xi| + |eta| * 2^(Bits-1): all x, then all y, then all z.
template <unsigned Bits>
struct OctahedralDirections {
  static constexpr std::size_t side = OctahedralMagnitudes<Bits>::count, cells = side * side;
  static constexpr Table<float, 3 * cells> make() noexcept {
    constexpr auto book = OctahedralMagnitudes<Bits>::make();
    Table<float, 3 * cells> directions{};
    for (std::size_t i = 0; i < cells; ++i) {
      const UnfoldedPoint m = octahedral_unfold(book.value[i % side], book.value[i / side]);
      const double x = m.x, y = m.y, z = m.z;
      const double length = constant_sqrt(x * x + y * y + z * z);
      directions.value[i] = static_cast<float>(x / length);
      directions.value[cells + i] = static_cast<float>(y / length);
      directions.value[2 * cells + i] = static_cast<float>(z / length);
    }
    return directions;
  }
};

/// Lengths of a triplet, ascending.
template <std::size_t D, unsigned Bits>
struct TripletLengths {
  static constexpr Table<float, (std::size_t{1} << Bits)> make() noexcept {
    Table<float, (std::size_t{1} << Bits)> lengths{};
    for (std::size_t i = 0; i < lengths.size; ++i) lengths.value[i] = codebook::TripletNorm<D, Bits>::value[i];
    return lengths;
  }
};

/// The squares of the boundaries between them.
template <std::size_t D, unsigned Bits>
struct TripletSquaredBoundaries {
  static constexpr Table<float, (std::size_t{1} << Bits) - 1> make() noexcept {
    constexpr auto lengths = TripletLengths<D, Bits>::make();
    Table<float, lengths.size - 1> squares{};
    for (std::size_t i = 0; i < squares.size; ++i) {
      const float boundary = 0.5f * (lengths.value[i] + lengths.value[i + 1]);
      squares.value[i] = boundary * boundary;
    }
    return squares;
  }
};

template <std::size_t D, unsigned DirectionBits, unsigned LengthBits, Rounding Round = Rounding::joint_3x3, Isa I = native_isa>
struct OctahedralQuantizer {
  static_assert(supported_dim(D), "kvcodec: triplet books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(DirectionBits >= 1 && DirectionBits <= 7, "kvcodec: an octahedral direction takes 1 to 7 bits a coordinate");
  static_assert(LengthBits >= 1 && LengthBits <= 5, "kvcodec: a triplet's length takes 1 to 5 bits");
  using S = Simd<I>;
  using Floats = typename S::Floats;
  using Ints = typename S::Ints;
  using Bytes = typename S::Bytes;

 public:
  static constexpr std::size_t dim = D;
  static constexpr Isa isa = I;
  static constexpr std::size_t triplets = (D + 2) / 3;
  static constexpr unsigned magnitude_bits = DirectionBits - 1;
  static constexpr bool signs_in_index = 2 * magnitude_bits + LengthBits + 2 <= 8;
  static constexpr bool length_in_index = 2 * magnitude_bits + LengthBits <= 8;
  static constexpr unsigned index_bits = 2 * magnitude_bits + (length_in_index ? LengthBits : 0) + (signs_in_index ? 2 : 0);
  static constexpr std::size_t code_bytes = bytes_for_bits(triplets * (2 * DirectionBits + LengthBits));
  static constexpr std::string_view name = "octopus";
  static constexpr std::string_view qjl_name = "octopus-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = {DirectionBits, LengthBits};

  /// A query, or a sum, brings its triplets apart as well: the D coordinates, then all x, all y and all z, each filled up
  /// with zeros to whole blocks of sixteen.
  static constexpr std::size_t blocks = (triplets + lanes - 1) / lanes;
  static constexpr std::size_t lifted_dim = D + 3 * blocks * lanes;

  /// Sixteen triplets, and their codes: magnitude indices; signs, bit 0: x < 0, bit 1: y < 0; length index.
  struct Triplets {
    Floats x, y, z;
  };
  struct Codes {
    Ints xi, eta, signs, length;
  };

  /// The codes of sixteen triplets of unit vectors. (0,0,0) gets all zeros: the shortest length, along the first cell.
  KVCODEC_HD KVCODEC_SHARED static Codes encode_block(Triplets t) noexcept {
    constexpr std::int32_t last = (1 << magnitude_bits) - 1;
    const Floats zero = S::broadcast(0.0f), one = S::broadcast(1.0f);
    const Floats a = S::magnitude(t.x), b = S::magnitude(t.y);
    const auto negative_x = S::greater(zero, t.x), negative_y = S::greater(zero, t.y);

    // The scalar cell (i, j), on magnitudes.
    const Floats l1 = S::add(S::add(a, b), S::magnitude(t.z));
    const Floats below = S::maximum(S::subtract(zero, t.z), zero);
    const Floats l1_xi = S::add(a, below), l1_eta = S::add(b, below);
    using Boundaries = OctahedralBoundaries<DirectionBits>;
    Ints i = count_below<Boundaries, magnitude_bits, I>(
        [&](Floats boundary) KVCODEC_INLINE { return S::greater(l1_xi, S::multiply(boundary, l1)); });
    Ints j = count_below<Boundaries, magnitude_bits, I>(
        [&](Floats boundary) KVCODEC_INLINE { return S::greater(l1_eta, S::multiply(boundary, l1)); });
    if constexpr (Round != Rounding::scalar) {
      i = first_candidate(i, negative_x);
      j = first_candidate(j, negative_y);
    }

    // The side^2 cells to try, from (i, j) on, clipped to the book.
    constexpr std::int32_t side = static_cast<std::int32_t>(Round);
    const float* magnitudes = table<OctahedralMagnitudes<DirectionBits>>();
    Floats xi[side], eta[side];
    unrolled<static_cast<std::size_t>(side)>([&](auto k) KVCODEC_INLINE {
      const Ints step = S::broadcast_int(static_cast<std::int32_t>(k));
      xi[k] = S::template lookup<std::size_t{1} << magnitude_bits>(magnitudes, S::clip(S::add(i, step), 0, last));
      eta[k] = S::template lookup<std::size_t{1} << magnitude_bits>(magnitudes, S::clip(S::add(j, step), 0, last));
    });
    Floats best_dot, best_square;
    Ints best = S::broadcast_int(0);
    unrolled<static_cast<std::size_t>(side * side)>([&](auto k) KVCODEC_INLINE {
      const Floats x0 = xi[k / side], y0 = eta[k % side];
      const Floats other_x = S::subtract(one, y0), other_y = S::subtract(one, x0), z = S::subtract(other_y, y0);
      const auto folded = S::greater(zero, z);
      const Floats x = S::select(folded, other_x, x0), y = S::select(folded, other_y, y0);
      const Floats dot = S::maximum(S::fma(a, x, S::fma(b, y, S::multiply(t.z, z))), zero);
      const Floats square = S::fma(x, x, S::fma(y, y, S::multiply(z, z)));
      if constexpr (k == 0) {
        best_dot = dot;
        best_square = square;
      } else {
        const auto better = S::greater(S::multiply(S::multiply(dot, dot), best_square), S::multiply(S::multiply(best_dot, best_dot), square));
        best = S::select(better, S::broadcast_int(static_cast<std::int32_t>(k / side << 8 | k % side)), best);
        best_dot = S::select(better, dot, best_dot);
        best_square = S::select(better, square, best_square);
      }
    });
    Floats reach = S::multiply(best_dot, best_dot);
    if constexpr (Round == Rounding::scalar) {  // the length of the triplet itself
      reach = S::fma(a, a, S::fma(b, b, S::multiply(t.z, t.z)));
      best_square = one;
    }
    Codes code;
    code.length = count_below<TripletSquaredBoundaries<D, LengthBits>, LengthBits, I>(
        [&](Floats boundary) KVCODEC_INLINE { return S::greater(reach, S::multiply(boundary, best_square)); });
    code.xi = S::clip(S::add(i, S::template shift_right<8>(best)), 0, last);
    code.eta = S::clip(S::add(j, S::bit_and(best, S::broadcast_int(255))), 0, last);
    const Ints none = S::broadcast_int(0);
    code.signs = S::bit_or(S::count(none, negative_x), S::template shift_left<1>(S::count(none, negative_y)));
    return code;
  }

  KVCODEC_HD KVCODEC_SHARED static void encode(const float* u, std::byte* code) noexcept {
    // Index, signs and length of each triplet, as the planes hold them; an index may have more than eight bits.
    [[maybe_unused]] std::int32_t wide[index_bits > 8 ? blocks * lanes : 1];
    [[maybe_unused]] Bytes index[chunks], signs[chunks], length[chunks];
    each_chunk<triplets>([&](std::size_t c, auto n) KVCODEC_INLINE {
      Ints field[4], sign[4], norm[4];
      for (std::size_t q = 0; q < 4; ++q) {
        field[q] = sign[q] = norm[q] = S::broadcast_int(0);
        if (lanes * q >= n) continue;
        const std::size_t b = 4 * c + q;
        Triplets t;
        S::split_triplets(block_or_zero(u, 3 * b), block_or_zero(u, 3 * b + 1), block_or_zero(u, 3 * b + 2), t.x, t.y, t.z);
        const Codes k = encode_block(t);
        sign[q] = k.signs;
        norm[q] = k.length;
        field[q] = S::bit_or(k.xi, S::template shift_left<magnitude_bits>(k.eta));
        if constexpr (length_in_index) field[q] = S::bit_or(field[q], S::template shift_left<2 * magnitude_bits>(k.length));
        if constexpr (signs_in_index)
          field[q] = S::bit_or(field[q], S::template shift_left<2 * magnitude_bits + LengthBits>(k.signs));
        if constexpr (index_bits > 8) S::store(field[q], wide + lanes * b);
      }
      if constexpr (index_bits <= 8) index[c] = S::narrow(field[0], field[1], field[2], field[3]);
      if constexpr (!signs_in_index) signs[c] = S::narrow(sign[0], sign[1], sign[2], sign[3]);
      if constexpr (!length_in_index) length[c] = S::narrow(norm[0], norm[1], norm[2], norm[3]);
    });
    if constexpr (index_bits > 8) {
      BitWriter writer(code);
      for (std::size_t t = 0; t < triplets; ++t) writer.put(static_cast<std::uint32_t>(wide[t]), index_bits);
      writer.finish();
    } else {
      write_plane<index_bits, 0>(index, code);
    }
    if constexpr (!signs_in_index) write_plane<2, triplets * index_bits>(signs, code);
    if constexpr (!length_in_index) write_plane<LengthBits, triplets * (index_bits + 2)>(length, code);
  }

  KVCODEC_HD KVCODEC_SHARED static void decode(const std::byte* code, float* u) noexcept {
    visit(code, [&](std::size_t b, Floats x, Floats y, Floats z) KVCODEC_INLINE {
      Floats part[3];
      S::join_triplets(x, y, z, part[0], part[1], part[2]);
      for (std::size_t k = 0; k < 3; ++k)
        if (3 * b + k < blocks_of<D>) store_floats<D, I>(part[k], u, 3 * b + k);
    });
  }

  KVCODEC_HD KVCODEC_SHARED static void lift(float* q) noexcept {
    for (std::size_t b = 0; b < blocks; ++b) {
      Floats x, y, z;
      S::split_triplets(block_or_zero(q, 3 * b), block_or_zero(q, 3 * b + 1), block_or_zero(q, 3 * b + 2), x, y, z);
      S::store(x, plane(q, 0) + lanes * b);
      S::store(y, plane(q, 1) + lanes * b);
      S::store(z, plane(q, 2) + lanes * b);
    }
  }
  KVCODEC_HD KVCODEC_SHARED static void lower(float* sum) noexcept {
    for (std::size_t b = 0; b < blocks; ++b) {
      Floats part[3];
      S::join_triplets(S::load(plane(sum, 0) + lanes * b), S::load(plane(sum, 1) + lanes * b), S::load(plane(sum, 2) + lanes * b),
                       part[0], part[1], part[2]);
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t at = 3 * b + k;
        if (at < blocks_of<D>) store_floats<D, I>(S::add(load_block<D, I>(sum, at), part[k]), sum, at);
      }
    }
  }

  KVCODEC_HD KVCODEC_SHARED static float dot(const float* q, const std::byte* code) noexcept {
    Floats sum = S::broadcast(0.0f);
    visit(code, [&](std::size_t b, Floats x, Floats y, Floats z) KVCODEC_INLINE {
      sum = S::multiply_add(S::load(plane(q, 0) + lanes * b), x, sum);
      sum = S::multiply_add(S::load(plane(q, 1) + lanes * b), y, sum);
      sum = S::multiply_add(S::load(plane(q, 2) + lanes * b), z, sum);
    });
    return S::sum(sum);
  }

  KVCODEC_HD KVCODEC_SHARED static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    const Floats w = S::broadcast(weight);
    visit(code, [&](std::size_t b, Floats x, Floats y, Floats z) KVCODEC_INLINE {
      const auto add = [&](Floats v, float* to) KVCODEC_INLINE { S::store(S::multiply_add(w, v, S::load(to)), to); };
      add(x, plane(sum, 0) + lanes * b);
      add(y, plane(sum, 1) + lanes * b);
      add(z, plane(sum, 2) + lanes * b);
    });
  }

  /// In integers, where tables of bytes are fast (with small ones, two look-ups a coordinate cost what the float path does):
  /// integer.hpp where a byte says a triplet but for its signs, scaled_integer.hpp where the length is apart.
  static constexpr std::size_t integer_components = index_bits <= 8 && (length_in_index || LengthBits <= 4) && S::lookup_bits >= 6 ? 3 : 0;
  static constexpr std::size_t integer_fields = triplets, integer_planes = signs_in_index ? 1 : length_in_index ? 2 : 3;
  static constexpr std::size_t integer_lengths = length_in_index ? 1 : std::size_t{1} << LengthBits;
  using ScaledLengths = TripletLengths<D, LengthBits>;
  static constexpr unsigned integer_packed_bits = 8;
  static constexpr float integer_unit =
      (length_in_index ? codebook::TripletNorm<D, LengthBits>::value[(1u << LengthBits) - 1] : 1.0f) / 127.0f;
  static constexpr std::size_t integer_at(std::size_t k) noexcept { return D + k * blocks * lanes; }
  template <std::size_t P, std::size_t N>
  KVCODEC_INLINE static Bytes integer_bytes(const std::byte* code, std::size_t chunk) noexcept {
    if constexpr (P == 0) return read_plane<index_bits, 0, N>(code, chunk);
    else if constexpr (P == 1) return read_plane<2, triplets * index_bits, N>(code, chunk);
    else return read_plane<LengthBits, triplets * (index_bits + 2), N>(code, chunk);
  }
  template <std::size_t K>
  KVCODEC_INLINE static Bytes integer_value(Bytes index, Bytes signs) noexcept {
    constexpr std::size_t entries = std::size_t{1} << (index_bits < 6 ? 6 : index_bits);
    if constexpr (one_sign_suffices) {
      if constexpr (K == 1) index = S::template select_bits<1u << (index_bits - 2)>(index, S::template field<7, 1>(index, index));
      return S::template lookup<64>(table<Coordinates<K>>(), S::template field<6, 0>(index, index));
    } else if constexpr (signs_in_index || K == 2) {
      return S::template lookup<entries>(table<Coordinates<K>>(), index);
    } else {
      return S::template negate_where<K>(S::template lookup<entries>(table<Coordinates<K>>(), index), signs);
    }
  }

  /// Interleaved pages (tile.hpp) where an index says all of a triplet: a table of 2^index_bits a triplet.
  static constexpr std::size_t tile_code_bytes = code_bytes;
  static constexpr std::size_t tile_bytes = signs_in_index && index_bits >= 4 && index_bits <= 7 && triplets <= 256 ? 1 : 0;
  static constexpr unsigned tile_bits = index_bits;
  static constexpr std::size_t tile_terms = 3, tile_fields = triplets, tile_floats = lifted_dim;
  static constexpr float tile_largest = codebook::TripletNorm<D, LengthBits>::value[(1u << LengthBits) - 1];
  static constexpr std::size_t tile_at(std::size_t field, std::size_t term) noexcept { return D + term * blocks * lanes + field; }
  /// By term and index: the coordinate.
  struct TilePatterns {
    static constexpr std::size_t size = std::size_t{1} << index_bits;
    static constexpr Table<float, 3 * size> make() noexcept {
      Table<float, 3 * size> patterns{};
      for (std::size_t i = 0; i < size; ++i) {
        patterns.value[i] = coordinate(0, i);
        patterns.value[size + i] = coordinate(1, i);
        patterns.value[2 * size + i] = coordinate(2, i);
      }
      return patterns;
    }
  };

 private:
  /// Coordinate k by index, times the length; with its sign where the index has it.
  static constexpr float coordinate(std::size_t k, std::size_t index) noexcept {
    constexpr std::size_t cells = std::size_t{1} << (2 * magnitude_bits);
    // Constants of their own: clang++ evaluates a local one at every call.
    const auto& directions = detail::host_table<OctahedralDirections<DirectionBits>>;
    const auto& lengths = detail::host_table<TripletLengths<D, LengthBits>>;
    const float length = length_in_index ? lengths.value[index / cells % lengths.size] : 1.0f;
    const float value = directions.value[k * cells + index % cells] * length;
    return signs_in_index && k < 2 && (index / cells / lengths.size >> k & 1) != 0 ? -value : value;
  }
  /// A coordinate has no use for the other's sign: with seven bits of index, six say it, and a table of 64 is one look-up.
  static constexpr bool one_sign_suffices = signs_in_index && index_bits == 7;
  template <std::size_t K>
  struct Coordinates {
    static constexpr auto make() noexcept {
      constexpr std::size_t size = std::size_t{1} << (one_sign_suffices ? 6 : index_bits);
      Table<float, size> values{};
      for (std::size_t i = 0; i < size; ++i) values.value[i] = coordinate(K, one_sign_suffices && K == 1 ? i % 32 | i / 32 << 6 : i);
      return detail::book_of_bytes<size, (size < 64 ? 64 : size)>(values, integer_unit * 127.0f, S::bias);
    }
  };

  static constexpr std::size_t chunks = (triplets + 63) / 64;

  template <class F>
  KVCODEC_HD static F* plane(F* q, std::size_t k) noexcept {
    return q + D + k * blocks * lanes;
  }
  KVCODEC_HD KVCODEC_INLINE static Floats block_or_zero(const float* u, std::size_t b) noexcept {
    return b < blocks_of<D> ? load_block<D, I>(u, b) : S::broadcast(0.0f);
  }

  /// The lower end of the candidates around magnitude i of a coordinate with that sign.
  KVCODEC_HD static Ints first_candidate(Ints i, typename S::Mask negative) noexcept {
    constexpr std::int32_t last = (1 << magnitude_bits) - 1;
    const Ints one_less = S::add(i, S::broadcast_int(-1));
    if constexpr (Round == Rounding::joint_3x3) return one_less;
    return S::select(negative, one_less, S::clip(i, -1, last - 1));  // the next level above a negative one is the smaller one
  }

  /// Triplets' fields of Width bits from bit First of the code on.
  template <unsigned Width, std::size_t First>
  KVCODEC_HD static void write_plane(const Bytes (&plane_fields)[chunks], std::byte* code) noexcept {
    each_chunk<triplets>([&](std::size_t c, auto n) KVCODEC_INLINE {
      write_fields<Width, n, First % 8, I>(plane_fields[c], code + First / 8 + 8 * Width * c);
    });
  }
  template <unsigned Width, std::size_t First, std::size_t N>
  KVCODEC_HD KVCODEC_INLINE static Bytes read_plane(const std::byte* code, std::size_t chunk) noexcept {
    return read_fields<Width, N, First % 8, I>(code + First / 8 + 8 * Width * chunk);
  }

  /// f(block, x, y, z) with the decoded coordinates of sixteen triplets at a time; lanes beyond the last are any.
  template <class F>
  KVCODEC_HD KVCODEC_INLINE static void visit(const std::byte* code, F f) noexcept {
    constexpr std::size_t cells = std::size_t{1} << (2 * magnitude_bits);
    const float* directions = table<OctahedralDirections<DirectionBits>>();
    const float* lengths = table<TripletLengths<D, LengthBits>>();
    [[maybe_unused]] BitReader wide(code, 0);
    each_chunk<triplets>([&](std::size_t c, auto n) KVCODEC_INLINE {
      [[maybe_unused]] Bytes index, signs, length;
      if constexpr (index_bits <= 8) index = read_plane<index_bits, 0, n>(code, c);
      if constexpr (!signs_in_index) signs = read_plane<2, triplets * index_bits, n>(code, c);
      if constexpr (!length_in_index) length = read_plane<LengthBits, triplets * (index_bits + 2), n>(code, c);
      unrolled<blocks_of<n>>([&](auto q) KVCODEC_INLINE {
        const std::size_t b = 4 * c + q;
        Ints field, sign, norm;
        if constexpr (index_bits <= 8) {
          field = S::template widen<q>(index);
        } else {
          std::int32_t each[lanes] = {};
          for (std::size_t l = 0; l < lanes && lanes * b + l < triplets; ++l) each[l] = static_cast<std::int32_t>(wide.get(index_bits));
          field = S::load_ints(each);
        }
        if constexpr (length_in_index)
          norm = S::bit_and(S::template shift_right<2 * magnitude_bits>(field), S::broadcast_int((1 << LengthBits) - 1));
        else norm = S::template widen<q>(length);
        if constexpr (signs_in_index) sign = S::template shift_right<2 * magnitude_bits + LengthBits>(field);
        else sign = S::template widen<q>(signs);
        field = S::bit_and(field, S::broadcast_int(static_cast<std::int32_t>(cells) - 1));
        const Floats rho = S::template lookup<std::size_t{1} << LengthBits>(lengths, norm);
        f(b, S::template negate_if<0>(S::multiply(rho, S::template lookup<cells>(directions, field)), sign),
          S::template negate_if<1>(S::multiply(rho, S::template lookup<cells>(directions + cells, field)), sign),
          S::multiply(rho, S::template lookup<cells>(directions + 2 * cells, field)));
      });
    });
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
