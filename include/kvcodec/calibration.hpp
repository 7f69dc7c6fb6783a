// What may be learned from sample rows of one head before its cache is filled: a mean row (offset.hpp) and the channels
// that stand out (split.hpp). Nothing else in the library looks at data beforehand, and none of it needs to.
#pragma once

#include "config.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvcodec {
inline namespace KVCODEC_ISA_NAMESPACE {

namespace detail {
/// The finite values of channel j.
inline void take_channel(std::span<const float> rows, std::size_t d, std::size_t j, std::vector<float>& channel) {
  channel.clear();
  for (std::size_t i = j; i < rows.size(); i += d)
    if (std::isfinite(rows[i])) channel.push_back(rows[i]);
}
}  // namespace detail

/// The midmean of each channel: the mean of its middle half. A plain mean of heavy-tailed rows is wherever its largest row
/// is; this one takes up to a quarter of wild rows on either side, and on Gaussian rows is as good as the mean of 84 % of
/// them. Values that are not finite are left out. rows: [n, d], row-major, n * d values. Returns d values, 0 where a
/// channel has none.
inline std::vector<float> robust_mean(std::span<const float> rows, std::size_t d) {
  assert(d != 0 && rows.size() % d == 0);
  std::vector<float> mean(d);
  std::vector<float> channel;
  for (std::size_t j = 0; j < d; ++j) {
    detail::take_channel(rows, d, j, channel);
    std::sort(channel.begin(), channel.end());
    const std::size_t cut = channel.size() / 4;
    double sum = 0;
    for (std::size_t i = cut; i + cut < channel.size(); ++i) sum += static_cast<double>(channel[i]);
    if (!channel.empty()) mean[j] = static_cast<float>(sum / static_cast<double>(channel.size() - 2 * cut));
  }
  return mean;
}

/// The `count` channels of the largest median magnitude, ascending; of equals the lower. The median, so that one wild row
/// does not choose. rows: [n, d], row-major; count <= d.
inline std::vector<std::uint16_t> outlier_channels(std::span<const float> rows, std::size_t d, std::size_t count) {
  assert(d != 0 && rows.size() % d == 0 && count <= d);
  std::vector<float> size(d), channel;
  for (std::size_t j = 0; j < d; ++j) {
    detail::take_channel(rows, d, j, channel);
    for (float& value : channel) value = std::abs(value);
    const auto middle = channel.begin() + static_cast<std::ptrdiff_t>(channel.size() / 2);
    std::nth_element(channel.begin(), middle, channel.end());
    size[j] = channel.empty() ? 0.0f : *middle;
  }
  std::vector<std::uint16_t> channels(d);
  for (std::size_t j = 0; j < d; ++j) channels[j] = static_cast<std::uint16_t>(j);
  std::stable_sort(channels.begin(), channels.end(), [&](std::uint16_t a, std::uint16_t b) { return size[a] > size[b]; });
  channels.resize(count);
  std::sort(channels.begin(), channels.end());
  return channels;
}

}  // namespace KVCODEC_ISA_NAMESPACE
}  // namespace kvcodec
