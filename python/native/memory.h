#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace banyan {

/// Blobs in a memfd start at multiples of this, so that mapped arrays are aligned for vector instructions.
inline constexpr std::size_t kBlobAlignment = 64;

/// A memfd for another process that is written from beginning to end and then sealed. It has blobs, each
/// at the next multiple of kBlobAlignment. All functions throw std::system_error, and std::logic_error
/// once it is sealed.
class Spool {
 public:
  Spool() = default;
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  /// The offset of the next blob.
  [[nodiscard]] std::size_t end() const { return end_; }
  /// Appends the blobs by one gather write, without another copy.
  void add(std::span<const std::span<const std::byte>> blobs);
  /// Reads `to.size()` bytes of what was added.
  void read(std::size_t at, std::span<std::byte> to) const;
  /// Releases the memory of bytes that nobody will ask for. The offsets of all others stay the same.
  void drop(std::size_t at, std::size_t size) noexcept;
  /// The descriptor, which the caller closes. Call it once; afterwards nothing can be added or read.
  [[nodiscard]] int seal();

 private:
  void check_open() const;
  void open();

  int fd_ = -1;
  bool sealed_ = false;
  std::size_t end_ = 0;
};

/// Private, writable memory: fresh, or a mapping of a whole memfd whose other readers do not see
/// what is written.
class Mapping {
 public:
  /// Maps and closes `fd`, also on failure. Throws std::system_error.
  explicit Mapping(int fd);
  /// Fresh memory, all zeros, in huge pages if the kernel has them. Throws std::system_error.
  explicit Mapping(std::size_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// A part of a mapping, which it keeps mapped.
struct Slice {
  std::shared_ptr<Mapping> mapping;
  std::span<std::byte> bytes;
};

}  // namespace banyan
