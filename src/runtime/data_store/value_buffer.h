// Room for a value that comes from a store.
#pragma once

#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace banyan::runtime {

/// A buffer: memory up to kMemoryMax bytes, and beyond that a mapped file without a name, whose pages the
/// kernel may write out, so that a value of gigabytes does not take gigabytes of memory.
class ValueBuffer {
 public:
  static constexpr std::uint64_t kMemoryMax = std::uint64_t{64} << 20;

  /// `scratch` is a directory on a disk that has the room. kIo says what to do.
  static Result<ValueBuffer> allocate(std::uint64_t bytes, const std::filesystem::path& scratch);

  [[nodiscard]] char* data() { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The bytes as a Blob. Nobody may change them from now on.
  [[nodiscard]] Blob blob() && { return {std::move(owner_), {data_, size_}}; }

 private:
  ValueBuffer(std::shared_ptr<void> owner, char* data, std::uint64_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  std::shared_ptr<void> owner_;
  char* data_;
  std::uint64_t size_;
};

/// Maps the bytes of a file, so that a large file can be put without reading it into memory. The file must
/// not be cut short as long as the Blob lives. kNotFound, kIo.
Result<Blob> map_file(const std::filesystem::path& file);

}  // namespace banyan::runtime
