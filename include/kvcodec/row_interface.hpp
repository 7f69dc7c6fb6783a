// What every codec offers on top of its single-row primitives: typed, sized, many-row calls, written once.
//
// A codec derives from RowInterface<Codec, dim, row_bytes> and gives, for T = float, float16, bfloat16,
//   Status encode_row(const T* x, std::byte* row) const noexcept;
//   void   decode_row(const std::byte* row, T* x) const noexcept;
//   Query  prepare_row(const T* q) const noexcept;              struct Query
//   float  score_row(const Query&, const std::byte* row) const noexcept;
//   void   accumulate_row(float w, const std::byte* row, Accumulator&) const noexcept;   struct Accumulator
//   void   finish_row(const Accumulator&, T* out) const noexcept;
// on raw pointers to dim values and row_bytes bytes: those are also what a CUDA kernel calls.
#pragma once

#include "half.hpp"
#include "rows.hpp"

#include <cstddef>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

/// The calls that take or give vectors of T.
template <class C, std::size_t D, std::size_t RowBytes, Real T>
class ElementInterface {
 public:
  /// Encodes one vector. non_finite: x holds a NaN or an infinity and the row keeps the bytes it had.
  [[nodiscard]] Status encode(std::span<const T, D> x, std::span<std::byte, RowBytes> row) const noexcept {
    return self().encode_row(x.data(), row.data());
  }

  /// Decodes one row. Any byte pattern is defined; a row that encode wrote gives finite values.
  void decode(std::span<const std::byte, RowBytes> row, std::span<T, D> x) const noexcept {
    self().decode_row(row.data(), x.data());
  }

  /// A query, ready to be scored against any number of rows: rotated once.
  [[nodiscard]] auto prepare(std::span<const T, D> q) const noexcept { return self().prepare_row(q.data()); }

  /// The weighted sum of the accumulated rows, un-rotated once.
  template <class Accumulator>
  void finish(const Accumulator& sum, std::span<T, D> out) const noexcept {
    self().finish_row(sum, out.data());
  }

  /// Encodes rows.count vectors, consecutive in x. A vector that is not finite leaves its row's bytes as they were, is
  /// reported (the first one by its index), and does not stop the others. size_mismatch: nothing was written.
  [[nodiscard]] EncodeResult encode_rows(std::span<const T> x, Rows rows) const noexcept {
    if (!fits(rows, x.size())) return {Status::size_mismatch, 0};
    EncodeResult result;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const Status status = self().encode_row(x.data() + i * D, rows[i]);
      if (status != Status::ok && result.status == Status::ok) result = {status, i};
    }
    return result;
  }

  /// Decodes rows.count rows into x, consecutively.
  [[nodiscard]] Status decode_rows(ConstRows rows, std::span<T> x) const noexcept {
    if (!fits(rows, x.size())) return Status::size_mismatch;
    for (std::size_t i = 0; i < rows.count; ++i) self().decode_row(rows[i], x.data() + i * D);
    return Status::ok;
  }

 private:
  const C& self() const noexcept { return static_cast<const C&>(*this); }
  static bool fits(ConstRows rows, std::size_t values) noexcept {
    return values % D == 0 && values / D == rows.count && C::valid(rows);
  }
};

}  // namespace detail

template <class C, std::size_t D, std::size_t RowBytes>
class RowInterface : public detail::ElementInterface<C, D, RowBytes, float>,
                     public detail::ElementInterface<C, D, RowBytes, float16>,
                     public detail::ElementInterface<C, D, RowBytes, bfloat16> {
  template <class T>
  using Element = detail::ElementInterface<C, D, RowBytes, T>;

 public:
  static constexpr std::size_t dim = D;
  static constexpr std::size_t row_bytes = RowBytes;
  /// Everything stored counts: the length and the padding too.
  static constexpr double bits_per_coordinate = 8.0 * static_cast<double>(RowBytes) / static_cast<double>(D);

  using Element<float>::encode, Element<float16>::encode, Element<bfloat16>::encode;
  using Element<float>::decode, Element<float16>::decode, Element<bfloat16>::decode;
  using Element<float>::prepare, Element<float16>::prepare, Element<bfloat16>::prepare;
  using Element<float>::finish, Element<float16>::finish, Element<bfloat16>::finish;
  using Element<float>::encode_rows, Element<float16>::encode_rows, Element<bfloat16>::encode_rows;
  using Element<float>::decode_rows, Element<float16>::decode_rows, Element<bfloat16>::decode_rows;

  /// About the inner product of the query with the vector that the row holds: exactly that with the decoded row, up to
  /// float rounding (1e-5 |q| |x|).
  template <class Query>
  [[nodiscard]] float score(const Query& query, std::span<const std::byte, RowBytes> row) const noexcept {
    return self().score_row(query, row.data());
  }

  /// scores[i] = score(query, row i).
  template <class Query>
  [[nodiscard]] Status score_rows(const Query& query, ConstRows rows, std::span<float> scores) const noexcept {
    if (scores.size() != rows.count || !valid(rows)) return Status::size_mismatch;
    for (std::size_t i = 0; i < rows.count; ++i) scores[i] = self().score_row(query, rows[i]);
    return Status::ok;
  }

  /// Adds weight times the row's vector to the sum.
  template <class Accumulator>
  void accumulate(float weight, std::span<const std::byte, RowBytes> row, Accumulator& sum) const noexcept {
    self().accumulate_row(weight, row.data(), sum);
  }

  /// Adds weights[i] times row i, in order.
  template <class Accumulator>
  [[nodiscard]] Status accumulate_rows(std::span<const float> weights, ConstRows rows, Accumulator& sum) const noexcept {
    if (weights.size() != rows.count || !valid(rows)) return Status::size_mismatch;
    for (std::size_t i = 0; i < rows.count; ++i) self().accumulate_row(weights[i], rows[i], sum);
    return Status::ok;
  }

  /// Whether these rows can be this codec's: they exist and do not overlap.
  static constexpr bool valid(ConstRows rows) noexcept {
    return rows.count == 0 || (rows.base != nullptr && (rows.count == 1 || rows.stride >= RowBytes));
  }

 private:
  const C& self() const noexcept { return static_cast<const C&>(*this); }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
