#include "runtime/fd/unique_fd.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace banyan::runtime {

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

Error system_error(const std::string& what) {
  return {ErrorKind::kIo,
          what + ": " + std::strerror(errno)};  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

}  // namespace banyan::runtime
