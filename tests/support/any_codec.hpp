// Any codec behind one interface, so that a test of many of them is compiled once and not once a codec.
#pragma once

#include <kvcodec/kvcodec.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvcodec_test {

/// What a codec does with vectors of T: its calls, on spans of any size (vectors of dim, rows of row_bytes).
template <kvcodec::Real T>
class AnyElements {
 public:
  virtual ~AnyElements() = default;
  virtual kvcodec::Status encode(std::span<const T> x, std::byte* row) const = 0;
  virtual kvcodec::EncodeResult encode_rows(std::span<const T> x, kvcodec::Rows rows) const = 0;
  virtual kvcodec::EncodeResult encode_rows(std::span<const T> x, kvcodec::Planes rows) const = 0;
  virtual void decode(const std::byte* row, std::span<T> x) const = 0;
  virtual kvcodec::Status decode_rows(kvcodec::ConstRows rows, std::span<T> x) const = 0;
  /// Of the prepared query.
  virtual float score(std::span<const T> q, const std::byte* row) const = 0;
};

class AnyCodec : public AnyElements<float>, public AnyElements<kvcodec::float16>, public AnyElements<kvcodec::bfloat16> {
 public:
  std::size_t dim = 0, row_bytes = 0, norm_bytes = 0, code_bytes = 0;
  std::string_view name;

  using AnyElements<float>::encode, AnyElements<kvcodec::float16>::encode, AnyElements<kvcodec::bfloat16>::encode;
  using AnyElements<float>::encode_rows, AnyElements<kvcodec::float16>::encode_rows, AnyElements<kvcodec::bfloat16>::encode_rows;
  using AnyElements<float>::decode, AnyElements<kvcodec::float16>::decode, AnyElements<kvcodec::bfloat16>::decode;
  using AnyElements<float>::decode_rows, AnyElements<kvcodec::float16>::decode_rows, AnyElements<kvcodec::bfloat16>::decode_rows;
  using AnyElements<float>::score, AnyElements<kvcodec::float16>::score, AnyElements<kvcodec::bfloat16>::score;

  virtual std::unique_ptr<AnyCodec> copy() const = 0;
  virtual kvcodec::Descriptor descriptor() const = 0;
  virtual std::string refuse_unless_same(std::span<const std::byte> descriptor) const = 0;

  /// score_rows of one query, and of a group of them (group * dim floats).
  virtual kvcodec::Status score_rows(std::span<const float> q, kvcodec::ConstRows rows, std::span<float> scores, kvcodec::Arithmetic) const = 0;
  virtual kvcodec::Status score_rows(std::span<const float> queries, kvcodec::ConstPlanes rows, std::span<float> scores,
                                     kvcodec::Arithmetic) const = 0;
  /// out: the sum from zero, finished, of accumulate row by row; of accumulate_rows (whatever it answers); of a group of
  /// them (group * dim floats).
  virtual void accumulate(std::span<const float> weights, kvcodec::ConstRows rows, std::span<float> out) const = 0;
  virtual kvcodec::Status accumulate_rows(std::span<const float> weights, kvcodec::ConstRows rows, std::span<float> out,
                                          kvcodec::Arithmetic) const = 0;
  virtual kvcodec::Status accumulate_rows(std::span<const float> weights, kvcodec::ConstPlanes rows, std::span<float> out,
                                          kvcodec::Arithmetic) const = 0;
};

namespace detail {

template <class C>
class HoldCodec : public AnyCodec {
 public:
  explicit HoldCodec(const C& held) : codec(held) {
    dim = C::dim;
    row_bytes = C::row_bytes;
    norm_bytes = C::norm_bytes;
    code_bytes = C::code_bytes;
    name = C::name;
  }
  static auto row(const std::byte* bytes) { return std::span<const std::byte, C::row_bytes>(bytes, C::row_bytes); }
  C codec;
};

template <class C, class Base, kvcodec::Real T>
class WithElements : public Base {
 public:
  using Base::Base, Base::encode, Base::encode_rows, Base::decode, Base::decode_rows, Base::score;
  kvcodec::Status encode(std::span<const T> x, std::byte* row) const override {
    return this->codec.encode(x.template first<C::dim>(), std::span<std::byte, C::row_bytes>(row, C::row_bytes));
  }
  kvcodec::EncodeResult encode_rows(std::span<const T> x, kvcodec::Rows rows) const override { return this->codec.encode_rows(x, rows); }
  kvcodec::EncodeResult encode_rows(std::span<const T> x, kvcodec::Planes rows) const override { return this->codec.encode_rows(x, rows); }
  void decode(const std::byte* row, std::span<T> x) const override { this->codec.decode(this->row(row), x.template first<C::dim>()); }
  kvcodec::Status decode_rows(kvcodec::ConstRows rows, std::span<T> x) const override { return this->codec.decode_rows(rows, x); }
  float score(std::span<const T> q, const std::byte* row) const override {
    return this->codec.score(this->codec.prepare(q.template first<C::dim>()), this->row(row));
  }
};

template <class C>
using WithAllElements = WithElements<C, WithElements<C, WithElements<C, HoldCodec<C>, float>, kvcodec::float16>, kvcodec::bfloat16>;

template <class C>
class CodecAsAny final : public WithAllElements<C> {
  using Query = typename C::Query;
  using Accumulator = typename C::Accumulator;

 public:
  using WithAllElements<C>::WithAllElements;

  std::unique_ptr<AnyCodec> copy() const override { return std::make_unique<CodecAsAny>(this->codec); }
  kvcodec::Descriptor descriptor() const override { return this->codec.descriptor(); }
  std::string refuse_unless_same(std::span<const std::byte> descriptor) const override {
    return kvcodec::refuse_unless_same(descriptor, this->codec);
  }

  kvcodec::Status score_rows(std::span<const float> q, kvcodec::ConstRows rows, std::span<float> scores,
                             kvcodec::Arithmetic arithmetic) const override {
    return this->codec.score_rows(this->codec.prepare(q.template first<C::dim>()), rows, scores, arithmetic);
  }
  kvcodec::Status score_rows(std::span<const float> queries, kvcodec::ConstPlanes rows, std::span<float> scores,
                             kvcodec::Arithmetic arithmetic) const override {
    std::vector<Query> prepared;
    for (; queries.size() >= C::dim; queries = queries.subspan(C::dim))
      prepared.push_back(this->codec.prepare(queries.template first<C::dim>()));
    return this->codec.score_rows(std::span<const Query>(prepared), rows, scores, arithmetic);
  }

  void accumulate(std::span<const float> weights, kvcodec::ConstRows rows, std::span<float> out) const override {
    Accumulator sum;
    for (std::size_t i = 0; i < rows.count; ++i) this->codec.accumulate(weights[i], this->row(rows[i]), sum);
    this->codec.finish(sum, out.template first<C::dim>());
  }
  kvcodec::Status accumulate_rows(std::span<const float> weights, kvcodec::ConstRows rows, std::span<float> out,
                                  kvcodec::Arithmetic arithmetic) const override {
    Accumulator sum;
    const kvcodec::Status status = this->codec.accumulate_rows(weights, rows, sum, arithmetic);
    this->codec.finish(sum, out.template first<C::dim>());
    return status;
  }
  kvcodec::Status accumulate_rows(std::span<const float> weights, kvcodec::ConstPlanes rows, std::span<float> out,
                                  kvcodec::Arithmetic arithmetic) const override {
    std::vector<Accumulator> sums(out.size() / C::dim);
    const kvcodec::Status status = this->codec.accumulate_rows(weights, rows, std::span<Accumulator>(sums), arithmetic);
    for (std::size_t k = 0; k < sums.size(); ++k) this->codec.finish(sums[k], out.subspan(k * C::dim).template first<C::dim>());
    return status;
  }
};

}  // namespace detail

template <class C>
std::unique_ptr<AnyCodec> any_codec(const C& codec) {
  static_assert(kvcodec::Format<C> && kvcodec::Codec<C> && kvcodec::KeyCodec<C> && kvcodec::ValueCodec<C>);
  static_assert(C::bits_per_coordinate == 8.0 * static_cast<double>(C::row_bytes) / static_cast<double>(C::dim));
  static_assert(std::is_trivially_copyable_v<C> && std::is_trivially_copyable_v<typename C::Query>);
  return std::make_unique<detail::CodecAsAny<C>>(codec);
}

/// A codec to come, of any seed.
struct CodecFactory {
  std::unique_ptr<AnyCodec> (*make)(std::uint64_t seed);
};
inline void PrintTo(const CodecFactory& factory, std::ostream* out) {
  const auto codec = factory.make(0);
  *out << codec->name << ", d = " << codec->dim << ", " << codec->row_bytes << " bytes";
}

template <std::size_t Step, class... C>
std::vector<CodecFactory> every_so_many() {
  std::vector<CodecFactory> list;
  const auto add = [&]<class One, std::size_t at>() {
    if constexpr (at % Step == 0) list.push_back({[](std::uint64_t seed) { return any_codec(One(seed)); }});
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (add.template operator()<C, I>(), ...); }(std::index_sequence_for<C...>());
  return list;
}

/// The codecs of a list.
template <class... C>
std::vector<CodecFactory> codecs() {
  return every_so_many<1, C...>();
}

/// Every third of them in build variants (KVCODEC_TEST_DIMS), whose compile time is that of such lists.
template <class... C>
std::vector<CodecFactory> sampled_codecs() {
#if defined(KVCODEC_TEST_DIMS)
  return every_so_many<3, C...>();
#else
  return codecs<C...>();
#endif
}

}  // namespace kvcodec_test
