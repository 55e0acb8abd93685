#pragma once

#include <cstddef>
#include <vector>

namespace banyan::pages {

/// Large memory that is needed shortly: from the kernel in huge pages, where it has them, and back to it at
/// once. To make a huge page takes it as long as 26 small ones, of 512. From malloc it would not go back:
/// glibc takes large blocks from its heap once it has freed such a one, and what the user's objects leave
/// between them keeps the heap from shrinking.
inline constexpr std::size_t kHuge = std::size_t{2} << 20;
inline constexpr std::size_t kLarge = kHuge / 2;  ///< bytes; smaller blocks are malloc's

/// At least so many bytes. Throws std::bad_alloc.
void* take(std::size_t bytes);
/// `bytes` as they were asked for.
void give_back(void* memory, std::size_t bytes) noexcept;

template <class T>
struct Allocator {
  using value_type = T;

  Allocator() = default;
  template <class U>
  explicit(false) Allocator(const Allocator<U>& /*other*/) {}

  T* allocate(std::size_t count) { return static_cast<T*>(take(count * sizeof(T))); }
  void deallocate(T* at, std::size_t count) noexcept { give_back(at, count * sizeof(T)); }
  friend bool operator==(const Allocator&, const Allocator&) = default;
};

template <class T>
using Vector = std::vector<T, Allocator<T>>;

}  // namespace banyan::pages
