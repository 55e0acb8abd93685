// What the gateway remembers across its lives, as records of the control store.
//
// `host/<host>`               a host: its key, whether it was registered, is drained, was removed: JSON
// `founded/<life>`            how many sessions a life of the gateway has founded: JSON
// `session/<session>`         a session: JSON
// `cell/<session>/<number>`   an accepted cell that has not ended for its client: base/codec.h (it holds a
//                             message byte for byte); numbers have twelve digits, so keys sort by age
// `progress/<session>`        how much of the running cell's output clients have: JSON
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/gateway_clients.h"

namespace banyan::node {

/// A replica as the gateway wants it.
struct MemberRecord {
  HostId host;
  bool open = false;     ///< its host has reported it, or was removed: it must never be founded again
  bool joining = false;  ///< the group's leader fills it: not in the committed membership as far as is known,
                         ///< or there and not open yet
};

/// A Jupyter session (`/api/sessions`): the notebook that a kernel belongs to.
struct Notebook {
  std::string id;
  std::string path;
  std::string name;
  std::string type;
};

/// How many sessions each life of the gateway has founded. A session that was founded and has no record was
/// ended; one that this does not know was founded when the control store was another, or a younger one.
using FoundedRecords = std::map<std::uint64_t, std::uint64_t>;

/// What the control store keeps of a host: its key, and what differs from what the gateway's configuration
/// says of it.
struct HostRecord {
  enum class State : std::uint8_t { kInUse, kDraining, kRemoved } state = State::kInUse;
  std::string
      address;         ///< where it listens for other daemons, as HOST:PORT; empty: as the configuration says
  bool force = false;  ///< it is drained also where a session loses a variable by that
  std::string key = {};  ///< that its name belongs to, in hex digits; empty: nobody has proven the name yet

  friend bool operator==(const HostRecord&, const HostRecord&) = default;
};

/// What the control store keeps of a session.
struct SessionRecord {
  SessionId id;
  Founding founding;
  session::Spec spec;
  std::map<ReplicaId, MemberRecord> members;  ///< wanted
  session::Members committed;                 ///< as last known from the session's log
  /// Open replicas of wishes that gave way to others before the log told whether it has taken them: until it
  /// tells who its members are, it may name these, and count on them.
  session::Members given_up = {};
  std::uint64_t wishes = 0;     ///< how often `members` was changed; numbers the last change
  std::uint64_t fulfilled = 0;  ///< the wish that `committed` is of
  std::uint64_t next_replica = 1;
  ReplicaId leaves;            ///< when the last move is over
  std::uint64_t restarts = 0;  ///< of the user; numbers the next one
  WallTime created;
  std::optional<Notebook> notebook;

  [[nodiscard]] session::Members wanted() const;
  /// The change that is on its way takes nobody out.
  [[nodiscard]] bool only_adds() const;
  /// The replica that is wanted on that host.
  [[nodiscard]] std::optional<ReplicaId> member_on(const HostId& host) const;
  /// A replica there is wanted, or counted in quorums, or may be.
  [[nodiscard]] bool names(const HostId& host) const;
};

/// How the gateway itself ended a cell that no replica had started.
struct Verdict {
  std::string name;  ///< of the error; empty: aborted by an earlier cell's error, as ipykernel does
  std::string text;
};

/// What it keeps of an accepted cell until its end was delivered.
struct CellRecord {
  std::uint64_t number = 0;
  ClientId client;
  jupyter::Message request;
  std::optional<Verdict> verdict;
  std::uint64_t restarts = 0;  ///< of the session when the cell was accepted
  std::uint64_t behind = 0;    ///< the oldest cell that had not ended then, by its number
  bool aborts = false;         ///< it is not to run any more; the log says whether it has
};

/// How far clients have a running cell's outputs.
struct ProgressRecord {
  ExecutionId execution;
  std::uint64_t seq = 0;
};

/// The key of a host's record.
std::string host_key(const HostId& host);
/// The key of a life's record.
std::string founded_key(std::uint64_t life);
/// The key of a session's record.
std::string session_key(const SessionId& session);
/// The key of a cell's record.
std::string cell_key(const SessionId& session, std::uint64_t number);
/// The key of a progress record.
std::string progress_key(const SessionId& session);

/// A record's bytes.
std::string to_record(const HostRecord& record);
/// A record's bytes.
std::string founded_record(std::uint64_t sessions);
/// A record's bytes.
std::string to_record(const SessionRecord& record);
/// A record's bytes.
std::string to_record(const CellRecord& record);
/// A record's bytes.
std::string to_record(const ProgressRecord& record);

/// Everything of one session.
struct StoredSession {
  SessionRecord session;
  std::map<std::uint64_t, CellRecord> cells;
  std::optional<ProgressRecord> progress;
};

/// What a control store holds. Records that cannot be read are named in `unreadable` and left alone, and so
/// are the replicas of `damaged` sessions; cells of no session are in `orphans`, to be deleted.
struct StoredSessions {
  FoundedRecords founded;
  std::map<HostId, HostRecord> hosts;
  std::map<SessionId, StoredSession> sessions;
  std::set<SessionId> damaged;
  std::vector<std::string> unreadable;
  std::vector<std::string> orphans;
};
StoredSessions read_records(const std::map<std::string, std::string>& records);

}  // namespace banyan::node
