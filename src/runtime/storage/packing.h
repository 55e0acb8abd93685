// How blocks of chunks lie on the disk: compressed where that is worth it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace banyan::runtime {

/// Packs one block after the other, in memory that it keeps for the next. For one thread at a time.
class Packer {
 public:
  Packer();
  ~Packer();
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Compressed by zstd, numbers by planes of their bytes, in the form that a sample says is smallest; as
  /// they are when less than a twenty-fourth would go. Until the next call. At most 16 MiB.
  std::string_view pack(std::string_view bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Appends what was packed; false when that is damaged.
bool unpack(std::string_view packed, std::string& bytes);

}  // namespace banyan::runtime
