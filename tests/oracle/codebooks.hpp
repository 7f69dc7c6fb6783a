// Scalar source densities and their Lloyd-Max codebooks, in double precision.
//
// Sources: TurboQuant, arXiv 2504.19874 (a coordinate of a uniform unit vector); OCTOPUS, arXiv 2605.21226 (the norm of
// a triplet, and an octahedral coordinate of its direction); PolarQuant, arXiv 2502.02617 (an angle between two radii);
// Lloyd 1982 and Max 1960 for the fixed point:
//     c_i = E[t | b_{i-1} < t <= b_i],    b_i = (c_i + c_{i+1}) / 2.
//
// Lloyd's own iteration contracts like 1 - O(1/levels^2), so at 256 levels it stops early rather than converges. The
// fixed point is a stationary point of E(t - c)^2, whose Hessian in the centroids is tridiagonal: Newton reaches the
// last bits in about ten steps. A positive definite Hessian at the end certifies a minimum and not a saddle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace kvcodec_oracle {

// A density gives its value p(t), and a substitution t = position(u) after which weight(u) = p(t) dt/du is smooth up to
// the ends of the support. reach() is the parameter beyond which the weight is below 1e-40 of its peak, panel() a width
// on which sixteen Gauss points are exact to rounding, second_moment() the closed form of E t^2 (0: none is known).

// A coordinate of a uniform vector on the unit sphere of R^d (TurboQuant):
//   p(t) = Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) (1 - t^2)^((d-3)/2) on [-1, 1];  E t^2 = 1/d.
struct SphereMarginalDensity {
    static constexpr bool symmetric = true;
    double d;

    double log_constant() const {
        return std::lgamma(d / 2) - std::lgamma((d - 1) / 2) - 0.5 * std::log(std::numbers::pi);
    }
    double value(double t) const { return std::exp(log_constant() + (d - 3) / 2 * std::log1p(-t * t)); }
    double position(double u) const { return std::sin(u); }
    double parameter(double t) const { return std::asin(t); }
    double weight(double u) const { return std::exp(log_constant() + (d - 2) * std::log(std::cos(u))); }
    double reach() const { return std::min(std::numbers::pi / 2, 14 / std::sqrt(d - 2)); }
    double panel() const { return 0.7 / std::sqrt(d); }
    double second_moment() const { return 1 / d; }
};

// N(0, 1), the limit of sqrt(d) times the above.
struct NormalDensity {
    static constexpr bool symmetric = true;

    double value(double t) const { return std::exp(-0.5 * t * t) / std::sqrt(2 * std::numbers::pi); }
    double position(double u) const { return u; }
    double parameter(double t) const { return t; }
    double weight(double u) const { return value(u); }
    double reach() const { return 14; }
    double panel() const { return 0.7; }
    double second_moment() const { return 1; }
};

// An octahedral coordinate of a uniform direction of R^3 (OCTOPUS): with a = |xi|,
//   f(xi) = 1 / (pi sqrt(a^2 + (1-a)^2)) [ (1-a) / (1 - 2a + 3a^2) + a / (2 - 4a + 3a^2) ].
struct OctahedralDensity {
    static constexpr bool symmetric = true;

    double value(double t) const {
        const double a = std::abs(t);
        const double bracket = (1 - a) / (1 - 2 * a + 3 * a * a) + a / (2 - 4 * a + 3 * a * a);
        return bracket / (std::numbers::pi * std::hypot(a, 1 - a));
    }
    double position(double u) const { return u; }
    double parameter(double t) const { return t; }
    double weight(double u) const { return value(u); }
    double reach() const { return 1; }
    double panel() const { return 0.0625; }
    double second_moment() const { return 0; }
};

// The norm of three coordinates of a uniform unit vector (OCTOPUS):
//   f(r) = 2 r^2 (1 - r^2)^((d-5)/2) / B(3/2, (d-3)/2) on [0, 1];  E r^2 = 3/d.
struct TripletNormDensity {
    static constexpr bool symmetric = false;
    double d;

    double log_constant() const {
        return std::log(2.0) + std::lgamma(d / 2) - std::lgamma(1.5) - std::lgamma((d - 3) / 2);
    }
    double value(double r) const { return r * r * std::exp(log_constant() + (d - 5) / 2 * std::log1p(-r * r)); }
    double position(double u) const { return std::sin(u); }
    double parameter(double r) const { return std::asin(r); }
    double weight(double u) const {
        const double s = std::sin(u);
        return s * s * std::exp(log_constant() + (d - 4) * std::log(std::cos(u)));
    }
    double reach() const {
        return d > 4 ? std::min(std::numbers::pi / 2, 15 / std::sqrt(d - 4)) : std::numbers::pi / 2;
    }
    double panel() const { return 0.7 / std::sqrt(d); }
    double second_moment() const { return 3 / d; }
};

// The angle atan2(R2, R1) between the radii of n1 and of n2 independent Gaussian coordinates (PolarQuant):
//   f(psi) = 2 Gamma((n1+n2)/2) / (Gamma(n1/2) Gamma(n2/2)) cos(psi)^(n1-1) sin(psi)^(n2-1) on [0, pi/2];
//   E sin(psi)^2 = n2/(n1+n2).
// For n1 = n2 = n it is proportional to sin(2 psi)^(n-1). Both exponents are at least 1 here: the angle of two single
// coordinates carries their signs too, is uniform on [0, 2 pi) and needs no book.
//
// -(log f)'' = (n1-1)/cos^2 + (n2-1)/sin^2 is 2(n1+n2-2) at the mode, and at least (sqrt(n1-1) + sqrt(n2-1))^2
// everywhere, which bounds the tails. f is log-concave, so its Lloyd-Max book is unique (Fleischer 1964).
struct PolarAngleDensity {
    static constexpr bool symmetric = false;
    double n1, n2;

    double log_constant() const {
        return std::log(2.0) + std::lgamma((n1 + n2) / 2) - std::lgamma(n1 / 2) - std::lgamma(n2 / 2);
    }
    double value(double psi) const {
        return std::exp(log_constant() + (n1 - 1) * std::log(std::cos(psi)) + (n2 - 1) * std::log(std::sin(psi)));
    }
    double position(double u) const { return u; }
    double parameter(double psi) const { return psi; }
    double weight(double u) const { return value(u); }
    double mode() const { return std::atan(std::sqrt((n2 - 1) / (n1 - 1))); }
    double reach() const {
        return std::min(std::numbers::pi / 2, mode() + 14 / (std::sqrt(n1 - 1) + std::sqrt(n2 - 1)));
    }
    double panel() const { return 0.7 / std::sqrt(2 * (n1 + n2)); }
    double second_moment() const { return 0; }
};

struct Codebook {
    std::vector<double> centroids;   // ascending
    std::vector<double> boundaries;  // boundaries[i] lies between centroids[i] and centroids[i + 1]
    double mean_squared_error = 0;   // E(t - c)^2
    double second_moment = 0;        // E t^2
    double distortion = 0;           // E(t - c)^2 / E t^2; for the sphere marginal this is d E(t - c)^2
    double mass = 0;                 // the integral of the density as it is written: 1, or the closed form is wrong
    double last_step = 0;            // the largest relative change of a centroid in the last Newton step
};

namespace detail {

struct Moments {
    double mass = 0, first = 0, second = 0;  // of (t - c)
};

struct GaussRule {
    static constexpr std::size_t order = 16;
    std::array<double, order> node{}, weight{};

    GaussRule() {
        for (std::size_t i = 0; i < order; ++i) {
            double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (order + 0.5)), slope = 1;
            for (int step = 0; step < 12; ++step) {
                double previous = 1, current = x;
                for (std::size_t n = 2; n <= order; ++n) {
                    const double k = static_cast<double>(n);
                    const double next = ((2 * k - 1) * x * current - (k - 1) * previous) / k;
                    previous = current;
                    current = next;
                }
                slope = order * (x * current - previous) / (x * x - 1);
                x -= current / slope;
            }
            node[i] = x;
            weight[i] = 2 / ((1 - x * x) * slope * slope);
        }
    }
};

template <class Density>
Moments cell_moments(const Density& f, double u_low, double u_high, double centre) {
    static const GaussRule rule;
    Moments sum;
    if (!(u_high > u_low)) return sum;
    const double panels = std::ceil((u_high - u_low) / f.panel());
    const double half = (u_high - u_low) / panels / 2;
    for (double k = 0; k < panels; k += 1) {
        const double middle = u_low + (2 * k + 1) * half;
        for (std::size_t i = 0; i < GaussRule::order; ++i) {
            const double u = middle + half * rule.node[i];
            const double w = half * rule.weight[i] * f.weight(u), e = f.position(u) - centre;
            sum.mass += w;
            sum.first += w * e;
            sum.second += w * e * e;
        }
    }
    return sum;
}

// The unknown centroids c_0 < c_1 < ... of t >= 0. Where a symmetric book has an odd number of levels its middle centroid
// is 0 and not an unknown, and then the first cell opens at c_0 / 2 instead of 0.
template <class Density>
class PositiveHalf {
public:
    PositiveHalf(const Density& density, std::size_t unknowns, bool centred)
        : f_(density), centred_(centred), c_(panter_dite(unknowns)) {}

    void solve() {
        double error = evaluate(c_);
        for (int step = 0, settled = 0; step < 400 && settled < 3; ++step) {
            std::vector<double> delta, trial;
            bool accepted = false;
            if (newton_direction(delta)) {
                for (double a = 1; a > 1.0 / 64 && !accepted; a /= 2) {
                    trial = c_;
                    for (std::size_t i = 0; i < c_.size(); ++i) trial[i] += a * delta[i];
                    if (!ordered(trial)) continue;
                    const double e = evaluate(trial);
                    accepted = e <= error * (1 + 1e-12);
                    if (accepted) error = e;
                }
            }
            if (accepted) {
                last_step_ = 0;
                for (std::size_t i = 0; i < c_.size(); ++i)
                    last_step_ = std::max(last_step_, std::abs(trial[i] - c_[i]) / trial[i]);
                c_ = trial;
                if (last_step_ < 1e-11) ++settled;
            } else {
                evaluate(c_);
                for (std::size_t i = 0; i < c_.size(); ++i) c_[i] += cells_[i].first / cells_[i].mass;
                error = evaluate(c_);
                last_step_ = 1;
            }
        }
        std::vector<double> unused;
        if (!(last_step_ < 1e-12) || !newton_direction(unused)) throw std::runtime_error("Lloyd-Max did not converge");
    }

    const std::vector<double>& centroids() const { return c_; }
    double last_step() const { return last_step_; }

private:
    // Panter and Dite's point density p^(1/3): the asymptotically optimal spacing.
    std::vector<double> panter_dite(std::size_t unknowns) const {
        constexpr std::size_t grid = 8192;
        const double width = f_.reach() / grid;
        std::vector<double> cumulative(grid + 1, 0.0);
        for (std::size_t g = 0; g < grid; ++g) {
            const double u = (static_cast<double>(g) + 0.5) * width;
            const double slope = (f_.position(u + width / 4) - f_.position(u - width / 4)) / (width / 2);
            cumulative[g + 1] = cumulative[g] + std::cbrt(f_.value(f_.position(u))) * slope;
        }
        std::vector<double> c(unknowns);
        const double n = static_cast<double>(unknowns) + (centred_ ? 0.5 : 0.0);
        for (std::size_t i = 0; i < unknowns; ++i) {
            const double target = cumulative[grid] * (static_cast<double>(i) + (centred_ ? 1.0 : 0.5)) / n;
            const auto above = std::upper_bound(cumulative.begin(), cumulative.end(), target);
            const double right = static_cast<double>(above - cumulative.begin());
            const double fraction = (*above - target) / (*above - *(above - 1));
            c[i] = f_.position((right - fraction) * width);
        }
        return c;
    }

    bool ordered(const std::vector<double>& c) const {
        double previous = 0;
        for (const double x : c) {
            if (!(x > previous)) return false;
            previous = x;
        }
        return previous < f_.position(f_.reach());
    }

    // Fills cells_ and fences_ for c and returns the mean squared error over t >= 0.
    double evaluate(const std::vector<double>& c) {
        const std::size_t n = c.size();
        cells_.resize(n);
        fences_.assign(n + 1, 0.0);
        if (centred_) fences_[0] = c[0] / 2;
        for (std::size_t i = 1; i < n; ++i) fences_[i] = (c[i - 1] + c[i]) / 2;
        double error = centred_ ? cell_moments(f_, 0, f_.parameter(fences_[0]), 0).second : 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double high = i + 1 < n ? f_.parameter(fences_[i + 1]) : f_.reach();
            cells_[i] = cell_moments(f_, f_.parameter(fences_[i]), high, c[i]);
            error += cells_[i].second;
        }
        return error;
    }

    // Solves (Hessian / 2) delta = -(gradient / 2) by elimination; false where the Hessian is not positive definite.
    bool newton_direction(std::vector<double>& delta) {
        evaluate(c_);
        const std::size_t n = c_.size();
        std::vector<double> pivot(n), off(n, 0.0);
        delta.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            pivot[i] = cells_[i].mass;
            if (i > 0 || centred_) pivot[i] -= (c_[i] - fences_[i]) * f_.value(fences_[i]) / 2;
            if (i + 1 < n) {
                off[i] = (fences_[i + 1] - c_[i]) * f_.value(fences_[i + 1]) / 2;
                pivot[i] -= off[i];
            }
            delta[i] = cells_[i].first;
            if (i > 0) {
                pivot[i] -= off[i - 1] * off[i - 1] / pivot[i - 1];
                delta[i] += delta[i - 1] * off[i - 1] / pivot[i - 1];
            }
            if (!(pivot[i] > 0)) return false;
        }
        for (std::size_t i = n; i-- > 0;) {
            if (i + 1 < n) delta[i] += off[i] * delta[i + 1];
            delta[i] /= pivot[i];
        }
        return true;
    }

    const Density& f_;
    bool centred_;
    std::vector<double> c_, fences_;
    std::vector<Moments> cells_;
    double last_step_ = 1;
};

}  // namespace detail

// The Lloyd-Max quantiser of the density with that many levels.
template <class Density>
Codebook lloyd_max(const Density& f, std::size_t levels) {
    if (levels == 0) throw std::invalid_argument("a codebook has at least one level");
    Codebook book;
    const bool centred = Density::symmetric && levels % 2 == 1;
    const std::size_t unknowns = Density::symmetric ? levels / 2 : levels;
    std::vector<double> half;
    if (unknowns > 0) {
        detail::PositiveHalf<Density> problem(f, unknowns, centred);
        problem.solve();
        half = problem.centroids();
        book.last_step = problem.last_step();
    }
    if (Density::symmetric) {
        for (std::size_t i = unknowns; i-- > 0;) book.centroids.push_back(-half[i]);
        if (centred) book.centroids.push_back(0.0);
    }
    book.centroids.insert(book.centroids.end(), half.begin(), half.end());
    for (std::size_t i = 0; i + 1 < levels; ++i)
        book.boundaries.push_back((book.centroids[i] + book.centroids[i + 1]) / 2);

    const double u_end = f.reach(), sides = Density::symmetric ? 2 : 1;
    for (std::size_t i = 0; i < levels; ++i) {
        const double low = i == 0 ? 0 : std::max(0.0, f.parameter(book.boundaries[i - 1]));
        const double high = i + 1 == levels ? u_end : f.parameter(book.boundaries[i]);
        book.mean_squared_error += sides * detail::cell_moments(f, low, high, book.centroids[i]).second;
    }
    const detail::Moments whole = detail::cell_moments(f, 0, u_end, 0);
    book.mass = sides * whole.mass;
    book.mean_squared_error /= book.mass;
    book.second_moment = sides * whole.second / book.mass;
    book.distortion = book.mean_squared_error / book.second_moment;
    return book;
}

inline Codebook sphere_marginal_book(std::size_t d, unsigned bits) {
    return lloyd_max(SphereMarginalDensity{static_cast<double>(d)}, std::size_t{1} << bits);
}
inline Codebook normal_book(unsigned bits) { return lloyd_max(NormalDensity{}, std::size_t{1} << bits); }
inline Codebook octahedral_book(unsigned bits) { return lloyd_max(OctahedralDensity{}, std::size_t{1} << bits); }
inline Codebook triplet_norm_book(std::size_t d, unsigned bits) {
    return lloyd_max(TripletNormDensity{static_cast<double>(d)}, std::size_t{1} << bits);
}

// A balanced book is its own reflection in pi/4; the solution is so to rounding, and then made so to the last bit: psi
// and pi/2 - psi, and pi/4 itself for the middle boundary, on which two equal radii lie.
inline Codebook polar_angle_book(std::size_t n1, std::size_t n2, unsigned bits) {
    Codebook book =
        lloyd_max(PolarAngleDensity{static_cast<double>(n1), static_cast<double>(n2)}, std::size_t{1} << bits);
    if (n1 != n2) return book;
    const auto reflect = [](std::vector<double>& x) {
        for (std::size_t i = 0, j = x.size() - 1; i < j; ++i, --j) {
            const double folded = (x[i] + (std::numbers::pi / 2 - x[j])) / 2;
            if (!(std::abs(folded - x[i]) < 1e-12)) throw std::runtime_error("a balanced book is not symmetric");
            x[i] = folded;
            x[j] = std::numbers::pi / 2 - folded;
        }
        if (x.size() % 2 == 1) x[x.size() / 2] = std::numbers::pi / 4;
    };
    reflect(book.centroids);
    reflect(book.boundaries);
    return book;
}

}  // namespace kvcodec_oracle
