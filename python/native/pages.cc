#include "pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace banyan::pages {
namespace {

std::size_t in_huge(std::size_t bytes) { return (bytes + kHuge - 1) / kHuge * kHuge; }

}  // namespace

void* take(std::size_t bytes) {
  if (bytes < kLarge) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  const auto size = in_huge(bytes);
  void* all = mmap(nullptr, size + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(all);
  const auto ahead =
      in_huge(reinterpret_cast<std::uintptr_t>(begin)) - reinterpret_cast<std::uintptr_t>(begin);
  if (ahead != 0) munmap(begin, ahead);
  munmap(begin + ahead + size, kHuge - ahead);
  (void)madvise(begin + ahead, size, MADV_HUGEPAGE);
  return begin + ahead;
}

void give_back(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLarge) {
    std::free(memory);
  } else {
    munmap(memory, in_huge(bytes));
  }
}

}  // namespace banyan::pages
