// Makes a request again that failed for a reason that may pass.
#pragma once

#include <utility>

#include "base/random.h"
#include "runtime/data_store/options.h"

namespace banyan::runtime {

/// The pause before attempt `attempt`, of which 2 is the first that has one. It doubles each time up to a
/// limit, and is drawn from its upper half by `uniform` in [0, 1), so that clients that failed together do
/// not return together.
Duration pause_before(int attempt, const RequestLimits& limits, double uniform);

/// Sleeps so long. Returns false, earlier, when `stop` is requested.
bool pause_for(Duration time, const std::stop_token& stop);

/// The calling thread's own generator, with a seed from the system.
Rng& thread_rng();

/// The error with which a request ends when its store is being closed.
Error closing_error();

/// Calls `attempt` until it returns something other than kUnavailable, at most as often as the limits say.
template <class Attempt>
auto retry(const RequestLimits& limits, const std::stop_token& stop, Attempt attempt) -> decltype(attempt()) {
  for (int number = 1;; ++number) {
    auto result = attempt();
    if (result || result.error().kind != ErrorKind::kUnavailable) return result;
    if (stop.stop_requested()) return tl::unexpected(closing_error());
    if (number >= limits.attempts) {
      Error error = std::move(result.error());
      if (number > 1) error.message += " (tried " + std::to_string(number) + " times)";
      return tl::unexpected(std::move(error));
    }
    if (!pause_for(pause_before(number + 1, limits, thread_rng().uniform()), stop))
      return tl::unexpected(closing_error());
  }
}

}  // namespace banyan::runtime
