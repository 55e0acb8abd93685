// One session at the gateway: its clients, its queue of cells, its replicas. The counterpart of Replica.
//
// The log decides what a cell does, the scheduler which replica is asked; this class decides what clients
// hear, and sees to it that every accepted cell gets exactly one end (P4).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/transfer.h"
#include "node/gateway_clients.h"
#include "node/gateway_context.h"
#include "node/gateway_membership.h"
#include "node/gateway_records.h"
#include "node/gateway_requests.h"
#include "node/gateway_transfers.h"

namespace banyan::node {

/// Pure; all effects go through the GatewayContext, which outlives it.
class GatewaySession {
 public:
  GatewaySession(GatewayContext& gateway, SessionRecord record);
  GatewaySession(const GatewaySession&) = delete;  // its parts refer to each other
  GatewaySession& operator=(const GatewaySession&) = delete;

  // Its life.
  /// Writes the record of a new session; its replicas are opened once that is durable.
  void found();
  /// Takes up what an earlier life of the gateway left.
  void recover(StoredSession stored);
  void noted(const Noted& noted);
  void tick();
  /// Ends it everywhere. Nothing may be called after.
  void close();

  // Hosts.
  /// The host can be counted on (again). `anew`: it is another life than before, and holds what it has
  /// reported.
  void host_up(const HostId& host, bool anew);
  void host_down(const HostId& host);
  /// Messages to the host's old life are gone.
  void host_restarted(const HostId& host);
  void reported(const HostId& host, const ReplicaReport& report);
  void from_kernel(const HostId& host, FromKernel message);
  void ended(const HostId& host, const ExecutionEnded& end);
  void declined(const HostId& host, const ExecutionDeclined& answer);
  void restarted(const Restarted& answer);
  void answered(const SessionAnswer& answer);
  /// What user code wants: `{"do": "migrate", "host": HOST}`, begun when its cell has ended.
  void asked(const HostId& host, const AskSession& question);

  // What the scheduler has decided. Each looks whether it can still be done.
  /// A new replica goes there.
  void place(const HostId& host);
  /// No host can take the replica that it wants.
  void no_host();
  /// This replica is asked to run the cell that waits.
  void start(const schedule::StartCell& decision);
  /// Its replica leaves a host that is being drained. What it cannot do it answers with MoveFailed.
  void move(const schedule::MoveReplica& decision);
  /// It has been idle for long: it is suspended.
  void rest();

  // Clients.
  void open_client(ConnectionId connection, const ClientId& client, ClientManner manner);
  void from_client(ConnectionId connection, jupyter::Message message);
  [[nodiscard]] bool connected(const ClientId& client) const { return clients_.connected(client); }
  void drained(ConnectionId connection, std::uint64_t bytes);
  void confirmed(ConnectionId connection, std::uint64_t messages);
  void close_client(ConnectionId connection);

  // What REST asks for.
  void interrupt();
  /// Answers `request` with the kernel's model when the session is empty, or with 504.
  void restart(std::optional<RequestId> request);
  void set_notebook(std::optional<Notebook> notebook);
  /// Answers `request` with what the session's history says (core/session/history.h).
  void ask_history(RequestId request, std::string question);
  /// Answers `request` with what the cells that ended after that commit have put out, the one that runs,
  /// those that wait, and what input() asks (core/session/cells.h).
  void tell_cells(RequestId request, CommitId after);
  /// Each answers `request` when it is done, or why it cannot be. Suspending and moving refuse to lose what
  /// no new view would have, unless forced.
  void suspend(RequestId request, bool force);
  void resume(RequestId request);
  void migrate(RequestId request, const HostId& to, bool force);
  /// Answers with the bytes of Session::snapshot_with; `values` is "all" (of every commit), "head" or
  /// "least".
  void export_state(RequestId request, const session::ExportRequest& wanted);
  /// The state that export_state gave takes the place of this session's, in which nothing has run.
  void import_state(RequestId request, const std::string& upload, Blob snapshot);
  [[nodiscard]] GatewayTransfers& transfers() { return transfers_; }

  // What REST shows.
  [[nodiscard]] const SessionId& id() const { return record_.id; }
  [[nodiscard]] const SessionRecord& record() const { return record_; }
  /// Its record is durable: it exists.
  [[nodiscard]] bool exists() const { return exists_; }
  /// A client has asked for its end by a shutdown_request.
  [[nodiscard]] bool wants_end() const { return wants_end_; }
  /// "starting", "idle", "busy", "restarting" or "dead".
  [[nodiscard]] std::string_view state() const;
  /// Why it is dead or waits, for a person; empty when all is well.
  [[nodiscard]] std::string reason() const;
  [[nodiscard]] WallTime last_activity() const { return activity_; }
  [[nodiscard]] std::size_t connections() const { return clients_.connections(); }
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  /// The host of the executor; nothing when there is none.
  [[nodiscard]] std::optional<HostId> executor_host() const;
  /// It has no workers until somebody needs them.
  [[nodiscard]] bool suspended() const;
  /// A majority of its replicas is up.
  [[nodiscard]] bool can_serve() const { return members_.can_serve(); }
  /// The report that knows most: of the highest epoch and commit. Null when there is none.
  [[nodiscard]] const ReplicaReport* newest_report() const { return members_.newest_report(); }

 private:
  struct Cell {
    CellRecord record;
    ExecutionId execution;
    bool stop_on_error = true;
    bool may_have_started = false;   ///< it was sent to a host, in this life or perhaps in an earlier one
    bool asked = false;              ///< in this life
    std::uint64_t seen = 0;          ///< outputs that were passed on
    std::uint64_t taken = 0;         ///< outputs that the client has confirmed
    std::uint64_t taken_stored = 0;  ///< the control store was told
    std::uint64_t taken_noted = 0;   ///< it is durable there: a later life of the gateway does not want them
    std::uint64_t taken_told = 0;    ///< the executor's host may forget them
    std::optional<HostId> lead;      ///< asked last
    std::optional<HostId> executor;  ///< has shown that it runs the cell
    Time asked_at;
    std::optional<Time> ask_at;  ///< when to ask again
    Duration backoff{};
    std::set<HostId> holders;      ///< asked, have not declined: may still start it
    std::set<HostId> passed_over;  ///< in this round
    int rounds = 0;
    bool outage_told = false;
  };
  /// A cell that has ended, whose client has not got all of it.
  struct Ending {
    ExecutionId execution;
    ClientId client;
    std::optional<HostId> host;
  };
  struct Restarting {
    std::uint64_t request = 0;
    bool noted = false;
    Time since;
    Time sent_at;
    std::optional<Time> committed_at;
    std::vector<RequestId> replies;
    std::vector<std::pair<ClientId, jupyter::Message>> shutdowns;
  };
  struct Question {
    std::optional<RequestId> request;  ///< none: asked by an operation
    HostId host = {};
    Time asked_at = {};
    enum class Form : std::uint8_t { kJson, kBytes, kCells } form = Form::kJson;  ///< of the answer
    std::optional<PeerMessage> unsent;  ///< no host is known yet that could answer
  };
  struct Operation {
    enum class Kind : std::uint8_t { kSuspend, kResume, kMigrate } kind = Kind::kResume;
    std::vector<RequestId> requests;  ///< none: of the gateway itself
    HostId to;
    bool force = false;
    bool added = false;  ///< a move: it has brought a replica to the host
    Time since;
    std::optional<std::string> question;  ///< asked, not answered
    std::string asked;                    ///< the last one, which is not asked again before `ask_at`
    Time ask_at;
    std::string lost;                 ///< JSON: what was given up
    std::optional<ExecutionId> look;  ///< the gateway's own cell, which tells what was done beside cells
    int looked = 0;                   ///< how often there was one
    std::optional<Time> prepare_at;
    int prepared = 0;  ///< how often the host was asked to
  };
  struct Input {
    ClientId client;
    jupyter::Message message;
    std::uint64_t place = 0;
  };

  // gateway_cells.cc: from the request to its end
  void accept_cell(const ClientId& client, jupyter::Message request, const std::string& msg_id);
  void take_output(const HostId& host, FromKernel message);
  [[nodiscard]] bool log_decides(const Cell& cell) const;
  void abort_behind(const Cell& failed);
  void abort_before(std::uint64_t restart);
  void judge(Cell cell, Verdict verdict);
  void tell_verdict(const Cell& cell);
  void tell_end(const Cell& cell, const ExecutionEnded& end);
  void tell_error(const ClientId& client, const jupyter::Message& request, const Verdict& verdict,
                  CellTag tag, std::uint64_t execution_count);
  void publish_idle(const std::string& parent, CellTag tag);
  void note_delivered();
  void end_delivered(std::uint64_t number);
  void store_progress();
  void hosts_know(const ExecutionId& execution);
  void remember_ended(const ExecutionId& execution);
  [[nodiscard]] bool knows_cell(const ExecutionId& execution) const;
  [[nodiscard]] Cell* running();
  [[nodiscard]] const Cell* running() const;

  // gateway_dispatch.cc: who is asked to run it
  void dispatch();
  void ask(Cell& cell);
  void ask_all(Cell& cell);
  void send_execute(Cell& cell, ReplicaId lead, const HostId& host);
  void watch_cell();
  [[nodiscard]] bool chooses_executor() const;
  void watch_quorum();
  [[nodiscard]] std::optional<HostId> last_executor() const;
  [[nodiscard]] bool outage() const;
  [[nodiscard]] Verdict outage_verdict() const;

  // gateway_history.cc
  void watch_questions();
  void put_question(const std::string& id, Question question, PeerMessage message);
  void send_question(Question& question);
  [[nodiscard]] std::optional<HostId> answering_host() const;
  [[nodiscard]] std::string with_waiting(const std::string& content) const;

  // gateway_operations.cc
  [[nodiscard]] Result<Done> can_go_to(const HostId& host) const;
  void operate(Operation operation);
  void wake_for_requests();
  [[nodiscard]] bool may_rest() const;
  void tell_idle();
  void watch_operation();
  void step_suspend(const ReplicaReport& newest);
  void step_resume(const ReplicaReport& newest);
  void step_migrate(const ReplicaReport& newest);
  [[nodiscard]] nlohmann::json lost() const;
  void ask_log(std::string question);
  void log_answered(const std::string& question, const SessionAnswer* answer);
  void prepare(const HostId& host);
  [[nodiscard]] bool look(const ReplicaReport& newest);
  [[nodiscard]] bool looks();
  void end_operation(int status, const std::string& text);
  [[nodiscard]] bool shows_head(const HostId& host) const;
  [[nodiscard]] std::optional<ReplicaId> able_instead() const;

  // gateway_channels.cc: everything else that clients and workers say
  void route_waiting();
  void lose_requests(const HostId& host);
  void lose(const Requests::Request& request);
  [[nodiscard]] Executing executing() const;
  void answer(const ClientId& client, const jupyter::Message& request, std::string content);
  void shutdown(const ClientId& client, const jupyter::Message& request);
  void input_reply(jupyter::Message reply);
  void pass_reply(jupyter::Message reply);
  void pass_iopub(jupyter::Message message);
  void pass_input(jupyter::Message request);

  // gateway_session.cc
  void cell_host_gone(const HostId& host);
  void ask_elsewhere(const Membership::Departed& hosts);
  [[nodiscard]] SessionActivity activity() const;
  void store_record() { gateway_.store(session_key(record_.id), to_record(record_)); }
  void send_restart();
  void watch_restart();
  void finish_restart();
  void note_activity() { activity_ = gateway_.now().wall; }

  GatewayContext& gateway_;
  SessionRecord record_;
  Membership members_;
  GatewayClients clients_;
  bool exists_ = false;
  bool recovered_ = false;  ///< an earlier life of the gateway has left it
  bool wants_end_ = false;
  WallTime activity_;

  std::deque<Cell> queue_;                ///< oldest first; only the first may be with the hosts
  std::map<std::uint64_t, Cell> judged_;  ///< their verdict is being written
  std::map<std::uint64_t, Ending> endings_;
  std::deque<ExecutionId> ended_before_;  ///< the last that were, oldest first
  std::uint64_t next_cell_ = 1;
  std::uint64_t queued_bytes_ = 0;
  std::optional<Time> outage_since_;
  bool progress_stored_ = false;   ///< there is a record
  bool progress_pending_ = false;  ///< a write is on its way

  Requests requests_;
  CommitId last_commit_;            ///< of the last cell that ended in this life
  std::optional<HostId> ended_by_;  ///< who told so
  std::optional<Input> input_;
  bool asked_for_input_ = false;
  std::optional<Restarting> restarting_;
  std::map<std::string, Question> questions_;  ///< by id
  std::optional<Operation> operation_;
  std::optional<WallTime> idle_told_;        ///< the scheduler knows
  std::optional<WallTime> rest_refused_at_;  ///< activity_ when suspending would have lost something
  GatewayTransfers transfers_;
};

}  // namespace banyan::node
