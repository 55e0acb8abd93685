#include "cli/moving/scratch_file.h"

#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

namespace banyan::cli {

Result<ScratchFile> ScratchFile::make() {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string place = wanted == nullptr || *wanted == '\0' ? "/var/tmp" : wanted;
  std::string folder = place + "/banyan-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return fail(ErrorKind::kIo,
                "cannot make a folder in " + place + "; is there room? TMPDIR may name another place");
  return ScratchFile(std::filesystem::path(folder));
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

ScratchFile::~ScratchFile() {
  std::error_code error;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
}

}  // namespace banyan::cli
