// The scheduler's events (what it hears) and its decisions.
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
/// The host is one of the platform's, and it may get replicas, also when it was being drained.
struct HostAdded {
  HostId host;
};
/// The host is to hold nothing any more. MoveReplica decisions follow until that is so.
struct HostDraining {
  HostId host;
  bool force = false;  ///< sessions leave it also where a variable is lost by that
};
/// The host is none of the platform's any more. What is left there counts as lost.
struct HostRemoved {
  HostId host;
};
/// A new session wants hosts. PlaceSession or RefuseSession answers it, perhaps later.
struct SessionAsked {
  SessionId session;
  cluster::SessionKind kind;
};
/// The session's replicas are, or will be, on exactly these hosts. The session says so each time that they
/// change.
struct SessionHolds {
  SessionId session;
  cluster::SessionKind kind;
  std::set<HostId> hosts;
};
/// Nothing has happened in the session since that time, and it may be suspended. Without a time it may not
/// be.
struct SessionIdle {
  SessionId session;
  std::optional<WallTime> since;
};
/// The session was suspended, or moved to another host: what it has reserved is free.
struct ReservationEnds {
  SessionId session;
};
struct SessionClosed {
  SessionId session;
};
/// The session wants one more replica, perhaps instead of another one. PlaceReplica or NoHost answers at
/// once; a session that still wants a replica later says so again.
struct ReplicaWanted {
  SessionId session;
  std::set<HostId> avoid;  ///< hosts to avoid beside those that hold the session
};
/// The session's next cell waits for an executor. A CellDecision answers at once.
struct CellWaits {
  SessionId session;
  std::uint64_t offer = 0;                ///< distinguishes the times at which the session says so
  cluster::Demand demand;                 ///< of the cell
  std::vector<EligibleReplica> replicas;  ///< all that there are now
  std::optional<std::string> declined;    ///< why the replica that was asked last has declined, for a person
  /// A replica that was asked has not declined: it may still begin the cell, which therefore is not refused.
  bool may_begin = false;
  /// How long it would take until another host could run the cell, if one of the replicas moved there;
  /// nothing where none can move.
  std::optional<Duration> move_takes = {};
};
/// The replica on that host was asked to run the session's cell. It has declined, shows no sign or is gone.
/// When nobody else is being asked, CellWaits follows.
struct CellPassedOver {
  SessionId session;
  HostId host;
};
/// The session's cell runs on that host, whichever replica was asked to start it.
struct CellRuns {
  SessionId session;
  HostId host;
};
/// The host says that a cell of the session has these devices there, whatever else is known of the cell. Said
/// when that has changed.
struct DevicesBound {
  HostId host;
  SessionId session;
  std::set<DeviceId> devices;
};
struct CellEnded {
  SessionId session;
};
/// The session has not carried out a MoveReplica. Before this it says SessionHolds, because the scheduler has
/// booked the new host. A move that succeeds shows in SessionHolds, too.
struct MoveFailed {
  SessionId session;
  std::string reason;  ///< tells a person why
  bool soon = false;   ///< nothing was refused: the session is busy, and may be asked again soon
};
struct TimePassed {};

using Event =
    std::variant<HostReported, HostChanged, HostAdded, HostDraining, HostRemoved, SessionAsked, SessionHolds,
                 SessionIdle, ReservationEnds, SessionClosed, ReplicaWanted, CellWaits, CellPassedOver,
                 CellRuns, DevicesBound, CellEnded, MoveFailed, TimePassed>;

// ---- Decisions. A session that carries one out checks that this is still possible, and asks again when not.

/// The new session's replicas go to these hosts.
struct PlaceSession {
  SessionId session;
  cluster::SessionKind kind;
  std::vector<HostId> hosts;
};
/// The new session has no place.
struct RefuseSession {
  SessionId session;
  std::string reason;  ///< tells a person why, and what to do
};
struct PlaceReplica {
  SessionId session;
  HostId host;
};
/// No host can take the replica that the session wants.
struct NoHost {
  SessionId session;
};
/// The session's replica leaves a host that is being drained, or goes to one that has the devices for its
/// cell. When it cannot, the session says so by MoveFailed.
struct MoveReplica {
  SessionId session;
  HostId from;
  HostId to;
  bool force = false;  ///< also where a variable is lost by that
};
/// These replicas are asked to run the cell. This is a preference: the session's log decides which replica
/// executes.
struct StartCell {
  std::vector<ReplicaId> replicas;  ///< not empty
  bool elect = false;  ///< each decides for itself whether it proposes to run it; else there is only one
  /// Idle devices of that one's host, as many as the cell needs. None where replicas elect, or where the host
  /// is too small for the cell and is to say so.
  std::set<DeviceId> devices;
};
/// Nobody can be asked to run the cell now, or no host has enough idle devices. AskAgain follows when that
/// has changed, unless the cell ends before. The session may say CellWaits again in the meantime, with other
/// replicas; the cell keeps its place.
struct KeepCell {};
/// The session says CellWaits again, if its cell is being kept.
struct AskAgain {};
/// Nobody is asked any more: replicas have declined too often.
struct RefuseCell {
  std::string reason;     ///< of the last one that has declined, or why it can never run
  bool for_ever = false;  ///< it can never run as it is
};
/// What becomes of the cell that waits in the session.
struct CellDecision {
  SessionId session;
  std::uint64_t offer = 0;  ///< that of the CellWaits which it answers; 0 for AskAgain
  using What = std::variant<StartCell, KeepCell, AskAgain, RefuseCell>;
  What what;
};
/// The session has been idle for long enough to be suspended.
struct SuspendSession {
  SessionId session;
};

using Decision = std::variant<PlaceSession, RefuseSession, PlaceReplica, NoHost, MoveReplica, CellDecision,
                              SuspendSession>;

}  // namespace banyan::schedule
