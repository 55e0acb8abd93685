// Hosts that are being drained: which replicas leave them next, and what holds up those that stay.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"

namespace banyan::schedule {

/// Moves the replicas of draining hosts away, a few at a time, because each move copies the values of a
/// session. A move that is refused is tried again, after a pause that doubles each time.
class Drains {
 public:
  /// A replica that is to leave its host now.
  struct Due {
    SessionId session;
    HostId from;
    bool force = false;
  };

  /// The session holds nothing any more.
  void drop(const SessionId& session);

  /// Why a move has not come about.
  struct Obstacle {
    std::string reason;  ///< for a person
    bool soon = false;   ///< the session was busy: the pause does not grow
  };
  /// The moves that may begin. The caller answers each by began() or failed().
  [[nodiscard]] std::vector<Due> due(const cluster::Cluster& cluster, Time now);
  void began(const Due& due, const HostId& to, Time now);
  void failed(const SessionId& session, Obstacle obstacle, Time now);
  /// A move of the session has begun and is not over.
  [[nodiscard]] bool moves(const SessionId& session) const { return moves_.contains(session); }
  /// What held moves up may have changed: those that failed may begin again.
  void retry();

  /// Why the session's replica has not left its host; nothing while a move is under way or still to come.
  [[nodiscard]] std::optional<std::string> why_stays(const SessionId& session) const;

 private:
  struct Move {
    HostId from;
    HostId to;
    Time since;
  };
  struct Failure {
    std::string reason;
    Duration pause{};
    Time again_at;
  };
  void end_moves(const cluster::Cluster& cluster, Time now);
  void forget_old_failures(const cluster::Cluster& cluster);

  std::map<SessionId, Move> moves_;  ///< that have begun
  std::map<SessionId, Failure> failures_;
};

}  // namespace banyan::schedule
