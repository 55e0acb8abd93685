// What a replica proposes for its session beside cells: a restart, other members, the end of a cell whose
// host is gone.
#pragma once

#include <cstdint>
#include <optional>

#include "core/session/session.h"
#include "node/group_log.h"

namespace banyan::node {

/// What is wanted of a session as a whole, until the session's state shows that it has come about. One
/// proposal is under way at a time; one that does not show in the log is made again. The replica says what
/// happens, and when it is time to look.
class Upkeep {
 public:
  /// Both outlive this.
  Upkeep(HostContext& host, GroupLog& log) : host_(host), log_(log) {}

  // What is wanted.
  /// Jupyter's restart, at once.
  void want_restart(std::uint64_t request);
  /// What this replica was asked for long ago must not undo what the others have done since: see
  /// look().
  void want_members(ChangeMembers wanted) { wanted_members_ = std::move(wanted); }
  /// The state of the session has changed: what has come about is no longer wanted.
  void look(const session::Session& session);
  [[nodiscard]] bool at_rest() const { return !restart_ && !wanted_members_; }
  /// Nothing is to be proposed now, and time alone does not change that.
  [[nodiscard]] bool is_done(const session::Session& session) const;

  // Proposing it.
  /// All that is due. `here`: the cell that this life of the host agent bids for or runs.
  void tend(const session::Session& session, const ExecutionId& here);
  /// The restart, if one is wanted.
  void propose_restart();
  /// What Raft's leader does: takes the lead from an executor that is silent, gives the executor the
  /// leadership, changes the members.
  void lead(const session::Session& session);

  /// By an entry of the batch that is being applied the executor is another one, or none.
  void on_lead_taken() { lead_taken_ = true; }
  /// The entries of a batch are applied.
  void on_batch(const session::Session& session);

 private:
  [[nodiscard]] bool may_propose() const;
  void propose(const session::Command& command);
  void disown_forgotten_cell(const session::Session& session, const ExecutionId& here);
  [[nodiscard]] bool should_hand_lead(const session::Session& session) const;
  [[nodiscard]] bool may_change(const session::Session& session, const ChangeMembers& wanted) const;
  bool lead_with_executor(const session::Session& session);

  HostContext& host_;
  GroupLog& log_;
  std::optional<std::uint64_t> restart_;  ///< the number of the one that is wanted
  std::optional<ChangeMembers> wanted_members_;
  std::optional<Time> proposed_at_;
  bool lead_taken_ = false;
  std::optional<Time> executor_left_at_;  ///< the executor of the cell that runs has left the members
};

}  // namespace banyan::node
