// CHECK: an invariant whose failure is a bug of ours. It stays on in release builds, prints where and why it
// failed, and aborts.
#pragma once

#include <string_view>

namespace banyan {

/// Prints `file:line: CHECK(expression) failed: why` on stderr and aborts the process.
[[noreturn]] void check_failed(std::string_view file, int line, std::string_view expression,
                               std::string_view why);

}  // namespace banyan

/// Aborts when `condition` is false. `why` says what the broken invariant means, for the reader of a crash.
#define CHECK(condition, why)                                      \
  do {                                                             \
    if (!(condition)) [[unlikely]]                                 \
      ::banyan::check_failed(__FILE__, __LINE__, #condition, why); \
  } while (false)
