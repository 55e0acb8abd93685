// Small files in which a daemon keeps keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace banyan::runtime {

/// What such a file holds, and who may read and write it.
struct KeyFile {
  std::string text;
  unsigned mode = 0;  ///< the permission bits, as of chmod
};

/// Reads a file of at most 16 KiB; nothing when there is none. kIo when it cannot be read, kInvalid when it
/// is larger or no regular file.
Result<std::optional<KeyFile>> read_key_file(const std::filesystem::path& path);

/// Writes a file with mode 0600, in place of one that was there. After a crash it has all of the text or what
/// it had before; it is durable when this returns. kIo names the file.
Result<Done> write_key_file(const std::filesystem::path& path, const std::string& text);

}  // namespace banyan::runtime
