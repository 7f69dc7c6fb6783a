// Deterministic test vectors in double precision. Source: Box and Muller 1958; the structured inputs are the ones on
// which one round of signs and Hadamard falls short of a Haar rotation.
//
// The standard fixes std::mt19937_64 bit for bit but leaves std::normal_distribution to the implementation, hence the
// explicit transform.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace kvcodec_oracle {

class RandomSource {
public:
    explicit RandomSource(std::uint64_t seed) : engine_(seed) {}

    // Uniform on (0, 1), both ends excluded.
    double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }

    double gaussian() {
        if (has_spare_) {
            has_spare_ = false;
            return spare_;
        }
        const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
        spare_ = radius * std::sin(angle);
        has_spare_ = true;
        return radius * std::cos(angle);
    }

    std::vector<double> gaussian_vector(std::size_t d) {
        std::vector<double> x(d);
        for (double& v : x) v = gaussian();
        return x;
    }

    std::size_t index(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }

    std::vector<double> signs(std::size_t d) {
        std::vector<double> s(d);
        for (double& v : s) v = (engine_() >> 63) != 0 ? -1.0 : 1.0;
        return s;
    }

    std::vector<std::vector<double>> round_signs(std::size_t d, std::size_t rounds) {
        std::vector<std::vector<double>> all(rounds);
        for (std::vector<double>& s : all) s = signs(d);
        return all;
    }

private:
    std::mt19937_64 engine_;
    double spare_ = 0;
    bool has_spare_ = false;
};

inline std::vector<double> one_hot(std::size_t d, std::size_t at) {
    std::vector<double> x(d, 0.0);
    x.at(at) = 1;
    return x;
}

inline std::vector<double> equal_two_hot(std::size_t d, std::size_t first, std::size_t second) {
    std::vector<double> x(d, 0.0);
    x.at(first) = x.at(second) = 1;
    return x;
}

inline std::vector<double> constant_vector(std::size_t d) { return std::vector<double>(d, 1.0); }

inline std::vector<double> outlier_channels(RandomSource& source, std::size_t d, std::size_t first, std::size_t second,
                                            double factor = 50) {
    std::vector<double> x = source.gaussian_vector(d);
    x.at(first) *= factor;
    x.at(second) *= factor;
    return x;
}

inline double norm(std::span<const double> x) {
    double sum = 0;
    for (const double v : x) sum += v * v;
    return std::sqrt(sum);
}

inline std::vector<double> normalised(std::vector<double> x) {
    const double length = norm(x);
    for (double& v : x) v /= length;
    return x;
}

}  // namespace kvcodec_oracle
