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

/// x <- H_N x, N a power of two, unnormalised. O(N log N). Its own transpose.
template <std::size_t N>
KVCODEC_HD inline void walsh_hadamard(float* x) noexcept {
  static_assert(N > 0 && (N & (N - 1)) == 0);
  constexpr std::size_t block = N < 16 ? N : 16;
  for (std::size_t stride = N / 2; stride >= block; stride /= 2) {
    for (std::size_t i = 0; i < N; i += 2 * stride) {
      for (std::size_t j = i; j < i + stride; ++j) {
        const float a = x[j], b = x[j + stride];
        x[j] = a + b;
        x[j + stride] = a - b;
      }
    }
  }
  // Strides below a vector's width: each step takes the halves of a block and interleaves their sums and differences,
  // which is the same butterfly and leaves natural order after log2(block) steps, in a form that vectorises.
  for (std::size_t i = 0; i < N; i += block) {
    float from[block], to[block];
    for (std::size_t j = 0; j < block; ++j) from[j] = x[i + j];
    for (std::size_t step = 1; step < block; step *= 2) {
      for (std::size_t j = 0; j < block / 2; ++j) {
        to[2 * j] = from[j] + from[j + block / 2];
        to[2 * j + 1] = from[j] - from[j + block / 2];
      }
      for (std::size_t j = 0; j < block; ++j) from[j] = to[j];
    }
    for (std::size_t j = 0; j < block; ++j) x[i + j] = from[j];
  }
}

/// x <- (H_M (x) I_N) x, or with its transpose: N columns of M values each. O(M^2 N), M <= 36.
template <std::size_t M, std::size_t N, bool Transposed>
KVCODEC_HD inline void paley(float* x) noexcept {
  constexpr std::size_t width = N < 16 ? N : 16;
  constexpr std::size_t rows = 4;  // at once: each is a chain of dependent additions
  const float* h = table<PaleyFactor<M>>();
  for (std::size_t column = 0; column < N; column += width) {
    float out[M * width];
    for (std::size_t row = 0; row < M; row += rows) {
      float sum[rows][width] = {};
      for (std::size_t a = 0; a < M; ++a) {
        for (std::size_t r = 0; r < rows; ++r) {
          const float sign = Transposed ? h[a * M + row + r] : h[(row + r) * M + a];
          for (std::size_t j = 0; j < width; ++j) sum[r][j] += sign * x[a * N + column + j];
        }
      }
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t j = 0; j < width; ++j) out[(row + r) * width + j] = sum[r][j];
    }
    for (std::size_t row = 0; row < M; ++row)
      for (std::size_t j = 0; j < width; ++j) x[row * N + column + j] = out[row * width + j];
  }
}

template <std::size_t D>
inline constexpr std::size_t factor_of = hadamard_factor(D);  // a variable: device code may not call the host's function

/// x <- H_D x, unnormalised.
template <std::size_t D>
KVCODEC_HD inline void hadamard(float* x) noexcept {
  constexpr std::size_t m = factor_of<D>;
  for (std::size_t a = 0; a < m; ++a) walsh_hadamard<D / m>(x + a * (D / m));
  if constexpr (m > 1) paley<m, D / m, false>(x);
}

/// x <- H_D^T x, unnormalised; H_D^T H_D = D I.
template <std::size_t D>
KVCODEC_HD inline void hadamard_transposed(float* x) noexcept {
  constexpr std::size_t m = factor_of<D>;
  for (std::size_t a = 0; a < m; ++a) walsh_hadamard<D / m>(x + a * (D / m));
  if constexpr (m > 1) paley<m, D / m, true>(x);
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
