// Room for a value that comes from a store.
#pragma once

#include <filesystem>
#include <memory>

#include "base/bytes.h"
#include "base/result.h"

namespace banyan::runtime {

/// In memory up to kMemoryMax bytes; beyond it a mapped file without a name, whose pages the kernel may write
/// out, so that a value of gigabytes does not take as much memory.
class ValueBuffer {
 public:
  static constexpr std::uint64_t kMemoryMax = std::uint64_t{64} << 20;

  /// `scratch` is a directory on a disk with room for it. kIo says what to do.
  static Result<ValueBuffer> allocate(std::uint64_t bytes, const std::filesystem::path& scratch);

  [[nodiscard]] char* data() { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The bytes, which nobody changes from now on.
  [[nodiscard]] Blob blob() && { return {std::move(owner_), {data_, size_}}; }

 private:
  ValueBuffer(std::shared_ptr<void> owner, char* data, std::uint64_t size)
      : owner_(std::move(owner)), data_(data), size_(size) {}

  std::shared_ptr<void> owner_;
  char* data_;
  std::uint64_t size_;
};

/// The bytes of a file, mapped: how a large file is put without reading it into memory. The file must not be
/// cut short as long as the Blob lives. kNotFound, kIo.
Result<Blob> map_file(const std::filesystem::path& file);

}  // namespace banyan::runtime
