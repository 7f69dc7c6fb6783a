// What every codec offers on top of its single-row primitives: typed, sized, many-row calls, written once.
//
// A codec derives from RowInterface<Codec, dim, row_bytes, norm_bytes> and gives, for T = float, float16, bfloat16,
//   Status encode_row(const T* x, std::byte* row) const noexcept;
//   void   decode_row(const std::byte* row, T* x) const noexcept;
//   Query  prepare_row(const T* q) const noexcept;              struct Query
//   float  score_row(const Query&, const std::byte* row) const noexcept;
//   void   accumulate_row(float w, const std::byte* row, Accumulator&) const noexcept;   struct Accumulator
//   void   finish_row(const Accumulator&, T* out) const noexcept;
// on raw pointers to dim values and row_bytes bytes: those are also what a CUDA kernel calls. One with norm_bytes > 0 takes
// (norm, code) in place of row as well. A codec may give, for rows by the block and groups of queries,
//   bool score_block(const Query* queries, std::size_t n, ConstPlanes, float* scores, std::size_t stride, Arithmetic) const
//   bool accumulate_block(const float* weights, std::size_t stride, std::size_t n, ConstPlanes, Accumulator* sums, Arithmetic) const
// (noexcept; query k's scores and weights start at k * stride; false: it did nothing, and rows are taken one by one).
#pragma once

#include "half.hpp"
#include "rows.hpp"

#include <cstddef>
#include <span>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {

/// Calls f with what stands for row i: its address, or those of its norm and its code.
template <std::size_t NormBytes, class P, class F>
inline decltype(auto) with_row(const P& rows, std::size_t i, F f) noexcept {
  if constexpr (NormBytes == 0) return f(rows.code(i));
  else return f(rows.norm(i), rows.code(i));
}

/// The calls that take or give vectors of T.
template <class C, std::size_t D, std::size_t RowBytes, std::size_t NormBytes, Real T>
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
    if (!C::valid(rows)) return {Status::size_mismatch, 0};
    return encode_rows(x, C::planes(rows));
  }
  [[nodiscard]] EncodeResult encode_rows(std::span<const T> x, Planes rows) const noexcept {
    if (!fits(rows, x.size())) return {Status::size_mismatch, 0};
    EncodeResult result;
    for (std::size_t i = 0; i < rows.count; ++i) {
      const Status status =
          with_row<NormBytes>(rows, i, [&](auto*... row) { return self().encode_row(x.data() + i * D, row...); });
      if (status != Status::ok && result.status == Status::ok) result = {status, i};
    }
    return result;
  }

  /// Decodes rows.count rows into x, consecutively.
  [[nodiscard]] Status decode_rows(ConstRows rows, std::span<T> x) const noexcept {
    if (!C::valid(rows)) return Status::size_mismatch;
    return decode_rows(C::planes(rows), x);
  }
  [[nodiscard]] Status decode_rows(ConstPlanes rows, std::span<T> x) const noexcept {
    if (!fits(rows, x.size())) return Status::size_mismatch;
    for (std::size_t i = 0; i < rows.count; ++i)
      with_row<NormBytes>(rows, i, [&](auto*... row) { self().decode_row(row..., x.data() + i * D); });
    return Status::ok;
  }

 private:
  const C& self() const noexcept { return static_cast<const C&>(*this); }
  static bool fits(ConstPlanes rows, std::size_t values) noexcept {
    return values % D == 0 && values / D == rows.count && C::valid(rows);
  }
};

}  // namespace detail

template <class C, std::size_t D, std::size_t RowBytes, std::size_t NormBytes = 0>
class RowInterface : public detail::ElementInterface<C, D, RowBytes, NormBytes, float>,
                     public detail::ElementInterface<C, D, RowBytes, NormBytes, float16>,
                     public detail::ElementInterface<C, D, RowBytes, NormBytes, bfloat16> {
  template <class T>
  using Element = detail::ElementInterface<C, D, RowBytes, NormBytes, T>;

 public:
  static constexpr std::size_t dim = D;
  static constexpr std::size_t row_bytes = RowBytes;
  /// Of a row's bytes, the first so many are its norm, which pages keep in a plane of its own.
  static constexpr std::size_t norm_bytes = NormBytes;
  static constexpr std::size_t code_bytes = RowBytes - NormBytes;
  /// Everything stored counts: the length and the padding too.
  static constexpr double bits_per_coordinate = 8.0 * static_cast<double>(RowBytes) / static_cast<double>(D);
  /// A group of queries that share keys (GQA) has at most so many.
  static constexpr std::size_t max_group = 16;

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

  /// scores[i] = about score(query, row i); see Arithmetic.
  template <class Query>
  [[nodiscard]] Status score_rows(const Query& query, ConstRows rows, std::span<float> scores,
                                  Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!valid(rows)) return Status::size_mismatch;
    return score_rows(std::span<const Query>(&query, 1), planes(rows), scores, arithmetic);
  }

  /// One pass over the rows for a group of 1 to max_group queries: scores[k * rows.count + i] of query k and row i.
  template <class Query>
  [[nodiscard]] Status score_rows(std::span<const Query> queries, ConstPlanes rows, std::span<float> scores,
                                  Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!fits(queries.size(), rows, scores.size())) return Status::size_mismatch;
    if constexpr (requires { self().score_block(queries.data(), queries.size(), rows, scores.data(), rows.count, arithmetic); })
      if (self().score_block(queries.data(), queries.size(), rows, scores.data(), rows.count, arithmetic)) return Status::ok;
    for (std::size_t i = 0; i < rows.count; ++i)
      for (std::size_t k = 0; k < queries.size(); ++k)
        scores[k * rows.count + i] =
            detail::with_row<NormBytes>(rows, i, [&](auto*... row) { return self().score_row(queries[k], row...); });
    return Status::ok;
  }
  template <class Query>
  [[nodiscard]] Status score_rows(std::span<const Query> queries, ConstRows rows, std::span<float> scores,
                                  Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!valid(rows)) return Status::size_mismatch;
    return score_rows(queries, planes(rows), scores, arithmetic);
  }

  /// Adds weight times the row's vector to the sum.
  template <class Accumulator>
  void accumulate(float weight, std::span<const std::byte, RowBytes> row, Accumulator& sum) const noexcept {
    self().accumulate_row(weight, row.data(), sum);
  }

  /// Adds about weights[i] times row i, in order; see Arithmetic.
  template <class Accumulator>
  [[nodiscard]] Status accumulate_rows(std::span<const float> weights, ConstRows rows, Accumulator& sum,
                                       Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!valid(rows)) return Status::size_mismatch;
    return accumulate_rows(weights, planes(rows), std::span<Accumulator>(&sum, 1), arithmetic);
  }

  /// One pass over the rows for a group of 1 to max_group sums: weights[k * rows.count + i] times row i goes to sums[k].
  template <class Accumulator>
  [[nodiscard]] Status accumulate_rows(std::span<const float> weights, ConstPlanes rows, std::span<Accumulator> sums,
                                       Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!fits(sums.size(), rows, weights.size())) return Status::size_mismatch;
    if constexpr (requires { self().accumulate_block(weights.data(), rows.count, sums.size(), rows, sums.data(), arithmetic); })
      if (self().accumulate_block(weights.data(), rows.count, sums.size(), rows, sums.data(), arithmetic)) return Status::ok;
    for (std::size_t i = 0; i < rows.count; ++i)
      for (std::size_t k = 0; k < sums.size(); ++k)
        detail::with_row<NormBytes>(rows, i,
                                    [&](auto*... row) { self().accumulate_row(weights[k * rows.count + i], row..., sums[k]); });
    return Status::ok;
  }
  template <class Accumulator>
  [[nodiscard]] Status accumulate_rows(std::span<const float> weights, ConstRows rows, std::span<Accumulator> sums,
                                       Arithmetic arithmetic = Arithmetic::fastest) const noexcept {
    if (!valid(rows)) return Status::size_mismatch;
    return accumulate_rows(weights, planes(rows), sums, arithmetic);
  }

  /// Whether these rows can be this codec's: they exist and do not overlap.
  static constexpr bool valid(ConstRows rows) noexcept {
    return rows.count == 0 || (rows.base != nullptr && (rows.count == 1 || rows.stride >= RowBytes));
  }
  static constexpr bool valid(ConstPlanes rows) noexcept {
    return rows.count == 0 || (rows.codes != nullptr && (rows.count == 1 || rows.code_stride >= code_bytes) &&
                               (NormBytes == 0 || (rows.norms != nullptr && (rows.count == 1 || rows.norm_stride >= NormBytes))));
  }

  /// Canonical rows, seen as planes.
  static constexpr ConstPlanes planes(ConstRows rows) noexcept {
    if (rows.count == 0) return {};
    return {rows.base + NormBytes, rows.stride, rows.base, rows.stride, rows.count};
  }
  static constexpr Planes planes(Rows rows) noexcept {
    if (rows.count == 0) return {};
    return {rows.base + NormBytes, rows.stride, rows.base, rows.stride, rows.count};
  }

 private:
  const C& self() const noexcept { return static_cast<const C&>(*this); }
  static bool fits(std::size_t group, ConstPlanes rows, std::size_t values) noexcept {
    return group >= 1 && group <= max_group && values % group == 0 && values / group == rows.count && valid(rows);
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
