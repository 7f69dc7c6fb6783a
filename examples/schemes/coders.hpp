// Codecs behind one function: rows in, what the codec makes of them out. All that is measured here comes from decoded rows:
// a codec's scores and sums on packed rows are those of its decoded rows, a law (kvcodec/concepts.hpp) that tests hold.
#pragma once

#include "kvcodec/kvcodec.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace schemes {

using kvcodec::Correction;
using kvcodec::QjlScale;

/// What may be learned of a head from rows that came before: its mean, and the quarter of channels that stand out, of the
/// rows as they are and with the mean taken off.
struct Calibration {
  std::vector<float> mean;
  std::vector<std::uint16_t> channels, centred_channels;

  /// rows: [n, d], row-major.
  static Calibration of(std::span<const float> rows, std::size_t d) {
    Calibration c;
    c.mean = kvcodec::robust_mean(rows, d);
    c.channels = kvcodec::outlier_channels(rows, d, d / 4);
    std::vector<float> centred(rows.begin(), rows.end());
    for (std::size_t i = 0; i < centred.size(); ++i) centred[i] -= c.mean[i % d];
    c.centred_channels = kvcodec::outlier_channels(centred, d, d / 4);
    return c;
  }
};

/// A codec as a candidate.
struct Coder {
  std::string name;
  unsigned bits = 0;  ///< the budget that it is a candidate for
  std::size_t row_bytes = 0;
  double bits_per_coordinate = 0;
  /// decoded = what comes back of x, [n, d] both.
  void (*code)(std::uint64_t seed, const Calibration& calibration, std::span<const float> x,
               std::span<float> decoded) = nullptr;
};

namespace detail {

template <class C>
struct Make {
  static C from(std::uint64_t seed, const Calibration&, bool) { return C(seed); }
};
template <class High, class Low>
struct Make<kvcodec::SplitCodec<High, Low>> {
  using C = kvcodec::SplitCodec<High, Low>;
  static C from(std::uint64_t seed, const Calibration& calibration, bool centred) {
    return C(seed, *C::Channels::of(centred ? calibration.centred_channels : calibration.channels));
  }
};
template <class Inner>
struct Make<kvcodec::OffsetCodec<Inner>> {
  using C = kvcodec::OffsetCodec<Inner>;
  static C from(std::uint64_t seed, const Calibration& calibration, bool) {
    return C(Make<Inner>::from(seed, calibration, true), std::span<const float, C::dim>(calibration.mean));
  }
};

template <class C>
void code(std::uint64_t seed, const Calibration& calibration, std::span<const float> x, std::span<float> decoded) {
  const C codec = Make<C>::from(seed, calibration, false);
  std::byte row[C::row_bytes];
  for (std::size_t i = 0; i < x.size(); i += C::dim) {
    // The rows are finite: made here, or read by read_npy, which refuses others.
    (void)codec.encode_row(x.data() + i, row);
    codec.decode_row(row, decoded.data() + i);
  }
}

}  // namespace detail

template <class C>
Coder coder(std::string name, unsigned bits) {
  return {std::move(name), bits, C::row_bytes, C::bits_per_coordinate, &detail::code<C>};
}

/// The parts of KV, KQV and QKQV (kvcodec/scheme.hpp) at one width.
struct SchemeParts {
  std::size_t d = 0;
  unsigned bits = 0;
  Coder unrotated, full, residual;  ///< scalar without rotation; rotated, all bits; one of them a QJL sign

  template <std::size_t D, unsigned B>
  static SchemeParts make() {
    static_assert(std::is_same_v<typename kvcodec::Kqv<D, B>::Keys, kvcodec::TurboQuantMse<D, B>>);
    static_assert(std::is_same_v<typename kvcodec::Qkqv<D, B>::Keys, kvcodec::TurboQuantProd<D, B>>);
    return {D, B, coder<typename kvcodec::Kv<D, B>::Keys>("scalar", B),
            coder<typename kvcodec::Kqv<D, B>::Keys>("rotated", B),
            coder<typename kvcodec::Kqv<D, B>::Values>("rotated + QJL", B)};
  }
};

namespace detail {
template <std::size_t D>
void add_parts(std::vector<SchemeParts>& parts) {
  [&]<unsigned... B>(std::integer_sequence<unsigned, B...>) { (parts.push_back(SchemeParts::make<D, B + 2>()), ...); }
  (std::make_integer_sequence<unsigned, 5>());
}
}  // namespace detail

/// d of 64 to 1024, 2 to 6 bits.
inline std::vector<SchemeParts> scheme_parts() {
  std::vector<SchemeParts> parts;
  detail::add_parts<64>(parts);
  detail::add_parts<128>(parts);
  detail::add_parts<256>(parts);
  detail::add_parts<512>(parts);
  detail::add_parts<1024>(parts);
  return parts;
}

namespace detail {

template <class C>
void with_offset(std::vector<Coder>& coders, const std::string& name, unsigned bits) {
  coders.push_back(coder<C>(name, bits));
  coders.push_back(coder<kvcodec::OffsetCodec<C>>(name + ", offset", bits));
}

template <std::size_t D, unsigned B>
void add_candidates(std::vector<Coder>& coders) {
  using kvcodec::Options, kvcodec::QjlOptions, kvcodec::OctopusOptions;
  constexpr QjlOptions best_fit{.scale = QjlScale::least_squares};
  const auto bits = [](unsigned b) { return " " + std::to_string(b); };
  with_offset<kvcodec::TurboQuantMse<D, B>>(coders, "TurboQuant" + bits(B), B);
  with_offset<kvcodec::TurboQuantMse<D, B, Options{.correction = Correction::norm}>>(coders,
                                                                                     "TurboQuant" + bits(B) + " norm", B);
  with_offset<kvcodec::TurboQuantMse<D, B, Options{.correction = Correction::inner_product}>>(
      coders, "TurboQuant" + bits(B) + " ip", B);
  with_offset<kvcodec::TurboQuantMse<D, B, Options{.correction = Correction::least_squares}>>(
      coders, "TurboQuant" + bits(B) + " lsq", B);
  with_offset<kvcodec::TurboQuantProd<D, B>>(coders, "Prod" + bits(B - 1) + "+1", B);
  with_offset<kvcodec::TurboQuantProd<D, B, Options{}, best_fit>>(coders, "Prod" + bits(B - 1) + "+1 lsq", B);
  with_offset<kvcodec::Octopus<D, B>>(coders, "Octopus" + bits(B), B);
  with_offset<kvcodec::OctopusQjl<D, B - 1>>(coders, "OctopusQjl" + bits(B - 1), B);
  with_offset<kvcodec::PolarQuant<D, B>>(coders, "Polar" + bits(B), B);
  with_offset<kvcodec::TurboQuantSplit<D, B>>(coders, "Split" + bits(B) + ".5", B);
  with_offset<kvcodec::LloydMax<D, B>>(coders, "LloydMax" + bits(B), B);
}

}  // namespace detail

/// The candidates at d = 64 or 128 and a budget of 2, 3 or 4 bits.
inline std::vector<Coder> candidates(std::size_t d, unsigned bits) {
  std::vector<Coder> coders;
  const auto add = [&]<std::size_t D>(std::integral_constant<std::size_t, D>) {
    if (bits == 2) detail::add_candidates<D, 2>(coders);
    if (bits == 3) detail::add_candidates<D, 3>(coders);
    if (bits == 4) detail::add_candidates<D, 4>(coders);
  };
  if (d == 64) add(std::integral_constant<std::size_t, 64>());
  if (d == 128) add(std::integral_constant<std::size_t, 128>());
  return coders;
}

}  // namespace schemes
