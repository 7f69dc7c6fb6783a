// The scalar Lloyd-Max quantiser of a rotated unit vector: TurboQuant-MSE, arXiv 2504.19874.
//     index_j = argmin_i |u_j - c_i|,    u^_j = c_{index_j}.
// Comparing with the midpoints makes the tie rule explicit: a coordinate on a boundary takes the lower index, and
// -0.0 takes the index of 0.0.
#pragma once

#include "codebooks.hpp"

#include <span>

namespace kvcodec_oracle {

// The number of boundaries strictly below x.
inline std::size_t level_index(const Codebook& book, double x) {
    std::size_t index = 0;
    while (index < book.boundaries.size() && book.boundaries[index] < x) ++index;
    return index;
}

// The distance from x to the nearest boundary: below the library's rounding error, two honest encoders may differ.
inline double boundary_margin(const Codebook& book, double x) {
    double margin = HUGE_VAL;
    for (const double b : book.boundaries) margin = std::min(margin, std::abs(b - x));
    return margin;
}

inline std::vector<std::size_t> scalar_encode(const Codebook& book, std::span<const double> u) {
    std::vector<std::size_t> indices;
    for (const double x : u) indices.push_back(level_index(book, x));
    return indices;
}

inline std::vector<double> scalar_decode(const Codebook& book, std::span<const std::size_t> indices) {
    std::vector<double> u;
    for (const std::size_t i : indices) u.push_back(book.centroids.at(i));
    return u;
}

}  // namespace kvcodec_oracle
