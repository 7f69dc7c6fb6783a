// Dense Hadamard matrices and the signed rotation R, in double precision.
//
// Sources: OCTOPUS, arXiv 2605.21226 (R = H diag(s): the signs come before H); Sylvester 1867 for order 2^k; Paley 1933
// for orders 12, 20, 28 and 36. With chi the quadratic character modulo a prime q, chi(0) = 0:
//
//   Paley I, q = 11, 19 (q = 3 mod 4), order q + 1:  H = I + S,  S = [[0, 1^T], [-1, Q]],  Q[i][j] = chi(i - j):
//       H[0][j] = 1;  H[i][0] = -1 for i > 0;  H[i][j] = chi(i - j) + [i = j] for i, j > 0.
//     S is skew and S S^T = q I, so H H^T = (I + S)(I - S) = (q + 1) I.
//
//   Paley II, q = 13, 17 (q = 1 mod 4), order 2(q + 1):  H = C (x) [[1, 1], [1, -1]] + I (x) [[1, -1], [-1, -1]],
//       C[0][0] = 0;  C[0][j] = C[j][0] = 1 for j > 0;  C[i][j] = chi(i - j) for i, j > 0,
//     with row 2a + alpha and column 2b + beta. C is symmetric, C C^T = q I, and the two 2x2 blocks anticommute.
//
// Size d = m 2^k, m one of 36, 28, 20, 12, 1:  H = H_m (x) H_{2^k}, index a 2^k + j.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace kvcodec_oracle {

struct SquareMatrix {
    std::size_t order = 0;
    std::vector<double> entries;  // row-major

    explicit SquareMatrix(std::size_t n) : order(n), entries(n * n, 0.0) {}
    double& at(std::size_t row, std::size_t column) { return entries[row * order + column]; }
    double at(std::size_t row, std::size_t column) const { return entries[row * order + column]; }
};

// 1 for a non-zero square modulo the prime q, -1 for a non-square, 0 for zero.
inline int quadratic_character(std::size_t a, std::size_t q) {
    if (a % q == 0) return 0;
    for (std::size_t x = 1; x < q; ++x)
        if (x * x % q == a % q) return 1;
    return -1;
}

inline SquareMatrix kronecker(const SquareMatrix& a, const SquareMatrix& b) {
    SquareMatrix product(a.order * b.order);
    for (std::size_t i = 0; i < a.order; ++i)
        for (std::size_t j = 0; j < a.order; ++j)
            for (std::size_t k = 0; k < b.order; ++k)
                for (std::size_t l = 0; l < b.order; ++l)
                    product.at(i * b.order + k, j * b.order + l) = a.at(i, j) * b.at(k, l);
    return product;
}

inline SquareMatrix sylvester(std::size_t order) {
    SquareMatrix h(order);
    for (std::size_t i = 0; i < order; ++i) {
        for (std::size_t j = 0; j < order; ++j) {
            bool odd = false;
            for (std::size_t common = i & j; common != 0; common &= common - 1) odd = !odd;
            h.at(i, j) = odd ? -1 : 1;
        }
    }
    return h;
}

inline SquareMatrix paley_one(std::size_t q) {
    SquareMatrix h(q + 1);
    for (std::size_t j = 0; j <= q; ++j) h.at(0, j) = 1;
    for (std::size_t i = 1; i <= q; ++i) {
        h.at(i, 0) = -1;
        for (std::size_t j = 1; j <= q; ++j) h.at(i, j) = quadratic_character(q + i - j, q) + (i == j ? 1 : 0);
    }
    return h;
}

inline SquareMatrix paley_two(std::size_t q) {
    SquareMatrix c(q + 1), h(2 * (q + 1));
    for (std::size_t j = 1; j <= q; ++j) c.at(0, j) = c.at(j, 0) = 1;
    for (std::size_t i = 1; i <= q; ++i)
        for (std::size_t j = 1; j <= q; ++j) c.at(i, j) = quadratic_character(q + i - j, q);
    constexpr double conference[2][2] = {{1, 1}, {1, -1}}, identity[2][2] = {{1, -1}, {-1, -1}};
    for (std::size_t a = 0; a <= q; ++a)
        for (std::size_t b = 0; b <= q; ++b)
            for (std::size_t alpha = 0; alpha < 2; ++alpha)
                for (std::size_t beta = 0; beta < 2; ++beta)
                    h.at(2 * a + alpha, 2 * b + beta) =
                        c.at(a, b) * conference[alpha][beta] + (a == b ? identity[alpha][beta] : 0);
    return h;
}

// The unnormalised matrix of order d, entries +-1, H H^T = d I.
inline SquareMatrix hadamard_matrix(std::size_t d) {
    for (const std::size_t m : {std::size_t{36}, std::size_t{28}, std::size_t{20}, std::size_t{12}, std::size_t{1}}) {
        const std::size_t power = d / m;
        if (d % m != 0 || power == 0 || (power & (power - 1)) != 0) continue;
        switch (m) {
            case 36:
                return kronecker(paley_two(17), sylvester(power));
            case 28:
                return kronecker(paley_two(13), sylvester(power));
            case 20:
                return kronecker(paley_one(19), sylvester(power));
            case 12:
                return kronecker(paley_one(11), sylvester(power));
            default:
                return sylvester(power);
        }
    }
    throw std::invalid_argument("no Hadamard matrix of this order here");
}

// The largest |(H H^T - d I)[i][j]|: 0 for a Hadamard matrix, exactly, since every sum is of small integers.
inline double orthogonality_error(const SquareMatrix& h) {
    double worst = 0;
    for (std::size_t i = 0; i < h.order; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double dot = i == j ? -static_cast<double>(h.order) : 0.0;
            for (std::size_t k = 0; k < h.order; ++k) dot += h.at(i, k) * h.at(j, k);
            worst = std::max(worst, std::abs(dot));
        }
    }
    return worst;
}

// One vector of +-1 a round; round 0 is applied first.
using RoundSigns = std::vector<std::vector<double>>;

// y = R x, R = prod over rounds of d^(-1/2) H diag(s_r).
inline std::vector<double> rotate(const SquareMatrix& h, const RoundSigns& signs, std::vector<double> x) {
    const std::size_t d = h.order;
    const double norm = 1 / std::sqrt(static_cast<double>(d));
    for (const std::vector<double>& s : signs) {
        std::vector<double> y(d, 0.0);
        for (std::size_t j = 0; j < d; ++j) x[j] *= s[j];
        for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j < d; ++j) y[i] += h.at(i, j) * x[j];
            y[i] *= norm;
        }
        x = y;
    }
    return x;
}

// x = R^T y. H is not symmetric for Paley I, so the transpose is meant.
inline std::vector<double> unrotate(const SquareMatrix& h, const RoundSigns& signs, std::vector<double> y) {
    const std::size_t d = h.order;
    const double norm = 1 / std::sqrt(static_cast<double>(d));
    for (std::size_t round = signs.size(); round-- > 0;) {
        std::vector<double> x(d, 0.0);
        for (std::size_t i = 0; i < d; ++i)
            for (std::size_t j = 0; j < d; ++j) x[j] += h.at(i, j) * y[i];
        for (std::size_t j = 0; j < d; ++j) x[j] *= norm * signs[round][j];
        y = x;
    }
    return y;
}

}  // namespace kvcodec_oracle
