// Policies: which hosts take the replicas of a session, and which replica is asked first to run a cell. They
// are chosen by name, so that baselines are policies too.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/schedule/host_load.h"

namespace banyan::schedule {

/// A question: which of these hosts take `wanted` more replicas?
struct Snapshot {
  /// The hosts that are up, are not drained, can run the session's kernel and cells, and hold no replica of
  /// it.
  std::vector<HostLoad> hosts;
  std::uint64_t wanted = 0;
  std::uint64_t draw = 0;  ///< another number for each session: whoever draws by lot begins with it
};

/// The number of a session for Snapshot::draw.
[[nodiscard]] std::uint64_t draw_of(const SessionId& session);

/// Chooses hosts for replicas. Pure and deterministic.
class Placement {
 public:
  virtual ~Placement() = default;
  /// At most `wanted` different hosts of the snapshot, best first; fewer when there are fewer.
  [[nodiscard]] virtual std::vector<HostId> place(const Snapshot& snapshot) const = 0;
};

/// A replica that may be asked to run a cell: its host is up, and the session's log allows it.
struct EligibleReplica {
  ReplicaId replica;
  HostId host;
  bool executed_last = false;  ///< it ran the session's last cell
  bool worker_ready = false;
  bool leaves = false;  ///< it is about to leave the session
};

/// An eligible replica with the load of its host, as a policy sees it.
struct Candidate {
  EligibleReplica eligible;
  HostLoad load;  ///< the load of its host
};

/// Orders the replicas that may run a cell. Pure and deterministic.
class ExecutorChoice {
 public:
  virtual ~ExecutorChoice() = default;
  /// All candidates in the order in which they are asked to run a cell that needs this.
  [[nodiscard]] virtual std::vector<ReplicaId> order(const cluster::Demand& demand,
                                                     std::vector<Candidate> candidates) const = 0;
};

/// "least_loaded": fewest replicas for each cpu. "fewest_busy_gpus": fewest GPUs that cells have, then as
/// that one. "packed": most replicas for each cpu. "spread": fewest replicas. "random". kNotFound names the
/// policies that exist.
Result<std::unique_ptr<const Placement>> placement_named(std::string_view name);

/// "last_executor": the last executor, whose worker is warm, then as "least_loaded". That one: for a cell
/// that needs GPUs the hosts with most idle GPUs, else ready workers first; then by load. kNotFound names the
/// policies that exist.
Result<std::unique_ptr<const ExecutorChoice>> executor_choice_named(std::string_view name);

}  // namespace banyan::schedule
