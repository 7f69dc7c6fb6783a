// What the contract says of calls rather than of results: row functions allocate nothing, take less than 4 KB of stack (32
// bytes a coordinate where that is more: a few vectors of floats), and may run on one codec from any number of threads.
#include "support/counted_new.hpp"
#include "support/random_rows.hpp"

#include <kvcodec/kvcodec.hpp>

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace kvcodec {
namespace {

struct Call {
  std::string name;
  std::size_t dim;
  std::function<void()> run;
};

/// A codec's calls, with memory of their own; and what they wrote.
struct Caller {
  std::vector<Call> calls;
  std::function<std::vector<float>()> outcome;
};

constexpr std::size_t row_count = 70, group = 5;

template <class C>
Caller caller(const C& codec) {
  struct State {
    std::vector<float> x = kvcodec_test::gaussian_rows(row_count, C::dim, 1), back = std::vector<float>(x.size());
    std::vector<float> scores = std::vector<float>(group * row_count), out = std::vector<float>(C::dim);
    std::vector<float16> half = std::vector<float16>(x.size());
    std::vector<std::byte> codes = std::vector<std::byte>(row_count * C::code_bytes);
    std::vector<std::byte> norms = std::vector<std::byte>(row_count * C::norm_bytes + 1);
    std::vector<typename C::Query> queries = std::vector<typename C::Query>(group);
    std::vector<typename C::Accumulator> sums = std::vector<typename C::Accumulator>(group);
    std::array<std::byte, C::row_bytes> row;
    Planes rows{codes.data(), C::code_bytes, norms.data(), C::norm_bytes, row_count};
    std::span<const float, C::dim> vector(std::size_t i) const { return std::span<const float, C::dim>(x.data() + i * C::dim, C::dim); }
  };
  const auto s = std::make_shared<State>();
  const C* const shared = &codec;
  Caller caller;
  const auto add = [&](std::string name, auto f) {
    caller.calls.push_back({std::string(C::name) + ", d = " + std::to_string(C::dim) + ", " + std::to_string(C::row_bytes) + " bytes: " + name, C::dim, f});
  };
  add("encode", [=] { (void)shared->encode(s->vector(0), s->row); });
  add("encode_rows", [=] { (void)shared->encode_rows(std::span<const float>(s->x), s->rows); });
  add("decode", [=] { shared->decode(s->row, std::span<float, C::dim>(s->out)); });
  add("decode_rows", [=] { (void)shared->decode_rows(s->rows, std::span<float>(s->back)); });
  add("decode_rows to float16", [=] { (void)shared->decode_rows(s->rows, std::span<float16>(s->half)); });
  add("encode_rows of float16", [=] { (void)shared->encode_rows(std::span<const float16>(s->half), s->rows); });
  add("prepare", [=] { for (std::size_t k = 0; k < group; ++k) ::new (static_cast<void*>(&s->queries[k])) typename C::Query(shared->prepare(s->vector(k))); });
  add("score", [=] { s->scores[0] = shared->score(s->queries[0], s->row); });
  add("accumulate", [=] { shared->accumulate(0.5f, s->row, s->sums[0]); });
  for (const auto arithmetic : {Arithmetic::exact, Arithmetic::fastest}) {
    const std::string how = arithmetic == Arithmetic::exact ? ", exact" : "";
    add("score_rows" + how, [=] {
      (void)shared->score_rows(std::span<const typename C::Query>(s->queries), s->rows, std::span<float>(s->scores), arithmetic);
    });
    add("accumulate_rows" + how, [=] {
      (void)shared->accumulate_rows(std::span<const float>(s->scores), s->rows, std::span<typename C::Accumulator>(s->sums), arithmetic);
    });
    add("accumulate_rows of one" + how, [=] {
      (void)shared->accumulate_rows(std::span<const float>(s->scores).first(row_count), s->rows, std::span<typename C::Accumulator>(s->sums).first(1), arithmetic);
    });
  }
  add("finish", [=] { shared->finish(s->sums[group - 1], std::span<float, C::dim>(s->out)); });
  caller.outcome = [=] {
    std::vector<float> all = s->back;
    all.insert(all.end(), s->scores.begin(), s->scores.end());
    all.insert(all.end(), s->out.begin(), s->out.end());
    return all;
  };
  return caller;
}

/// f(codec) for codecs of every kind.
template <class F>
void each_codec(F f) {
  f(Octopus<128, 2>(1));
  f(Octopus<128, 3>(1));
  f(Octopus<128, 4>(1));
  f(Octopus<256, 3>(1));
  f(TurboQuantMse<128, 2>(1));
  f(TurboQuantMse<128, 3>(1));
  f(TurboQuantMse<128, 4, Options{.correction = Correction::least_squares}>(1));
  f(TurboQuantMse<256, 4>(1));
  f(TurboQuantMse<80, 6>(1));
  f(TurboQuantProd<128, 3>(1));
  f(OctopusQjl<128, 2>(1));
  f(PolarQuant<128, 3>(1));
  f(PolarQuantBlock<128>(1));
  f(TurboQuantSplit<128, 2>(1));
  f(OffsetCodec<TurboQuantMse<128, 3>>(1));
  f(Float16<128>());
}

TEST(RowFunctions, AllocateNothing) {
  if (!counts_allocations) GTEST_SKIP() << "this build does not count them";
  each_codec([](const auto& codec) {
    const Caller caller = kvcodec::caller(codec);
    for (const Call& call : caller.calls) {
      const std::size_t before = allocations;
      call.run();
      EXPECT_EQ(allocations, before) << call.name;
    }
  });
  EXPECT_GT(allocations, 0u) << "allocations are not counted";
}

TEST(RowFunctions, ShareACodecBetweenThreads) {
  each_codec([](const auto& codec) {
    std::vector<Caller> callers;
    for (int t = 0; t < 4; ++t) callers.push_back(caller(codec));
    std::vector<std::thread> threads;
    for (const Caller& c : callers)
      threads.emplace_back([&c] { for (const Call& call : c.calls) call.run(); });
    for (std::thread& thread : threads) thread.join();
    for (const Caller& c : callers) EXPECT_EQ(c.outcome(), callers[0].outcome()) << c.calls[0].name;
  });
}

// Of optimised code: without, or with a sanitizer, frames are of another size.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// How much of its stack a thread that runs f has touched.
std::size_t stack_of(const std::function<void()>& f) {
  constexpr std::size_t size = std::size_t{1} << 20;
  void* const stack = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) throw std::bad_alloc();
  constexpr unsigned char untouched = 0xa5;
  auto* const bytes = static_cast<unsigned char*>(stack);
  std::fill_n(bytes, size, untouched);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, size);
  pthread_t thread;
  const auto run = [](void* p) -> void* {
    (*static_cast<const std::function<void()>*>(p))();
    return nullptr;
  };
  const int failed = pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&f));
  EXPECT_EQ(failed, 0);
  if (failed == 0) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  std::size_t unused = 0;
  while (unused < size && bytes[unused] == untouched) ++unused;
  munmap(stack, size);
  return size - unused;
}

TEST(RowFunctions, TakeLessThanFourKilobytesOfStack) {
  const std::size_t nothing = stack_of([] {});
  std::size_t most = 0;
  std::string where;
  each_codec([&](const auto& codec) {
    const Caller caller = kvcodec::caller(codec);
    for (const Call& call : caller.calls) {
      call.run();  // the first call of a library's function is the dynamic linker's, which saves all registers
      const std::size_t touched = stack_of(call.run), taken = touched > nothing ? touched - nothing : 0;
      EXPECT_LT(taken, std::max<std::size_t>(4096, 32 * call.dim)) << call.name;
      if (taken > most) most = taken, where = call.name;
    }
  });
  std::printf("most: %zu bytes of stack, %s\n", most, where.c_str());
  EXPECT_GT(most, 512u);  // a row of 128 floats at the least: it is the calls that were measured
}

#endif

}  // namespace
}  // namespace kvcodec
