// One replica of one Raft group, as a pure machine: feed it messages and ticks, take batches of what to do.
//
// The driver's loop, for each group that got input:
//     Output out = raft.take_output();
//     send(out.messages); store(out.persist) and later raft.persisted(token);
//     apply(out.install, out.committed) and later raft.applied(index); answer(out.reads);
// Writes and applications may complete late and several may be outstanding, each kind in order. A message
// that depends on a write is held back until persisted() says that the write is durable, so it cannot leave
// early.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "core/raft/config.h"
#include "core/raft/log.h"
#include "core/raft/output.h"
#include "core/raft/progress.h"
#include "core/raft/quorum.h"
#include "core/raft/reads.h"
#include "core/raft/writes.h"

namespace banyan::raft {

/// Where a proposal went. A committed entry at `index` is that proposal if and only if it has that term.
struct Proposed {
  Term term;
  Index index;  ///< 0: forwarded to the leader, who may still lose or refuse it
  friend bool operator==(const Proposed&, const Proposed&) = default;
};

/// Whether a snapshot that was sent arrived, as far as the transport knows.
enum class Delivery : std::uint8_t { kOk, kFailed };

/// A replica. Not thread-safe; every call takes time in proportion to what it produces.
class Raft {
 public:
  /// Starts from what was stored. kCorrupt when that cannot have been written by a replica: gaps in the
  /// log, falling terms, a commit index beyond the log. The first Output installs the restored snapshot.
  static Result<Raft> open(const Config& config, const Restored& restored);

  /// One unit of time passed: elections, heartbeats and leases count ticks.
  void tick();
  /// A message from a peer. Duplicates, old ones and ones from strangers are harmless.
  void step(const Message& message);

  /// Appends `data` to the group's log, or forwards it to the leader. kUnavailable when no leader is known,
  /// the lead is being transferred or too much is uncommitted.
  Result<Proposed> propose(Blob data);
  /// Proposes a change of the membership, like propose(). kConflict while another one is not in effect,
  /// kInvalid when it does not fit the membership. A change that was forwarded and is refused there vanishes.
  Result<Proposed> propose_change(const Change& change);
  /// Asks from which index on a read is linearizable; a ReadState with `context` answers. Use each context
  /// once in a replica's lives. An answer may get lost with a message or a leader: ask again then.
  Result<Done> read_index(std::uint64_t context);
  /// Hands the lead to the voter `to` once its log is complete. The transfer is given up after an election
  /// timeout.
  Result<Done> transfer_leadership(ReplicaId to);
  /// Starts an election now, if this replica may. Under ReadMode::kLease it may not while it hears a leader,
  /// nor in the first election_ticks of its life.
  void campaign();
  /// Makes a follower forget its leader, so that it supports other candidates at once. Without effect under
  /// ReadMode::kLease.
  void forget_leader();

  /// The transport lost messages to `id`.
  void report_unreachable(ReplicaId id);
  /// The snapshot for `id` was delivered or lost.
  void report_snapshot(ReplicaId id, Delivery delivery);

  /// Everything to do since the last call.
  [[nodiscard]] Output take_output();
  /// The writes up to `token` are durable.
  void persisted(WriteToken token);
  /// `install` or `committed` is applied up to `index`.
  void applied(Index index);
  /// Replaces the log up to `index` (applied) by a snapshot with the driver's `data`. The last
  /// `entries_kept` entries before it stay in memory for followers that are a little behind. kInvalid when
  /// `index` is not applied, kConflict when there is a newer snapshot.
  Result<Done> compact(Index index, Blob data, std::uint64_t entries_kept);

  /// Whether nothing is unfinished: everything is durable, committed and applied here, and a leader is known;
  /// where this replica leads, every follower has all of it too and was heard lately. Members that stop in
  /// this state and start again from what they stored go on as if they had not stopped.
  [[nodiscard]] bool at_rest() const;

  [[nodiscard]] Status status() const;
  /// Cheaper than status() for the common questions.
  [[nodiscard]] Role role() const;
  [[nodiscard]] Term term() const { return term_; }
  /// kNobody when unknown.
  [[nodiscard]] ReplicaId leader() const;
  /// The membership in effect here; a change takes effect when it is applied.
  [[nodiscard]] const Membership& membership() const { return membership_; }
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] const Log& log() const { return log_; }

 private:
  struct Follower {
    ReplicaId leader;
  };
  struct Candidate {
    Ballot ballot = Ballot::kElection;
    std::map<ReplicaId, bool> granted;
  };
  struct Leader {
    std::map<ReplicaId, Progress> peers;
    Reads reads;
    Index pending_change;  ///< no other change may be proposed before this one is in effect
    std::uint64_t uncommitted_bytes = 0;
    ReplicaId transfer_to;
    std::uint64_t transfer_tick = 0;  ///< when the transfer began
    bool lease_given_away = false;    ///< a successor may be elected within the lease
    int heartbeat_elapsed = 0;
    bool heartbeat_due = false;

    /// nullptr when `id` is no member.
    Progress* find(ReplicaId id);
  };
  /// A message that must not leave before a write is durable.
  struct Deferred {
    WriteToken after;
    Message message;
  };

  Raft(const Config& config, const Restored& restored);

  // raft.cc: time, terms and the way of a message
  void tick_leader(Leader& leader);
  void become_follower(Term term, ReplicaId leader);
  void reset_election_timer();
  bool accept_term(const Message& m);
  [[nodiscard]] bool in_lease() const;
  [[nodiscard]] HardState hard_state() const { return {term_, vote_, log_.commit()}; }
  void send(ReplicaId to, Body body) { send(to, term_, std::move(body)); }
  void send(ReplicaId to, Term term, Body body) {
    outbox_.push_back({config_.id, to, term, std::move(body)});
  }
  void send_when_durable(ReplicaId to, Body body);
  void handle(const Message& m, const Append& append);
  void handle(const Message& m, const AppendAccepted& accepted);
  void handle(const Message& m, const AppendRejected& rejected);
  void handle(const Message& m, const Heartbeat& heartbeat);
  void handle(const Message& m, const HeartbeatReply& reply);
  void handle(const Message& m, const InstallSnapshot& install);
  void handle(const Message& m, const VoteRequest& request);
  void handle(const Message& m, const VoteReply& reply);
  void handle(const Message& m, const TermNotice& notice);
  void handle(const Message& m, const Forward& forward);
  void handle(const Message& m, const ReadRequest& request);
  void handle(const Message& m, const ReadReply& reply);
  void handle(const Message& m, const TransferRequest& request);
  void handle(const Message& m, const TimeoutNow& now);

  // election.cc
  enum class Why : std::uint8_t { kTimeout, kTransfer };
  void hup(Why why);
  [[nodiscard]] bool may_campaign() const;
  void start_ballot(Ballot ballot, Why why);
  void count_vote(ReplicaId id, bool granted);
  void become_leader();
  Result<Done> start_transfer(Leader& leader, ReplicaId to);
  void finish_transfer(Leader& leader, ReplicaId to);

  // follower.cc
  void follow(ReplicaId leader);
  void restore_snapshot(const Snapshot& snapshot);

  // leader.cc
  Progress* hear(const Message& m);
  Result<Proposed> submit(EntryType type, Blob data);
  Result<Proposed> admit(Leader& leader, EntryType type, Blob data);
  Proposed append_own(Leader& leader, EntryType type, Blob data);
  void advance_commit(Leader& leader);
  void send_appends(ReplicaId id, Progress& peer);
  void send_snapshot(ReplicaId id, Progress& peer);
  void send_heartbeats(Leader& leader);
  [[nodiscard]] std::uint64_t ticks_since_quorum(const Leader& leader) const;

  // change.cc
  [[nodiscard]] Result<Done> check_change(const Leader& leader, const Blob& data) const;
  void apply_changes(Index upto);
  void switch_membership(Membership membership);
  void leave_joint_if_due();
  [[nodiscard]] Membership membership_at(Index index) const;

  // reading.cc
  Result<Done> lead_read(Leader& leader, const PendingRead& read);
  void answer_read(const PendingRead& read);
  [[nodiscard]] bool lease_holds(const Leader& leader) const;
  void confirm_reads(Leader& leader);

  // output.cc
  [[nodiscard]] Index apply_limit() const;
  void hand_out(Output& out);

  Config config_;
  Rng rng_;
  Log log_;
  Writes writes_;
  Snapshot snapshot_;
  Membership membership_;
  Index in_effect_;   ///< changes up to here are in `membership_`
  Index handed_out_;  ///< the driver was given everything up to here in order to apply it
  Index applied_;     ///< the driver has said that everything up to here is applied
  Term term_;
  ReplicaId vote_;
  std::variant<Follower, Candidate, Leader> role_;
  std::uint64_t ticks_ = 0;  ///< ticks since this life began
  int election_elapsed_ = 0;
  int election_timeout_ = 0;
  std::vector<Message> outbox_;     ///< may leave with the next Output
  std::vector<Deferred> deferred_;  ///< wait for a write, in the order of their writes
  std::vector<ReadState> read_states_;
  RoleChange told_;  ///< what the driver was told last
};

}  // namespace banyan::raft
