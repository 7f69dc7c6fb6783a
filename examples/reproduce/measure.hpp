// What the tables are made of: Gaussian keys in blocks, queries, and a codec's figures over them.
#pragma once

#include "report.hpp"

#include "kvcodec/kvcodec.hpp"
#include "kvcodec/quality/attention.hpp"
#include "kvcodec/quality/distortion.hpp"
#include "kvcodec/quality/sources.hpp"
#include "kvcodec/quality/statistics.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace reproduce {

namespace quality = kvcodec::quality;

inline constexpr std::size_t dim = 128;
/// Keys a block: the needle's haystack, and what one mean of those behind a standard error is over.
inline constexpr std::size_t block_keys = 2048;

/// The mean of independent block means, and its standard error.
inline Estimate estimate(std::span<const double> blocks) {
  const quality::MeanEstimate mean = quality::mean_estimate(blocks);
  return {mean.value, mean.standard_error};
}

/// Keys N(0, I) in blocks; a few queries a block, of length 1; their exact products.
class Sample {
 public:
  static constexpr std::size_t queries = 16;  ///< a block

  /// At least this many keys. In every fourth channel they are `outlier` times as large.
  Sample(std::size_t least_keys, std::uint64_t seed, double outlier = 1)
      : blocks((least_keys + block_keys - 1) / block_keys), codec_seed(seed + 0x5eedu) {
    kvcodec::SplitMix64 seeds(seed);
    keys_ = quality::gaussian_rows(blocks * block_keys, dim, seeds());
    if (outlier != 1)
      for (std::size_t i = 0; i < keys_.size(); i += 4) keys_[i] *= static_cast<float>(outlier);
    queries_ = quality::gaussian_rows(blocks * queries, dim, seeds());
    for (std::size_t q = 0; q < queries_.size(); q += dim) {
      double square = 0;
      for (std::size_t i = 0; i < dim; ++i) square += double{queries_[q + i]} * double{queries_[q + i]};
      for (std::size_t i = 0; i < dim; ++i) queries_[q + i] = static_cast<float>(queries_[q + i] / std::sqrt(square));
    }
    products_.resize(blocks * queries * block_keys);
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::size_t q = 0; q < queries; ++q) quality::attention_scores(query(b, q), keys(b), products(b, q));
  }

  std::span<const float> keys() const noexcept { return keys_; }
  std::span<const float> keys(std::size_t block) const noexcept {
    return keys().subspan(block * block_keys * dim, block_keys * dim);
  }
  std::span<const float, dim> query(std::size_t block, std::size_t q) const noexcept {
    return std::span<const float, dim>(queries_.data() + (block * queries + q) * dim, dim);
  }
  std::span<const double> exact(std::size_t block, std::size_t q) const noexcept {
    return std::span(products_).subspan((block * queries + q) * block_keys, block_keys);
  }

  const std::size_t blocks;
  const std::uint64_t codec_seed;  ///< of the first block's codec; the next one's is one more

 private:
  std::span<double> products(std::size_t block, std::size_t q) noexcept {
    return std::span(products_).subspan((block * queries + q) * block_keys, block_keys);
  }

  std::vector<float> keys_, queries_;
  std::vector<double> products_;
};

/// One block's packed keys.
template <class C>
std::vector<std::byte> pack(const C& codec, std::span<const float> keys) {
  std::vector<std::byte> packed(keys.size() / dim * C::row_bytes);
  [[maybe_unused]] const auto stored = codec.encode_rows(keys, {packed.data(), keys.size() / dim, C::row_bytes});
  assert(stored.status == kvcodec::Status::ok);
  return packed;
}
template <class C>
void unpack(const C& codec, const std::vector<std::byte>& packed, std::span<float> keys) {
  [[maybe_unused]] const auto done = codec.decode_rows({packed.data(), keys.size() / dim, C::row_bytes}, keys);
  assert(done == kvcodec::Status::ok);
}
template <class C>
void score(const C& codec, std::span<const float, dim> query, const std::vector<std::byte>& packed,
           std::span<float> scores) {
  [[maybe_unused]] const auto scored =
      codec.score_rows(codec.prepare(query), {packed.data(), scores.size(), C::row_bytes}, scores);
  assert(scored == kvcodec::Status::ok);
}

struct Figures {
  Estimate distortion;      ///< D = E|k - k'|^2 / |k|^2
  Estimate cosine;          ///< between k and k'
  Estimate gain;            ///< E<k, k'> / |k|^2: 1 where inner products are unbiased
  Estimate product_error;   ///< E|q.k - score|, q ~ N(0, I)
  Estimate product_square;  ///< d E(q.k - score)^2 / |k|^2, |q| = 1
};

template <class C>
C seeded(std::uint64_t seed) {
  return C(seed);
}

/// D alone, which takes no scores. make(seed) gives a block's codec.
template <class C, class Make = C (*)(std::uint64_t)>
Estimate measure_distortion(const Sample& sample, Make make = seeded<C>) {
  std::vector<double> distortion(sample.blocks);
  std::vector<float> decoded(block_keys * dim);
  for (std::size_t b = 0; b < sample.blocks; ++b) {
    const C codec = make(sample.codec_seed + b);
    unpack(codec, pack(codec, sample.keys(b)), decoded);
    distortion[b] = quality::distortion(sample.keys(b), decoded, dim).relative_error;
  }
  return estimate(distortion);
}

/// All of a codec's figures.
template <class C>
Figures measure(const Sample& sample) {
  // Queries have length 1 and directions like N(0, I)'s, which their length does not depend on: E|q.e| = E|q| E|(q/|q|).e|.
  // With drawn lengths, a few hundred queries would leave the mean 0.3 % of noise; one query would leave it 6 %.
  const double mean_length = std::sqrt(2 / std::numbers::pi) / kvcodec::mean_magnitude(dim);
  std::vector<double> distortion(sample.blocks), cosine(sample.blocks), gain(sample.blocks), absolute(sample.blocks),
      square(sample.blocks);
  std::vector<float> decoded(block_keys * dim), scores(block_keys);
  std::vector<double> squares(block_keys);
  for (std::size_t b = 0; b < sample.blocks; ++b) {
    const C codec(sample.codec_seed + b);
    const std::span<const float> keys = sample.keys(b);
    const std::vector<std::byte> packed = pack(codec, keys);
    unpack(codec, packed, decoded);
    const quality::Distortion d = quality::distortion(keys, decoded, dim);
    distortion[b] = d.relative_error;
    cosine[b] = d.cosine;
    for (std::size_t k = 0; k < block_keys; ++k) {
      double own = 0, with_decoded = 0;
      for (std::size_t i = k * dim; i < (k + 1) * dim; ++i) {
        own += double{keys[i]} * double{keys[i]};
        with_decoded += double{keys[i]} * double{decoded[i]};
      }
      squares[k] = own;
      gain[b] += with_decoded / own / block_keys;
    }
    for (std::size_t q = 0; q < Sample::queries; ++q) {
      score(codec, sample.query(b, q), packed, scores);
      const std::span<const double> exact = sample.exact(b, q);
      for (std::size_t k = 0; k < block_keys; ++k) {
        const double e = exact[k] - double{scores[k]};
        absolute[b] += mean_length * std::abs(e) / (block_keys * Sample::queries);
        square[b] += dim * e * e / squares[k] / (block_keys * Sample::queries);
      }
    }
  }
  return {estimate(distortion), estimate(cosine), estimate(gain), estimate(absolute), estimate(square)};
}

}  // namespace reproduce
