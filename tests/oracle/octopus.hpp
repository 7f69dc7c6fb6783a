// Octahedral triplet coding of a rotated unit vector: OCTOPUS, arXiv 2605.21226.
//
//   Oct(n):     p = n / (|x| + |y| + |z|);  (xi, eta) = (p_x, p_y) where p_z >= 0,
//               else (sgn(p_x)(1 - |p_y|), sgn(p_y)(1 - |p_x|)),  with sgn(+-0) = +1.
//   Oct^-1:     z = 1 - |xi| - |eta|;  (x, y) = (xi, eta) where z >= 0,
//               else (sgn(xi)(1 - |eta|), sgn(eta)(1 - |xi|));  normalised to a unit vector.
//   Triplet t:  scalar rounding keeps the levels nearest (xi, eta) of t/|t| and the norm centroid nearest |t|;
//               joint rounding takes, among candidate levels, the first to maximise s = t^T n(xi_i, eta_j), and then
//               the norm centroid nearest clip(s, 0, 1): for a fixed direction |t - r n|^2 = |t|^2 - 2 r s + r^2 is
//               least at r = s.
//
// The zero triplet has no direction. Here it takes that of (0, 0, 1), xi = eta = 0, which is a tie and so the lower of
// the two middle levels twice, and norm index 0, with every rounding.
#pragma once

#include "scalar_codec.hpp"

namespace kvcodec_oracle {

using Triplet = std::array<double, 3>;

struct OctahedralPoint {
    double xi, eta;
};

// A searched code: the indices of xi and eta in the full ascending direction book, that of the norm,
// and the s attained.
struct TripletCode {
    std::size_t i, j, k;
    double alignment;
};

// The candidates of a direction coordinate. two_by_two: the two levels that bracket it (one beyond the outermost),
// whose best of four has never been found short of the exhaustive search. upward_two_by_two: the nearest level and the
// next above, min(nearest, top - 1) and that + 1, on whichever side the coordinate lies; half the time it is not a
// bracket, and its distortion is the one that is published for "2x2".
enum class TripletRounding { scalar, upward_two_by_two, two_by_two, three_by_three, exhaustive };

struct OctopusBooks {
    Codebook direction, norm;
};

inline OctopusBooks octopus_books(std::size_t d, unsigned direction_bits, unsigned norm_bits) {
    return {octahedral_book(direction_bits), triplet_norm_book(d, norm_bits)};
}

inline double sign_of(double x) { return x < 0 ? -1.0 : 1.0; }

inline double dot(const Triplet& a, const Triplet& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// n need not be a unit vector, but is not zero.
inline OctahedralPoint oct(const Triplet& n) {
    const double l1 = std::abs(n[0]) + std::abs(n[1]) + std::abs(n[2]);
    const double x = n[0] / l1, y = n[1] / l1;
    if (n[2] >= 0) return {x, y};
    return {sign_of(x) * (1 - std::abs(y)), sign_of(y) * (1 - std::abs(x))};
}

inline Triplet oct_inverse(OctahedralPoint p) {
    Triplet n{p.xi, p.eta, 1 - std::abs(p.xi) - std::abs(p.eta)};
    if (n[2] < 0) {
        n[0] = sign_of(p.xi) * (1 - std::abs(p.eta));
        n[1] = sign_of(p.eta) * (1 - std::abs(p.xi));
    }
    const double length = std::sqrt(dot(n, n));
    return {n[0] / length, n[1] / length, n[2] / length};
}

inline Triplet code_direction(const OctopusBooks& books, std::size_t i, std::size_t j) {
    return oct_inverse({books.direction.centroids.at(i), books.direction.centroids.at(j)});
}

namespace detail {

struct LevelRange {
    std::size_t first, last;  // inclusive
};

inline LevelRange candidate_levels(const Codebook& book, double x, TripletRounding rounding) {
    const std::size_t top = book.centroids.size() - 1, nearest = level_index(book, x);
    switch (rounding) {
        case TripletRounding::scalar:
            return {nearest, nearest};
        case TripletRounding::exhaustive:
            return {0, top};
        case TripletRounding::three_by_three:
            return {nearest == 0 ? 0 : nearest - 1, std::min(nearest + 1, top)};
        case TripletRounding::upward_two_by_two:
            return {std::min(nearest, top - 1), std::min(nearest, top - 1) + 1};
        case TripletRounding::two_by_two:
            break;
    }
    // The nearest level and the next on the other side of x, where there is one.
    if (x < book.centroids[nearest]) return {nearest == 0 ? 0 : nearest - 1, nearest};
    if (x > book.centroids[nearest]) return {nearest, std::min(nearest + 1, top)};
    return {nearest, nearest};
}

}  // namespace detail

inline TripletCode encode_triplet(const OctopusBooks& books, const Triplet& t, TripletRounding rounding) {
    const double rho = std::sqrt(dot(t, t));
    if (rho == 0) return {level_index(books.direction, 0), level_index(books.direction, 0), 0, 0};
    const OctahedralPoint p = oct(t);
    const auto rows = detail::candidate_levels(books.direction, p.xi, rounding);
    const auto columns = detail::candidate_levels(books.direction, p.eta, rounding);
    TripletCode best{0, 0, 0, -HUGE_VAL};
    for (std::size_t i = rows.first; i <= rows.last; ++i) {
        for (std::size_t j = columns.first; j <= columns.last; ++j) {
            const double s = dot(t, code_direction(books, i, j));
            if (s > best.alignment) best = {i, j, 0, s};
        }
    }
    const double radius = rounding == TripletRounding::scalar ? rho : std::clamp(best.alignment, 0.0, 1.0);
    best.k = level_index(books.norm, radius);
    return best;
}

inline Triplet decode_triplet(const OctopusBooks& books, const TripletCode& code) {
    const Triplet n = code_direction(books, code.i, code.j);
    const double r = books.norm.centroids.at(code.k);
    return {r * n[0], r * n[1], r * n[2]};
}

// ceil(d / 3) triplets of consecutive coordinates, the last one padded with zeros.
inline std::vector<Triplet> triplets_of(std::span<const double> u) {
    std::vector<Triplet> triplets((u.size() + 2) / 3, Triplet{});
    for (std::size_t j = 0; j < u.size(); ++j) triplets[j / 3][j % 3] = u[j];
    return triplets;
}

inline std::vector<TripletCode> octopus_encode(const OctopusBooks& books, std::span<const double> u,
                                               TripletRounding rounding) {
    std::vector<TripletCode> codes;
    for (const Triplet& t : triplets_of(u)) codes.push_back(encode_triplet(books, t, rounding));
    return codes;
}

inline std::vector<double> octopus_decode(const OctopusBooks& books, std::span<const TripletCode> codes,
                                          std::size_t d) {
    std::vector<double> u;
    for (const TripletCode& code : codes)
        for (const double x : decode_triplet(books, code))
            if (u.size() < d) u.push_back(x);
    return u;
}

}  // namespace kvcodec_oracle
