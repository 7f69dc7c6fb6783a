// The lines of the table: codecs, and schemes of a codec for keys and one for values.
#pragma once

#include "adjusted.hpp"
#include "any_codec.hpp"
#include "options.hpp"

#include "kvcodec/factory.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace compare {

/// One line of the table. A codec is a scheme of itself for both.
struct Candidate {
  std::string name;
  std::string width;  ///< "3", or "3/2" where the two differ
  SharedCodec keys, values;

  /// Means of a row of keys and one of values: a token's bytes and bits over both.
  double row_bytes() const { return static_cast<double>(keys->row_bytes + values->row_bytes) / 2; }
  double bits() const { return (keys->bits + values->bits) / 2; }
};

/// Every codec that there is, by name. The library's list, so that a new codec is compared without a change here.
inline constexpr auto& codec_families = kvcodec::codec_families;

namespace detail {

using kvcodec::CodecFamily;

inline const CodecFamily* find_family(std::string_view name) {
  for (const CodecFamily& family : codec_families)
    if (family.name == name) return &family;
  return nullptr;
}

inline std::string with_widths(const CodecFamily& family) {
  const std::string first = std::to_string(family.first_bits), last = std::to_string(family.last_bits);
  return std::string(family.name) + " (" + (first == last ? first : first + "-" + last) + ")";
}

template <class Families>
std::string list(const Families& families) {
  std::string text;
  for (const CodecFamily& family : families) text += (text.empty() ? "" : ", ") + with_widths(family);
  return text;
}

inline std::string list_codecs() { return list(codec_families); }
inline std::string list_schemes() {
  return list(kvcodec::scheme_families) + " and pairs of codecs, KEY/VALUE or KEY:BITS/VALUE:BITS";
}

/// One side of a line to be: a codec, and its width unless --bits is to say.
struct Side {
  const CodecFamily* family = nullptr;
  std::optional<unsigned> width;

  bool has(unsigned bits) const { return width || (bits >= family->first_bits && bits <= family->last_bits); }
};

struct Plan {
  std::string name;
  Side keys, values;
  bool baseline = false;  ///< there at whatever widths are asked for

  bool fixed() const { return keys.width && values.width; }
  /// Whether --bits may name this width.
  bool takes(unsigned bits) const {
    return fixed() ? bits == *keys.width || bits == *values.width : keys.has(bits) && values.has(bits);
  }
};

/// What is not coded at all: float16, bfloat16.
inline bool is_baseline(const CodecFamily& family) { return family.first_bits >= 16; }

inline Plan plan_codec(const CodecFamily& family) {
  Side side{&family, {}};
  if (is_baseline(family)) side.width = family.first_bits;
  return {std::string(family.name), side, side, is_baseline(family)};
}

/// "octopus" or "octopus:3". A codec of one width has that one, whatever --bits says.
inline Result<Side> parse_side(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  Side side{find_family(name), {}};
  if (side.family == nullptr) return error("--scheme: unknown codec \"" + name + "\"; there are " + list_codecs());
  if (side.family->first_bits == side.family->last_bits) side.width = side.family->first_bits;
  if (colon == std::string_view::npos) return side;
  const std::string_view bits = text.substr(colon + 1);
  const auto width = parse_number<unsigned>(bits);
  side.width.reset();
  if (!width || !side.has(*width))
    return error("--scheme: " + name + " has no width of \"" + std::string(bits) + "\"; there are " +
                 with_widths(*side.family));
  side.width = width;
  return side;
}

/// The codecs of a named scheme, from the library's own type of it; any size and width will do for the names.
template <class Scheme>
Plan plan_scheme(std::string_view name) {
  return {std::string(name), {find_family(Scheme::Keys::name), {}}, {find_family(Scheme::Values::name), {}}, false};
}

inline Result<Plan> parse_scheme(const std::string& text) {
  if (text == "kv") return plan_scheme<kvcodec::Kv<64, 2>>(text);
  if (text == "kqv") return plan_scheme<kvcodec::Kqv<64, 2>>(text);
  if (text == "qkqv") return plan_scheme<kvcodec::Qkqv<64, 2>>(text);
  static_assert(std::size(kvcodec::scheme_families) == 3, "a new scheme belongs above");
  const auto sides = split(text, '/');
  if (sides.size() != 2) return error("--scheme: unknown scheme \"" + text + "\"; there are " + list_schemes());
  const auto keys = parse_side(sides[0]);
  if (!keys) return error(keys.message());
  const auto values = parse_side(sides[1]);
  if (!values) return error(values.message());
  return Plan{std::string(keys->family->name) + "/" + std::string(values->family->name), *keys, *values, false};
}

/// What the options ask for, widths aside: codecs in the library's order, schemes in theirs, baselines last.
inline Result<std::vector<Plan>> choose_plans(const Options& options) {
  for (const std::string& name : options.codecs)
    if (find_family(name) == nullptr) return error("--codecs: unknown codec \"" + name + "\"; there are " + list_codecs());
  const bool schemes_only = !options.schemes.empty() && options.codecs.empty() && !options.all_codecs;

  std::vector<Plan> plans;
  for (const CodecFamily& family : codec_families)
    if (!schemes_only && (options.codecs.empty() || contains(options.codecs, family.name)))
      plans.push_back(plan_codec(family));
  std::vector<std::string> seen;
  for (const std::string& text : options.schemes) {
    auto plan = parse_scheme(text);
    if (!plan) return error(plan.message());
    if (!contains(seen, text)) plans.push_back(*plan);
    seen.push_back(text);
  }
  const std::string what = options.schemes.empty() ? "codecs" : schemes_only ? "schemes" : "codecs and schemes";
  const std::string there_are =
      "; there are " + (schemes_only ? "" : list_codecs()) + (what == "codecs and schemes" ? "; " : "") +
      (options.schemes.empty() ? "" : list_schemes());
  for (const unsigned width : options.widths)
    if (std::ranges::none_of(plans, [&](const Plan& plan) { return plan.takes(width); }))
      return error("--bits: none of the chosen " + what + " has a width of " + std::to_string(width) + there_are);
  if (schemes_only) plans.push_back(plan_codec(*find_family("float16")));
  std::stable_partition(plans.begin(), plans.end(), [](const Plan& plan) { return !plan.baseline; });
  return plans;
}

/// The widths at which a plan becomes a line.
inline std::vector<unsigned> choose_widths(const Options& options, const Plan& plan) {
  if (plan.fixed()) return {0};  // its own
  std::vector<unsigned> widths;
  for (unsigned width = 1; width < 16; ++width) {
    const bool wanted = options.all_widths || (options.widths.empty() ? width <= 4 : contains(options.widths, width));
    if (wanted && plan.takes(width)) widths.push_back(width);
  }
  return widths;
}

}  // namespace detail

/// The lines that the options ask for. blame: where dim comes from.
inline Result<std::vector<Candidate>> choose_candidates(const Options& options, std::size_t dim, const std::string& blame) {
  const auto plans = detail::choose_plans(options);
  if (!plans) return error(plans.message());
  std::map<std::pair<std::string_view, unsigned>, SharedCodec> made;  // schemes share their codecs
  const auto make = [&](const detail::Side& side, unsigned width) -> Result<SharedCodec> {
    SharedCodec& codec = made[{side.family->name, width}];
    if (codec) return codec;
    auto result = make_codec(side.family->name, width, dim, options.seed, blame);
    if (result) codec = with_correction(*result, options.correction);
    return result ? Result<SharedCodec>(codec) : result;
  };
  std::vector<Candidate> candidates;
  for (const detail::Plan& plan : *plans) {
    for (const unsigned width : detail::choose_widths(options, plan)) {
      const unsigned key_width = plan.keys.width.value_or(width), value_width = plan.values.width.value_or(width);
      const auto keys = make(plan.keys, key_width), values = make(plan.values, value_width);
      if (!keys) return error(keys.message());
      if (!values) return error(values.message());
      Candidate candidate{plan.name, std::to_string(key_width), *keys, *values};
      if (key_width != value_width) candidate.width += "/" + std::to_string(value_width);
      const bool corrected = (*keys)->length_first || (*values)->length_first;
      if (corrected && options.correction != kvcodec::Correction::none) candidate.name += "+" + options.correction_name;
      if (options.offset) candidate.name += "+offset";
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

}  // namespace compare
