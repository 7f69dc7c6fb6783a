// The softmax of scores that come in blocks, with a running maximum (Milakov and Gimelshein, arXiv 1805.02867), and the
// weighted sums that have to follow that maximum.
#pragma once

#include "../arithmetic.hpp"
#include "exponential.hpp"

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {
namespace detail {

/// f(address) for each 16 of n values; the last ones are given in a copy, filled up with `padding`.
template <class F>
inline void in_lanes(float* x, std::size_t n, float padding, F f) noexcept {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) f(x + i);
  if (i == n) return;
  float rest[lanes];
  for (std::size_t l = 0; l < lanes; ++l) rest[l] = i + l < n ? x[i + l] : padding;
  f(rest);
  for (std::size_t l = 0; i + l < n; ++l) x[i + l] = rest[l];
}

/// What the softmax of one query amounts to so far: the largest score, and the sum of all weights exp(score - largest),
/// which is at least 1, or 0 where there was no score but -infinity. A NaN as the sum stays one.
struct Softmax {
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  float largest = -infinity;
  float sum = 0;

  bool empty() const noexcept { return sum == 0; }
  float log_sum_exp() const noexcept { return empty() ? -infinity : largest + __builtin_logf(sum); }

  /// Turns scores into weights, in place: of scale * score, or soft_cap * tanh(scale * score / soft_cap) unless soft_cap is
  /// 0. Gives the factor of every sum that was made with earlier weights. After a NaN or +infinity the sum is a NaN and the
  /// weights are zeros, so that no kernel meets what is not finite.
  [[nodiscard]] float take(float* scores, std::size_t n, float scale, float soft_cap) noexcept {
    if (soft_cap == 0) {
      in_lanes(scores, n, 0, [&](float* x) {
        for (std::size_t l = 0; l < lanes; ++l) x[l] *= scale;
      });
    } else {
      const float inner = scale / soft_cap;
      in_lanes(scores, n, 0, [&](float* x) {
        for (std::size_t l = 0; l < lanes; ++l) x[l] = soft_cap * hyperbolic_tangent(x[l] * inner);
      });
    }
    float lane[lanes];
    for (float& x : lane) x = largest;
    in_lanes(scores, n, -infinity, [&](float* x) {
      for (std::size_t l = 0; l < lanes; ++l) lane[l] = x[l] > lane[l] ? x[l] : lane[l];
    });
    float new_largest = lane[0];
    for (const float x : lane) new_largest = x > new_largest ? x : new_largest;

    const float shift = new_largest == -infinity ? 0.0f : new_largest;  // -infinity less itself would be a NaN
    for (float& x : lane) x = 0;
    in_lanes(scores, n, -infinity, [&](float* x) {
      for (std::size_t l = 0; l < lanes; ++l) x[l] = exponential(x[l] - shift);
      for (std::size_t l = 0; l < lanes; ++l) lane[l] += x[l];
    });
    const float weights = reduce(lane);
    if (weights != weights) {
      sum = weights;
      for (std::size_t i = 0; i < n; ++i) scores[i] = 0;
      return 1;
    }
    const float factor = decay(largest, new_largest);
    sum = multiply_add(sum, factor, weights);
    largest = new_largest;
    return factor;
  }

  /// The factors of this softmax's sums and of the other's in the sums of both.
  struct Factors {
    float mine, other;
  };
  [[nodiscard]] Factors merge(const Softmax& other) noexcept {
    const float both = other.largest > largest ? other.largest : largest;
    const Factors factors{decay(largest, both), decay(other.largest, both)};
    sum = multiply_add(factors.mine, sum, factors.other * other.sum);
    largest = both;
    return factors;
  }

 private:
  static float decay(float from, float to) noexcept { return from == to ? 1.0f : exponential(from - to); }
};

/// x = f(x, y) for the floats x of a sum and y of another. An Accumulator must be, as all of the library's are, floats and
/// nothing else.
template <class A, class F>
inline void change_floats(A& sum, const A& other, F f) noexcept {
  static_assert(std::is_trivially_copyable_v<A> && sizeof(A) % sizeof(float) == 0 && alignof(A) != alignof(double),
                "kvcodec: an Accumulator is floats and nothing else");
  std::byte* const to = reinterpret_cast<std::byte*>(&sum);
  const std::byte* const from = reinterpret_cast<const std::byte*>(&other);
  const auto change = [&]<std::size_t N>(std::integral_constant<std::size_t, N>, std::size_t at) {
    float x[N], y[N];
    std::memcpy(x, to + at, sizeof x);
    std::memcpy(y, from + at, sizeof y);
    for (std::size_t l = 0; l < N; ++l) x[l] = f(x[l], y[l]);
    std::memcpy(to + at, x, sizeof x);
  };
  constexpr std::size_t width = lanes * sizeof(float), whole = sizeof(A) / width * width;
  for (std::size_t at = 0; at < whole; at += width) change(std::integral_constant<std::size_t, lanes>(), at);
  for (std::size_t at = whole; at < sizeof(A); at += sizeof(float)) change(std::integral_constant<std::size_t, 1>(), at);
}

/// sum = a * sum.
template <class A>
inline void scale(float a, A& sum) noexcept {
  change_floats(sum, sum, [&](float x, float) { return a * x; });
}

/// sum = a * sum + b * other.
template <class A>
inline void combine(float a, A& sum, float b, const A& other) noexcept {
  change_floats(sum, other, [&](float x, float y) { return multiply_add(a, x, b * y); });
}

}  // namespace detail
}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
