// What the logs of all sessions say, read from the hosts' disks and judged without the code under test: which
// entries are on which disk, which are committed, and what a session is after them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/raft/types.h"
#include "core/session/command.h"
#include "sim/disk.h"

namespace banyan::sim {

/// A cell in the committed log.
struct CommittedCell {
  HostId executor;  ///< the host whose LEAD won
  Epoch epoch;
  std::uint64_t clears = 0;  ///< how many restarts came before its start
  std::string state_before;  ///< namespace digest at its start
  std::optional<session::Status> ended;
  raft::Index started_at;
  raft::Index ended_at;
  std::string reply;  ///< as committed
  std::uint64_t execution_count = 0;
};

class LogOracle final : public DiskWatcher {
 public:
  /// Takes violations.
  using Report = std::function<void(std::string what)>;
  explicit LogOracle(Report report) : report_(std::move(report)) {}

  void durable(const HostId& host, const std::vector<node::DiskWrite>& batch) override;
  void broken_contract(const HostId& host, std::string what) override;

  /// Whether a LEAD for the cell is durable on a majority of the session's members.
  [[nodiscard]] bool lead_durable(const SessionId& session, const ExecutionId& execution) const;
  /// Whether a commit of the cell is.
  [[nodiscard]] bool commit_durable(const SessionId& session, const ExecutionId& execution) const;

  /// Cells of the committed log as far as it is known; null for an unknown session or cell.
  [[nodiscard]] const CommittedCell* find(const SessionId& session, const ExecutionId& execution) const;
  [[nodiscard]] const std::map<ExecutionId, CommittedCell>* cells(const SessionId& session) const;
  /// Namespace digest at the end of the committed log.
  [[nodiscard]] std::string state(const SessionId& session) const;
  /// Whether it is to have no workers.
  [[nodiscard]] bool suspended(const SessionId& session) const;
  /// Hosts of the replicas as committed last.
  [[nodiscard]] std::vector<HostId> hosts(const SessionId& session) const;
  /// Hosts whose disks do not hold the whole committed log of a session, although they are members.
  [[nodiscard]] std::vector<std::string> laggards(const SessionId& session) const;
  /// For people: how far the log is known.
  [[nodiscard]] std::string progress(const SessionId& session) const;
  /// Whether each session keeps what it has promised (P1) without these hosts: of the members that any log
  /// names, more than half are others, and have a copy of the log.
  [[nodiscard]] bool survives_without(const std::set<HostId>& hosts) const;
  /// Digest of an empty namespace.
  static const std::string& empty_state();

 private:
  struct Known {
    raft::EntryType type = raft::EntryType::kCommand;
    std::optional<session::Command> command;
    Digest digest;
  };
  struct Copy {  // of a log, on one disk
    std::map<raft::Index, raft::Term> entries;
    raft::Index snapshot;
    raft::Term snapshot_term;
    raft::Index commit;  // as stored
    raft::Index marked;  // up to here `committed` knows of it
  };
  struct Group {
    std::map<std::pair<raft::Index, raft::Term>, Known> known;
    std::map<HostId, Copy> copies;
    std::map<raft::Index, raft::Term> committed;
    raft::Index replayed{1};
    // The session after `replayed`.
    session::Members members;
    session::Members ever;
    session::Members members_before;
    raft::Index counted_before;  ///< the end of the log when they changed
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
    std::map<ExecutionId, CommittedCell> cells;
    // Where a cell's LEADs and commits are in any log.
    std::map<ExecutionId, std::set<std::pair<raft::Index, raft::Term>>> leads;
    std::map<ExecutionId, std::set<std::pair<raft::Index, raft::Term>>> commits;
  };

  void learn(Group& group, const raft::Entry& entry);
  void stored(Group& group, const HostId& host, const node::PutEntries& put);
  void stored(Group& group, const HostId& host, const node::PutSnapshot& put);
  void mark(const SessionId& session, Group& group, Copy& copy);
  void stored(const HostId& host, const node::DiskWrite& write, std::set<SessionId>& touched);
  void replay(const SessionId& session, Group& group);
  void replay_command(const SessionId& session, Group& group, raft::Index at,
                      const session::Command& command);
  void end_running(Group& group, session::Status status, raft::Index at);
  [[nodiscard]] static std::size_t copies_of(const Group& group, raft::Index index, raft::Term term);
  [[nodiscard]] static std::size_t fewest_members(const Group& group, raft::Index index);
  [[nodiscard]] static bool on_majority(const Group& group,
                                        const std::set<std::pair<raft::Index, raft::Term>>& places);

  Report report_;
  std::map<SessionId, Group> groups_;
};

}  // namespace banyan::sim
