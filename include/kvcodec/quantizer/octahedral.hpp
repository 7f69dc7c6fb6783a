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
#include "../codebook/octahedral_direction.hpp"
#include "../codebook/table.hpp"
#include "../codebook/triplet_norm.hpp"
#include "../transform/hadamard.hpp"

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

/// Unit directions of all cells with x, y >= 0, index = |xi| + |eta| * 2^(Bits-1), as x, y, z, 0.
template <unsigned Bits>
struct OctahedralDirections {
  static constexpr std::size_t side = OctahedralMagnitudes<Bits>::count;
  static constexpr Table<float, 4 * side * side> make() noexcept {
    constexpr auto book = OctahedralMagnitudes<Bits>::make();
    Table<float, 4 * side * side> directions{};
    for (std::size_t j = 0; j < side; ++j) {
      for (std::size_t i = 0; i < side; ++i) {
        const UnfoldedPoint m = octahedral_unfold(book.value[i], book.value[j]);
        const double x = m.x, y = m.y, z = m.z;
        const double length = constant_sqrt(x * x + y * y + z * z);
        float* to = directions.value + 4 * (i + j * side);
        to[0] = static_cast<float>(x / length);
        to[1] = static_cast<float>(y / length);
        to[2] = static_cast<float>(z / length);
      }
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

/// Sixteen triplets, and their codes: magnitude indices; signs, bit 0: x < 0, bit 1: y < 0; length index.
struct TripletBlock {
  float x[lanes], y[lanes], z[lanes];
};
struct TripletCodes {
  std::int32_t xi[lanes], eta[lanes], signs[lanes], length[lanes];
};

template <std::size_t D, unsigned DirectionBits, unsigned LengthBits, Rounding Round = Rounding::joint_3x3>
struct OctahedralQuantizer {
  static_assert(supported_dim(D), "kvcodec: triplet books exist for d = 2^k * {1, 12, 20, 28, 36}, 4 <= d <= 1024");
  static_assert(DirectionBits >= 1 && DirectionBits <= 7, "kvcodec: an octahedral direction takes 1 to 7 bits a coordinate");
  static_assert(LengthBits >= 1 && LengthBits <= 5, "kvcodec: a triplet's length takes 1 to 5 bits");

  static constexpr std::size_t dim = D;
  static constexpr std::size_t triplets = (D + 2) / 3;
  static constexpr unsigned magnitude_bits = DirectionBits - 1;
  static constexpr bool signs_in_index = 2 * magnitude_bits + LengthBits + 2 <= 8;
  static constexpr bool length_in_index = 2 * magnitude_bits + LengthBits <= 8;
  static constexpr unsigned index_bits = 2 * magnitude_bits + (length_in_index ? LengthBits : 0) + (signs_in_index ? 2 : 0);
  static constexpr std::size_t code_bytes = bytes_for_bits(triplets * (2 * DirectionBits + LengthBits));
  static constexpr std::string_view name = "octopus";
  static constexpr std::string_view qjl_name = "octopus-qjl";
  static constexpr std::array<std::uint8_t, 8> parameters = {DirectionBits, LengthBits};

  /// The codes of sixteen triplets of unit vectors. (0,0,0) gets all zeros: the shortest length, along the first cell.
  KVCODEC_HD static TripletCodes encode_block(const TripletBlock& t) noexcept {
    constexpr std::int32_t last = (1 << magnitude_bits) - 1;
    const float* magnitudes = table<OctahedralMagnitudes<DirectionBits>>();
    TripletCodes code = {};

    // The scalar cell (i, j), on magnitudes.
    float a[lanes], b[lanes], l1[lanes], l1_xi[lanes], l1_eta[lanes];
    for (std::size_t l = 0; l < lanes; ++l) {
      a[l] = absolute(t.x[l]);
      b[l] = absolute(t.y[l]);
      l1[l] = a[l] + b[l] + absolute(t.z[l]);
      const float below = t.z[l] < 0.0f ? -t.z[l] : 0.0f;
      l1_xi[l] = a[l] + below;
      l1_eta[l] = b[l] + below;
    }
    const float* boundaries = table<OctahedralBoundaries<DirectionBits>>();
    std::int32_t i[lanes] = {}, j[lanes] = {};
    unrolled<static_cast<std::size_t>(last)>([&](std::size_t k) {
      for (std::size_t l = 0; l < lanes; ++l) {
        const float boundary = boundaries[k] * l1[l];
        i[l] += l1_xi[l] > boundary ? 1 : 0;
        j[l] += l1_eta[l] > boundary ? 1 : 0;
      }
    });
    if constexpr (Round != Rounding::scalar) {
      for (std::size_t l = 0; l < lanes; ++l) {
        i[l] = first_candidate(i[l], t.x[l] < 0.0f, last);
        j[l] = first_candidate(j[l], t.y[l] < 0.0f, last);
      }
    }

    // The side^2 cells to try, from (i, j) on, clipped to the book.
    constexpr std::int32_t side = static_cast<std::int32_t>(Round);
    float xi[side][lanes], eta[side][lanes];
    for (std::int32_t k = 0; k < side; ++k) {
      for (std::size_t l = 0; l < lanes; ++l) {
        xi[k][l] = magnitudes[clip(i[l] + k, last)];
        eta[k][l] = magnitudes[clip(j[l] + k, last)];
      }
    }
    float best_dot[lanes] = {}, best_square[lanes] = {};
    std::int32_t best[lanes] = {};
    for (std::int32_t k = 0; k < side * side; ++k) {
      for (std::size_t l = 0; l < lanes; ++l) {
        const UnfoldedPoint m = octahedral_unfold(xi[k / side][l], eta[k % side][l]);
        float dot = fma(a[l], m.x, fma(b[l], m.y, t.z[l] * m.z));
        dot = dot > 0.0f ? dot : 0.0f;
        const float square = fma(m.x, m.x, fma(m.y, m.y, m.z * m.z));
        const bool better = (k == 0) | ((dot * dot) * best_square[l] > (best_dot[l] * best_dot[l]) * square);
        best[l] = better ? k : best[l];
        best_dot[l] = better ? dot : best_dot[l];
        best_square[l] = better ? square : best_square[l];
      }
    }
    const float* squares = table<TripletSquaredBoundaries<D, LengthBits>>();
    for (std::size_t l = 0; l < lanes; ++l) {
      float reach = best_dot[l] * best_dot[l];
      if constexpr (Round == Rounding::scalar) {  // the length of the triplet itself
        reach = fma(a[l], a[l], fma(b[l], b[l], t.z[l] * t.z[l]));
        best_square[l] = 1.0f;
      }
      best_dot[l] = reach;
    }
    unrolled<(std::size_t{1} << LengthBits) - 1>([&](std::size_t k) {
      for (std::size_t l = 0; l < lanes; ++l) code.length[l] += best_dot[l] > squares[k] * best_square[l] ? 1 : 0;
    });
    for (std::size_t l = 0; l < lanes; ++l) {
      code.xi[l] = clip(i[l] + best[l] / side, last);
      code.eta[l] = clip(j[l] + best[l] % side, last);
      code.signs[l] = (t.x[l] < 0.0f ? 1 : 0) | (t.y[l] < 0.0f ? 2 : 0);
    }
    return code;
  }

  KVCODEC_HD static void encode(const float* u, std::byte* code) noexcept {
    // Index, signs and length of each triplet, as the planes hold them.
    std::uint16_t index[blocks * lanes];
    std::uint8_t signs[blocks * lanes], length[blocks * lanes];
    for (std::size_t first = 0; first < triplets; first += lanes) {
      TripletBlock t;
      for (std::size_t l = 0; l < lanes; ++l) {
        const std::size_t at = 3 * (first + l);
        t.x[l] = at < D ? u[at] : 0.0f;
        t.y[l] = at + 1 < D ? u[at + 1] : 0.0f;
        t.z[l] = at + 2 < D ? u[at + 2] : 0.0f;
      }
      const TripletCodes c = encode_block(t);
      for (std::size_t l = 0; l < lanes; ++l) {
        std::int32_t field = c.xi[l] | c.eta[l] << magnitude_bits;
        if constexpr (length_in_index) field |= c.length[l] << (2 * magnitude_bits);
        if constexpr (signs_in_index) field |= c.signs[l] << (2 * magnitude_bits + LengthBits);
        index[first + l] = static_cast<std::uint16_t>(field);
        signs[first + l] = static_cast<std::uint8_t>(c.signs[l]);
        length[first + l] = static_cast<std::uint8_t>(c.length[l]);
      }
    }

    BitWriter writer(code);
    for (std::size_t t = 0; t < triplets; ++t) writer.put(index[t], index_bits);
    if constexpr (!signs_in_index)
      for (std::size_t t = 0; t < triplets; ++t) writer.put(signs[t], 2);
    if constexpr (!length_in_index)
      for (std::size_t t = 0; t < triplets; ++t) writer.put(length[t], LengthBits);
    writer.finish();
  }

  KVCODEC_HD static void decode(const std::byte* code, float* u) noexcept {
    for_each_triplet(code, [&](std::size_t t, float x, float y, float z) {
      u[3 * t] = x;
      if (3 * t + 1 < D) u[3 * t + 1] = y;
      if (3 * t + 2 < D) u[3 * t + 2] = z;
    });
  }

  KVCODEC_HD static float dot(const float* q, const std::byte* code) noexcept {
    float lane[lanes] = {};
    for_each_triplet(code, [&](std::size_t t, float x, float y, float z) {
      float& sum = lane[t % lanes];
      sum = multiply_add(q[3 * t], x, sum);
      if (3 * t + 1 < D) sum = multiply_add(q[3 * t + 1], y, sum);
      if (3 * t + 2 < D) sum = multiply_add(q[3 * t + 2], z, sum);
    });
    return reduce(lane);
  }

  KVCODEC_HD static void accumulate(float weight, const std::byte* code, float* sum) noexcept {
    for_each_triplet(code, [&](std::size_t t, float x, float y, float z) {
      sum[3 * t] = multiply_add(weight, x, sum[3 * t]);
      if (3 * t + 1 < D) sum[3 * t + 1] = multiply_add(weight, y, sum[3 * t + 1]);
      if (3 * t + 2 < D) sum[3 * t + 2] = multiply_add(weight, z, sum[3 * t + 2]);
    });
  }

 private:
  static constexpr std::size_t blocks = (triplets + lanes - 1) / lanes;

  KVCODEC_HD static constexpr std::int32_t clip(std::int32_t i, std::int32_t last) noexcept {
    return i < 0 ? 0 : i > last ? last : i;
  }

  /// The lower end of the candidates around magnitude i of a coordinate with that sign.
  KVCODEC_HD static constexpr std::int32_t first_candidate(std::int32_t i, bool negative, std::int32_t last) noexcept {
    if (Round == Rounding::joint_3x3 || negative) return i - 1;  // the next level above a negative one is the smaller one
    return i < last ? i : last - 1;
  }

  /// visit(t, x, y, z) with the decoded coordinates of each triplet, those beyond D included.
  template <class Visit>
  KVCODEC_HD static void for_each_triplet(const std::byte* code, Visit visit) noexcept {
    const float* directions = table<OctahedralDirections<DirectionBits>>();
    const float* lengths = table<TripletLengths<D, LengthBits>>();
    BitReader indices(code, 0);
    BitReader signs(code, signs_in_index ? 0 : triplets * index_bits);
    BitReader length_plane(code, length_in_index ? 0 : triplets * (index_bits + 2));
    for (std::size_t t = 0; t < triplets; ++t) {
      unsigned index = indices.get(index_bits);
      const float* n = directions + 4 * (index & ((1u << (2 * magnitude_bits)) - 1u));
      index >>= 2 * magnitude_bits;
      unsigned sign = 0, length = 0;
      if constexpr (length_in_index) length = index & ((1u << LengthBits) - 1u);
      else length = length_plane.get(LengthBits);
      if constexpr (signs_in_index) sign = index >> LengthBits;
      else sign = signs.get(2);
      const float rho = lengths[length];
      const float x = rho * n[0], y = rho * n[1];
      visit(t, float_from_bits(float_bits(x) ^ (sign & 1u) << 31), float_from_bits(float_bits(y) ^ (sign & 2u) << 30),
            rho * n[2]);
    }
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
