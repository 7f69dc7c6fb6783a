// Replaces operator new by one that counts, for tests that nothing is allocated. Included by one translation unit of a program.
// ThreadSanitizer has an operator new of its own, which cannot be replaced: there nothing is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KVCODEC_TEST_OWN_NEW
#endif
#elif defined(__SANITIZE_THREAD__)
#define KVCODEC_TEST_OWN_NEW
#endif

namespace {
std::atomic<std::size_t> allocations{0};

#if defined(KVCODEC_TEST_OWN_NEW)
constexpr bool counts_allocations = false;
}  // namespace
#else
constexpr bool counts_allocations = true;

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  void* const p = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
}  // namespace

// The array forms come here by default. Not inlined, which g++ 12 would take for pairs that do not match.
[[gnu::noinline]] void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif
