// The body of a unit; see unit.hpp. Included by each unit once.
#pragma once

#include "unit.hpp"

#include <kvcodec/kvcodec.hpp>

#include <array>

namespace {

template <class C>
void use(const C& codec, Outcome& outcome) {
  constexpr std::size_t rows = 37;
  std::vector<float> x(rows * C::dim);
  kvcodec::SplitMix64 random(2024);
  for (float& v : x) v = static_cast<float>(random.uniform() + random.uniform() + random.uniform() - 1.5);

  std::vector<std::byte> packed(rows * C::row_bytes);
  const kvcodec::Rows view{packed.data(), rows, C::row_bytes};
  if (codec.encode_rows(x, view).status != kvcodec::Status::ok) packed.clear();
  outcome.bytes.insert(outcome.bytes.end(), packed.begin(), packed.end());
  if (packed.empty()) return;

  const auto query = codec.prepare(std::span<const float, C::dim>(x.data(), C::dim));
  std::vector<float> scores(rows);
  bool ok = codec.score_rows(query, view, scores, kvcodec::Arithmetic::exact) == kvcodec::Status::ok;
  typename C::Accumulator sum;
  ok = ok && codec.accumulate_rows(scores, view, sum, kvcodec::Arithmetic::exact) == kvcodec::Status::ok;
  std::array<float, C::dim> out;
  codec.finish(sum, out);
  ok = ok && codec.decode_rows(view, x) == kvcodec::Status::ok;
  if (!ok) outcome.bytes.clear();
  outcome.scores.insert(outcome.scores.end(), scores.begin(), scores.end());
  outcome.sums.insert(outcome.sums.end(), out.begin(), out.end());
  const auto saved = kvcodec::to_bytes(codec.descriptor());
  if (!kvcodec::refuse_unless_same(saved, codec).empty()) outcome.bytes.clear();
}

Outcome run() {
  Outcome outcome{.isa = kvcodec::isa_name, .bytes = {}, .scores = {}, .sums = {}, .refusal = {}};
  use(kvcodec::Octopus<96, 3>(7), outcome);
  use(kvcodec::Octopus<64, 2, kvcodec::OctopusOptions{.rounds = 1, .norm = kvcodec::NormType::float32}>(7), outcome);
  use(kvcodec::TurboQuantMse<80, 4>(7), outcome);
  use(kvcodec::LloydMax<64, 3, kvcodec::Options{.rounds = 0, .norm = kvcodec::NormType::float16}>(7), outcome);
  use(kvcodec::OctopusQjl<64, 2>(7), outcome);
  use(kvcodec::PolarQuant<80, 3>(7), outcome);
  use(kvcodec::PolarQuantBlock<64>(7), outcome);
  std::array<std::uint16_t, 16> channels;
  for (std::size_t i = 0; i < 16; ++i) channels[i] = static_cast<std::uint16_t>(4 * i);
  use(kvcodec::TurboQuantSplit<64, 2>(7, *kvcodec::OutlierChannels<64, 16>::of(channels)), outcome);
  use(kvcodec::OffsetCodec<kvcodec::TurboQuantProd<64, 3>>(7), outcome);
  use(kvcodec::Float16<64>(), outcome);
  use(kvcodec::BFloat16<64>(), outcome);
  // Of every codec that has a name, what costs little to compile: those above have all functions.
  const auto by_name = kvcodec::with_codec<kvcodec::Dims<64>>("turboquant-mse", 64, 2, 7, [&](const auto& codec) {
    const auto saved = kvcodec::to_bytes(codec.descriptor());
    outcome.bytes.insert(outcome.bytes.end(), saved.begin(), saved.end());
  });
  if (!by_name.ok()) outcome.bytes.clear();
  outcome.refusal = kvcodec::with_codec<kvcodec::Dims<64>>("no such codec", 64, 2, 7, [](const auto&) {}).message();
  return outcome;
}

}  // namespace
