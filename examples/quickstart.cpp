// Attention over packed keys and values: the README's example, on Gaussian rows, beside the same on uncompressed ones.
#include <kvcodec/kvcodec.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

std::vector<float> gaussian(std::size_t n, std::uint64_t seed) {
  kvcodec::SplitMix64 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.gaussian());
  return x;
}

void softmax(std::span<float> w) {
  float sum = 0;
  for (float& x : w) sum += x = std::exp(x / std::sqrt(128.0f));
  for (float& x : w) x /= sum;
}

bool packed_attention(std::span<const float> keys, std::span<const float> values, std::span<const float, 128> q, std::span<float> w,
                      std::span<float, 128> out) {
  const std::size_t n = w.size();
  // README: begin
  using Codec = kvcodec::Octopus<128, 3>;                           // 56 bytes a row; float16 takes 256
  const Codec codec(/*seed=*/42);
  std::vector<std::byte> k(n * Codec::row_bytes), v(n * Codec::row_bytes);
  const auto stored_k = codec.encode_rows(keys, {k.data(), n, Codec::row_bytes});
  const auto stored_v = codec.encode_rows(values, {v.data(), n, Codec::row_bytes});
  const auto scored = codec.score_rows(codec.prepare(q), {k.data(), n, Codec::row_bytes}, w);  // w[t] = <q, key t>
  softmax(w);                                                       // yours: exp(w / sqrt(128)), normalised
  Codec::Accumulator sum;                                           // in the rotated basis
  const auto summed = codec.accumulate_rows(w, {v.data(), n, Codec::row_bytes}, sum);  // sum += w[t] * value t
  codec.finish(sum, out);                                           // rotated back, once
  // README: end
  const auto ok = kvcodec::Status::ok;
  return stored_k.status == ok && stored_v.status == ok && scored == ok && summed == ok;
}

}  // namespace

int main() {
  constexpr std::size_t n = 512, d = 128;
  const auto keys = gaussian(n * d, 1), values = gaussian(n * d, 2), query = gaussian(d, 3);
  std::vector<float> weights(n);
  std::array<float, d> out;
  if (!packed_attention(keys, values, std::span<const float, d>(query.data(), d), weights, out)) return 1;

  for (std::size_t t = 0; t < n; ++t) {
    weights[t] = 0;
    for (std::size_t i = 0; i < d; ++i) weights[t] += query[i] * keys[t * d + i];
  }
  softmax(weights);
  double error = 0, square = 0;
  for (std::size_t i = 0; i < d; ++i) {
    double exact = 0;
    for (std::size_t t = 0; t < n; ++t) exact += static_cast<double>(weights[t]) * values[t * d + i];
    error += (out[i] - exact) * (out[i] - exact);
    square += exact * exact;
  }
  const double relative = std::sqrt(error / square);
  std::printf("%zu tokens: %zu bytes instead of %zu; the attention output is off by %.3f of its length\n", n,
              2 * n * kvcodec::Octopus<d, 3>::row_bytes, 2 * n * kvcodec::Float16<d>::row_bytes, relative);
  return relative < 0.3 ? 0 : 1;
}
