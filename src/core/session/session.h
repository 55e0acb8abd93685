// The session machine: what a session is after the commands of its log.
//
// Every replica applies the same commands in the same order and so holds the same state. It knows who
// executes, what runs, what the namespace holds, and how each accepted cell ended. The promises P2 to P4
// (docs/internals/promises.md) are kept here: a cell starts by the first committed LEAD and by nothing else;
// only the executor of the current epoch may commit; every started cell ends exactly once.
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
  Incarnation life;  ///< the life of the executor's host agent
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
  std::string reason;                     ///< tells a person why; set when the status is lost
  std::vector<jupyter::Message> outputs;  ///< emptied when the journal outgrows its limit
  std::uint64_t outputs_total = 0;
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  std::vector<std::string> failed;  ///< names of what it changed and cannot be serialised
  std::int64_t ended_at_us = 0;     ///< wall clock, since 1970; 0 when unknown
  Footprint footprint;
  bool asked_history =
      false;  ///< the cell looked at the history, so that its result depends on more than its variables
  bool may_repeat = false;  ///< somebody has allowed that the cell runs again, whatever its effects are
};

// ---- what the application of a command means for the replica: Session::apply() returns these events
// --------------------------------------------------------

/// `executor` may start the cell, in that life of its host agent and in no other.
struct Started {
  ExecutionId execution;
  Epoch epoch;
  ReplicaId executor;
  Incarnation life;
};
/// The bid of `replica` came too late, or while another cell runs.
struct BidLost {
  ExecutionId execution;
  ReplicaId replica;
};
/// Every member has yielded: no replica runs the cell now. A later LEAD may still win.
struct AllYielded {
  ExecutionId execution;
};
/// The cell has ended; find() tells how.
struct CellEnded {
  ExecutionId execution;
  Status status = Status::kOk;
  ReplicaId executor;
  Change change;  ///< what the cell did to the namespace, before its actions
};
/// A commit of an executor that had lost its epoch, or of a cell that had ended: without effect.
struct CommitRefused {
  ExecutionId execution;
  Epoch epoch;
};
/// `from` is not the executor any more, and must stop what it runs.
struct LeadTaken {
  ReplicaId from;  ///< 0 when there was no executor
  bool was_running = false;
};
/// The session was restarted: its namespace is empty, and new workers are started.
struct Cleared {
  std::uint64_t request = 0;
};
/// Session::members() are others now.
struct MembersChanged {};
/// Where the bytes of values have to be from now on. It comes before the command's other events.
struct ValuesMoved {
  std::vector<Blob> spilled;    ///< bytes that the session holds no longer: they become chunks on the disk
  std::vector<Digest> wanted;   ///< chunks that the session did not refer to before
  std::vector<Digest> dropped;  ///< chunks that the session does not refer to any more
};
/// An Amend or an Import is done, or (with a reason) nothing of it is.
struct Amended {
  std::string request;
  std::optional<Error> refused;
};

using Event = std::variant<Started, BidLost, AllYielded, CellEnded, CommitRefused, LeadTaken, Cleared,
                           MembersChanged, ValuesMoved, Amended>;

/// The replicated state of one session.
class Session {
 public:
  Session(SessionId id, Spec spec, Members members);
  /// Makes a session of the bytes of snapshot(). kCorrupt when they are something else.
  static Result<Session> restore(const Blob& snapshot);
  [[nodiscard]] Blob snapshot() const;
  /// A snapshot that refers to the bytes of these versions only. A view that needs another version has it
  /// made again by its cells. For exports: secrets of the environment are left out.
  [[nodiscard]] Blob snapshot_with(const std::set<CoVariableId>& values) const;
  /// A snapshot for an import that does not bring these chunks along: the importing session reads them there.
  [[nodiscard]] Blob snapshot_from(Elsewhere chunks) const;

  /// Applies the next command of the log.
  std::vector<Event> apply(Command command);

  [[nodiscard]] const Spec& spec() const { return state_.spec; }
  [[nodiscard]] const Members& members() const { return state_.members; }
  /// The wish (SetMembers::wish) that the last change of the members fulfilled; 0 for the founding members.
  [[nodiscard]] std::uint64_t members_wish() const { return state_.members_wish; }
  [[nodiscard]] Epoch epoch() const { return state_.epoch; }
  /// The replica that runs the cells; 0 when there is none.
  [[nodiscard]] ReplicaId executor() const { return state_.executor; }
  [[nodiscard]] const std::optional<Running>& running() const { return state_.running; }
  /// Whether the session has no workers until it is resumed or a cell comes.
  [[nodiscard]] bool suspended() const { return state_.suspended; }
  /// What the executor's process did in the background when the last cell ended there (Footprint::work). Only
  /// that process has it: no commit holds it.
  [[nodiscard]] const std::vector<std::string>& work() const { return state_.work; }
  /// The variables whose bytes always go along, also where their cells could make them again.
  [[nodiscard]] const std::set<std::string>& copied_always() const { return state_.copied_always; }
  [[nodiscard]] const SessionId& id() const { return state_.id; }
  /// The newest commit, wherever head is: grows with each cell and each restart.
  [[nodiscard]] CommitId last() const { return state_.last; }
  [[nodiscard]] const checkpoint::Tree& tree() const { return tree_; }
  [[nodiscard]] const checkpoint::Refs& refs() const { return refs_; }
  [[nodiscard]] std::uint64_t execution_count() const { return state_.execution_count; }
  /// The namespace at head.
  [[nodiscard]] const View& view() const { return state_.view; }
  /// A version that some commit of the tree holds.
  [[nodiscard]] const CoVariable& co_variable(const CoVariableId& id) const;
  /// All of them.
  [[nodiscard]] const std::map<CoVariableId, CoVariable>& co_variables() const { return state_.co_variables; }
  /// The chunks that the values of all commits refer to, and how often.
  [[nodiscard]] const std::map<Digest, std::uint64_t>& chunks() const { return chunks_; }
  /// Where the chunks that an import did not bring may be read.
  [[nodiscard]] const Elsewhere& elsewhere() const { return state_.elsewhere; }
  /// Counts the times that actions were done. With last() it tells whether anything has changed since
  /// somebody looked: an Amend that has not seen both is refused.
  [[nodiscard]] std::uint64_t amended() const { return state_.amended; }
  /// How many bytes the values of all commits have; a chunk that several versions share counts once.
  [[nodiscard]] std::uint64_t value_bytes() const { return value_bytes_; }
  /// How the cell ended; nothing when it is unknown, runs, or ended long ago.
  [[nodiscard]] const Ended* find(const ExecutionId& execution) const;
  /// Ended cells that are kept, oldest first.
  [[nodiscard]] const std::map<CommitId, Ended>& history() const { return state_.history; }
  /// Clear::request of the last restart; 0 before the first.
  [[nodiscard]] std::uint64_t last_clear() const { return state_.last_clear; }
  /// The commit of the last restart. Workers that were started since do not have the input history from
  /// before.
  [[nodiscard]] CommitId cleared() const { return state_.cleared; }

 private:
  struct Election {
    std::set<ReplicaId> yielded;
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
  // These follow from the members above. They are counted along, and are not part of a snapshot.
  std::uint64_t journal_ = 0;  ///< bytes of the outputs in the history
  std::uint64_t inline_bytes_ = 0;
  std::uint64_t value_bytes_ = 0;
  std::map<Digest, std::uint64_t> chunks_;
  ValuesMoved moved_;  ///< the values that the command being applied has moved
};

}  // namespace banyan::session
