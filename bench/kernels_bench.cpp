// The kernels beside what the machine allows: encode, decode, score, accumulate, rotation and whole attention steps of every
// codec at d = 128, in L2 and from DRAM, against the best float16 kernels of the same run.
//
//   kernels_bench [--rows N] [--filter text] [--repeats R] [--markdown] [--quick]
//
// Times are medians, of a row; for several queries, of a row and query. GB/s: packed bytes. float16 and memcpy stay whatever
// the filter, which names codecs and tables ("octopus", "score, 4"). --quick shows that it runs, and measures nothing.
#include "kernels/attention.hpp"
#include "kernels/baseline.hpp"
#include "kernels/measure.hpp"
#include "kernels/memory.hpp"
#include "kernels/subjects.hpp"

#include <kvcodec/kvcodec.hpp>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#if defined(__linux__)
#include <unistd.h>
#endif

namespace {

using namespace bench;
using namespace kvcodec;

struct Arguments {
  std::size_t rows = std::size_t{1} << 21;
  unsigned repeats = 7;
  std::string filter;
  bool markdown = false, quick = false;
};

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: kernels_bench [--rows N] [--filter text] [--repeats R] [--markdown] [--quick]\n");
  std::exit(2);
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string { return ++i < argc ? argv[i] : (usage(), ""); };
    const auto number = [&](auto& to) {
      const std::string text = value();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
      if (error != std::errc() || end != text.data() + text.size() || to == 0) usage();
    };
    if (name == "--rows") number(arguments.rows);
    else if (name == "--repeats") number(arguments.repeats);
    else if (name == "--filter") arguments.filter = value();
    else if (name == "--markdown") arguments.markdown = true;
    else if (name == "--quick") arguments.quick = true;
    else usage();
  }
  return arguments;
}

/// Calls f.template operator()<Codec>(name) for every codec.
template <class F>
void for_each_codec(F f) {
  f.template operator()<TurboQuantMse<dim, 2>>("turboquant-mse 2");
  f.template operator()<TurboQuantMse<dim, 3>>("turboquant-mse 3");
  f.template operator()<TurboQuantMse<dim, 4>>("turboquant-mse 4");
  f.template operator()<TurboQuantMse<dim, 8>>("turboquant-mse 8");
  f.template operator()<Octopus<dim, 2>>("octopus 2");
  f.template operator()<Octopus<dim, 3>>("octopus 3");
  f.template operator()<Octopus<dim, 4>>("octopus 4");
  f.template operator()<TurboQuantProd<dim, 3>>("turboquant-prod 3");
  f.template operator()<OctopusQjl<dim, 3>>("octopus-qjl 3");
  f.template operator()<PolarQuant<dim, 2>>("polarquant 2");
  f.template operator()<PolarQuant<dim, 3>>("polarquant 3");
  f.template operator()<PolarQuant<dim, 4>>("polarquant 4");
  f.template operator()<PolarQuantBlock<dim>>("polarquant-block");
  f.template operator()<LloydMax<dim, 4>>("lloyd-max 4");
  f.template operator()<Float16<dim>>("float16");
  f.template operator()<BFloat16<dim>>("bfloat16");
}

void add_kernels(Bench& bench) {
  add_memory(bench);
  add_float16(bench);
  add_q4(bench);
  for_each_codec([&]<class C>(const char* name) { add_codec<C>(bench, name); });
  add_encoder<TurboQuantMse<dim, 2, Options{.rounds = 1}>>(bench, "turboquant-mse 2, 1 round");
  add_encoder<TurboQuantMse<dim, 3, Options{.rounds = 1}>>(bench, "turboquant-mse 3, 1 round");
  add_encoder<TurboQuantMse<dim, 4, Options{.rounds = 1}>>(bench, "turboquant-mse 4, 1 round");
  add_encoder<Octopus<dim, 2, OctopusOptions{.rounds = 1}>>(bench, "octopus 2, 1 round");
  add_encoder<Octopus<dim, 3, OctopusOptions{.rounds = 1}>>(bench, "octopus 3, 1 round");
  add_encoder<Octopus<dim, 4, OctopusOptions{.rounds = 1}>>(bench, "octopus 4, 1 round");
  add_rotation<1>(bench, "1 round");
  add_rotation<3>(bench, "3 rounds");
}

void add_steps(Bench& bench) {
  add_float16_attention(bench);
  for_each_codec([&]<class C>(const char* name) { add_attention<C>(bench, name); });
}

void run(Bench& bench, const Arguments& arguments) {
  const std::chrono::nanoseconds minimum = arguments.quick ? std::chrono::nanoseconds(1) : std::chrono::milliseconds(5);
  const std::vector<ResultTable> tables = {{"encode and decode", "memcpy", Ratio::time, {"encode", "decode"}},
                                     {"rotation", "memcpy", Ratio::time, {"forward", "inverse"}},
                                     {"score, 1 query", "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {"score, 4 queries", "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {two_threads, "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {"accumulate, 1 query", "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {"accumulate, 4 queries", "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {"attention step, 1 query", "float16 best", Ratio::speed, {"exact", "fastest"}},
                                     {"attention step, 4 queries", "float16 best", Ratio::speed, {"exact", "fastest"}}};
  add_kernels(bench);
  add_steps(bench);
  measure_all(bench.subjects, arguments.repeats, minimum);
  std::printf(arguments.markdown ? "\n## %s: %zu rows\n" : "\n== %s: %zu rows\n", bench.place.c_str(), bench.rows);
  for (const ResultTable& table : tables) print(table, bench.subjects, arguments.markdown);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  constexpr std::size_t small = 1024;
  const std::size_t block = arguments.quick ? small : 8192;
  if (arguments.quick) {
    arguments.rows = 2 * block;
    arguments.repeats = 1;
  }
  const std::size_t rows = (arguments.rows + 2 * block - 1) / (2 * block) * (2 * block);  // two threads, whole blocks

  // A row of float16, and what a cache has beside its rows; floats to encode in a quarter of that number.
  const LargePages arena(rows * dim * 2 + rows * 8 + (std::size_t{1} << 22));
  const std::size_t vector_rows = std::max(2 * block, rows / 4 / block * block);
  const LargePages vectors(vector_rows * dim * sizeof(float));
  const std::span<float> floats(reinterpret_cast<float*>(vectors.bytes().data()), vector_rows * dim);
  replicate(std::as_bytes(std::span<const float>(gaussian(Bench::distinct * dim, 1))), std::as_writable_bytes(floats));

  {
    Bench bench{"L2", small, small, arena.bytes(), floats.first(small * dim), arguments.filter};
    run(bench, arguments);
  }
  {
    Bench bench{"DRAM", rows, block, arena.bytes(), floats, arguments.filter};
    run(bench, arguments);
  }
  std::printf("\n%s; %s; %u repeats; %.0f MB in large pages\n", std::string(isa_name).c_str(), __VERSION__, arguments.repeats,
              large_page_megabytes());
#if defined(_SC_LEVEL3_CACHE_SIZE)
  std::printf("Smallest array from DRAM: %zu MB; L2 %ld KB, L3 %ld MB.\n", rows * TurboQuantMse<dim, 2>::row_bytes >> 20,
              sysconf(_SC_LEVEL2_CACHE_SIZE) >> 10, sysconf(_SC_LEVEL3_CACHE_SIZE) >> 20);
#endif
  return 0;
}
