// A file for a while.
#pragma once

#include <filesystem>

namespace banyan::cli {

/// A path in the folder for temporary files that nobody else uses; what is written there is its owner's
/// alone, and goes with this. The file is made by whoever writes it.
class ScratchFile {
 public:
  ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace banyan::cli
