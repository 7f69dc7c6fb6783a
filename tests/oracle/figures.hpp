// The oracle's own figures beside the published ones. Each function measures one table and returns every entry with its
// expected value; oracle_check.cpp prints them, and a test may assert ok() on each.
//
// A uniform direction is a normalised Gaussian vector, which any orthogonal rotation leaves as it is, so only the
// structured inputs are rotated. Norms are not rounded here: the tables are about directions.
#pragma once

#include "expected.hpp"
#include "octopus.hpp"
#include "transform.hpp"
#include "vectors.hpp"

#include <functional>
#include <string>

namespace kvcodec_oracle {

struct Figure {
    std::string name;
    double measured, expected;
    double half_unit;           // half a unit of the last decimal that `expected` is printed with
    bool disputed = false;      // expected.hpp says why the printed value cannot be met; it is shown and not counted
    double standard_error = 0;  // of `measured`, where inputs differ so much that it matters

    double relative_difference() const { return std::abs(measured - expected) / expected; }
    bool ok(double tolerance = 0.01) const {
        return std::abs(measured - expected) <= tolerance * expected + half_unit + 2 * standard_error;
    }
};
using Figures = std::vector<Figure>;

inline double half_unit(int decimals) { return 0.5 * std::pow(10.0, -decimals); }

// Means over vectors: D, cosine, and |q.(k - k^)| for q ~ N(0, I), which given the error e is sqrt(2/pi) |e| exactly.
struct MeasuredQuality {
    double distortion = 0, cosine = 0, inner_product_error = 0;
    double distortion_error = 0;  // the standard error of `distortion`
};

inline MeasuredQuality measure(std::span<const std::vector<double>> keys,
                               const std::function<std::vector<double>(std::span<const double>)>& round_trip) {
    MeasuredQuality mean;
    double squares = 0;
    for (const std::vector<double>& key : keys) {
        const double length = norm(key);
        const std::vector<double> u = normalised(key), v = round_trip(u);
        double error = 0, product = 0;
        for (std::size_t j = 0; j < u.size(); ++j) {
            error += (u[j] - v[j]) * (u[j] - v[j]);
            product += u[j] * v[j];
        }
        mean.distortion += error;
        squares += error * error;
        mean.cosine += product / norm(v);
        mean.inner_product_error += std::sqrt(2 / std::numbers::pi) * length * std::sqrt(error);
    }
    const double n = static_cast<double>(keys.size());
    const double variance = std::max(0.0, squares / n - mean.distortion / n * mean.distortion / n);
    return {mean.distortion / n, mean.cosine / n, mean.inner_product_error / n, std::sqrt(variance / n)};
}

inline std::vector<std::vector<double>> gaussian_keys(std::size_t count, std::size_t d, std::uint64_t seed) {
    RandomSource source(seed);
    std::vector<std::vector<double>> keys(count);
    for (std::vector<double>& key : keys) key = source.gaussian_vector(d);
    return keys;
}

inline MeasuredQuality measure_scalar(std::span<const std::vector<double>> keys, const Codebook& book) {
    return measure(keys, [&](std::span<const double> u) { return scalar_decode(book, scalar_encode(book, u)); });
}

// The N(0, 1) book for coordinates of a unit vector of R^d, as implementations that skip the exact marginal have it.
inline Codebook scaled_normal_book(std::size_t d, unsigned bits) {
    Codebook book = normal_book(bits);
    for (double& c : book.centroids) c /= std::sqrt(static_cast<double>(d));
    for (double& b : book.boundaries) b /= std::sqrt(static_cast<double>(d));
    return book;
}

inline MeasuredQuality measure_octopus(std::span<const std::vector<double>> keys, unsigned direction_bits,
                                       unsigned norm_bits, TripletRounding rounding) {
    const OctopusBooks books = octopus_books(keys[0].size(), direction_bits, norm_bits);
    return measure(keys, [&](std::span<const double> u) {
        return octopus_decode(books, octopus_encode(books, u, rounding), u.size());
    });
}

inline void append_quality(Figures& figures, const std::string& name, const MeasuredQuality& measured,
                           const expected::Quality& wanted, bool disputed_error = false) {
    // 1 - cosine carries the information; the cosine itself is within 1 % of anything.
    figures.push_back({name + " 1-cosine", 1 - measured.cosine, 1 - wanted.cosine, half_unit(4)});
    figures.push_back({name + " D", measured.distortion, wanted.distortion, half_unit(4)});
    figures.push_back(
        {name + " |q.e|", measured.inner_product_error, wanted.inner_product_error, half_unit(3), disputed_error});
}

inline Figures codebook_figures() {
    Figures figures;
    for (unsigned b = 1; b <= 4; ++b)
        figures.push_back({"N(0,1) D, bits " + std::to_string(b), normal_book(b).distortion,
                           expected::normal_distortion[b - 1], half_unit(b < 3 ? 5 : 6)});
    for (const expected::SphereRow& row : expected::turboquant_distortion)
        for (unsigned b = 1; b <= 4; ++b)
            figures.push_back({"sphere D, d " + std::to_string(row.d) + " bits " + std::to_string(b),
                               sphere_marginal_book(row.d, b).distortion, row.distortion[b - 1], half_unit(5)});
    figures.push_back({"sphere outermost, d 128 bits 4", sphere_marginal_book(128, 4).centroids.back(),
                       expected::outermost_centroid_128_4, half_unit(4)});
    const auto centroids = [&](unsigned bits, std::span<const double> wanted) {
        const Codebook book = normal_book(bits);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            figures.push_back({"N(0,1) centroid, bits " + std::to_string(bits), book.centroids[wanted.size() + i],
                               wanted[i], half_unit(6)});
    };
    centroids(1, expected::normal_centroids_1);
    centroids(2, expected::normal_centroids_2);
    centroids(3, expected::normal_centroids_3);
    centroids(4, expected::normal_centroids_4);
    return figures;
}

inline Figures quality_figures(std::span<const std::vector<double>> keys) {
    Figures figures;
    for (unsigned b = 2; b <= 4; ++b) {
        const std::string at = ", b " + std::to_string(b);
        append_quality(figures, "octopus scalar" + at, measure_octopus(keys, b + 1, b - 1, TripletRounding::scalar),
                       expected::octopus_scalar[b - 2]);
        const MeasuredQuality joint = measure_octopus(keys, b + 1, b - 1, TripletRounding::three_by_three);
        append_quality(figures, "octopus joint" + at, joint, expected::octopus_joint[b - 2], true);
        figures.push_back({"octopus joint" + at + " |q.e| implied", joint.inner_product_error,
                           expected::octopus_joint_error[b - 2], half_unit(b < 4 ? 3 : 4)});
        append_quality(figures, "turboquant-mse" + at, measure_scalar(keys, sphere_marginal_book(keys[0].size(), b)),
                       expected::turboquant_mse[b - 2]);
    }
    return figures;
}

inline Figures rounding_figures(std::span<const std::vector<double>> keys) {
    Figures figures;
    for (const expected::RoundingRow& row : expected::octopus_rounding) {
        const auto add = [&](const char* name, TripletRounding rounding, double wanted) {
            figures.push_back({std::string("octopus ") + name + " (" + std::to_string(row.direction_bits) + "," +
                                   std::to_string(row.norm_bits) + ") D",
                               measure_octopus(keys, row.direction_bits, row.norm_bits, rounding).distortion, wanted,
                               half_unit(4)});
        };
        add("scalar", TripletRounding::scalar, row.scalar);
        add("upward 2x2", TripletRounding::upward_two_by_two, row.upward_two_by_two);
        add("bracket 2x2", TripletRounding::two_by_two, row.three_by_three);
        add("3x3", TripletRounding::three_by_three, row.three_by_three);
    }
    return figures;
}

inline Figures split_figures(std::span<const std::vector<double>> keys) {
    Figures figures;
    for (const expected::SplitRow& row : expected::octopus_split)
        figures.push_back(
            {"octopus joint split (" + std::to_string(row.direction_bits) + "," + std::to_string(row.norm_bits) + ") D",
             measure_octopus(keys, row.direction_bits, row.norm_bits, TripletRounding::three_by_three).distortion,
             row.distortion, half_unit(4)});
    return figures;
}

// How often a search attains less than the search over all directions.
struct SearchGap {
    std::size_t triplets = 0, worse = 0;
    double largest = 0;  // of (s_all - s) / |t|
};

inline SearchGap search_gap(unsigned direction_bits, TripletRounding rounding, std::size_t count, std::uint64_t seed) {
    const OctopusBooks books = octopus_books(128, direction_bits, 1);
    RandomSource source(seed);
    SearchGap gap;
    for (; gap.triplets < count; ++gap.triplets) {
        const std::vector<double> x = source.gaussian_vector(3);
        const Triplet t{x[0], x[1], x[2]};
        const double found = encode_triplet(books, t, rounding).alignment;
        const double all = encode_triplet(books, t, TripletRounding::exhaustive).alignment;
        const double short_by = (all - found) / norm(x);
        if (short_by > 1e-14) ++gap.worse;
        gap.largest = std::max(gap.largest, short_by);
    }
    return gap;
}

// The input named by expected::structured_normal_book[kind], unit length not required.
inline std::vector<double> structured_input(std::size_t kind, RandomSource& source, std::size_t d) {
    const std::size_t first = source.index(d), second = (first + 1 + source.index(d - 1)) % d;
    switch (kind) {
        case 0:
            return one_hot(d, first);
        case 1:
            return equal_two_hot(d, first, second);
        case 2:
            return constant_vector(d);
        default:
            return outlier_channels(source, d, first, second);
    }
}

// Fresh positions and signs for each vector, so that a figure does not hang on one draw of them.
inline std::vector<std::vector<double>> rotated_structured_inputs(std::size_t kind, std::size_t rounds,
                                                                  std::size_t count, std::uint64_t seed) {
    constexpr std::size_t d = 128;
    const SquareMatrix h = hadamard_matrix(d);
    RandomSource source(seed + kind);
    std::vector<std::vector<double>> rotated(count);
    for (std::vector<double>& u : rotated) {
        const std::vector<double> x = structured_input(kind, source, d);
        u = rotate(h, source.round_signs(d, rounds), x);
    }
    return rotated;
}

inline Figures structured_figures(std::size_t count, std::uint64_t seed) {
    constexpr std::size_t d = 128;
    Figures figures;
    for (std::size_t kind = 0; kind < expected::structured_normal_book.size(); ++kind) {
        for (const std::size_t rounds : {std::size_t{1}, std::size_t{3}}) {
            const auto rotated = rotated_structured_inputs(kind, rounds, count, seed);
            for (const bool exact : {false, true}) {
                const expected::StructuredRow& row =
                    (exact ? expected::structured_sphere_book : expected::structured_normal_book)[kind];
                for (unsigned b = 2; b <= 4; ++b) {
                    const double wanted = (rounds == 1 ? row.one_round : row.three_rounds)[b - 2];
                    const int decimals = (rounds == 1 ? row.one_round_decimals : row.three_rounds_decimals)[b - 2];
                    const Codebook book = exact ? sphere_marginal_book(d, b) : scaled_normal_book(d, b);
                    const MeasuredQuality measured = measure_scalar(rotated, book);
                    const bool disputed = !exact && rounds == 3 && ((kind == 1 && b == 3) || (kind == 2 && b == 4));
                    figures.push_back({std::string(row.input) + (exact ? ", sphere" : ", N(0,1)") + ", rounds " +
                                           std::to_string(rounds) + ", b " + std::to_string(b) + " D",
                                       measured.distortion, wanted, half_unit(decimals), disputed,
                                       measured.distortion_error});
                }
            }
        }
    }
    // Signs after H: H 1 = sqrt(d) e_0, and signs leave that one-hot.
    const std::vector<std::vector<double>> left{one_hot(d, 0)};
    for (unsigned b = 2; b <= 4; ++b) {
        figures.push_back({"constant, signs after H, N(0,1), b " + std::to_string(b) + " D",
                           measure_scalar(left, scaled_normal_book(d, b)).distortion,
                           expected::constant_signs_after_normal_book[b - 2], half_unit(3)});
        figures.push_back({"constant, signs after H, sphere, b " + std::to_string(b) + " D",
                           measure_scalar(left, sphere_marginal_book(d, b)).distortion,
                           expected::constant_signs_after_sphere_book[b - 2], half_unit(4)});
    }
    return figures;
}

// Invariants with no tolerance: what fails is returned by name.
inline std::vector<std::string> broken_invariants() {
    std::vector<std::string> broken;
    for (const std::size_t d : {4u, 12u, 20u, 28u, 36u, 80u, 96u, 112u, 128u, 144u})
        if (orthogonality_error(hadamard_matrix(d)) != 0) broken.push_back("Hadamard of order " + std::to_string(d));
    RandomSource source(7);
    for (const std::size_t d : {80u, 112u, 144u, 192u}) {
        const SquareMatrix h = hadamard_matrix(d);
        const auto signs = source.round_signs(d, 3);
        const std::vector<double> x = source.gaussian_vector(d), y = unrotate(h, signs, rotate(h, signs, x));
        for (std::size_t j = 0; j < d; ++j)
            if (std::abs(x[j] - y[j]) > 1e-13) {
                broken.push_back("unrotate of order " + std::to_string(d));
                break;
            }
    }
    for (const Triplet& axis : {Triplet{1, 0, 0}, Triplet{-1, 0, 0}, Triplet{0, 1, 0}, Triplet{0, -1, 0},
                                Triplet{0, 0, 1}, Triplet{0, 0, -1}, Triplet{-0.0, -0.0, -1}})
        if (oct_inverse(oct(axis)) != axis) broken.push_back("Oct of an axis");
    for (int n = 0; n < 1000; ++n) {
        const std::vector<double> x = normalised(source.gaussian_vector(3));
        const Triplet t{x[0], x[1], x[2]}, back = oct_inverse(oct(t));
        for (std::size_t j = 0; j < 3; ++j)
            if (std::abs(t[j] - back[j]) > 1e-15) {
                broken.push_back("Oct round trip");
                n = 1000;
                break;
            }
    }
    return broken;
}

}  // namespace kvcodec_oracle
