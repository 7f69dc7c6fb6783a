// Time a row of every codec, width and d in {64, 128}: encode, decode, score, accumulate, and the rotation alone, beside
// memcpy of float rows and a float16 dot product. 1,024 rows, which stay in L2.
//
//   codecs_bench --benchmark_filter='score/.*/128' --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
//
// Time is a row; bytes_per_second counts packed bytes (floats for memcpy and rotation).
#include <kvcodec/kvcodec.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace kvcodec;

constexpr std::size_t row_count = 1024;

std::vector<float> gaussian(std::size_t n) {
  SplitMix64 random(1);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random.gaussian());
  return x;
}

/// Registers a benchmark whose pass works on row_count rows of `bytes` bytes.
template <class Pass>
void add(const std::string& name, std::size_t bytes, Pass pass) {
  benchmark::RegisterBenchmark(name.c_str(), [pass, bytes](benchmark::State& state) mutable {
    for (auto _ : state) {
      pass();
      benchmark::ClobberMemory();
    }
    const auto rows = static_cast<double>(state.iterations()) * static_cast<double>(row_count);
    state.counters["row"] = benchmark::Counter(rows, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["rows_per_second"] = benchmark::Counter(rows, benchmark::Counter::kIsRate);
    state.SetBytesProcessed(static_cast<std::int64_t>(rows) * static_cast<std::int64_t>(bytes));
  });
}

template <class C>
void add_codec(const C& codec, const std::string& suffix) {
  struct Data {
    std::vector<float> x = gaussian(row_count * C::dim), out = std::vector<float>(row_count * C::dim), scores = std::vector<float>(row_count, 0.001f);
    std::vector<std::byte> memory = std::vector<std::byte>(row_count * C::row_bytes);
    Rows rows{memory.data(), row_count, C::row_bytes};
  };
  const auto data = std::make_shared<Data>();
  if (codec.encode_rows(std::span<const float>(data->x), data->rows).status != Status::ok) std::abort();
  const auto query = codec.prepare(std::span<const float, C::dim>(data->x.data(), C::dim));

  add("encode/" + suffix, C::row_bytes, [=] { benchmark::DoNotOptimize(codec.encode_rows(std::span<const float>(data->x), data->rows)); });
  add("decode/" + suffix, C::row_bytes, [=] { benchmark::DoNotOptimize(codec.decode_rows(data->rows, std::span<float>(data->out))); });
  add("score/" + suffix, C::row_bytes, [=] { benchmark::DoNotOptimize(codec.score_rows(query, data->rows, data->scores)); });
  add("accumulate/" + suffix, C::row_bytes, [=] {
    typename C::Accumulator sum;
    benchmark::DoNotOptimize(codec.accumulate_rows(data->scores, data->rows, sum));
    benchmark::DoNotOptimize(sum);
  });
}

template <std::size_t D, unsigned Rounds>
void add_rotation() {
  SplitMix64 random(1);
  const SignedHadamard<D, Rounds> rotation(random);
  const auto x = std::make_shared<std::vector<float>>(gaussian(row_count * D));
  const std::string suffix = std::to_string(D) + "/" + std::to_string(Rounds) + "_rounds";
  // Forth and back, so that repeated passes keep their scale; half of the time is one rotation.
  add("rotation_and_inverse/" + suffix, 4 * D, [=] {
    for (std::size_t i = 0; i < row_count; ++i) {
      float* row = x->data() + i * D;
      rotation.raw(row);
      rotation.raw_inverse(row);
      for (std::size_t k = 0; k < D; ++k) row[k] *= rotation.scale * rotation.scale;
    }
  });
}

template <std::size_t D>
void add_baselines() {
  const auto x = std::make_shared<std::vector<float>>(gaussian(row_count * D));
  const auto y = std::make_shared<std::vector<float>>(row_count * D);
  add("memcpy_float/" + std::to_string(D), 4 * D, [=] { std::memcpy(y->data(), x->data(), x->size() * sizeof(float)); });
#if defined(__FLT16_MAX__) && !defined(__aarch64__)  // g++ 12 has no _Float16 in C++ on AArch64
  // The compiler's own half type: what a plain float16 dot product costs on this machine.
  const auto half = std::make_shared<std::vector<_Float16>>(row_count * D);
  for (std::size_t i = 0; i < half->size(); ++i) (*half)[i] = static_cast<_Float16>((*x)[i]);
  add("score/float16_dot/" + std::to_string(D), 2 * D, [=] {
    for (std::size_t i = 0; i < row_count; ++i) {
      float lane[16] = {};
      const _Float16* row = half->data() + i * D;
      for (std::size_t k = 0; k < D; k += 16)
        for (std::size_t l = 0; l < 16; ++l) lane[l] += static_cast<float>(row[k + l]) * (*x)[k + l];
      (*y)[i] = reduce(lane);
    }
  });
#endif
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::size_t d : {std::size_t{128}, std::size_t{64}}) {
    for (const auto& family : codec_families) {
      for (unsigned bits = family.first_bits; bits <= family.last_bits; ++bits) {
        const std::string suffix = std::string(family.name) + "/" + std::to_string(d) + "/" + std::to_string(bits);
        const auto result = with_codec<Dims<64, 128>>(family.name, d, bits, 0, [&](const auto& codec) { add_codec(codec, suffix); });
        if (!result.ok()) return 1;
      }
    }
  }
  add_baselines<128>();
  add_baselines<64>();
  add_rotation<128, 1>();
  add_rotation<128, 3>();
  add_rotation<64, 3>();
  add_rotation<80, 3>();
  add_rotation<576, 3>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("kvcodec", std::string(isa_name));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
