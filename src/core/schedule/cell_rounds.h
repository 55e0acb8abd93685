// Cells that nobody has begun to run yet: who was asked in vain, and when everybody is asked again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/events.h"

namespace banyan::schedule {

/// The replicas of a session are asked in rounds to run its cell. In a round each of them is asked at most
/// once. When none is left, the next round begins after a pause: 200 ms at first, each time a quarter longer,
/// 5 s at most. After five rounds that ended because a replica declined nobody is asked any more, unless one
/// may still begin the cell. (The quarter and the five are those of NotebookOS.)
class CellRounds {
 public:
  /// `cluster` outlives this.
  explicit CellRounds(const cluster::Cluster& cluster) : cluster_(cluster) {}

  /// The replica on that host was asked and does not run the cell: it is not asked again in this round.
  void pass_over(const SessionId& session, const HostId& host) { cells_[session].passed_over.insert(host); }
  /// The replicas that may be asked now, in the order of the event; none when the round is over.
  [[nodiscard]] std::vector<EligibleReplica> left(const CellWaits& event) const;
  /// The cell waits for devices, which may take long: whoever was passed over may be asked after that.
  void begin_anew(const SessionId& session);
  /// Nobody is left: a pause begins, and then the next round. False when this was the last round.
  [[nodiscard]] bool pause(const CellWaits& event, Time now);
  /// A round ended because a replica declined, since the cell ran last.
  [[nodiscard]] bool declined(const SessionId& session) const;
  /// A pause lasts: nobody is to be asked.
  [[nodiscard]] bool pauses(const SessionId& session) const;
  /// The cell runs: no further round begins, unless its host is lost.
  void on_runs(const SessionId& session);
  /// The session's cell has ended, or is not to run.
  void drop(const SessionId& session) { cells_.erase(session); }
  /// The sessions whose pause is over. Each is named once.
  [[nodiscard]] std::vector<SessionId> take_due(Time now);

 private:
  struct Cell {
    std::set<HostId> passed_over;  ///< in this round
    int declined_rounds = 0;       ///< that ended because a replica declined
    Duration pause{};              ///< the last one
    std::optional<Time> again_at;  ///< a pause lasts until then
  };

  const cluster::Cluster& cluster_;
  std::map<SessionId, Cell> cells_;  ///< those for which somebody was passed over, or nobody was left
};

}  // namespace banyan::schedule
