// What the scheduler hears, and what it decides.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/cluster.h"
#include "core/schedule/policy.h"

namespace banyan::schedule {

// ---- Events

/// A host says what it has and which kernels it can run.
struct HostReported {
  HostId host;
  cluster::Capacity capacity;
  std::vector<cluster::KernelReport> kernels;
};
struct HostChanged {
  HostId host;
  cluster::HostState state = cluster::HostState::kUnheard;
};
/// A new session wants hosts. Answered by PlaceSession or RefuseSession, perhaps later.
struct SessionAsked {
  SessionId session;
  std::string kernel;
};
/// The session's replicas are on these hosts, or will be; all of them, each time they change.
struct SessionHolds {
  SessionId session;
  std::string kernel;
  std::set<HostId> hosts;
};
/// Nothing has happened in the session since then, and it may be suspended. Nothing: it may not be.
struct SessionIdle {
  SessionId session;
  std::optional<WallTime> since;
};
struct SessionClosed {
  SessionId session;
};
/// The session wants one replica more, or one instead of another. Answered at once, by PlaceReplica or
/// NoHost: who still wants one then says so again.
struct ReplicaWanted {
  SessionId session;
  std::set<HostId> avoid;  ///< beside those that it holds
};
/// The session's next cell waits for an executor. Answered at once by StartCell.
struct CellWaits {
  SessionId session;
  ExecutionId execution;
  std::vector<EligibleReplica> replicas;  ///< not empty
};
/// The session's cell runs there, whoever was asked to start it.
struct CellRuns {
  SessionId session;
  HostId host;
};
struct CellEnded {
  SessionId session;
};
struct TimePassed {};

using Event = std::variant<HostReported, HostChanged, SessionAsked, SessionHolds, SessionIdle, SessionClosed,
                           ReplicaWanted, CellWaits, CellRuns, CellEnded, TimePassed>;

// ---- Decisions. Whoever carries one out looks whether it still can, and asks again when not.

/// The new session's replicas go there.
struct PlaceSession {
  SessionId session;
  std::string kernel;
  std::vector<HostId> hosts;
};
/// The new session has no place.
struct RefuseSession {
  SessionId session;
  std::string reason;  ///< for a person, with what to do
};
struct PlaceReplica {
  SessionId session;
  HostId host;
};
/// No host can take the replica that the session wants.
struct NoHost {
  SessionId session;
};
/// A preference: the session's log decides who executes.
struct StartCell {
  SessionId session;
  ExecutionId execution;
  ReplicaId replica;
};
/// It has been idle for long enough.
struct SuspendSession {
  SessionId session;
};

using Decision = std::variant<PlaceSession, RefuseSession, PlaceReplica, NoHost, StartCell, SuspendSession>;

}  // namespace banyan::schedule
