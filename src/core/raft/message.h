// What replicas of one group say to each other. Encoded with base/codec.h: append fields and alternatives
// only.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/raft/membership.h"
#include "core/raft/types.h"

namespace banyan::raft {

/// A poll asks whether an election could be won and promises nothing (Ongaro's thesis, section 9.6).
enum class Ballot : std::uint8_t { kPoll, kElection };

/// Leader to follower: the entries after `prev`. Without entries it tells the commit index or probes.
struct Append {
  Index prev_index;
  Term prev_term;
  Index commit;
  std::vector<Entry> entries;
  friend bool operator==(const Append&, const Append&) = default;
};
/// The sender's log equals the leader's up to `match`, and is durable there.
struct AppendAccepted {
  Index match;
  friend bool operator==(const AppendAccepted&, const AppendAccepted&) = default;
};
/// The sender has no entry `prev_index` of the leader's term; its log can only agree up to `hint_index`.
struct AppendRejected {
  Index prev_index;
  Index hint_index;
  Term hint_term;  ///< the term of the sender's entry at `hint_index`
  friend bool operator==(const AppendRejected&, const AppendRejected&) = default;
};
/// Leader to follower: I lead; `commit` is safe for this follower; `round` numbers the leader's broadcasts.
struct Heartbeat {
  Index commit;
  std::uint64_t round = 0;
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};
/// The answer to the heartbeat of that round.
struct HeartbeatReply {
  std::uint64_t round = 0;
  friend bool operator==(const HeartbeatReply&, const HeartbeatReply&) = default;
};
/// Leader to a follower that needs entries which are compacted. Answered by AppendAccepted.
struct InstallSnapshot {
  Snapshot snapshot;
  friend bool operator==(const InstallSnapshot&, const InstallSnapshot&) = default;
};
/// Asks for a vote. Message::term is the term that would be led: the sender's own in an election, the one
/// after it in a poll.
struct VoteRequest {
  Ballot ballot = Ballot::kElection;
  Index last_index;
  Term last_term;
  bool transfer = false;  ///< the leader itself asked for this election: its lease does not forbid the vote
  friend bool operator==(const VoteRequest&, const VoteRequest&) = default;
};
/// The answer to a VoteRequest. Message::term is the term of the request in a granted poll, and the sender's
/// own term otherwise.
struct VoteReply {
  Ballot ballot = Ballot::kElection;
  bool granted = false;
  friend bool operator==(const VoteReply&, const VoteReply&) = default;
};
/// Answer to a leader or candidate of an older term: Message::term says what it missed.
struct TermNotice {
  friend bool operator==(const TermNotice&, const TermNotice&) = default;
};
/// Follower to leader: append this. Nobody answers: the follower sees the entry in the log, or never.
struct Forward {
  EntryType type = EntryType::kCommand;
  Blob data;
  friend bool operator==(const Forward&, const Forward&) = default;
};
/// Follower to leader: from which index on is a read linearizable?
struct ReadRequest {
  std::uint64_t context = 0;
  friend bool operator==(const ReadRequest&, const ReadRequest&) = default;
};
/// Leader to follower: a state that has applied `index` may answer the read.
struct ReadReply {
  std::uint64_t context = 0;
  Index index;
  friend bool operator==(const ReadReply&, const ReadReply&) = default;
};
/// Follower to leader: hand the lead to `to`.
struct TransferRequest {
  ReplicaId target;
  friend bool operator==(const TransferRequest&, const TransferRequest&) = default;
};
/// Leader to its chosen successor: start an election now (Ongaro's thesis, section 3.10).
struct TimeoutNow {
  friend bool operator==(const TimeoutNow&, const TimeoutNow&) = default;
};

using Body = std::variant<Append, AppendAccepted, AppendRejected, Heartbeat, HeartbeatReply, InstallSnapshot,
                          VoteRequest, VoteReply, TermNotice, Forward, ReadRequest, ReadReply,
                          TransferRequest, TimeoutNow>;

/// What travels between two replicas.
struct Message {
  ReplicaId from;
  ReplicaId to;
  Term term;  ///< the sender's own, except in polls (VoteRequest, VoteReply)
  Body body;
  friend bool operator==(const Message&, const Message&) = default;
};

}  // namespace banyan::raft
