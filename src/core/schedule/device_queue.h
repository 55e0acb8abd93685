// Cells that wait for devices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/policy.h"

namespace banyan::schedule {

/// A cell that waits, as people see it.
struct QueuedCell {
  SessionId session;
  cluster::Demand demand;
  /// Among those that wait for the same hosts; 1: the next one; 0: none of its hosts can be asked now.
  std::uint64_t place = 0;
  Time since;                        ///< when it began to wait
  std::optional<Duration> expected;  ///< until it runs; nothing while nobody can tell
};

/// First come, first served, on each host: a cell that waits for devices of a host is not overtaken there,
/// also when a later one needs fewer. Nothing is set aside for it on hosts that it cannot use.
class DeviceQueue {
 public:
  /// `cluster` outlives this.
  explicit DeviceQueue(const cluster::Cluster& cluster) : cluster_(cluster) {}

  /// Those of the replicas that may run the session's cell now, because their hosts have idle devices for it;
  /// the cell leaves the queue. None: it waits in the queue from now on, or keeps its place there. Where all
  /// hosts are too small for it, also when nothing is bound there, it does not wait: any may be asked, and
  /// says why it declines.
  [[nodiscard]] std::vector<EligibleReplica> take_turn(const SessionId& session,
                                                       const cluster::Demand& demand,
                                                       std::vector<EligibleReplica> replicas, Time now);
  /// Nobody can run the cell now, wherever devices are: it claims none, and keeps its place.
  void pass(const SessionId& session);
  /// The session's cell waits no more.
  void drop(const SessionId& session);
  /// The sessions whose cells may have their turn now, in their order. Each is named once, until it waits
  /// anew. `changed`: the hosts of which idle devices may have become more since this was called last.
  [[nodiscard]] std::vector<SessionId> take_ready(const std::set<HostId>& changed);
  /// Those that wait, in their order. `mean`: for how long a cell has its devices. What is expected takes all
  /// devices of a cell's hosts for one pool that serves whoever is before it, and then it.
  [[nodiscard]] std::vector<QueuedCell> cells(std::optional<Duration> mean) const;
  /// The session's cell, if it waits.
  [[nodiscard]] std::optional<QueuedCell> cell_of(const SessionId& session,
                                                  std::optional<Duration> mean) const;

 private:
  /// A cell's place among all: whoever came before has a smaller one.
  using Ticket = std::uint64_t;
  struct Waiting {
    SessionId session;
    cluster::Demand demand;
    std::set<HostId> hosts;
    Time since;
    bool named = false;  ///< by take_ready()
  };
  /// Enough devices are idle there, and no cell that came before waits for that host.
  [[nodiscard]] bool is_free(const SessionId& session, const cluster::Demand& demand,
                             const HostId& host) const;
  void wait_for(Ticket ticket, std::set<HostId> hosts);
  [[nodiscard]] QueuedCell described(Ticket ticket, std::optional<Duration> mean) const;

  const cluster::Cluster& cluster_;
  std::map<Ticket, Waiting> waiting_;
  std::map<SessionId, Ticket> tickets_;
  std::map<HostId, std::set<Ticket>> lines_;  ///< those that wait for each host
  std::set<HostId> moved_;                    ///< whose lines somebody has left since take_ready()
  Ticket last_ = 0;
};

}  // namespace banyan::schedule
