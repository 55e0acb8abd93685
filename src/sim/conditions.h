// What a schedule is like: all that its seed draws before it begins. Each seed has a mix of its own (swarm
// testing: Groce and others, 2012): a schedule that has everything at once meets fewer corners than one that
// lacks some of it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "node/timing.h"
#include "sim/clock.h"
#include "sim/notebook.h"

namespace banyan::sim {

/// What can strike. docs/internals/simulator.md says how each is modelled.
enum class Fault : std::uint8_t {
  kCrashHost,
  kCrashGateway,
  kCrashMidStep,     ///< of a host: some effects of one step get out, the others do not
  kCrashAfterReply,  ///< members of a session, at the moment in which a client sees a reply
  kCrashAtWrite,     ///< a disk that is full or broken: the write fails, and with it the host agent
  kPowerLoss,        ///< several machines at once
  kLoseHost,         ///< for good, with its disk
  kStopHost,
  kStopGateway,
  kPartition,
  kBadNetwork,
  kUntrueHint,
  kSlowDisk,
  kCorruptChunk,
  kKillWorker,
  kWallClock,
};
inline constexpr std::size_t kFaults = 16;
std::string_view name_of(Fault fault);

/// How often each fault strikes, and how long what it breaks stays broken.
struct Weather {
  Duration between = 500ms;                      ///< mean time between strikes in a stormy period
  double quiet = 0.3;                            ///< share of periods without any
  Duration outage_max = 3s;                      ///< mostly
  Duration storm_max = 50s;                      ///< after it everything is put right
  std::array<std::uint64_t, kFaults> weights{};  ///< by Fault; all 0: nothing strikes
};

struct Conditions {
  std::uint64_t hosts = 4;
  std::uint64_t notebooks = 1;
  NotebookPlan plan;  ///< of each notebook
  bool warm = false;  ///< standbys need no worker
  node::Timing timing;
  node::Sizes sizes;
  std::uint64_t keep_inline = 400;  ///< bytes of old values that a session keeps in its log
  std::uint64_t keep = 8 << 10;     ///< and beside it
  Weather weather;
};

/// Draws them for a schedule with at least so many cells.
Conditions draw_conditions(Rng rng, std::uint64_t cells);

}  // namespace banyan::sim
