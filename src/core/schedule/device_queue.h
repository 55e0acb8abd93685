// Cells that wait for devices.
#pragma once

#include <set>
#include <vector>

#include "base/ids.h"
#include "core/cluster/cluster.h"
#include "core/schedule/policy.h"

namespace banyan::schedule {

/// First come, first served, on each host: a cell that waits for devices of a host is not overtaken there,
/// also when a later one needs fewer. Nothing is set aside for it on hosts that it cannot use.
class DeviceQueue {
 public:
  /// `cluster` outlives this.
  explicit DeviceQueue(const cluster::Cluster& cluster) : cluster_(cluster) {}

  /// Those of the replicas that may run the session's cell now, because their hosts have idle devices for it;
  /// the cell leaves the queue. None: it waits in the queue, where it keeps its place. Where all hosts are
  /// too small for it, also when nothing is bound there, it does not wait: any may be asked, and says why it
  /// declines.
  [[nodiscard]] std::vector<EligibleReplica> take_turn(const SessionId& session,
                                                       const cluster::Demand& demand,
                                                       std::vector<EligibleReplica> replicas);
  /// Nobody can run the cell now, wherever devices are: it claims none, and keeps its place.
  void pass(const SessionId& session);
  /// The session's cell waits no more.
  void drop(const SessionId& session);
  /// The sessions whose cells may have their turn now, in their order. Each is named once, until it waits
  /// anew.
  [[nodiscard]] std::vector<SessionId> take_ready();

 private:
  struct Waiting {
    SessionId session;
    cluster::Demand demand;
    std::set<HostId> hosts;
    bool named = false;  ///< by take_ready()
  };
  /// Enough devices are idle there, and no cell that came before waits for that host.
  [[nodiscard]] bool is_free(const SessionId& session, const cluster::Demand& demand,
                             const HostId& host) const;

  const cluster::Cluster& cluster_;
  std::vector<Waiting> waiting_;  ///< in the order in which they came
};

}  // namespace banyan::schedule
