// One replica of one session on this host: its Raft group, the session's state, its worker, and the cell it
// executes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/session/cells.h"
#include "core/session/history.h"
#include "core/session/removals.h"
#include "core/session/session.h"
#include "node/beside_cells.h"
#include "node/cell_run.h"
#include "node/chunk_sync.h"
#include "node/group_log.h"
#include "node/history_questions.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/host_speeds.h"
#include "node/lease.h"
#include "node/upkeep.h"
#include "node/view_build.h"
#include "node/worker_view.h"

namespace banyan::node {

/// Pure; all effects go through the HostContext. Calls come in the order of events.
class Replica {
 public:
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

  // From peers and the disk.
  void raft_message(const HostId& from, const raft::Message& message);
  void persisted(raft::WriteToken token);
  void tick(int raft_ticks);
  /// Only the log of a replica notices that time passes, while the replica is calm and nothing stirs it.
  void tick_log(int raft_ticks);
  /// Nothing is under way here that time alone brings on: until the replica is stirred, a whole tick would do
  /// no more than tick_log(), and its report stays the same.
  [[nodiscard]] bool is_calm() const;
  void peer_down(const HostId& peer);
  /// `peer` is another life than before.
  void peer_restarted(const HostId& peer);
  void chunk_stored_by(const HostId& peer, const Digest& digest);
  /// A part of a chunk has come: this host asked for it, or another one sends it ahead of a commit that
  /// refers to it.
  void chunk_arrives(const ChunkPart& part);
  /// A peer that asked for a chunk was sent it (see gave_at_).
  void chunk_given();
  /// The data store has answered.
  void chunk_fetched(const ChunkFetched& said);
  /// The bytes of a chunk are here and are being written to the disk. A view that waits may use them before.
  void chunk_at_hand(const Digest& digest, const Blob& bytes);
  /// The chunk is durable here now.
  void chunk_durable(const Digest& digest);
  /// The chunk is for the commit of the execution: it stays until its end is known.
  void hold_chunk(const ExecutionId& execution, const Digest& digest);
  void chunk_read(const Digest& digest, const std::optional<Blob>& bytes);

  // From the gateway.
  void execute(const Execute& request);
  void to_kernel(jupyter::Message message);
  void interrupt();
  void restart(std::uint64_t request);
  void change_members(ChangeMembers wanted);
  void output_delivered(const OutputDelivered& ack);
  /// The gateway is another life than before: what was on its way to the old one is gone, and what the new
  /// one wants to know it will ask.
  void gateway_restarted();
  /// A question about the history, from outside of cells.
  void ask(const AskedQuestion& question);
  void import(const ImportSession& request);
  /// The gateway has answered what this replica's worker asked of it.
  void gateway_answered(const SessionAnswer& said);
  void close();

  // From the worker. Calls for an earlier worker are ignored.
  void on_worker(const WorkerReady& event);
  void on_worker(FromWorker event);
  void on_worker(const WorkerFenced& event);
  void on_worker(WorkerReport event);
  void on_worker(const WorkerApplied& event);
  void on_worker(const WorkerRepeated& event);
  void on_worker(const WorkerReads& event);
  void on_worker(const WorkerRemoves& event);
  void on_worker(const WorkerExited& event);
  void on_worker(const WorkerAsks& event);

  // Hibernation.
  /// The message that makes followers hibernate, and their hosts.
  struct Tired {
    Hibernate word;
    std::vector<HostId> hosts;
  };
  /// If this replica is the leader of a suspended session in which nothing has happened for a while.
  [[nodiscard]] std::optional<Tired> tired() const;
  /// Whether the leader's word fits the state of this replica, which stays awake otherwise.
  [[nodiscard]] bool follows(const HostId& from, const Hibernate& said) const;
  /// The caller has to take over the uses of these chunks. Nothing else is left behind.
  std::set<Digest> hibernate() { return chunk_sync_.hand_over(); }

  [[nodiscard]] const SessionId& session_id() const { return session_id_; }
  [[nodiscard]] std::optional<WorkerId> worker() const;
  [[nodiscard]] ReplicaReport report() const;
  /// A leader has said how the log goes on that the disk had: from then on it is known what the session uses.
  [[nodiscard]] bool caught_up() const { return log_.caught_up(); }
  /// What a new replica writes first is durable.
  void born();
  /// Only then is it reported: the gateway never opens again what it has heard of, and a crash before would
  /// lose it.
  [[nodiscard]] bool is_born() const { return born_; }

 private:
  enum class WorkerPhase : std::uint8_t { kStarting, kReady };
  struct Worker {
    WorkerId id;
    WorkerPhase phase = WorkerPhase::kStarting;
    std::uint64_t pid = 0;
    bool diverged = false;  ///< it ran something that is not in the log, and is to be ended
    WorkerView view;
  };
  /// The next worker, when the last one is gone.
  struct Launching {
    std::optional<Time> at;
    int failures = 0;  ///< one after the other
    std::string last_death;
  };
  Replica(const Shared& shared, SessionId session, GroupLog log);

  // replica_raft.cc: the log
  void pump();
  void apply(const raft::Entry& entry);
  void install(const raft::Snapshot& snapshot);
  void apply_command(session::Command command);
  void happened(const session::Started& event);
  void happened(const session::BidLost& event);
  void happened(const session::AllYielded& event);
  void happened(const session::CellEnded& event);
  void happened(const session::CommitRefused& event);
  void happened(const session::LeadTaken& event);
  void happened(const session::Cleared& event);
  void happened(const session::MembersChanged& event);
  void happened(const session::ValuesMoved& event);
  void happened(const session::Amended& event);
  [[nodiscard]] bool at_rest() const;
  void role_changed(const raft::RoleChange& role);
  void adopt(session::Session session);

  // replica_cells.cc: the cell
  bool refuse_outdated(const ExecutionId& execution, std::uint64_t restarts);
  void forward_cell();
  void go_if_allowed();
  void lead_has_gone();
  void lease_confirmed(const raft::ReadState& read);
  [[nodiscard]] bool speaks_for_session(const std::string& parent) const;
  void end_by_death(const std::string& reason);
  void drop_cell();
  void leave_to_log();
  void answer_ended(const session::Ended& ended, std::uint64_t outputs_seen);
  void answer_own(const session::Ended& ended);
  void start_waiting_cell();
  void to_gateway(PeerMessage message) { host_.send(kGateway, std::move(message)); }

  // replica_chunks.cc: what happens to its chunks
  /// Only where there is a session.
  [[nodiscard]] ChunkSync::Standing standing() const;

  // replica_worker.cc: the worker's life
  [[nodiscard]] bool takes(const jupyter::Message& message) const;
  void send_early_requests();
  void launch_worker();
  void kill_worker();
  void worker_is_gone();
  void tend_worker();
  [[nodiscard]] bool joined() const;
  [[nodiscard]] bool wants_worker() const;

  // replica_view.cc: its namespace
  void sync_view();
  [[nodiscard]] bool executor_is_there() const;
  [[nodiscard]] bool runs_cells() const;
  [[nodiscard]] bool worker_at_head() const;
  [[nodiscard]] bool awaits_reads();
  void ask_reads(const std::set<std::string>& names);
  void tell_progress();
  void prepare();
  [[nodiscard]] bool preparing() const;

  // replica_history.cc: questions
  void answer_questions();
  void answer_now(const AskedQuestion& question);
  void go_on_removing(const AskedQuestion& asked, const std::vector<session::Removal>& removals);
  void stop_removing(const AskedQuestion& asked);
  void amend(const std::string& request, session::Answer answered);
  [[nodiscard]] std::optional<session::OutputsSoFar> outputs_so_far() const;
  void confirm_questions();
  void give_up_questions();

  HostContext& host_;
  HostChunks& chunks_;
  HostSpeeds& speeds_;
  SessionId session_id_;
  ReplicaId id_;
  GroupLog log_;
  bool born_ = true;
  std::optional<session::Session> session_;  ///< nothing until the first snapshot is installed
  Upkeep upkeep_;
  Lease lease_;
  ChunkSync chunk_sync_;
  bool pumping_ = false;

  std::optional<Worker> worker_;
  Launching launch_;
  WorkerView::Repeats repeats_;
  ViewBuild build_;  ///< of the worker's variables
  BesideCells beside_;
  std::set<ExecutionId> refused_;  ///< the worker may still speak of these
  std::optional<Time> gave_at_;  ///< when a peer was sent a chunk last: a standby waits with its own loading

  std::optional<CellRun> cell_;     ///< that this replica bids for or executes
  std::optional<Execute> waiting_;  ///< the next cell, while one runs
  std::optional<Time> kill_at_;     ///< deadline of an interrupt

  HistoryQuestions questions_;

  std::optional<Time> preparing_until_;

  std::optional<Time> resting_since_;  ///< since when nothing has happened here
};

}  // namespace banyan::node
