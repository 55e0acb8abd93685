// What a replica wants done, in batches, and what it shows of itself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/raft/membership.h"
#include "core/raft/message.h"
#include "core/raft/types.h"

namespace banyan::raft {

/// Counts a replica's writes from 1.
using WriteToken = Id<struct WriteTokenTag, std::uint64_t>;

/// Whether anything waits for a write to be durable.
enum class Sync : std::uint8_t {
  kLazy,      ///< losing it in a crash is harmless; write it without fsync
  kRequired,  ///< fsync before persisted()
};

/// One atomic write. Several may be outstanding; they reach the disk in the order of their tokens.
struct Persist {
  WriteToken token;
  Sync sync = Sync::kRequired;
  HardState hard_state;              ///< replaces the stored one
  std::optional<Snapshot> snapshot;  ///< replaces the stored one; stored entries up to its index go
  Index truncate_after;              ///< stored entries above it go, before `entries` are added
  std::vector<Entry> entries;        ///< contiguous, from truncate_after + 1
};

/// A read with this context may be served from any state that has applied `index`.
struct ReadState {
  std::uint64_t context = 0;
  Index index;
  friend bool operator==(const ReadState&, const ReadState&) = default;
};

/// What a replica is in its term.
enum class Role : std::uint8_t { kFollower, kPreCandidate, kCandidate, kLeader };

/// Who the replica is now. An Output has it when any part changed.
struct RoleChange {
  Role role = Role::kFollower;
  Term term;
  ReplicaId leader;  ///< kNobody when unknown
  friend bool operator==(const RoleChange&, const RoleChange&) = default;
};

/// One batch. Apply `install`, then `committed`; the other parts may be handled in any order.
struct Output {
  std::vector<Message> messages;    ///< send now, in any order; each may be lost
  std::optional<Persist> persist;   ///< store, then call persisted()
  std::optional<Snapshot> install;  ///< replace the applied state by this one, then call applied(index)
  std::vector<Entry> committed;     ///< apply in order, then call applied() with the last index
  std::vector<ReadState> reads;     ///< answers to read_index()
  std::optional<RoleChange> role;

  [[nodiscard]] bool empty() const {
    return messages.empty() && !persist && !install && committed.empty() && reads.empty() && !role;
  }
};

/// How a leader sends to one follower.
enum class Flow : std::uint8_t {
  kProbe,      ///< one Append per answer, until the place where the logs agree is found
  kReplicate,  ///< Appends without waiting, as far as the inflight limits allow
  kSnapshot,   ///< nothing until the snapshot is answered
};

/// A leader's view of one member.
struct PeerStatus {
  Index match;  ///< known to be durable there
  Index next;   ///< the next one to send
  Flow flow = Flow::kProbe;
  bool paused = false;           ///< no Append goes until it answers
  bool recently_active = false;  ///< heard within an election timeout
  friend bool operator==(const PeerStatus&, const PeerStatus&) = default;
};

/// A look at a replica, for decisions above and for people.
struct Status {
  ReplicaId id;
  Role role = Role::kFollower;
  Term term;
  ReplicaId vote;
  ReplicaId leader;
  Index first;  ///< the first index of the log in memory
  Index last;
  Index durable;  ///< the last entry known to be on this replica's disk
  Index commit;
  Index applied;
  Membership membership;
  ReplicaId transfer_to;                  ///< leader: the successor it waits for
  std::uint64_t ticks_since_quorum = 0;   ///< leader: since a quorum was last heard
  std::map<ReplicaId, PeerStatus> peers;  ///< leader: every member, itself included
};

}  // namespace banyan::raft
