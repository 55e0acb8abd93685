#include "runtime/failpoint/failpoint.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace banyan::runtime {

void failpoint(const char* name) {
  static const char* const folder = std::getenv("BANYAN_FAILPOINTS");  // NOLINT(concurrency-mt-unsafe)
  if (folder != nullptr && unlink((std::string(folder) + "/" + name).c_str()) == 0) std::raise(SIGKILL);
}

}  // namespace banyan::runtime
