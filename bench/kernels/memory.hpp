// Memory in large pages where the system has them: with small ones a stream from DRAM waits for the page table.
#pragma once

#include <cstddef>
#include <cstdio>
#include <new>
#include <span>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bench {

/// Zeros; pages that nobody writes to take no memory.
class LargePages {
 public:
  explicit LargePages(std::size_t bytes) : size_(bytes / alignment * alignment + alignment) {
#if defined(__linux__)
    // The system gives addresses of small pages: one large page more, to have an aligned begin.
    void* address = mmap(nullptr, size_ + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    mapped_ = address;
    const auto at = reinterpret_cast<std::size_t>(address);
    data_ = static_cast<std::byte*>(address) + (alignment - at % alignment) % alignment;
    madvise(data_, size_, MADV_HUGEPAGE);
#else
    data_ = static_cast<std::byte*>(::operator new(size_, std::align_val_t(alignment)));
#endif
  }
  ~LargePages() {
#if defined(__linux__)
    munmap(mapped_, size_ + alignment);
#else
    ::operator delete(data_, std::align_val_t(alignment));
#endif
  }
  LargePages(const LargePages&) = delete;
  LargePages& operator=(const LargePages&) = delete;

  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  static constexpr std::size_t alignment = std::size_t{1} << 21;

  std::size_t size_;
  void* mapped_ = nullptr;
  std::byte* data_ = nullptr;
};

/// How much of this process is in large pages, in MB; 0 where the system does not say.
inline double large_page_megabytes() {
  double kilobytes = 0;
#if defined(__linux__)
  if (std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r")) {
    for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;)
      if (std::sscanf(line, "AnonHugePages: %lf", &kilobytes) == 1) break;
    std::fclose(file);
  }
#endif
  return kilobytes / 1024;
}

}  // namespace bench
