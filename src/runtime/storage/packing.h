// How blocks of chunks lie on the disk: compressed, where that makes them enough smaller.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace banyan::runtime {

/// Packs one block after the other, in memory that it keeps for the next one. For one thread at a time.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Packs at most 16 MiB: compressed by zstd, numbers by the planes of their bytes, in the form in which a
  /// sample is smallest. Bytes of which less than a twenty-fourth would go stay as they are. The result is
  /// valid until the next call.
  std::string_view pack(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Appends the bytes that were packed; false when they are damaged.
bool unpack(std::string_view packed, std::string& bytes);

}  // namespace banyan::runtime
