#include "pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace banyan::pages {
namespace {

std::size_t whole_huge(std::size_t bytes) { return (bytes + kHuge - 1) / kHuge * kHuge; }

std::byte* mapped(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

// At a multiple of their size.
std::byte* huge(std::size_t bytes) {
  const auto size = whole_huge(bytes);
  std::byte* const all = mapped(size + kHuge);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const auto ahead = whole_huge(address) - address;
  if (ahead != 0) munmap(all, ahead);
  munmap(all + ahead + size, kHuge - ahead);
  (void)madvise(all + ahead, size, MADV_HUGEPAGE);
  return all + ahead;
}

}  // namespace

void* take(std::size_t bytes) {
  if (bytes >= kLarge) return bytes < kHuge ? mapped(bytes) : huge(bytes);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void give_back(void* memory, std::size_t bytes) noexcept {
  if (bytes < kLarge) {
    std::free(memory);
  } else {
    munmap(memory, bytes < kHuge ? bytes : whole_huge(bytes));
  }
}

}  // namespace banyan::pages
