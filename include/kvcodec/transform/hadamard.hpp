// Hadamard transforms of every size that head sizes need: d = m * 2^k with m in {1, 12, 20, 28, 36}, 4 <= d <= 1024.
//
// H_d = H_m (x) H_{2^k}, index = a * 2^k + j. H_{2^k} is Sylvester's (Walsh-Hadamard); H_12 and H_20 are Paley's first
// construction over the fields of 11 and 19 elements, H_28 and H_36 his second over 13 and 17 (R. Paley, "On orthogonal
// matrices", 1933). All entries are +-1 and H H^T = d I exactly: no padding, and no slice of a larger matrix, neither of
// which is orthogonal.
//
// Not normalised here: a transform is additions only, so it is exact up to their rounding whatever the compiler fuses
// (products with +-1 are exact), and the factor 1/sqrt(d) joins the product that follows. The order of additions is part
// of the format: halves first (stride 2^(k-1) down to 1), then the factor's rows from left to right.
#pragma once

#include "../arithmetic.hpp"
#include "../codebook/table.hpp"
#include "../simd/vector.hpp"

#include <cstddef>
#include <cstdint>

namespace kvcodec {

/// m of d = m * 2^k, or 0 where d has no transform here.
constexpr std::size_t hadamard_factor(std::size_t d) noexcept {
  if (d < 4 || d > 1024) return 0;
  for (const std::size_t m : {std::size_t{36}, std::size_t{28}, std::size_t{20}, std::size_t{12}, std::size_t{1}}) {
    if (d % m != 0) continue;
    const std::size_t power = d / m;
    if ((power & (power - 1)) == 0) return m;
  }
  return 0;
}

/// Whether the library takes vectors of d coordinates.
constexpr bool supported_dim(std::size_t d) noexcept { return hadamard_factor(d) != 0; }

inline namespace KVCODEC_ISA_NAMESPACE {

/// The factor H_m as floats +1 and -1, row-major.
template <std::size_t M>
struct PaleyFactor {
  static_assert(M == 12 || M == 20 || M == 28 || M == 36);

  static constexpr Table<float, M * M> make() noexcept {
    constexpr bool second = M == 28 || M == 36;
    constexpr int q = static_cast<int>(second ? M / 2 - 1 : M - 1);  // 11, 19 | 13, 17: primes
    // chi(a): 1 for a non-zero square mod q, -1 for another residue, 0 for 0
    int chi[q] = {};
    for (int a = 1; a < q; ++a) chi[a] = -1;
    for (int a = 1; a < q; ++a) chi[a * a % q] = 1;

    Table<float, M * M> h{};
    for (int row = 0; row < static_cast<int>(M); ++row) {
      for (int column = 0; column < static_cast<int>(M); ++column) {
        int entry = 0;
        if constexpr (second) {
          // C (x) [[1,1],[1,-1]] + I (x) [[1,-1],[-1,-1]], C the symmetric conference matrix of order q+1
          const int a = row / 2, b = column / 2;
          const bool odd_row = row % 2 != 0, odd_column = column % 2 != 0;
          if (a == b) {
            entry = odd_row || odd_column ? -1 : 1;
          } else {
            const int c = a == 0 || b == 0 ? 1 : chi[(a - b + q) % q];
            entry = odd_row && odd_column ? -c : c;
          }
        } else {
          // I + S, S skew: first row ones, first column minus ones, Q(i,j) = chi(i-j) inside
          if (row == column || row == 0) entry = 1;
          else if (column == 0) entry = -1;
          else entry = chi[(row - column + q) % q];
        }
        h.value[static_cast<std::size_t>(row) * M + static_cast<std::size_t>(column)] = static_cast<float>(entry);
      }
    }
    return h;
  }
};

template <std::size_t D>
inline constexpr std::size_t factor_of = hadamard_factor(D);  // a variable: device code may not call the host's function

namespace detail {

/// The signs of H_M (x) I_N: bit l of entry [a][b] is set where lane l of output block b takes minus its input of row a.
template <std::size_t M, std::size_t N, bool Transposed>
struct PaleySigns {
  static constexpr std::size_t blocks = (M * N + lanes - 1) / lanes;
  static constexpr Table<std::uint16_t, M * blocks> make() noexcept {
    constexpr auto h = PaleyFactor<M>::make();
    Table<std::uint16_t, M * blocks> signs{};
    for (std::size_t a = 0; a < M; ++a) {
      for (std::size_t i = 0; i < M * N; ++i) {
        const std::size_t row = i / N;
        const float entry = Transposed ? h.value[a * M + row] : h.value[row * M + a];
        if (entry < 0) signs.value[a * blocks + i / lanes] |= static_cast<std::uint16_t>(1u << (i % lanes));
      }
    }
    return signs;
  }
};

/// The butterflies between blocks: strides Stride down to 16.
template <Isa I, std::size_t Blocks, std::size_t Stride>
KVCODEC_HD KVCODEC_INLINE inline void between_blocks(typename Simd<I>::Floats* v) noexcept {
  using S = Simd<I>;
  if constexpr (Stride >= lanes) {
    constexpr std::size_t s = Stride / lanes;
    each_block<Blocks / 2>([&](std::size_t k) KVCODEC_INLINE {
      const std::size_t i = k / s * (2 * s) + k % s;
      const auto a = v[i], b = v[i + s];
      v[i] = S::add(a, b);
      v[i + s] = S::subtract(a, b);
    });
    between_blocks<I, Blocks, Stride / 2>(v);
  }
}

/// v <- (H_M (x) I_N) v, or with its transpose. O(M^2 N), M <= 36.
template <std::size_t M, std::size_t N, bool Transposed, Isa I>
KVCODEC_HD KVCODEC_INLINE inline void paley(typename Simd<I>::Floats* v) noexcept {
  using S = Simd<I>;
  constexpr std::size_t blocks = (M * N + lanes - 1) / lanes, at_once = blocks < 8 ? blocks : 8;
  float x[blocks * lanes];
  for (std::size_t b = 0; b < blocks; ++b) S::store(v[b], x + lanes * b);
  const std::uint16_t* signs = table<PaleySigns<M, N, Transposed>>();
  for (std::size_t first = 0; first < blocks; first += at_once) {
    typename S::Floats sum[at_once];
    unrolled<at_once>([&](std::size_t k) KVCODEC_INLINE { sum[k] = S::broadcast(0.0f); });
    for (std::size_t a = 0; a < M; ++a) {
      const float* row = x + a * N;
      if constexpr (N < lanes) {
        const auto values = S::template repeat<N>(row);
        unrolled<at_once>([&](std::size_t k) KVCODEC_INLINE {
          if (first + k < blocks) sum[k] = S::add(sum[k], S::negate(values, signs[a * blocks + first + k]));
        });
      } else {
        unrolled<at_once>([&](std::size_t k) KVCODEC_INLINE {
          if (first + k < blocks)
            sum[k] = S::add(sum[k], S::negate(S::load(row + (first + k) * lanes % N), signs[a * blocks + first + k]));
        });
      }
    }
    unrolled<at_once>([&](std::size_t k) KVCODEC_INLINE {
      if (first + k < blocks) v[first + k] = sum[k];
    });
  }
}

/// v <- H_D v, or H_D^T v, of blocks of sixteen lanes.
template <std::size_t D, bool Transposed, Isa I>
KVCODEC_HD KVCODEC_INLINE inline void hadamard_blocks(typename Simd<I>::Floats* v) noexcept {
  using S = Simd<I>;
  constexpr std::size_t m = factor_of<D>, n = D / m, blocks = blocks_of<D>;
  between_blocks<I, blocks, n / 2>(v);
  each_block<blocks>([&](std::size_t b) KVCODEC_INLINE {
    if constexpr (n >= 16) v[b] = S::template butterfly<8>(v[b]);
    if constexpr (n >= 8) v[b] = S::template butterfly<4>(v[b]);
    if constexpr (n >= 4) v[b] = S::template butterfly<2>(v[b]);
    if constexpr (n >= 2) v[b] = S::template butterfly<1>(v[b]);
  });
  if constexpr (m > 1) paley<m, n, Transposed, I>(v);
}

template <std::size_t D, bool Transposed, Isa I>
KVCODEC_HD inline void hadamard(float* x) noexcept {
  typename Simd<I>::Floats v[blocks_of<D>];
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { v[b] = load_block<D, I>(x, b); });
  hadamard_blocks<D, Transposed, I>(v);
  each_block<blocks_of<D>>([&](std::size_t b) KVCODEC_INLINE { store_floats<D, I>(v[b], x, b); });
}

}  // namespace detail

/// x <- H_D x, unnormalised.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD inline void hadamard(float* x) noexcept {
  detail::hadamard<D, false, I>(x);
}

/// x <- H_D^T x, unnormalised; H_D^T H_D = D I.
template <std::size_t D, Isa I = native_isa>
KVCODEC_HD inline void hadamard_transposed(float* x) noexcept {
  detail::hadamard<D, true, I>(x);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
