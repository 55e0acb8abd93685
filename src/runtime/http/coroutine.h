// How coroutines end that nobody waits for.
#pragma once

#include <exception>

namespace banyan::runtime {

/// For asio::co_spawn: what the coroutine throws leaves the loop's run(), and ends the daemon.
inline void end_with_exceptions(const std::exception_ptr& thrown) {
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace banyan::runtime
