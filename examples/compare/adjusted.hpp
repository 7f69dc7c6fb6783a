// What the library offers as other types, OffsetCodec and Options::correction, done to a codec at run time instead: as
// types they would be every codec compiled four times more. The bytes of an offset's rows are the library's. A
// correction's are but for the last bit of a length now and then, since the library's encoder works in the rotated basis;
// and it need not rotate back to find the factor, so that encoding is slower here than there.
#pragma once

#include "any_codec.hpp"

#include "kvcodec/arithmetic.hpp"
#include "kvcodec/half.hpp"
#include "kvcodec/norm.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace compare {

namespace detail {

/// Calls work(first vector's place, vectors, rows) on a few rows at a time, so that what it computes stays in cache.
template <class Work>
void in_blocks(std::span<const float> vectors, Rows rows, Work work) {
  constexpr std::size_t block = 16;
  const std::size_t dim = rows.count == 0 ? 0 : vectors.size() / rows.count;
  for (std::size_t i = 0; i < rows.count; i += block) {
    const std::size_t count = std::min(block, rows.count - i);
    work(vectors.subspan(i * dim, count * dim), Rows{rows[i], count, rows.stride});
  }
}

}  // namespace detail

/// kvcodec::OffsetCodec: a head's mean row is taken off before coding. The mean itself is in no row.
class WithOffset final : public AnyCodec {
 public:
  WithOffset(SharedCodec inner, std::span<const float> mean)
      : AnyCodec(inner->row_bytes, inner->bits, false), inner_(std::move(inner)), mean_(mean.begin(), mean.end()) {}

  void encode(std::span<const float> vectors, Rows rows) const override {
    std::vector<float> rest;
    detail::in_blocks(vectors, rows, [&](std::span<const float> some, Rows their_rows) {
      rest.resize(some.size());
      for (std::size_t i = 0; i < some.size(); i += mean_.size())
        for (std::size_t j = 0; j < mean_.size(); ++j)
          rest[i + j] = kvcodec::saturate_to<float>(some[i + j] - mean_[j]);
      inner_->encode(rest, their_rows);
    });
  }
  void decode(ConstRows rows, std::span<float> vectors) const override {
    inner_->decode(rows, vectors);
    for (std::size_t i = 0; i < vectors.size(); i += mean_.size())
      for (std::size_t j = 0; j < mean_.size(); ++j)
        vectors[i + j] = kvcodec::saturate_to<float>(vectors[i + j] + mean_[j]);
  }
  void score(std::span<const float> query, ConstRows rows, std::span<float> scores) const override {
    inner_->score(query, rows, scores);
    float shift = 0;
    for (std::size_t j = 0; j < mean_.size(); ++j) shift += query[j] * mean_[j];
    for (float& score : scores) score += shift;
  }
  void combine(std::span<const float> weights, ConstRows rows, std::span<float> out) const override {
    inner_->combine(weights, rows, out);
    float sum = 0;
    for (const float weight : weights) sum += weight;
    for (std::size_t j = 0; j < mean_.size(); ++j) out[j] = kvcodec::saturate_to<float>(out[j] + sum * mean_[j]);
  }

 private:
  SharedCodec inner_;
  std::vector<float> mean_;
};

/// kvcodec::Options::correction: the encoder chooses the length that a row stores. A decoder knows nothing of it.
class Corrected final : public AnyCodec {
 public:
  Corrected(SharedCodec inner, kvcodec::Correction correction)
      : AnyCodec(inner->row_bytes, inner->bits, true), inner_(std::move(inner)), correction_(correction) {}

  void encode(std::span<const float> vectors, Rows rows) const override {
    std::vector<float> decoded;
    detail::in_blocks(vectors, rows, [&](std::span<const float> some, Rows their_rows) {
      decoded.resize(some.size());
      inner_->encode(some, their_rows);
      inner_->decode(their_rows, decoded);
      const std::size_t dim = some.size() / their_rows.count;
      for (std::size_t i = 0; i < their_rows.count; ++i)
        lengthen(their_rows[i], factor(some.data() + i * dim, decoded.data() + i * dim, dim));
    });
  }
  void decode(ConstRows rows, std::span<float> vectors) const override { inner_->decode(rows, vectors); }
  void score(std::span<const float> query, ConstRows rows, std::span<float> scores) const override {
    inner_->score(query, rows, scores);
  }
  void combine(std::span<const float> weights, ConstRows rows, std::span<float> out) const override {
    inner_->combine(weights, rows, out);
  }

 private:
  /// kvcodec::correction_factor, of whole vectors.
  double factor(const float* x, const float* y, std::size_t dim) const {
    double xx = 0, yy = 0, xy = 0;
    for (std::size_t j = 0; j < dim; ++j) {
      const double a = x[j], b = y[j];
      xx += a * a;
      yy += b * b;
      xy += a * b;
    }
    const double by = correction_ == kvcodec::Correction::norm            ? std::sqrt(xx / yy)
                      : correction_ == kvcodec::Correction::inner_product ? xx / xy
                                                                          : xy / yy;
    return by > 0.0625 && by < 16 ? by : 1.0;  // of a row of zeros too
  }
  static void lengthen(std::byte* row, double by) {
    const float length = kvcodec::to_float(kvcodec::load_half<kvcodec::bfloat16>(row)) * static_cast<float>(by);
    kvcodec::store_half(kvcodec::saturate_to<kvcodec::bfloat16>(length), row);
  }

  SharedCodec inner_;
  kvcodec::Correction correction_;
};

/// The codec with this mean taken off; no mean: itself.
inline SharedCodec with_offset(SharedCodec codec, std::span<const float> mean) {
  if (mean.empty()) return codec;
  return std::make_shared<WithOffset>(std::move(codec), mean);
}

/// The codec with corrected lengths; itself where a row begins with none, or none is asked for.
inline SharedCodec with_correction(SharedCodec codec, kvcodec::Correction correction) {
  if (correction == kvcodec::Correction::none || !codec->length_first) return codec;
  return std::make_shared<Corrected>(std::move(codec), correction);
}

}  // namespace compare
