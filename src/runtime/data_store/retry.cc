#include "runtime/data_store/retry.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>

namespace banyan::runtime {

Duration pause_before(int attempt, const RequestLimits& limits, double uniform) {
  Duration whole = limits.pause;
  for (int doubled = 2; doubled < attempt && whole < limits.pause_max; ++doubled) whole *= 2;
  whole = std::min(whole, limits.pause_max);
  const auto count = static_cast<double>(whole.count());
  return Duration(static_cast<Duration::rep>(count * (0.5 + 0.5 * uniform)));
}

bool pause_for(Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  return !stopped.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
}

Rng& thread_rng() {
  thread_local Rng rng{(std::uint64_t{std::random_device{}()} << 32) | std::random_device{}()};
  return rng;
}

Error closing_error() { return {ErrorKind::kUnavailable, "the data store is being closed"}; }

}  // namespace banyan::runtime
