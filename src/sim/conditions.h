// What a schedule is like: everything that its seed draws before it begins. Each seed has a mix of its own
// (swarm testing: Groce and others, 2012), because a schedule that has everything at once meets fewer corners
// than one that lacks some of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "node/timing.h"
#include "sim/clock.h"
#include "sim/notebook.h"

namespace banyan::sim {

/// The faults that can strike. docs/internals/simulator.md says how each is modelled.
enum class Fault : std::uint8_t {
  kCrashHost,
  kCrashGateway,
  kCrashMidStep,     ///< a host or the gateway crashes when some effects of one step are out
  kCrashAfterReply,  ///< members of a session crash at the moment in which a client sees a reply
  kCrashAtWrite,     ///< a disk is full or broken: a write fails, which ends the host agent
  kPowerLoss,        ///< several machines crash at once
  kLoseHost,         ///< a host is gone for good, with its disk
  kStopHost,
  kStopGateway,
  kPartition,
  kBadNetwork,
  kUntrueHint,
  kSlowDisk,
  kCorruptChunk,
  kKillWorker,
  kWallClock,
  kChangeFleet,      ///< somebody drains or removes a host, and adds it again later
  kFaultyDevice,     ///< a device of a host does not work for a while
  kCrashAtTransfer,  ///< members of a session, or the gateway, crash during its export or import
  kWipeDisk,  ///< a host's disk is lost: somebody removes the host by force, and it comes back with an empty
              ///< one
  kStoreTrouble  ///< the data store is slow, or does not answer
};
inline constexpr std::size_t kFaults = 21;
std::string_view name_of(Fault fault);

/// How often each fault strikes, and how long what it breaks stays broken.
struct Weather {
  Duration between = 500ms;  ///< mean time between strikes in a stormy period
  double quiet = 0.3;        ///< the share of periods without strikes
  Duration outage_max = 3s;  ///< how long something stays broken; a few times up to 4 times that
  Duration storm_max = 50s;  ///< after so long everything is put right
  std::array<std::uint64_t, kFaults> weights{};  ///< the weight of each Fault; all 0: nothing strikes
};

struct Conditions {
  std::uint64_t hosts = 4;
  std::uint64_t notebooks = 1;
  std::uint64_t devices = 0;                  ///< of each host
  std::uint64_t gpus = 0;                     ///< that each cell needs
  NotebookPlan plan;                          ///< what each notebook does
  bool warm = false;                          ///< standbys need no worker
  bool store = false;                         ///< hosts read a data store, which clients write to
  bool elects = false;                        ///< every replica proposes to run a cell
  std::string session_policy = "replicated";  ///< schedule::SessionPolicy::parse()
  bool hosts_register = false;                ///< hosts know the gateway only, whose configuration names none
  node::Timing timing;
  node::Sizes sizes;
  bool pending = false;  ///< replies do not wait for values of more bytes than sizes.durable_inline
  std::uint64_t keep_inline = 400;  ///< bytes of old values that a session keeps in memory (session::Keep)
  std::uint64_t keep = 8 << 10;     ///< bytes of values of all its commits
  Weather weather;
};

/// Draws the conditions of a schedule with at least so many cells.
Conditions draw_conditions(Rng rng, std::uint64_t cells);

}  // namespace banyan::sim
