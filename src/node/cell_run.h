// One execution of a cell on a replica that bids for it, and runs it when it wins.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "core/session/session.h"
#include "node/cell_ending.h"
#include "node/cell_outputs.h"
#include "node/cell_reads.h"
#include "node/chunk_sync.h"
#include "node/group_log.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/lease.h"

namespace banyan::node {

/// From the bid to the end (ARCHITECTURE.md, "The life of a cell"): the cell bids, starts when the log says
/// so, is forwarded to the worker, waits at the fence, goes, and ends (CellEnding). It proposes, and sends to
/// the worker and the gateway; it never calls its replica, which says what happens and drops it when the log
/// has its end.
class CellRun {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    HostContext& host;
    GroupLog& log;
    HostChunks& chunks;
    ChunkSync& sync;
    PendingChunks& pending;
    Lease& lease;
  };
  /// `devices`: what the cell holds as long as this lives.
  CellRun(const Parts& parts, const Execute& order, HostDevices::Grant devices);
  CellRun(const CellRun&) = delete;  // its parts refer to each other
  CellRun& operator=(const CellRun&) = delete;

  // What it is.
  [[nodiscard]] const ExecutionId& execution() const { return order_.execution; }
  /// What the gateway would have to say now for this replica to take it once more.
  [[nodiscard]] Execute order() const;
  /// It is only to be ended.
  [[nodiscard]] bool aborts() const { return order_.aborts; }
  /// Of the session, when the gateway took it.
  [[nodiscard]] std::uint64_t restarts() const { return order_.restarts; }
  [[nodiscard]] const std::set<DeviceId>& devices() const { return devices_.devices(); }
  /// Its process uses other devices than these.
  [[nodiscard]] bool needs_new_process() const { return devices_.is_for_new_process(); }
  /// They outlast it where its process does.
  [[nodiscard]] HostDevices::Grant take_devices() { return std::move(devices_); }
  /// The LEAD of this replica is committed.
  [[nodiscard]] bool has_started() const { return started_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  /// When it bid first: the lease counts from there.
  [[nodiscard]] Time bid_at() const { return bid_at_; }
  /// The worker has the request.
  [[nodiscard]] bool is_forwarded() const { return forwarded_; }
  /// The worker waits for leave to run user code.
  [[nodiscard]] bool is_fenced() const { return fenced_; }
  /// It has leave.
  [[nodiscard]] bool is_going() const { return going_at_.has_value(); }
  [[nodiscard]] bool runs_user_code() const { return is_going() && !ending.has_reported(); }
  /// Code that the worker may run for it: the cell's, and the expressions that its client asks for.
  [[nodiscard]] std::string code_and_expressions() const;

  // To the start.
  void bid();
  /// Another cell runs: it bids again later.
  void on_bid_lost();
  void on_started(Epoch epoch);
  void forward(const WorkerId& worker);
  void on_fenced() { fenced_ = true; }
  /// Whether it may go now. Asks the majority where the bid took so long that the lease is nearly over.
  [[nodiscard]] bool may_go();
  void go(const WorkerId& worker);
  void renew_lease(Lease::Renewal renewal);
  /// Proposes again what does not show in the log.
  void repeat_if_due(const session::Session& session);
  /// A new leader has to get at once what the old one may have lost.
  void on_new_leader(const session::Session& session);

  /// Asks the worker which of these names, whose values are made when something reads them, the cell may
  /// read.
  void ask_reads(const WorkerId& worker, const std::set<std::string>& names);

  // To the end.
  /// A message of its worker that answers its request.
  void on_message(jupyter::Message message, const session::Session& session);
  void on_report(WorkerReport event, const session::Session& session);
  /// The worker died under it: it ends with an error.
  void on_death(const std::string& reason, const session::Session& session);
  /// Makes its commit if all is there. A blank cell has no fence: its worker may end it before it starts.
  void finish_if_complete(const session::Session& session);
  /// The worker that had it is gone. What it said of a cell that did not run is void.
  void take_back();
  void on_worker_gone() { reads.on_worker_gone(); }

  // Its client.
  /// input() was answered or interrupted.
  void on_input() { input_.reset(); }
  /// The gateway asks for the cell that is here already.
  void on_asked(const Execute& request);

  CellOutputs outputs;
  CellEnding ending;
  CellReads reads;

 private:
  Parts parts_;
  Execute order_;
  HostDevices::Grant devices_;
  std::string code_;
  Time bid_at_;
  Time bid_again_at_{};
  bool started_ = false;
  Epoch epoch_;
  bool forwarded_ = false;
  bool fenced_ = false;
  std::optional<Time> going_at_;
  std::optional<jupyter::Message> input_;  ///< input() waits for the answer to this request
};

}  // namespace banyan::node
