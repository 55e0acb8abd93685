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
  std::uint64_t cells = 100;  ///< all notebooks together run at least so many
  Plant plant = Plant::kNone;
  std::optional<std::set<std::uint64_t>>
      faults;                      ///< the numbers of the faults that strike; without it all do
  std::uint64_t codec_share = 64;  ///< one frame in so many passes through its encoding; 0: none
  bool whole_ticks = false;        ///< as in node::HostConfig
  Trace::Sink trace;
};

/// What one schedule came to.
struct ScheduleResult {
  std::uint64_t seed = 0;
  std::uint64_t cells = 0;       ///< how many were answered
  std::uint64_t events = 0;      ///< how many events the scheduler ran
  std::uint64_t faults = 0;      ///< how many were to strike
  std::uint64_t lost = 0;        ///< how many hosts were lost for good
  std::uint64_t transfers = 0;   ///< how many exports and imports ended well
  std::uint64_t from_store = 0;  ///< how many chunks hosts have read from the data store
  TrueTime took{};               ///< virtual time
  std::uint64_t trace_hash = 0;
  std::vector<std::string> violations;
};

/// Runs the schedule. Equal options give an equal result, on every machine.
ScheduleResult run_schedule(const ScheduleOptions& options);

}  // namespace banyan::sim
