// Runs many schedules in processes of their own: a CHECK that fails ends one process and counts against its
// seed, the others go on.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "sim/schedule.h"

namespace banyan::sim {

/// How many schedules to run, and from which seed.
struct PoolOptions {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  unsigned processes = 1;
};

/// Runs `run` for each seed and hands each result to `done`, in no particular order. kIo when no process can
/// be made.
Result<Done> run_pool(const PoolOptions& options,
                      const std::function<ScheduleResult(std::uint64_t seed)>& run,
                      const std::function<void(ScheduleResult)>& done);

}  // namespace banyan::sim
