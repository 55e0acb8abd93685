#pragma once

#include <cstddef>
#include <vector>

namespace banyan::pages {

/// Large memory that is needed shortly: from the kernel, and back to it at once. From malloc it would not go
/// back: glibc takes large blocks from its heap once it has freed such a one, and what the user's objects
/// leave between them keeps the heap from shrinking. What is not written takes no memory, but for the largest
/// blocks: these are of huge pages, where the kernel has them, which take it a twentieth of the time.
inline constexpr std::size_t kLarge = std::size_t{128} << 10;  ///< bytes; smaller blocks are malloc's
inline constexpr std::size_t kHuge = std::size_t{2} << 20;

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
