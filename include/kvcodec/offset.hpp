// A head's mean row, taken off before the norm and kept once a head: what is left is coded. Where keys share a large
// constant (Qwen2.5's key bias has norms of 605 to 921, and 3-bit perplexity went from 7.5 to 9,410) it decides between
// working and not, since the error of a codec is relative to the row's whole length.
//
//   row:  the inner codec's row of x - mean
//
// Keys: <q, x> = <q, x - mean> + <q, mean>, and the second term is the same for all keys of a query, so a softmax does not
// need it: prepare adds it once a query, prepare_shifted leaves it out. Values: the mean is added once, times the sum of
// the weights, when a sum is finished.
#pragma once

#include "concepts.hpp"
#include "row_interface.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {
/// "inner+offset", of a codec's name.
template <class Inner>
inline constexpr auto offset_name = [] {
  constexpr std::string_view suffix = "+offset";
  std::array<char, Inner::name.size() + suffix.size()> text{};
  for (std::size_t i = 0; i < Inner::name.size(); ++i) text[i] = Inner::name[i];
  for (std::size_t i = 0; i < suffix.size(); ++i) text[Inner::name.size() + i] = suffix[i];
  return text;
}();
}  // namespace detail

template <class Inner>
class OffsetCodec : public RowInterface<OffsetCodec<Inner>, Inner::dim, Inner::row_bytes> {
  static constexpr std::size_t D = Inner::dim;

 public:
  static constexpr std::string_view name{detail::offset_name<Inner>.data(), detail::offset_name<Inner>.size()};
  static_assert(name.size() <= std::tuple_size_v<decltype(Descriptor::name)>);

  struct Query {
    typename Inner::Query inner;
    float shift;  ///< <q, mean>, or 0
  };
  struct Accumulator {
    typename Inner::Accumulator inner;
    float weights = 0;
  };

  /// A mean of zeros.
  KVCODEC_HD explicit OffsetCodec(std::uint64_t seed = 0) noexcept : inner_(seed), mean_{} {}
  /// mean: of one head's rows, finite (calibration.hpp estimates one). It is needed to read the rows again; the descriptor
  /// knows it by a hash.
  KVCODEC_HD OffsetCodec(const Inner& inner, std::span<const float, D> mean) noexcept : inner_(inner) {
    for (std::size_t i = 0; i < D; ++i) mean_[i] = mean[i];
  }

  Descriptor descriptor() const noexcept {
    Descriptor d = inner_.descriptor();
    DescriptorHash hash;  // of the mean's bits, over what the inner codec has in the bytes that it takes
    for (const std::uint8_t byte : d.parameters) hash.add(byte);
    for (std::size_t i = 0; i < D; ++i)
      for (int k = 0; k < 4; ++k) hash.add(float_bits(mean_[i]) >> (8 * k) & 0xffu);
    hash.store(d);
    d.set_name(name);
    return d;
  }

  std::span<const float, D> mean() const noexcept { return std::span<const float, D>(mean_, D); }

  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* row) const noexcept {
    float rest[D];
    for (std::size_t i = 0; i < D; ++i) {
      const float value = to_float(x[i]);
      if (!is_finite(value)) return Status::non_finite;
      rest[i] = saturate_to<float>(value - mean_[i]);
    }
    return inner_.encode_row(rest, row);
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    float rest[D];
    inner_.decode_row(row, rest);
    for (std::size_t i = 0; i < D; ++i) x[i] = saturate_to<T>(rest[i] + mean_[i]);
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    Query query = prepare_shifted_row(q);
    float wide[D];
    for (std::size_t i = 0; i < D; ++i) wide[i] = to_float(q[i]);
    query.shift = dot_product<D>(wide, mean_);
    return query;
  }

  /// A query whose scores all lack <q, mean>: the same softmax, and scores no larger than they need be.
  template <Real T>
  [[nodiscard]] Query prepare_shifted(std::span<const T, D> q) const noexcept {
    return prepare_shifted_row(q.data());
  }
  template <Real T>
  KVCODEC_HD Query prepare_shifted_row(const T* q) const noexcept {
    return {inner_.prepare_row(q), 0.0f};
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    return inner_.score_row(query.inner, row) + query.shift;
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    inner_.accumulate_row(weight, row, sum.inner);
    sum.weights += weight;
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    float rest[D];
    inner_.finish_row(sum.inner, rest);
    for (std::size_t i = 0; i < D; ++i) out[i] = saturate_to<T>(multiply_add(sum.weights, mean_[i], rest[i]));
  }

 private:
  Inner inner_;
  float mean_[D];
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
