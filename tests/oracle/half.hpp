// float16 and bfloat16 as arithmetic on doubles. Source: IEEE 754-2019, binary16; bfloat16 is binary32's exponent range
// with eight bits of precision. Rounding is to nearest, ties to even: the default mode, which nearbyint follows.
//
// No bit of a double is inspected, so that agreement with a conversion by shifts and masks means something.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kvcodec_oracle {

// Values (-1)^s 2^e f, f in [1, 2) of `precision` bits, min_exponent <= e <= max_exponent, and subnormals below.
struct BinaryFormat {
    int precision, min_exponent, max_exponent, exponent_bits;
};

inline constexpr BinaryFormat float16_format{11, -14, 15, 5};
inline constexpr BinaryFormat bfloat16_format{8, -126, 127, 8};

inline double round_to(const BinaryFormat& format, double x) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent = 0;
    std::frexp(x, &exponent);  // |x| = m 2^exponent, m in [1/2, 1)
    const int quantum = std::max(exponent - format.precision, format.min_exponent - format.precision + 1);
    const double y = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
    // A carry out of the largest binade is an overflow; one within the range is already exact.
    if (std::abs(y) >= std::ldexp(1.0, format.max_exponent + 1))
        return std::copysign(std::numeric_limits<double>::infinity(), x);
    return y;
}

// The sixteen bits of round_to(format, x). Every NaN gives the quiet one of the same sign with an empty payload.
inline std::uint16_t to_bits(const BinaryFormat& format, double x) {
    const double y = round_to(format, x);
    const double per_binade = std::ldexp(1.0, format.precision - 1),
                 infinity = std::ldexp(1.0, format.exponent_bits) - 1;
    double code = 0;
    if (std::isnan(y)) {
        code = (infinity + 0.5) * per_binade;
    } else if (std::isinf(y)) {
        code = infinity * per_binade;
    } else if (y != 0) {
        int exponent = 0;
        const double f = 2 * std::frexp(std::abs(y), &exponent);
        --exponent;
        if (exponent < format.min_exponent)
            code = std::ldexp(std::abs(y), format.precision - 1 - format.min_exponent);
        else
            code = (exponent - format.min_exponent + f) * per_binade;
    }
    return static_cast<std::uint16_t>(code + (std::signbit(y) ? 32768 : 0));
}

inline double from_bits(const BinaryFormat& format, std::uint16_t bits) {
    const bool negative = bits >= 32768;
    const int code = bits % 32768, per_binade = 1 << (format.precision - 1);
    const int biased = code / per_binade, fraction = code % per_binade;
    double y = 0;
    if (biased == (1 << format.exponent_bits) - 1)
        y = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (biased == 0)
        y = std::ldexp(fraction, format.min_exponent - format.precision + 1);
    else
        y = std::ldexp(per_binade + fraction, biased - 1 + format.min_exponent - format.precision + 1);
    return std::copysign(y, negative ? -1.0 : 1.0);
}

inline double round_to_float16(double x) { return round_to(float16_format, x); }
inline double round_to_bfloat16(double x) { return round_to(bfloat16_format, x); }
inline std::uint16_t float16_bits(double x) { return to_bits(float16_format, x); }
inline std::uint16_t bfloat16_bits(double x) { return to_bits(bfloat16_format, x); }
inline double float16_value(std::uint16_t bits) { return from_bits(float16_format, bits); }
inline double bfloat16_value(std::uint16_t bits) { return from_bits(bfloat16_format, bits); }

}  // namespace kvcodec_oracle
