// A file for a while.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace banyan::cli {

/// A path in $TMPDIR, else /var/tmp, that nobody else uses; what is written there is its owner's alone, and
/// goes with this. The file is made by whoever writes it.
class ScratchFile {
 public:
  /// kIo where there is no room for it.
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
