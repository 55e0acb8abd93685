// One replica of one session on this host: its Raft group, the session's state, its worker, and the cell it
// executes.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/planner/choice.h"
#include "core/session/cells.h"
#include "core/session/history.h"
#include "core/session/removals.h"
#include "core/session/session.h"
#include "node/beside_cells.h"
#include "node/chunk_sync.h"
#include "node/group_log.h"
#include "node/history_questions.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/host_speeds.h"
#include "node/lease.h"
#include "node/output_log.h"
#include "node/upkeep.h"
#include "node/view_build.h"

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
  /// If this replica is the leader of a suspended session in which nothing has happened for a while: the
  /// message that makes its followers hibernate.
  [[nodiscard]] std::optional<Hibernate> tired() const;
  /// Whether the leader's word fits the state of this replica, which stays awake otherwise.
  [[nodiscard]] bool follows(const HostId& from, const Hibernate& said) const;
  /// The hosts of the other members.
  [[nodiscard]] std::vector<HostId> others() const;
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
    Time launched_at;
    session::View view;                ///< what its namespace shows
    std::uint64_t shown_count = 0;     ///< its execution count
    std::optional<CommitId> since;     ///< the first of the cells in a row that it has run itself
    bool diverged = false;             ///< it ran something that is not in the log, and is to be ended
    std::optional<CommitId> applying;  ///< values for a view of it were sent to the worker
    session::View applying_view;       ///< what it shows when it has loaded them
    Time applying_since;
    std::optional<CommitId> repeating;  ///< a cell runs again
    Time repeating_since;
    std::optional<planner::Step> step;  ///< of the plan: to be done before the rest can be loaded
    std::pair<CommitId, std::uint64_t>
        planned_at;  ///< last() and amended() of the session when it was planned
    /// A version cannot be loaded until more chunks have come, or until the session was amended.
    enum class Until : std::uint8_t { kChunks, kAmended };
    /// Versions whose bytes are not to be had, or do not load.
    std::map<session::CoVariableId, Until> unloadable;
    enum class Because : std::uint8_t {
      kStandby,  ///< its cell would have to run again here
      kUnread,   ///< its cell runs again when something reads it
      kLost,     ///< running cells again does not help
    };
    struct Without {
      session::CoVariableId version;
      Because why = Because::kStandby;
    };
    std::map<std::string, Without> without;      ///< names that are not what they are at head
    std::map<std::string, std::string> missing;  ///< why; told at the next cell
    /// Versions whose cells run again, though their bytes are to be had, because that is quicker. It holds
    /// until `remade_until`, while `planned_at` is as before.
    std::set<session::CoVariableId> remade;
    std::optional<Time> remade_until;
    std::set<CommitId> ran;                   ///< cells that have run again in it; each may once
    std::optional<Time> behind_since;         ///< its namespace is no view of head
    std::pair<CommitId, std::uint64_t> seen;  ///< last() and amended() of the session, first seen at seen_at
    Time seen_at;
  };
  /// The next worker, when the last one is gone.
  struct Launching {
    std::optional<Time> at;
    int failures = 0;  ///< one after the other
    std::string last_death;
  };
  /// The cell this replica bids for or executes.
  struct Cell {
    ExecutionId execution;
    jupyter::Message request;
    std::uint64_t restarts = 0;  ///< of the session when the cell was accepted
    bool aborts = false;         ///< its bid is to end it
    std::string code;
    std::string cell_id;
    OutputLog outputs;
    Time bid_at;
    std::optional<Time> repeat_at;  ///< when to propose again
    bool started = false;           ///< LEAD committed
    Epoch epoch;
    bool forwarded = false;  ///< the worker has the request
    bool fenced = false;     ///< and waits for leave to run it
    bool going = false;      ///< and got it
    Time going_at;
    bool idle = false;  ///< ipykernel said that it is idle: all outputs have come
    std::optional<jupyter::Message> reply;
    std::optional<session::Delta> delta;
    std::vector<checkpoint::Action> actions;  ///< what its code asked of the history; they go into its commit
    bool asked_history = false;
    bool may_lose = false;  ///< it was told to suspend the session whatever that loses
    std::uint64_t execution_count = 0;
    std::optional<session::Commit> commit;  ///< complete; it waits for its chunks, then it is proposed
    std::map<Digest, std::set<ReplicaId>> stored_by;  ///< which replicas have each large chunk of the commit
    std::map<Digest, Blob> large;                     ///< the bytes of these
    Digest lacked;                    ///< the first of them that a majority lacked at the last look
    std::optional<Time> proposed_at;  ///< when the commit was proposed
    bool asked = true;                ///< the gateway's present life knows of the cell, and is told of it
    std::uint64_t sent = 0;           ///< outputs that went to the gateway
    std::set<std::string> reads;      ///< names that were left unmade, and that it may read
    std::set<std::string>
        asked_of;  ///< names of which the worker was asked whether the cell reads them, when it had all else
    bool asked_early = false;               ///< the worker was asked before it had all else
    bool asking = false;                    ///< the answer is awaited
    std::optional<jupyter::Message> input;  ///< input() waits for the answer to this request
    std::optional<Time> progress_at;        ///< its client was told what it waits for
  };

  /// kRespect: outputs wait here while the gateway has much to take already. kAdd: they are sent all the
  /// same.
  enum class Backlog : std::uint8_t { kRespect, kAdd };

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
  [[nodiscard]] std::size_t majority() const;

  // replica_cells.cc: the cell
  void attach(const Execute& request);
  void propose_for_cell();
  void bid();
  bool refuse_outdated(const ExecutionId& execution, std::uint64_t restarts);
  void forward_cell();
  void go_if_allowed();
  void tell_missing();
  void tell_ended_work();
  void lead_has_gone();
  void say_to_cell(std::string text);
  void renew_lease(Lease::Renewal renewal);
  void lease_confirmed(const raft::ReadState& read);
  [[nodiscard]] bool speaks_for_session(const std::string& parent) const;
  void take_output(jupyter::Message message);
  void send_outputs(Backlog backlog = Backlog::kRespect);
  void refuse_unknown_blocks(session::Delta& delta);
  void finish_if_complete();
  void build_commit();
  void stay_awake_for_own();
  void push_chunks(const HostId& to);
  void push_chunks_to_new_members();
  void propose_commit_if_stored();
  void take_cell_back();
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
  void launch_worker();
  void kill_worker();
  void worker_is_gone();
  void tend_worker();
  [[nodiscard]] bool joined() const;
  [[nodiscard]] bool wants_worker() const;

  // replica_view.cc: its namespace
  void sync_view();
  [[nodiscard]] bool yields();
  [[nodiscard]] bool executor_is_there() const;
  [[nodiscard]] bool has_much_to_load() const;
  void look_again();
  void plan_view();
  bool plan_with(const session::View& target, const std::set<session::CoVariableId>& made);
  void take_step();
  void end_long_repeat();
  void show_head();
  [[nodiscard]] std::set<session::CoVariableId> not_shown(const session::View& view) const;
  void show(const session::View& view, const std::set<session::CoVariableId>& load,
            const std::set<std::string>& unbind, ApplyToWorker apply);
  std::string tell_history();
  void do_without(const session::CoVariableId& version, const std::string& why);
  [[nodiscard]] bool runs_cells() const;
  [[nodiscard]] bool worker_at_head() const;
  [[nodiscard]] bool takes(const jupyter::Message& message) const;
  void send_early_requests();
  void leave_unread(const session::View& target);
  [[nodiscard]] bool needed_now(const std::string& name) const;
  [[nodiscard]] std::set<std::string> unread() const;
  [[nodiscard]] bool awaits_reads();
  void ask_early();
  void ask_reads(const std::set<std::string>& names);
  [[nodiscard]] bool left_alone(const std::string& name) const;
  [[nodiscard]] bool loadable(const session::CoVariableId& version) const;
  [[nodiscard]] session::View view_to_show() const;
  [[nodiscard]] std::set<Digest> blocks_shown(const std::vector<std::string>& names) const;

  // replica_plan.cc: what that costs
  [[nodiscard]] const std::set<session::CoVariableId>& remade(const session::View& target);
  std::set<session::CoVariableId> quicker_to_make(const session::View& target);
  [[nodiscard]] planner::Costs costs(planner::Take how) const;
  [[nodiscard]] std::int64_t way_us(const session::CoVariable& value, planner::Take how,
                                    const ChunkSync::Standing& standing) const;
  void want_first(const std::set<session::CoVariableId>& versions);
  void tell_progress();
  void end_progress();
  void tell_client(std::string_view type, const nlohmann::json& content);
  void learn(const WorkerApplied& event);
  [[nodiscard]] bool made_all_again(const WorkerRepeated& event) const;
  void prepare();
  [[nodiscard]] bool preparing() const;

  // replica_history.cc: questions
  void answer_questions();
  void answer_now(const AskedQuestion& question);
  [[nodiscard]] bool worker_holds(const session::Answer& moves) const;
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
  std::map<CommitId, std::string> cannot_repeat_;  ///< cells that ran again otherwise than first
  std::uint64_t amended_seen_ = 0;                 ///< Session::amended() when these were tried last
  ViewBuild build_;                                ///< of the worker's variables
  BesideCells beside_;
  std::set<ExecutionId> refused_;  ///< the worker may still speak of these
  std::optional<Time> gave_at_;  ///< when a peer was sent a chunk last: a standby waits with its own loading

  std::optional<Cell> cell_;
  std::optional<Execute> waiting_;  ///< the next cell, while one runs
  std::optional<Time> kill_at_;     ///< deadline of an interrupt

  HistoryQuestions questions_;

  std::optional<Time> preparing_until_;

  std::optional<Time> resting_since_;  ///< since when nothing has happened here
};

}  // namespace banyan::node
