// Two translation units that include the whole library, in one program: the bytes they encode are equal, and so are
// their scores, up to rounding where they were compiled for different machines.
#include "unit.hpp"

#include <cmath>
#include <cstdio>

namespace {

bool close(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  if (a.size() != b.size() || a.empty()) return false;
  float largest = 0;
  for (float v : a) largest = std::fmax(largest, std::fabs(v));
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= tolerance * largest)) return false;
  return true;
}

}  // namespace

int main() {
#if defined(KVCODEC_TEST_MIXED_FLAGS)
  const bool mixed = true;
  // F16C, which clang++ 14 cannot ask for, came before both.
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    std::puts("skipped: this processor has no AVX2 or FMA");
    return 77;
  }
#else
  const bool mixed = false;
#endif
  const Outcome a = unit_a(), b = unit_b();
  for (const Outcome* o : {&a, &b})
    std::printf("%.*s: %zu bytes, %zu scores\n", static_cast<int>(o->isa.size()), o->isa.data(), o->bytes.size(), o->scores.size());
  bool good = true;
  const auto check = [&](bool holds, const char* what) {
    if (!holds) std::printf("FAILED: %s\n", what);
    good = good && holds;
  };
  check((a.isa == b.isa) != mixed, "the units' instruction sets are as built");
  check(!a.bytes.empty() && a.bytes == b.bytes, "encoded bytes are equal");
  check(close(a.scores, b.scores, mixed ? 1e-5f : 0.0f), "scores are equal");
  check(close(a.sums, b.sums, mixed ? 1e-5f : 0.0f), "sums are equal");
  check(!a.refusal.empty() && a.refusal == b.refusal, "messages are equal");
  return good ? 0 : 1;
}
