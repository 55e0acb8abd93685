// Makes a failing schedule small: with as few faults and cells as it takes to fail in the same way.
#pragma once

#include <functional>

#include "base/result.h"
#include "sim/schedule.h"

namespace banyan::sim {

/// A schedule that fails, and what it came to.
struct Failing {
  ScheduleOptions options;
  ScheduleResult result;
};

/// Told now and then: how many schedules were tried, and the smallest that fails so far.
using ShrinkProgress = std::function<void(std::uint64_t tried, const Failing& smallest)>;

/// Tries the faults by delta debugging (ddmin: Zeller and Hildebrandt, 2002), then fewer cells, until neither
/// helps. Each schedule runs in one of so many processes, for a CHECK that fails ends one. kInvalid when it
/// does not fail; kIo when no process can be made.
Result<Failing> shrink(const ScheduleOptions& options, unsigned processes, const ShrinkProgress& progress);

/// What kind of violation it is: "P1", "log", …; two that are not of one kind are other failures.
std::string kind_of(const ScheduleResult& result);

}  // namespace banyan::sim
