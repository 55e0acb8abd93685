// One replica of one session on this host.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/session/session.h"
#include "node/beside_cells.h"
#include "node/chunk_sync.h"
#include "node/history_questions.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/host_speeds.h"
#include "node/lease.h"
#include "node/replica_cells.h"
#include "node/replica_chunks.h"
#include "node/replica_core.h"
#include "node/replica_history.h"
#include "node/replica_view.h"
#include "node/upkeep.h"
#include "node/worker_life.h"

namespace banyan::node {

/// Applies the session's log, tells its parts what that comes to, and composes them. A part may
/// call those that are declared before it, never one that is declared after it, nor this class. What happens
/// is told to the part that it concerns; settle() follows, in which the log's answer is taken in.
///
/// Pure; all effects go through the HostContext. Calls come in the order of events.
class Replica {
 public:
  Replica(const Replica&) = delete;  // its parts refer to each other
  Replica& operator=(const Replica&) = delete;
  /// What all replicas of a host use. These outlive them.
  struct Shared {
    HostContext& host;
    HostChunks& chunks;
    HostSpeeds& speeds;
  };
  /// A new replica; it writes itself to the disk.
  static Result<std::unique_ptr<Replica>> open(const Shared& shared, const OpenReplica& request);
  /// A replica as the disk holds it.
  static Result<std::unique_ptr<Replica>> recover(const Shared& shared, StoredReplica stored);
  /// A replica that hibernated on this host, so that nothing of it ran meanwhile. `campaign`: somebody waits
  /// for the session, and the replica asks at once to be elected leader.
  static Result<std::unique_ptr<Replica>> wake(const Shared& shared, StoredReplica stored, bool campaign);

  /// Takes in what the log has come to. HostMachine calls this after each event. It may be left out after one
  /// that neither proposes to the log nor reads from it, such as a part of a chunk that has come.
  void settle();

  // Its parts.
  [[nodiscard]] ReplicaCells& cells() { return cells_; }
  [[nodiscard]] ReplicaView& view() { return view_; }
  [[nodiscard]] ReplicaChunks& chunks() { return chunks_; }
  [[nodiscard]] ReplicaHistory& history() { return history_; }

  // The log.
  void raft_message(const HostId& from, const raft::Message& message);
  void persisted(raft::WriteToken token) { core_.log.on_persisted(token); }
  void peer_down(const HostId& peer) { (void)core_.log.on_peer_down(peer); }
  /// What a new replica writes first is durable.
  void born();
  /// Only then is it reported: the gateway never opens again what it has heard of, and a crash before would
  /// lose it.
  [[nodiscard]] bool is_born() const { return born_; }
  /// A leader has said how the log goes on that the disk had: from then on it is known what the session uses.
  [[nodiscard]] bool caught_up() const { return core_.log.caught_up(); }

  // Time.
  void tick(int raft_ticks);
  /// Only the log of a replica notices that time passes, while the replica is calm and nothing stirs it.
  void tick_log(int raft_ticks) { core_.log.on_ticks(raft_ticks); }
  /// Nothing is under way here that time alone brings on: until the replica is stirred, a whole tick would do
  /// no more than tick_log(), and its report stays the same.
  [[nodiscard]] bool is_calm() const;

  // The session as a whole.
  void restart(std::uint64_t request);
  void change_members(ChangeMembers wanted);
  void close();

  // Hibernation.
  /// The message that makes followers hibernate, and their hosts.
  struct Tired {
    Hibernate word;
    std::vector<HostId> hosts;
  };
  /// If this replica is the leader of a suspended session in which nothing has happened for a while.
  [[nodiscard]] std::optional<Tired> tired() const;
  /// Something is asked of the session: it is not at rest.
  void disturb() { resting_since_.reset(); }
  /// Whether the leader's word fits the state of this replica, which stays awake otherwise.
  [[nodiscard]] bool follows(const HostId& from, const Hibernate& said) const;
  /// The caller has to take over the uses of these chunks. Nothing else is left behind.
  std::set<Digest> hibernate() { return sync_.hand_over(); }

  [[nodiscard]] std::optional<WorkerId> worker() const { return worker_.id(); }
  [[nodiscard]] ReplicaReport report() const;

 private:
  Replica(const Shared& shared, SessionId session, GroupLog log);

  void apply(const raft::Entry& entry);
  void apply_command(session::Command command);
  void install(const raft::Snapshot& snapshot);
  void adopt(session::Session session);
  void role_changed(const raft::RoleChange& role);
  void on_started(const session::Started& event);
  void on_ended(const session::CellEnded& event);
  void on_lead_taken(const session::LeadTaken& event);
  void on_cleared(const session::Cleared& event);
  void on_members_changed();
  void predict_move();
  [[nodiscard]] bool at_rest() const;

  ReplicaCore core_;
  HostSpeeds& speeds_;
  Upkeep upkeep_;
  Lease lease_;
  ChunkSync sync_;
  PendingChunks pending_;
  BesideCells beside_;
  HistoryQuestions questions_;
  WorkerLife worker_;
  ReplicaCells cells_;
  ReplicaView view_;
  ReplicaChunks chunks_;
  ReplicaHistory history_;
  bool born_ = true;
  std::int64_t move_us_ = 0;           ///< ReplicaReport::move_us
  std::optional<Time> resting_since_;  ///< since when nothing has happened here
};

}  // namespace banyan::node
