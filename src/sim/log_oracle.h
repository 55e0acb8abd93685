// What the logs of all sessions say, read from the hosts' disks and judged without the code under test: which
// entries are on which disk, which are committed, and what a session is after them.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/raft/types.h"
#include "core/session/command.h"
#include "core/session/session.h"
#include "sim/disk.h"
#include "sim/large_values.h"

namespace banyan::sim {

/// A cell in the committed log.
struct CommittedCell {
  HostId executor;  ///< the host whose LEAD was committed first
  Epoch epoch;
  std::uint64_t clears = 0;  ///< how many restarts came before its start
  std::string state_before;  ///< the digest of the namespace at its start; empty when it is not known
  std::optional<session::Status> ended;
  raft::Index started_at;
  raft::Index ended_at;
  std::string reply;  ///< the one in its commit
  std::uint64_t execution_count = 0;
};

/// Where a session stands. What people see of it is the same in two states that have these in common.
struct StandAt {
  CommitId last;              ///< session::Session::last()
  std::uint64_t amended = 0;  ///< session::Session::amended()
  friend auto operator<=>(const StandAt&, const StandAt&) = default;
};

/// One of the sessions that have had an id, and a state of it.
struct StateOf {
  SessionId session;
  ReplicaId member;  ///< one that it has had: two sessions with the same id have no member in common
  StandAt at;
  /// The state that a snapshot has.
  static StateOf of(const session::Session& session);
  friend bool operator==(const StateOf&, const StateOf&) = default;
};

/// Follows every disk, derives the committed log of each session from what is durable there, and replays it
/// by its own reading of the commands.
class LogOracle final : public DiskWatcher {
 public:
  /// Takes what was violated, in words.
  using Report = std::function<void(std::string what)>;
  /// `values` learns which chunks disks have. It outlives this.
  LogOracle(LargeValues& values, Report report) : values_(values), report_(std::move(report)) {}

  void durable(const HostId& host, const std::vector<node::DiskWrite>& batch) override;
  void broken_contract(const HostId& host, std::string what) override;
  /// The host has lost its disk. What was on it was durable all the same, for what was promised before.
  void lost_disk(const HostId& host);

  /// Whether a LEAD for the cell is durable on a majority of the session's members.
  [[nodiscard]] bool lead_durable(const SessionId& session, const ExecutionId& execution) const;
  /// Whether a commit of the cell is durable on a majority of the session's members.
  [[nodiscard]] bool commit_durable(const SessionId& session, const ExecutionId& execution) const;

  /// What an Import for the request brings, if that is durable on a majority of the session's members.
  [[nodiscard]] std::optional<session::Session> import_durable(const SessionId& session,
                                                               const std::string& request) const;

  /// How far the committed log of the id's last session is known.
  [[nodiscard]] StandAt stands_at(const SessionId& session) const;
  /// Whether some host has a replica of the session: it was not deleted.
  [[nodiscard]] bool is_there(const StateOf& state) const;
  /// The digest of the namespace in that state; nothing where the committed log is not known to have it.
  [[nodiscard]] std::optional<std::string> digest_in(const StateOf& state) const;

  /// The cell as the committed log has it, as far as that is known; null for an unknown session or cell.
  [[nodiscard]] const CommittedCell* find(const SessionId& session, const ExecutionId& execution) const;
  /// Whether some log of the id's last session has a LEAD for the cell: it is not one of an earlier session
  /// that was deleted before another one got its id.
  [[nodiscard]] bool of_last_session(const SessionId& session, const ExecutionId& execution) const;
  /// The digest of the namespace at the end of the committed log.
  [[nodiscard]] std::string state(const SessionId& session) const;
  /// Whether the session is to have no workers.
  [[nodiscard]] bool suspended(const SessionId& session) const;
  /// The hosts of the members that were committed last.
  [[nodiscard]] std::vector<HostId> hosts(const SessionId& session) const;
  /// All hosts with a replica of the session.
  [[nodiscard]] std::vector<HostId> holders(const SessionId& session) const;
  /// The members' hosts whose disks do not hold the whole committed log of the session.
  [[nodiscard]] std::vector<std::string> laggards(const SessionId& session) const;
  /// The hosts of members that have lost their disks since. Others are to take their places.
  [[nodiscard]] std::vector<HostId> forgetful(const SessionId& session) const;
  /// How far the log is known and stored, for a person.
  [[nodiscard]] std::string progress(const SessionId& session) const;
  /// Whether each session can keep its promises (P1) without these hosts: of every membership that its log
  /// names, more than half are other hosts that have a copy of the log. A replica that joins may be named at
  /// any moment, also when its disk was lost a moment ago and nobody has noticed: it counts as a member that
  /// is lost, until the log says that the gateway has come to want something else.
  [[nodiscard]] bool survives_without(const std::set<HostId>& hosts) const;
  /// The digest of an empty namespace.
  static const std::string& empty_state();

 private:
  /// One entry that was seen on some disk, under its index and term.
  struct Known {
    raft::EntryType type = raft::EntryType::kCommand;
    std::optional<session::Command> command;
    Digest digest;
  };
  /// One disk's copy of a log.
  struct Copy {
    ReplicaId replica;  ///< whose it is; 0 when the disk has not said
    std::map<raft::Index, raft::Term> entries;
    raft::Index snapshot;
    raft::Term snapshot_term;
    raft::Index commit;  ///< the commit index that is stored there
    raft::Index marked;  ///< the entries up to here were taken into Group::committed
  };
  /// One disk's copy when the disk was lost.
  struct Lost {
    HostId host;
    Copy copy;
    std::uint64_t wish = 0;  ///< the last one of the gateway's that the log named then
  };

  struct Group {
    std::map<std::pair<raft::Index, raft::Term>, Known> known;
    std::map<HostId, Copy> copies;
    std::vector<Lost> lost;  ///< what was on disks that are lost
    std::map<raft::Index, raft::Term> committed;
    raft::Index replayed{1};
    // What the session is after the entry at `replayed`.
    session::Members members;
    std::uint64_t last_wish = 0;  ///< of those for members that some disk's log has named
    session::Members ever;
    session::Members members_before;
    raft::Index counted_before;  ///< entries up to here may have been counted over `members_before`
    raft::Index changed_at;      ///< the entry that made `members` of them
    Epoch epoch;
    ReplicaId executor;
    std::optional<ExecutionId> running;
    std::uint64_t last_clear = 0;
    std::uint64_t clears = 0;
    std::uint64_t execution_count = 0;
    std::string state = empty_state();
    std::uint64_t last_commit = 0;
    std::uint64_t amended = 0;
    bool suspended = false;
    std::map<CommitId, std::string> states = {{{}, empty_state()}};  ///< after each commit
    std::map<StandAt, std::string> heads = {{{}, empty_state()}};    ///< the digests of all its states
    std::optional<StateOf> imported;
    std::map<ExecutionId, CommittedCell> cells;
    // The places of each cell's LEADs and commits, in any log.
    std::map<ExecutionId, std::set<std::pair<raft::Index, raft::Term>>> leads;
    std::map<ExecutionId, std::set<std::pair<raft::Index, raft::Term>>> commits;
    std::map<std::string, std::set<std::pair<raft::Index, raft::Term>>> imports;  ///< by request
  };

  /// The sessions that have had one id, one after the other: each begins when the one before was deleted.
  struct Sessions {
    std::vector<Group> groups;
    std::map<HostId, std::size_t> at;  ///< whose replica the host's disk has, if it has one
  };

  [[nodiscard]] Group& group_of(const SessionId& session, const HostId& host);
  [[nodiscard]] const Group* last_group(const SessionId& session) const;
  [[nodiscard]] const Group* group_with(const SessionId& session, ReplicaId member) const;
  void learn(Group& group, const raft::Entry& entry);
  void stored(Group& group, const HostId& host, const node::PutMeta& put);
  void stored(Group& group, const HostId& host, const node::PutEntries& put);
  void stored(Group& group, const HostId& host, const node::PutSnapshot& put);
  void born(const HostId& host, const node::PutSnapshot& put);
  void dropped(const HostId& host, const SessionId& session);
  void mark(const SessionId& session, Group& group, Copy& copy);
  void stored(const HostId& host, const node::DiskWrite& write, std::set<SessionId>& touched);
  void replay(const SessionId& session, Group& group);
  void replay_command(const SessionId& session, Group& group, raft::Index at,
                      const session::Command& command);
  void take_over_state(Group& group, const session::Import& import);
  void end_running(Group& group, session::Status status, raft::Index at);
  [[nodiscard]] static bool has_copy(const Group& group, ReplicaId member, const HostId& host);
  [[nodiscard]] static bool names(const Group& group, ReplicaId member);
  [[nodiscard]] static std::size_t copies_of(const Group& group, raft::Index index, raft::Term term);
  [[nodiscard]] static std::size_t fewest_members(const Group& group, raft::Index index);
  [[nodiscard]] static bool on_majority(const Group& group,
                                        const std::set<std::pair<raft::Index, raft::Term>>& places);

  LargeValues& values_;
  Report report_;
  std::map<SessionId, Sessions> sessions_;
};

}  // namespace banyan::sim
