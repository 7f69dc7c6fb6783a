// Views of packed rows, and what row functions answer.
#pragma once

#include <cstddef>
#include <string_view>

namespace kvcodec {

/// What a row function answers.
enum class Status : unsigned char {
  ok,
  non_finite,     ///< the input holds a NaN or an infinity: that row keeps the bytes it had
  size_mismatch,  ///< buffers do not fit each other or the row size: nothing was written
  out_of_range,   ///< no such sequence, position or page, or a sequence at its longest: nothing was changed
  out_of_pages,   ///< no free page is left to write to: nothing was changed
  not_resident,   ///< the token's page was evicted: nothing was changed
};

constexpr std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::ok: return "ok";
    case Status::non_finite: return "non-finite input";
    case Status::size_mismatch: return "size mismatch";
    case Status::out_of_range: return "out of range";
    case Status::out_of_pages: return "out of pages";
    case Status::not_resident: return "not resident";
  }
  return "unknown status";
}

/// What encode_rows answers. Rows after a bad one are encoded all the same; only the bad ones keep the bytes they had.
struct EncodeResult {
  Status status = Status::ok;
  std::size_t first_bad_row = 0;  ///< meaningful when status is non_finite
};

/// `count` rows, the first at `base`, each `stride` bytes after the one before. Rows need no alignment, and bytes between
/// rows (stride > row_bytes) are neither read nor written.
struct Rows {
  std::byte* base = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;

  constexpr std::byte* operator[](std::size_t i) const noexcept { return base + i * stride; }
};

struct ConstRows {
  const std::byte* base = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;

  constexpr ConstRows() noexcept = default;
  constexpr ConstRows(const std::byte* base_, std::size_t count_, std::size_t stride_) noexcept
      : base(base_), count(count_), stride(stride_) {}
  constexpr ConstRows(const Rows& rows) noexcept : base(rows.base), count(rows.count), stride(rows.stride) {}  // NOLINT: implicit

  constexpr const std::byte* operator[](std::size_t i) const noexcept { return base + i * stride; }
};

/// Rows whose norms stand apart from their codes, as in a page (cache/page.hpp): row i is its codec's norm_bytes bytes at
/// norms + i * norm_stride and the row_bytes - norm_bytes after them at codes + i * code_stride. A codec without norms has
/// all of its row in the codes.
struct ConstPlanes {
  const std::byte* codes = nullptr;
  std::size_t code_stride = 0;
  const std::byte* norms = nullptr;
  std::size_t norm_stride = 0;
  std::size_t count = 0;

  constexpr const std::byte* code(std::size_t i) const noexcept { return codes + i * code_stride; }
  constexpr const std::byte* norm(std::size_t i) const noexcept { return norms + i * norm_stride; }
  /// Rows first to first + n - 1.
  constexpr ConstPlanes rows(std::size_t first, std::size_t n) const noexcept {
    return {code(first), code_stride, norms == nullptr ? nullptr : norm(first), norm_stride, n};
  }
};

struct Planes {
  std::byte* codes = nullptr;
  std::size_t code_stride = 0;
  std::byte* norms = nullptr;
  std::size_t norm_stride = 0;
  std::size_t count = 0;

  constexpr std::byte* code(std::size_t i) const noexcept { return codes + i * code_stride; }
  constexpr std::byte* norm(std::size_t i) const noexcept { return norms + i * norm_stride; }
  constexpr operator ConstPlanes() const noexcept { return {codes, code_stride, norms, norm_stride, count}; }
};

/// How scores and sums over many rows are computed. fastest: in integers where the codec has such a path and it pays (8-bit
/// queries and codebooks, weights of 7 or 8 bits); what it adds to the codec's own error is bounded: 1 % of its variance for scores,
/// 2 % for sums. exact: in float, what score() and accumulate() of the rows one by one give.
enum class Arithmetic : unsigned char { fastest, exact };

}  // namespace kvcodec
