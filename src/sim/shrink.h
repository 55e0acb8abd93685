// Makes a failing schedule small: it looks for few faults and few cells with which it fails in the same way.
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

/// Is called now and then with the number of schedules that were tried and the smallest that fails so far.
using ShrinkProgress = std::function<void(std::uint64_t tried, const Failing& smallest)>;

/// Tries the faults by delta debugging (ddmin: Zeller and Hildebrandt, 2002), then fewer cells, until neither
/// helps. Schedules run in so many processes of their own, because a CHECK that fails ends its process.
/// kInvalid when the schedule does not fail; kIo when no process can be made.
Result<Failing> shrink(const ScheduleOptions& options, unsigned processes, const ShrinkProgress& progress);

/// The kind of the first violation: "P1", "log", … Schedules fail in the same way when their kinds are equal.
std::string kind_of(const ScheduleResult& result);

}  // namespace banyan::sim
