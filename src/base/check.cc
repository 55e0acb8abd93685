#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace banyan {

void check_failed(std::string_view file, int line, std::string_view expression, std::string_view why) {
  std::fprintf(stderr, "%.*s:%d: CHECK(%.*s) failed: %.*s\n", static_cast<int>(file.size()), file.data(),
               line, static_cast<int>(expression.size()), expression.data(), static_cast<int>(why.size()),
               why.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace banyan
