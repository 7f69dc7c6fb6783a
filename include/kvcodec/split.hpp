// Two codecs over two sets of channels: TurboQuant's 2.5 and 3.5 bits (arXiv 2504.19874, section 4.3). The channels whose
// magnitudes stand out, a choice made once from data (calibration.hpp), go to a codec of one more bit.
//
//   row:  | High's row, of the outlier channels | Low's row, of the others |      each in ascending order of channels
//
// The paper's "2.5" at d = 128 is 32 channels at 3 bits and 96 at 2: 2.25 bits, and 2.5 with the two lengths, 40 bytes.
#pragma once

#include "codec.hpp"
#include "row_interface.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace kvcodec {

inline namespace KVCODEC_ISA_NAMESPACE {

/// Which channels of D go to the first codec of a SplitCodec: Outliers of them, different, in any order.
template <std::size_t D, std::size_t Outliers>
class OutlierChannels {
 public:
  /// The first ones.
  KVCODEC_HD constexpr OutlierChannels() noexcept {
    for (std::size_t i = 0; i < D; ++i) order_[i] = static_cast<std::uint16_t>(i);
  }

  /// The error names a number of channels that is not Outliers, a channel beyond D, or one named twice.
  static Result<OutlierChannels> of(std::span<const std::uint16_t> channels) {
    if (channels.size() != Outliers)
      return error(std::to_string(channels.size()) + " outlier channels instead of " + std::to_string(Outliers));
    std::array<bool, D> chosen{};
    for (const std::uint16_t channel : channels) {
      if (channel >= D) return error("outlier channel " + std::to_string(channel) + " of " + std::to_string(D));
      if (chosen[channel]) return error("outlier channel " + std::to_string(channel) + " is named twice");
      chosen[channel] = true;
    }
    OutlierChannels result;
    std::size_t high = 0, low = Outliers;
    for (std::size_t i = 0; i < D; ++i) result.order_[chosen[i] ? high++ : low++] = static_cast<std::uint16_t>(i);
    return result;
  }

  /// The channels, outliers first.
  KVCODEC_HD constexpr const std::uint16_t* order() const noexcept { return order_; }

 private:
  std::uint16_t order_[D];
};

template <class High, class Low>
class SplitCodec : public RowInterface<SplitCodec<High, Low>, High::dim + Low::dim, High::row_bytes + Low::row_bytes> {
  static constexpr std::size_t D = High::dim + Low::dim;
  static_assert(D <= 1024);

 public:
  static constexpr std::string_view name = "turboquant-split";
  using Channels = OutlierChannels<D, High::dim>;

  struct Query {
    typename High::Query high;
    typename Low::Query low;
  };
  struct Accumulator {
    typename High::Accumulator high;
    typename Low::Accumulator low;
  };

  KVCODEC_HD explicit SplitCodec(std::uint64_t seed = 0) noexcept : SplitCodec(seed, Channels()) {}
  /// The channels belong to a head, and are needed to read its rows again; the descriptor knows them by a hash.
  KVCODEC_HD SplitCodec(std::uint64_t seed, const Channels& channels) noexcept
      : seed_(seed), channels_(channels), high_(seed), low_(SplitMix64(seed)()) {}

  Descriptor descriptor() const noexcept {
    Descriptor d = high_.descriptor();
    const Descriptor low = low_.descriptor();
    DescriptorHash hash;  // of both halves' descriptors and the channels
    for (const Descriptor& half : {d, low})
      for (const std::byte byte : to_bytes(half)) hash.add(std::to_integer<std::uint32_t>(byte));
    for (std::size_t i = 0; i < High::dim; ++i) hash.add(channels_.order()[i]);
    d.dim = static_cast<std::uint16_t>(D);
    d.row_bytes = static_cast<std::uint32_t>(SplitCodec::row_bytes);
    d.seed = seed_;
    d.parameters = {d.parameters[0], low.parameters[0], static_cast<std::uint8_t>(High::dim % 256),
                    static_cast<std::uint8_t>(High::dim / 256)};
    hash.store(d);
    d.set_name(name);
    return d;
  }

  const Channels& channels() const noexcept { return channels_; }

  template <Real T>
  KVCODEC_HD Status encode_row(const T* x, std::byte* row) const noexcept {
    T parts[D];
    gather(x, parts);
    std::byte high[High::row_bytes];  // written only when both halves can be
    if (const Status status = high_.encode_row(parts, high); status != Status::ok) return status;
    if (const Status status = low_.encode_row(parts + High::dim, row + High::row_bytes); status != Status::ok) return status;
    for (std::size_t i = 0; i < High::row_bytes; ++i) row[i] = high[i];
    return Status::ok;
  }

  template <Real T>
  KVCODEC_HD void decode_row(const std::byte* row, T* x) const noexcept {
    T parts[D];
    high_.decode_row(row, parts);
    low_.decode_row(row + High::row_bytes, parts + High::dim);
    scatter(parts, x);
  }

  template <Real T>
  KVCODEC_HD Query prepare_row(const T* q) const noexcept {
    T parts[D];
    gather(q, parts);
    return {high_.prepare_row(parts), low_.prepare_row(parts + High::dim)};
  }

  KVCODEC_HD float score_row(const Query& query, const std::byte* row) const noexcept {
    return high_.score_row(query.high, row) + low_.score_row(query.low, row + High::row_bytes);
  }

  KVCODEC_HD void accumulate_row(float weight, const std::byte* row, Accumulator& sum) const noexcept {
    high_.accumulate_row(weight, row, sum.high);
    low_.accumulate_row(weight, row + High::row_bytes, sum.low);
  }

  template <Real T>
  KVCODEC_HD void finish_row(const Accumulator& sum, T* out) const noexcept {
    T parts[D];
    high_.finish_row(sum.high, parts);
    low_.finish_row(sum.low, parts + High::dim);
    scatter(parts, out);
  }

 private:
  template <class T>
  KVCODEC_HD void gather(const T* x, T* parts) const noexcept {
    for (std::size_t i = 0; i < D; ++i) parts[i] = x[channels_.order()[i]];
  }
  template <class T>
  KVCODEC_HD void scatter(const T* parts, T* x) const noexcept {
    for (std::size_t i = 0; i < D; ++i) x[channels_.order()[i]] = parts[i];
  }

  std::uint64_t seed_;
  Channels channels_;
  High high_;
  Low low_;
};

/// TurboQuant at "B and a half" bits: a quarter of the channels at B+1 bits, the others at B. D=128: 40 bytes at B = 2,
/// 56 at 3. Needs a quarter and three quarters of D to be dimensions themselves (64, 128, 256, 512, 1024, and others by
/// naming Outliers).
template <std::size_t D, unsigned B, std::size_t Outliers = D / 4, Options O = Options{}>
using TurboQuantSplit = SplitCodec<TurboQuantMse<Outliers, B + 1, O>, TurboQuantMse<D - Outliers, B, O>>;

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
