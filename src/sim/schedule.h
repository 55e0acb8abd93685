// One seeded schedule: a fleet, its clients, its faults, and the verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/plant.h"
#include "sim/trace.h"

namespace banyan::sim {

/// One schedule's seed and size.
struct ScheduleOptions {
  std::uint64_t seed = 1;
  std::uint64_t cells = 100;  ///< at least so many in the schedule
  Plant plant = Plant::kNone;
  std::optional<std::set<std::uint64_t>> faults;  ///< the numbers of those that strike; none given: all
  std::uint64_t codec_share = 64;  ///< one frame in so many passes through its encoding; 0: none
  Trace::Sink trace;
};

/// What one schedule came to.
struct ScheduleResult {
  std::uint64_t seed = 0;
  std::uint64_t cells = 0;   ///< answered
  std::uint64_t events = 0;  ///< of the scheduler
  std::uint64_t faults = 0;  ///< those that were to strike
  std::uint64_t lost = 0;    ///< hosts, for good
  TrueTime took{};           ///< virtual
  std::uint64_t trace_hash = 0;
  std::vector<std::string> violations;
};

/// Equal options give an equal result, on every machine.
ScheduleResult run_schedule(const ScheduleOptions& options);

}  // namespace banyan::sim
