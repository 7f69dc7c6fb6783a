// One bit a coordinate round another quantiser's residual, which makes inner products unbiased: QJL, arXiv 2406.03482; as
// TurboQuant-prod, arXiv 2504.19874, and as OCTOPUS-QJL, arXiv 2605.21226. In double precision, on dense matrices.
//
//   u is coded as v. Of the residual r = u - v the code has |r| and z = sign(S r), sign(+-0) = +1, and
//       u' = v + scale |r| S^T z,      <q, u'> = <q, v> + scale |r| <S q, z>.
//
// The scale belongs to the kind of S. With n = r / |r| and a = Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2)), the mean magnitude
// of a coordinate of a uniform unit vector of R^d:
//
//   iid N(0, 1), m x d:  <n, S^T z> = sum |g_i| over m normals;  E = m sqrt(2/pi);
//                        E|S^T z|^2 = m^2 (2/pi) + m (1 - 2/pi) + m (d - 1): along n, and the d - 1 directions across it.
//       unbiased         sqrt(pi/2) / m
//       least squares    m sqrt(2/pi) / (m^2 (2/pi) + m (1 - 2/pi) + m (d - 1))
//   orthogonal, d x d:   <n, S^T z> = |S n|_1;  E = d a where S n is uniform;  |S^T z|^2 = d.
//       unbiased         1 / (d a) = sqrt(pi) Gamma((d+1)/2) / (d Gamma(d/2)), which tends to sqrt(pi / (2 d))
//       least squares    a = Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2))
//
// Reconstruction: E|u - u'|^2 / E|r|^2 is pi/2 - 1/d for Gaussian S with m = d, 1/(d a^2) - 1 (limit pi/2 - 1) for an
// orthogonal one, and 1 - d a^2 (limit 1 - 2/pi) for an orthogonal one scaled to least squares.
//
// One round of signs and Hadamard is orthogonal, but does not make S n uniform for a sparse n: a one-hot has |S n|_1 =
// sqrt(d), not d a.
#pragma once

#include "transform.hpp"
#include "vectors.hpp"

#include <utility>

namespace kvcodec_oracle {

enum class QjlScale { unbiased, least_squares };

struct Projection {
    std::size_t rows, columns;
    bool orthogonal;
    std::vector<double> entries;  // row-major
};

// S = prod over rounds of d^(-1/2) H diag(s_r), written out: column j is the image of the j-th unit vector.
inline Projection orthogonal_projection(const SquareMatrix& h, const RoundSigns& signs) {
    const std::size_t d = h.order;
    Projection s{d, d, true, std::vector<double>(d * d)};
    for (std::size_t j = 0; j < d; ++j) {
        const std::vector<double> column = rotate(h, signs, one_hot(d, j));
        for (std::size_t i = 0; i < d; ++i) s.entries[i * d + j] = column[i];
    }
    return s;
}

inline Projection gaussian_projection(std::size_t m, std::size_t d, RandomSource& source) {
    return {m, d, false, source.gaussian_vector(m * d)};
}

// S x.
inline std::vector<double> project(const Projection& s, std::span<const double> x) {
    std::vector<double> y(s.rows, 0.0);
    for (std::size_t i = 0; i < s.rows; ++i)
        for (std::size_t j = 0; j < s.columns; ++j) y[i] += s.entries[i * s.columns + j] * x[j];
    return y;
}

// S^T y.
inline std::vector<double> project_back(const Projection& s, std::span<const double> y) {
    std::vector<double> x(s.columns, 0.0);
    for (std::size_t i = 0; i < s.rows; ++i)
        for (std::size_t j = 0; j < s.columns; ++j) x[j] += s.entries[i * s.columns + j] * y[i];
    return x;
}

// a above.
inline double mean_magnitude(std::size_t d) {
    const double n = static_cast<double>(d);
    return std::exp(std::lgamma(n / 2) - std::lgamma((n + 1) / 2)) / std::sqrt(std::numbers::pi);
}

inline double qjl_scale(const Projection& s, QjlScale kind) {
    const double m = static_cast<double>(s.rows), d = static_cast<double>(s.columns);
    if (s.orthogonal) {
        const double a = mean_magnitude(s.columns);
        return kind == QjlScale::unbiased ? 1 / (d * a) : a;
    }
    constexpr double pi = std::numbers::pi;
    if (kind == QjlScale::unbiased) return std::sqrt(pi / 2) / m;
    return m * std::sqrt(2 / pi) / (m * m * (2 / pi) + m * (1 - 2 / pi) + m * (d - 1));
}

struct QjlCode {
    double residual_norm;       // |r|, not rounded
    std::vector<double> signs;  // z, +1 or -1
};

inline QjlCode qjl_encode(const Projection& s, std::span<const double> u, std::span<const double> v) {
    std::vector<double> r(u.size());
    for (std::size_t j = 0; j < u.size(); ++j) r[j] = u[j] - v[j];
    QjlCode code{norm(r), project(s, r)};
    for (double& z : code.signs) z = z < 0 ? -1.0 : 1.0;
    return code;
}

// u'.
inline std::vector<double> qjl_decode(const Projection& s, std::span<const double> v, const QjlCode& code,
                                      QjlScale kind) {
    std::vector<double> u = project_back(s, code.signs);
    for (std::size_t j = 0; j < u.size(); ++j) u[j] = v[j] + qjl_scale(s, kind) * code.residual_norm * u[j];
    return u;
}

// <q, u'> from the projected query, without u'.
inline double qjl_inner_product(const Projection& s, std::span<const double> q, std::span<const double> v,
                                const QjlCode& code, QjlScale kind) {
    const std::vector<double> projected = project(s, q);
    double product = 0, correction = 0;
    for (std::size_t j = 0; j < q.size(); ++j) product += q[j] * v[j];
    for (std::size_t i = 0; i < projected.size(); ++i) correction += projected[i] * code.signs[i];
    return product + qjl_scale(s, kind) * code.residual_norm * correction;
}

}  // namespace kvcodec_oracle
