// A temporary file.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace banyan::cli {

/// A path in $TMPDIR, or else in /var/tmp, that nobody else uses. Whoever writes it makes the file, which
/// only its owner may read; it is removed with this object.
class ScratchFile {
 public:
  /// Makes such a path. kIo where there is no room for it.
  static Result<ScratchFile> make();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "session.banyan"; }

 private:
  explicit ScratchFile(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
};

}  // namespace banyan::cli
