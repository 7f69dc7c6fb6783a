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
};

constexpr std::string_view to_string(Status status) noexcept {
  switch (status) {
    case Status::ok: return "ok";
    case Status::non_finite: return "non-finite input";
    case Status::size_mismatch: return "size mismatch";
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

}  // namespace kvcodec
