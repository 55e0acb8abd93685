#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace banyan {

/// Blobs in a memfd start at multiples of this, so that mapped arrays are aligned for vector instructions.
inline constexpr std::size_t kBlobAlignment = 64;

/// Writes `blobs` one after the other, each at the next multiple of kBlobAlignment from 0, into a new memfd
/// with one gather write, and seals it. Returns the descriptor; the caller closes it. Throws
/// std::system_error.
int write_sealed_memfd(std::span<const std::span<const std::byte>> blobs);

/// Private, writable memory: fresh, or a mapping of a whole memfd (what the reader writes is its own).
class Mapping {
 public:
  /// Maps and closes `fd`, also on failure. Throws std::system_error.
  explicit Mapping(int fd);
  /// Fresh memory, all zeros, in huge pages where the kernel has them. Throws std::system_error.
  explicit Mapping(std::size_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// A part of a mapping; keeps it mapped.
struct Slice {
  std::shared_ptr<Mapping> mapping;
  std::span<std::byte> bytes;
};

}  // namespace banyan
