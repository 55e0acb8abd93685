// The cells of a session that have not ended: their order, the outputs of the one that runs, and what ends
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/gateway_dispatch.h"
#include "node/gateway_ends.h"
#include "node/gateway_last_use.h"
#include "node/gateway_outage.h"
#include "node/gateway_progress.h"
#include "node/gateway_wait_notice.h"

namespace banyan::node {

/// The oldest cell is with the hosts, the others wait here. Every accepted cell gets one end, which CellEnds
/// tells.
class CellQueue {
 public:
  /// All of these outlive it.
  CellQueue(GatewayContext& gateway, const SessionRecord& record, GatewayClients& clients,
            const Membership& members, const ReplicaReports& reports, const Outage& outage,
            LastUse& last_use);
  CellQueue(const CellQueue&) = delete;  // its parts refer to each other
  CellQueue& operator=(const CellQueue&) = delete;

  // Its life.
  /// Takes up the cells that an earlier life of the gateway has accepted.
  void recover(std::map<std::uint64_t, CellRecord> cells, const std::optional<ProgressRecord>& progress);
  /// Cells go to the hosts from now on: the session exists, and is not being restarted.
  void go_on();
  /// No further cell goes to the hosts until go_on().
  void pause() { paused_ = true; }
  /// The kernel was restarted, for the `restart`th time: what was accepted before is not run any more.
  void on_restarted(std::uint64_t restart);
  /// Called often: asks again, gives up on hosts and, when an outage lasts, on cells.
  void watch();
  /// Deletes the records of all cells.
  void close();

  // From clients.
  /// An execute_request. A client may say it twice.
  void accept(const ClientId& client, jupyter::Message request, const std::string& msg_id);
  /// Tells the client that its execute_request is not accepted.
  void refuse(const ClientId& client, const jupyter::Message& request, const Verdict& verdict);
  /// Ends the first cell if nobody is asked to run it. False when there may still be one to interrupt.
  bool interrupt();
  /// Tells clients that a cell runs, if one does: the idle that ends another request must not hide it.
  void show_busy();
  /// Follows what clients have got: acknowledges outputs, forgets cells whose ends were delivered.
  void note_delivered();

  // From hosts; see Dispatch for what it makes of them.
  void on_output(const HostId& host, FromKernel message);
  /// Gives back the cell, which has ended; nothing when that was known.
  std::optional<ExecutionId> on_ended(const HostId& host, const ExecutionEnded& end);
  void on_declined(const HostId& host, const ExecutionDeclined& answer);
  /// A replica of the session has reported: that may tell who runs the cell, and which cells hosts know.
  void on_report(const ReplicaReport& report);
  void on_host_gone(const HostId& host) { dispatch_.on_host_gone(host); }
  void on_host_restarted(const HostId& host) { dispatch_.on_host_restarted(host); }

  // From the scheduler and the control store.
  void on_decision(const schedule::CellDecision& decision);
  void on_verdict_noted(std::uint64_t number);
  void on_progress_noted();
  /// The session may be able to run a cell: the first one goes to the hosts, if none is with them.
  void send_next();

  // What is known.
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  /// The cells in their order, the one that runs first. Valid until the next event.
  [[nodiscard]] std::vector<const AcceptedCell*> accepted() const;
  /// The cell has not ended.
  [[nodiscard]] bool holds(const ExecutionId& execution) const;
  /// The cell that is with the hosts; null when none is. Valid until the next event.
  [[nodiscard]] const AcceptedCell* running() const;
  /// Who is asked to run that cell.
  [[nodiscard]] const Dispatch& dispatch() const { return dispatch_; }
  [[nodiscard]] const LastExecution& last() const { return last_; }
  /// The host of the executor: of the cell that runs, else of the last one.
  [[nodiscard]] std::optional<HostId> executor() const;

 private:
  struct Cell : AcceptedCell {
    bool stop_on_error = true;
    /// It was sent to a host, perhaps by an earlier life of the gateway. Of the running cell Dispatch knows
    /// it.
    bool may_have_started = false;
    bool outage_told = false;  ///< its client knows why it does not end
  };

  void judge(Cell cell, Verdict verdict);
  void end_first(Verdict verdict);
  void leave_to_log();
  void stop_running();
  void end_where(const std::function<bool(Cell&)>& ends, const Verdict& verdict);
  void refuse_in_outage();
  void abort_behind(const Cell& failed);
  void abort_before(std::uint64_t restart);
  [[nodiscard]] bool may_have_started(const Cell& cell) const;
  [[nodiscard]] bool log_decides(const Cell& cell) const;
  void store_progress();
  void hosts_know(const ExecutionId& execution);

  GatewayContext& gateway_;
  const SessionRecord& record_;
  GatewayClients& clients_;
  const Membership& members_;
  const Outage& outage_;
  LastUse& last_use_;
  LastExecution last_;
  Dispatch dispatch_;
  OutputProgress progress_;
  WaitNotice wait_notice_;
  CellEnds ends_;
  std::deque<Cell> queue_;  ///< oldest first; only the first may be with the hosts
  std::uint64_t next_number_ = 1;
  std::uint64_t queued_bytes_ = 0;
  bool paused_ = true;      ///< no cell goes to the hosts
  bool recovered_ = false;  ///< an earlier life of the gateway has left the session
};

}  // namespace banyan::node
