// A buffer between two pages that may not be touched: reading or writing a byte before or after it ends the test.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>

#include <sys/mman.h>
#include <unistd.h>

namespace kvcodec_test {

class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    inner_ = (bytes + page_ - 1) / page_ * page_;
    void* all = mmap(nullptr, inner_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("mmap failed");
    base_ = static_cast<std::byte*>(all);
    if (mprotect(base_ + page_, inner_, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("mprotect failed");
  }
  ~Guarded() { munmap(base_, inner_ + 2 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// The bytes right after the lower guard page.
  std::span<std::byte> at_start() const { return {base_ + page_, bytes_}; }
  /// The bytes right before the upper guard page; odd addresses where `bytes` is odd.
  std::span<std::byte> at_end() const { return {base_ + page_ + inner_ - bytes_, bytes_}; }

 private:
  std::size_t bytes_, page_, inner_ = 0;
  std::byte* base_ = nullptr;
};

}  // namespace kvcodec_test
