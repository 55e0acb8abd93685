// The session machine: what a session is after the commands of its log.
//
// Every replica applies the same commands in the same order and so holds the same state. It knows who
// executes, what runs, what the namespace holds, and how each accepted cell ended. The promises
// P2 to P4 (docs/internals/promises.md) are kept here: a
// cell starts by the first committed LEAD and by nothing else; only the executor of the current epoch may
// commit; every started cell ends exactly once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "core/checkpoint/refs.h"
#include "core/checkpoint/tree.h"
#include "core/session/command.h"

namespace banyan::session {

using checkpoint::Change;
using checkpoint::CoVariableId;
using checkpoint::View;

/// The cell that runs now.
struct Running {
  ExecutionId execution;
  Epoch epoch;
  ReplicaId executor;
  std::string code;
  std::string parent_header;
  std::string cell_id;
  Incarnation life;  ///< of the executor's host agent
};

/// How a cell ended, kept so that any replica can tell a client that asks again.
struct Ended {
  CommitId commit;
  CommitId parent;
  ExecutionId execution;
  Epoch epoch;
  Status status = Status::kOk;
  std::string code;
  std::string parent_header;
  std::string cell_id;
  std::string reply;
  std::string reply_metadata;
  std::string reason;                     ///< for a person; set when the status is lost
  std::vector<jupyter::Message> outputs;  ///< emptied when the journal outgrows its limit
  std::uint64_t outputs_total = 0;
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  std::vector<std::string> failed;  ///< names of what it changed and cannot be serialised
  std::int64_t ended_at_us = 0;     ///< wall clock, since 1970; 0 when unknown
  Footprint footprint;
  bool asked_history = false;  ///< what it came to depends on more than its variables
  bool may_repeat = false;     ///< somebody has allowed that it runs again, effects and all
};

// ---- what applying a command means for its replica
// -------------------------------------------------------------------

/// `executor` may start the cell, in that life of its host agent and in no other.
struct Started {
  ExecutionId execution;
  Epoch epoch;
  ReplicaId executor;
  Incarnation life;
};
/// With Rounds::kWithVote: every replica is to propose a Vote for the winner.
struct VoteWanted {
  ExecutionId execution;
  ReplicaId winner;
};
/// The bid of `replica` came too late, or while another cell runs.
struct BidLost {
  ExecutionId execution;
  ReplicaId replica;
};
/// Every member has yielded: nobody runs it now. A later LEAD may still win.
struct AllYielded {
  ExecutionId execution;
};
/// The cell has ended; find() tells how.
struct CellEnded {
  ExecutionId execution;
  Status status = Status::kOk;
  ReplicaId executor;
  Change change;  ///< by the cell, before its actions
};
/// A commit of an executor that had lost its epoch, or of a cell that had ended: without effect.
struct CommitRefused {
  ExecutionId execution;
  Epoch epoch;
};
/// `from` is not the executor any more, and must stop what it runs.
struct LeadTaken {
  ReplicaId from;
  bool was_running = false;
};
/// The namespace is empty; workers start anew.
struct Cleared {
  std::uint64_t request = 0;
};
struct MembersChanged {};
/// Where the bytes of values have to be from now on.
struct ValuesMoved {
  std::vector<Blob> spilled;    ///< the session holds them no longer: they become chunks
  std::vector<Digest> wanted;   ///< chunks that it refers to now
  std::vector<Digest> dropped;  ///< chunks that it does not refer to any more
};
/// The actions of a request are done, or (with a reason) none of them is; so is an import.
struct Amended {
  std::string request;
  std::optional<Error> refused;
};

using Event = std::variant<Started, VoteWanted, BidLost, AllYielded, CellEnded, CommitRefused, LeadTaken,
                           Cleared, MembersChanged, ValuesMoved, Amended>;

/// The replicated state of one session.
class Session {
 public:
  Session(SessionId id, Spec spec, Members members);
  /// From the bytes of snapshot(); kCorrupt when they are not.
  static Result<Session> restore(const Blob& snapshot);
  [[nodiscard]] Blob snapshot() const;
  /// The same with the bytes of these versions only: what a view needs of the others, its cells make.
  [[nodiscard]] Blob snapshot_with(const std::set<CoVariableId>& values) const;
  /// The same as snapshot(), for an import that does not bring these chunks.
  [[nodiscard]] Blob snapshot_from(Elsewhere chunks) const;

  /// Applies the next command of the log.
  std::vector<Event> apply(Command command);

  [[nodiscard]] const Spec& spec() const { return state_.spec; }
  [[nodiscard]] const Members& members() const { return state_.members; }
  /// SetMembers::wish of the change that was applied last; 0 for the founding members.
  [[nodiscard]] std::uint64_t members_wish() const { return state_.members_wish; }
  [[nodiscard]] Epoch epoch() const { return state_.epoch; }
  /// 0 when nobody is.
  [[nodiscard]] ReplicaId executor() const { return state_.executor; }
  [[nodiscard]] const std::optional<Running>& running() const { return state_.running; }
  /// It has no workers until it is resumed or a cell comes.
  [[nodiscard]] bool suspended() const { return state_.suspended; }
  /// What the process of the executor does in the background, as of the last cell that ended there
  /// (Footprint::work): no other process has it, and no commit.
  [[nodiscard]] const std::vector<std::string>& work() const { return state_.work; }
  /// Names whose values are never left to their cells.
  [[nodiscard]] const std::set<std::string>& copied_always() const { return state_.copied_always; }
  [[nodiscard]] const SessionId& id() const { return state_.id; }
  /// The newest commit, wherever head is: grows with each cell and each restart.
  [[nodiscard]] CommitId last() const { return state_.last; }
  [[nodiscard]] const checkpoint::Tree& tree() const { return tree_; }
  [[nodiscard]] const checkpoint::Refs& refs() const { return refs_; }
  [[nodiscard]] std::uint64_t execution_count() const { return state_.execution_count; }
  /// The namespace at head.
  [[nodiscard]] const View& view() const { return state_.view; }
  /// Of any commit of the tree.
  [[nodiscard]] const CoVariable& co_variable(const CoVariableId& id) const;
  /// Chunks that the values of the tree's commits refer to, and how often.
  [[nodiscard]] const std::map<Digest, std::uint64_t>& chunks() const { return chunks_; }
  /// Where those of them that an import did not bring may be read.
  [[nodiscard]] const Elsewhere& elsewhere() const { return state_.elsewhere; }
  /// How often actions were done: with last(), what Amend must have seen.
  [[nodiscard]] std::uint64_t amended() const { return state_.amended; }
  /// Bytes of the values of all commits; blocks that several versions have count once.
  [[nodiscard]] std::uint64_t value_bytes() const { return value_bytes_; }
  /// How the cell ended; nothing when it is unknown, runs, or ended long ago.
  [[nodiscard]] const Ended* find(const ExecutionId& execution) const;
  /// Ended cells that are kept, oldest first.
  [[nodiscard]] const std::map<CommitId, Ended>& history() const { return state_.history; }
  /// Of the Clear that was applied last; 0 for none.
  [[nodiscard]] std::uint64_t last_clear() const { return state_.last_clear; }
  /// Its commit: the input history of earlier ones is not that of the workers since.
  [[nodiscard]] CommitId cleared() const { return state_.cleared; }

 private:
  struct Election {
    std::set<ReplicaId> yielded;
    std::optional<Propose> winner;  ///< waits for votes
    std::set<ReplicaId> votes;
  };
  struct State {
    Spec spec;
    Members members;
    Epoch epoch;
    ReplicaId executor;
    std::optional<Running> running;
    CommitId last;
    std::uint64_t execution_count = 0;
    View view;
    std::map<CoVariableId, CoVariable> co_variables;
    std::map<CommitId, Ended> history;
    std::map<ExecutionId, CommitId> known;
    std::map<ExecutionId, Election> elections;
    std::uint64_t last_clear = 0;
    CommitId cleared;
    SessionId id;
    std::uint64_t amended = 0;  ///< how often, by cells and without
    bool suspended = false;
    std::set<std::string> copied_always;
    Elsewhere elsewhere;
    std::vector<std::string> work;
    std::uint64_t members_wish = 0;
  };

  [[nodiscard]] Blob snapshot_of(const State& state) const;
  [[nodiscard]] bool consistent() const;
  void apply(Propose&& propose, std::vector<Event>& events);
  void apply(Vote&& vote, std::vector<Event>& events);
  void apply(Commit&& commit, std::vector<Event>& events);
  void apply(TakeOver&& take_over, std::vector<Event>& events);
  void apply(Clear&& clear, std::vector<Event>& events);
  void apply(SetMembers&& set, std::vector<Event>& events);
  void apply(Amend&& amend, std::vector<Event>& events);
  void start(const Propose& propose, std::vector<Event>& events);
  void abort(const Propose& propose, std::vector<Event>& events);
  void end_running(Ended ended, Delta&& delta, const std::vector<checkpoint::Action>& actions,
                   bool asked_history, std::vector<Event>& events);
  void lose_running(std::string reason, std::vector<Event>& events);
  void take_lead_away(std::vector<Event>& events);
  Result<Done> perform(const std::vector<checkpoint::Action>& actions);
  void grow(CommitId commit, Change change);
  void end_at(CommitId commit, const Change& change, const std::vector<checkpoint::Action>& actions);
  Change bind(CommitId commit, Delta&& delta);
  void add(const CoVariableId& id, CoVariable&& value);
  void drop(const CoVariableId& id);
  void use(const CoVariable& value);
  void unuse(const CoVariable& value);
  void use(const Chunk& chunk);
  void unuse(const Chunk& chunk);
  void forget_old();
  void forget(CommitId commit);
  void see_to(const std::vector<checkpoint::Action>& actions, std::vector<Event>& events);
  void hand_over(ReplicaId to, std::vector<Event>& events);
  void apply(Import&& import, std::vector<Event>& events);
  void spill();

  State state_;
  checkpoint::Tree tree_;
  checkpoint::Refs refs_;
  // Follow from the above.
  std::uint64_t journal_ = 0;  ///< bytes of the outputs in the history
  std::uint64_t inline_bytes_ = 0;
  std::uint64_t value_bytes_ = 0;
  std::map<Digest, std::uint64_t> chunks_;
  ValuesMoved moved_;  ///< by the command that is being applied
};

}  // namespace banyan::session
