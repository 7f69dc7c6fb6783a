// A page: the rows of Tokens consecutive tokens of one head, the norms apart from the codes.
//
//   page:  | code_0 | code_1 | … code_{Tokens-1} | norm_0 | norm_1 | … norm_{Tokens-1} |      Tokens * row_bytes bytes
//
// Norms inside the rows would cost scoring up to three times the time from DRAM.
//
// Interleaved pages are for kernels whose lanes are tokens: G = C::tile_bytes code bytes of every token, then the next G.
//
//   codes:  | bytes 0…G-1 of token 0, of token 1, … | bytes G…2G-1 of token 0, of token 1, … | … the last group narrower
//
// Byte j of token t is at kG * Tokens + t * g + (j - kG), with k = j / G and g = min(G, code_bytes - kG). The norms stay.
// That is a permutation of the page's bytes: it loses nothing, and both forms take the same memory. A codec without such
// kernels names no tile_bytes (or 0) and has no interleaved form.
#pragma once

#include "../config.hpp"
#include "../rows.hpp"

#include <cstddef>
#include <cstring>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

/// C: a codec, or anything with its row_bytes, norm_bytes, code_bytes and maybe tile_bytes. Pages are given by their address
/// and need no alignment, though KvCache's have 64 bytes; tokens are 0 to Tokens - 1.
template <class C, std::size_t Tokens = 64>
struct PageLayout {
  static_assert(Tokens > 0 && C::row_bytes == C::norm_bytes + C::code_bytes);

  static constexpr std::size_t tokens = Tokens;
  static constexpr std::size_t code_bytes = C::code_bytes;
  static constexpr std::size_t norm_bytes = C::norm_bytes;
  static constexpr std::size_t norms_at = Tokens * code_bytes;
  static constexpr std::size_t bytes = Tokens * C::row_bytes;
  static constexpr std::size_t tile_bytes = [] {
    if constexpr (requires { C::tile_bytes; }) return std::size_t{C::tile_bytes};
    else return std::size_t{0};
  }();
  static constexpr bool has_interleaved = tile_bytes > 0;

  /// Rows first to first + count - 1 of a row-major page.
  KVCODEC_HD static constexpr Planes rows(std::byte* page, std::size_t first, std::size_t count) noexcept {
    return {page + first * code_bytes, code_bytes, norm_bytes == 0 ? nullptr : page + norm_at(first), norm_bytes, count};
  }
  KVCODEC_HD static constexpr ConstPlanes rows(const std::byte* page, std::size_t first, std::size_t count) noexcept {
    return {page + first * code_bytes, code_bytes, norm_bytes == 0 ? nullptr : page + norm_at(first), norm_bytes, count};
  }

  /// Where a token's norm is, in both forms.
  KVCODEC_HD static constexpr std::size_t norm_at(std::size_t token) noexcept { return norms_at + token * norm_bytes; }

  /// Copies one row of a row-major page from or to its canonical form, norm then code, row_bytes bytes.
  static void load_row(const std::byte* page, std::size_t token, std::byte* row) noexcept {
    copy_norm(row, page + norm_at(token));
    std::memcpy(row + norm_bytes, page + token * code_bytes, code_bytes);
  }
  static void store_row(const std::byte* row, std::byte* page, std::size_t token) noexcept {
    copy_norm(page + norm_at(token), row);
    std::memcpy(page + token * code_bytes, row + norm_bytes, code_bytes);
  }

  /// Where code byte `byte` of a token is in an interleaved page.
  KVCODEC_HD static constexpr std::size_t interleaved(std::size_t token,
                                                      std::size_t byte) noexcept requires has_interleaved {
    const std::size_t group_at = byte / tile_bytes * tile_bytes;
    return group_at * Tokens + token * group_width(group_at) + (byte - group_at);
  }

  /// Copies a page from one form to the other; the two must not overlap.
  static void interleave(const std::byte* from, std::byte* to) noexcept requires has_interleaved { permute<true>(from, to); }
  static void deinterleave(const std::byte* from, std::byte* to) noexcept requires has_interleaved {
    permute<false>(from, to);
  }

  /// Copies one token's code, code_bytes bytes, out of an interleaved page or into one. Its norm is at norm_at().
  static void gather_row(const std::byte* page, std::size_t token, std::byte* code) noexcept requires has_interleaved {
    for (std::size_t j = 0; j < code_bytes; ++j) code[j] = page[interleaved(token, j)];
  }
  static void scatter_row(const std::byte* code, std::byte* page, std::size_t token) noexcept requires has_interleaved {
    for (std::size_t j = 0; j < code_bytes; ++j) page[interleaved(token, j)] = code[j];
  }

 private:
  KVCODEC_HD static constexpr std::size_t group_width(std::size_t group_at) noexcept {
    return code_bytes - group_at < tile_bytes ? code_bytes - group_at : tile_bytes;
  }

  static void copy_norm(std::byte* to, const std::byte* from) noexcept {
    if constexpr (norm_bytes > 0) std::memcpy(to, from, norm_bytes);
  }

  template <bool Interleave>
  static void permute(const std::byte* from, std::byte* to) noexcept {
    constexpr std::size_t whole = code_bytes / tile_bytes * tile_bytes;
    for (std::size_t at = 0; at < whole; at += tile_bytes) permute_group<Interleave, tile_bytes>(from, to, at);
    if constexpr (whole < code_bytes) permute_group<Interleave, code_bytes - whole>(from, to, whole);
    if constexpr (norm_bytes > 0) std::memcpy(to + norms_at, from + norms_at, Tokens * norm_bytes);
  }

  template <bool Interleave, std::size_t Width>
  static void permute_group(const std::byte* from, std::byte* to, std::size_t at) noexcept {
    for (std::size_t t = 0; t < Tokens; ++t) {
      const std::size_t row_major = t * code_bytes + at, grouped = at * Tokens + t * Width;
      std::memcpy(to + (Interleave ? grouped : row_major), from + (Interleave ? row_major : grouped), Width);
    }
  }
};

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
