// Recursive polar coding of a rotated vector: PolarQuant, arXiv 2502.02617, in double precision.
//
//   Level 1:    pairs of coordinates (x, y): R = |(x, y)|, psi = atan2(y, x) wrapped to [0, 2 pi).
//   Level l>1:  pairs of radii (R1, R2) of the level below: R = |(R1, R2)|, psi = atan2(R2, R1) in [0, pi/2].
//   Tree:       blocks 2i and 2i + 1 of a level join to block i of the next; an odd last block moves up unchanged, as the
//               last. So any even d comes down to one radius, and blocks of unequal size meet.
//   Angles:     by level, then by position. The angle of (0, 0) is 0, whatever the signs of the zeros.
//   Code:       for each angle the number of boundaries strictly below it in the book of its two blocks' sizes (scalar
//               rounding; a tie takes the lower index). Level 1 has the uniform book: boundaries i 2 pi / 2^B,
//               i = 1 ... 2^B - 1, centroids halfway. 0 is not a boundary.
//   Decoding:   top-down from the radii, (R cos(psi^), R sin(psi^)).
//
// Two designs are meant. With the levels run down to one radius, that is the vector's norm, 1 for a unit vector. The
// paper's own stops after four levels and stores a float16 radius per block of 16 coordinates.
//
// For Gaussian coordinates all angles and the final radii are independent, so with C the cosine between a block and its
// decoded form, E C = E[cos psi cos psi^] E C1 + E[sin psi sin psi^] E C2, and D = 2 - 2 E C over the final blocks (radii
// exact): polar_distortion() has the exact D of any tree.
#pragma once

#include "half.hpp"
#include "scalar_codec.hpp"

#include <utility>

namespace kvcodec_oracle {

struct BlockPair {
    std::size_t n1, n2;  // coordinates under the two radii that an angle joins
};

// The pairs that each of the first `levels` levels joins.
inline std::vector<std::vector<BlockPair>> polar_tree(std::size_t d, std::size_t levels) {
    if (d == 0 || d % 2 != 0) throw std::invalid_argument("a coordinate would pass up without its sign");
    std::vector<std::vector<BlockPair>> tree(levels);
    std::vector<std::size_t> blocks(d, 1);
    for (std::vector<BlockPair>& level : tree) {
        if (blocks.size() < 2) throw std::invalid_argument("one radius is left already");
        std::vector<std::size_t> joined;
        for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) {
            level.push_back({blocks[i], blocks[i + 1]});
            joined.push_back(blocks[i] + blocks[i + 1]);
        }
        if (blocks.size() % 2 == 1) joined.push_back(blocks.back());
        blocks = joined;
    }
    return tree;
}

// The blocks that are left after so many levels: ceil(d / 2^levels).
inline std::size_t polar_radii(std::size_t d, std::size_t levels) {
    std::size_t blocks = d;
    for (; levels > 0; --levels) blocks = (blocks + 1) / 2;
    return blocks;
}

// The levels down to one radius: ceil(log2 d).
inline std::size_t polar_depth(std::size_t d) {
    std::size_t levels = 0;
    while (polar_radii(d, levels) > 1) ++levels;
    return levels;
}

struct PolarForm {
    std::vector<double> angles;  // by level, then by position
    std::vector<double> radii;   // of the blocks left at the top
};

inline double full_circle_angle(double x, double y) {
    if (x == 0 && y == 0) return 0;
    const double psi = std::atan2(y, x);
    return psi < 0 ? psi + 2 * std::numbers::pi : psi;
}

inline PolarForm to_polar(std::span<const double> x, std::size_t levels) {
    PolarForm form{{}, {x.begin(), x.end()}};
    for (std::size_t level = 0; level < levels; ++level) {
        const std::vector<double> below = std::exchange(form.radii, {});
        for (std::size_t i = 0; i + 1 < below.size(); i += 2) {
            const double a = below[i], b = below[i + 1];
            form.angles.push_back(level == 0 ? full_circle_angle(a, b) : std::atan2(b, a));
            form.radii.push_back(std::hypot(a, b));
        }
        if (below.size() % 2 == 1) form.radii.push_back(below.back());
    }
    return form;
}

inline std::vector<double> from_polar(const PolarForm& form, std::size_t d, std::size_t levels) {
    std::vector<double> x = form.radii;
    std::size_t next = form.angles.size();  // the angles of the levels not yet undone come before it
    for (std::size_t level = levels; level-- > 0;) {
        const std::size_t below = polar_radii(d, level), pairs = below / 2;
        std::vector<double> y(below);
        next -= pairs;
        for (std::size_t i = 0; i < pairs; ++i) {
            y[2 * i] = x.at(i) * std::cos(form.angles.at(next + i));
            y[2 * i + 1] = x.at(i) * std::sin(form.angles.at(next + i));
        }
        if (below % 2 == 1) y.back() = x.back();
        x = y;
    }
    return x;
}

// The uniform angle of level 1. Its moments are left out.
inline Codebook full_circle_book(unsigned bits) {
    Codebook book;
    const std::size_t levels = std::size_t{1} << bits;
    const double step = 2 * std::numbers::pi / static_cast<double>(levels);
    for (std::size_t i = 0; i < levels; ++i) book.centroids.push_back((static_cast<double>(i) + 0.5) * step);
    for (std::size_t i = 1; i < levels; ++i) book.boundaries.push_back(static_cast<double>(i) * step);
    return book;
}

struct PolarBooks {
    struct Level {
        std::vector<BlockPair> pairs;
        unsigned bits;
        Codebook book, last;  // of the first pair and of the last, the only one that may differ
        const Codebook& of(std::size_t i) const { return i + 1 == pairs.size() ? last : book; }
    };
    std::size_t d;
    std::vector<Level> levels;
};

// One level for each entry of `bits`, level 1 first.
inline PolarBooks polar_books(std::size_t d, std::span<const unsigned> bits) {
    PolarBooks books{d, {}};
    const auto book_of = [](BlockPair pair, unsigned b) {
        return pair.n1 == 1 ? full_circle_book(b) : polar_angle_book(pair.n1, pair.n2, b);
    };
    for (const std::vector<BlockPair>& pairs : polar_tree(d, bits.size())) {
        const unsigned b = bits[books.levels.size()];
        books.levels.push_back({pairs, b, book_of(pairs.front(), b), book_of(pairs.back(), b)});
    }
    return books;
}

// Every angle of every level at so many bits, down to one radius.
inline PolarBooks polar_books(std::size_t d, unsigned bits) {
    return polar_books(d, std::vector<unsigned>(polar_depth(d), bits));
}

struct PolarCode {
    std::vector<std::size_t> indices;  // by level, then by position
    std::vector<double> radii;         // as they are; see to_float16
};

inline PolarCode polar_encode(const PolarBooks& books, std::span<const double> x) {
    const PolarForm form = to_polar(x, books.levels.size());
    PolarCode code{{}, form.radii};
    for (const PolarBooks::Level& level : books.levels)
        for (std::size_t i = 0; i < level.pairs.size(); ++i)
            code.indices.push_back(level_index(level.of(i), form.angles.at(code.indices.size())));
    return code;
}

inline std::vector<double> polar_decode(const PolarBooks& books, std::span<const std::size_t> indices,
                                        std::span<const double> radii) {
    PolarForm form{{}, {radii.begin(), radii.end()}};
    for (const PolarBooks::Level& level : books.levels)
        for (std::size_t i = 0; i < level.pairs.size(); ++i)
            form.angles.push_back(level.of(i).centroids.at(indices[form.angles.size()]));
    return from_polar(form, books.d, books.levels.size());
}

// A unit vector, from the angles alone.
inline std::vector<double> polar_decode(const PolarBooks& books, std::span<const std::size_t> indices) {
    return polar_decode(books, indices, std::vector<double>{1.0});
}

inline std::vector<double> to_float16(std::vector<double> radii) {
    for (double& r : radii) r = round_to_float16(r);
    return radii;
}

// For each angle, its distance to the nearest boundary; at level 1 also to 0, where the last index meets the first.
inline std::vector<double> polar_margins(const PolarBooks& books, std::span<const double> x) {
    const PolarForm form = to_polar(x, books.levels.size());
    std::vector<double> margins;
    for (const PolarBooks::Level& level : books.levels) {
        for (std::size_t i = 0; i < level.pairs.size(); ++i) {
            const double psi = form.angles.at(margins.size());
            const double margin = boundary_margin(level.of(i), psi);
            const bool circle = level.pairs[i].n1 == 1;
            margins.push_back(circle ? std::min({margin, psi, 2 * std::numbers::pi - psi}) : margin);
        }
    }
    return margins;
}

// Angles, and radii of so many bits each, without padding.
inline double polar_bits_per_coordinate(const PolarBooks& books, double radius_bits) {
    double bits = radius_bits * static_cast<double>(polar_radii(books.d, books.levels.size()));
    for (const PolarBooks::Level& level : books.levels) bits += level.bits * static_cast<double>(level.pairs.size());
    return bits / static_cast<double>(books.d);
}

namespace detail {

// E[cos psi cos psi^] and E[sin psi sin psi^]. Where the angle is uniform on the circle only their sum is needed, as the
// coordinates below are exact: that is E cos(psi - psi^), psi - psi^ uniform, here in two halves.
inline std::pair<double, double> polar_cosines(BlockPair pair, const Codebook& book) {
    static const GaussRule rule;
    if (pair.n1 == 1) {
        const double half_step = std::numbers::pi / static_cast<double>(book.centroids.size());
        return {std::sin(half_step) / half_step / 2, std::sin(half_step) / half_step / 2};
    }
    const PolarAngleDensity f{static_cast<double>(pair.n1), static_cast<double>(pair.n2)};
    std::pair<double, double> sum{0, 0};
    for (std::size_t i = 0; i < book.centroids.size(); ++i) {
        const double low = i == 0 ? 0 : book.boundaries[i - 1];
        const double high = i < book.boundaries.size() ? book.boundaries[i] : f.reach();
        const double panels = std::ceil((high - low) / f.panel()), half = (high - low) / panels / 2;
        for (double k = 0; k < panels; k += 1) {
            for (std::size_t n = 0; n < GaussRule::order; ++n) {
                const double psi = low + (2 * k + 1 + rule.node[n]) * half, w = half * rule.weight[n] * f.value(psi);
                sum.first += w * std::cos(psi) * std::cos(book.centroids[i]);
                sum.second += w * std::sin(psi) * std::sin(book.centroids[i]);
            }
        }
    }
    return sum;
}

}  // namespace detail

// The exact D for a Gaussian vector (or a uniform direction, which has the same angles), the radii not rounded.
inline double polar_distortion(const PolarBooks& books) {
    struct Block {
        double coordinates, cosine;  // the mean cosine
    };
    std::vector<Block> blocks(books.d, {1, 1});
    for (const PolarBooks::Level& level : books.levels) {
        std::vector<Block> joined;
        const auto cosines = detail::polar_cosines(level.pairs.front(), level.book);
        const auto last = detail::polar_cosines(level.pairs.back(), level.last);
        for (std::size_t i = 0; i < level.pairs.size(); ++i) {
            const Block &first = blocks[2 * i], &second = blocks[2 * i + 1];
            const auto& [along, across] = i + 1 == level.pairs.size() ? last : cosines;
            joined.push_back(
                {first.coordinates + second.coordinates, along * first.cosine + across * second.cosine});
        }
        if (blocks.size() % 2 == 1) joined.push_back(blocks.back());
        blocks = joined;
    }
    double distortion = 0;  // a block's share of the squared norm is its share of the coordinates
    for (const Block& block : blocks)
        distortion += block.coordinates / static_cast<double>(books.d) * (2 - 2 * block.cosine);
    return distortion;
}

}  // namespace kvcodec_oracle
