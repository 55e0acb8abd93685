#include "cli/moving/scratch_file.h"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace banyan::cli {

namespace fs = std::filesystem;

ScratchFile::ScratchFile() {
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  std::string folder = (error ? fs::path("/tmp") : temporary) / "banyan-XXXXXX";
  // Where that fails, writing the file does, and whoever does it says so.
  if (mkdtemp(folder.data()) != nullptr) folder_ = folder;
  path_ = fs::path(folder) / "session.banyan";
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), path_(std::move(other.path_)) {}

ScratchFile::~ScratchFile() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

}  // namespace banyan::cli
