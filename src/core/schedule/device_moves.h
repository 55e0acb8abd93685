// Replicas that move to where the devices are that a cell waits for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/device_queue.h"
#include "core/schedule/events.h"

namespace banyan::schedule {

/// All hosts of a session are busy, and another host has the devices that its cell waits for: one of its
/// replicas moves there, when that takes less time than the cell is expected to wait. (NotebookOS moves
/// whenever all replicas yield.) The replica that ran the last cell stays, because its process has the
/// values.
class DeviceMoves {
 public:
  /// Both outlive this.
  DeviceMoves(const cluster::Cluster& cluster, DeviceQueue& queue) : cluster_(cluster), queue_(queue) {}

  /// A replica that is to move now.
  struct Due {
    SessionId session;
    HostId from;
    HostId to;
  };

  /// Where a cell waits whose own hosts are all too small for it.
  struct Elsewhere {
    std::optional<HostId> line;  ///< of a larger host; none while its replica moves, or may not
  };
  /// The session's cell waits: which replica could leave, and how long a move would take. Nothing where its
  /// own hosts are large enough, or no other one is to which a replica could move.
  [[nodiscard]] std::optional<Elsewhere> note(const CellWaits& cell, Time now);
  /// The cell runs, or is not to run.
  void drop(const SessionId& session);
  /// The moves that begin now, of sessions that `may_move` allows. `mean`: for how long a cell has its
  /// devices.
  [[nodiscard]] std::vector<Due> due(std::optional<Duration> mean, Time now,
                                     const std::function<bool(const SessionId&)>& may_move);
  /// The session has not carried the move out.
  void failed(const SessionId& session, Time now);
  /// The session has replicas on these hosts, or will: a move to another one was given up.
  void on_holds(const SessionId& session, const std::set<HostId>& hosts, Time now);
  /// A move of the session has begun, and its cell still waits.
  [[nodiscard]] bool moves(const SessionId& session) const { return moves_.contains(session); }

 private:
  struct Waiting {
    std::optional<HostId> from;  ///< whose replica could leave
    Duration takes{};
    std::uint64_t gpus = 0;
    Time again_at;               ///< after a move that failed
    bool too_large = false;      ///< for its own hosts
    std::optional<HostId> line;  ///< in which it waits then
  };
  struct Move {
    HostId to;
    Time since;
  };
  void end_old_moves(Time now);
  [[nodiscard]] std::optional<HostId> large_host(const CellWaits& cell,
                                                 const std::optional<HostId>& before) const;
  [[nodiscard]] std::set<HostId> hosts_without_line() const;
  [[nodiscard]] bool is_worth_it(const SessionId& session, const Waiting& one, std::optional<Duration> mean,
                                 Time now) const;
  std::optional<Due> find(const SessionId& session, std::optional<Duration> mean, Time now,
                          std::set<HostId>& free);

  const cluster::Cluster& cluster_;
  DeviceQueue& queue_;
  std::map<SessionId, Waiting> waiting_;
  std::map<SessionId, Move> moves_;  ///< that have begun, of cells that still wait
  Time looked_at_;
};

}  // namespace banyan::schedule
