// The cells of a replica: the one that it bids for or runs, the one that comes next, and what its worker is
// to do for them.
#pragma once

#include <optional>
#include <string>

#include "node/beside_cells.h"
#include "node/cell_run.h"
#include "node/lease.h"
#include "node/replica_core.h"
#include "node/worker_life.h"

namespace banyan::node {

/// Takes the cells that the gateway asks for and what the log and the worker say of them, and has one CellRun
/// at a time. It launches the worker and ends it, because only a cell, or the prospect of one, makes a
/// replica want one.
class ReplicaCells {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    ReplicaCore& core;
    HostChunks& chunks;
    ChunkSync& sync;
    PendingChunks& pending;
    Lease& lease;
    WorkerLife& worker;
    BesideCells& beside;
  };
  explicit ReplicaCells(const Parts& parts) : parts_(parts), core_(parts.core), worker_(parts.worker) {}

  // What there is.
  /// The cell that this replica bids for or executes; nullptr when there is none.
  [[nodiscard]] CellRun* cell() { return cell_ ? &*cell_ : nullptr; }
  [[nodiscard]] const CellRun* cell() const { return cell_ ? &*cell_ : nullptr; }
  /// Neither a cell nor one that waits.
  [[nodiscard]] bool none() const { return !cell_ && !waiting_; }

  // From the gateway.
  void execute(const Execute& request);
  void interrupt();
  void on_delivered(const OutputDelivered& ack);
  /// The gateway is another life than before: what was on its way to the old one is gone, and what the new
  /// one wants to know it will ask.
  void on_gateway_restarted();
  /// Wants a worker for 5 s, because this replica may become the executor.
  void prepare();
  [[nodiscard]] bool is_preparing() const;

  // From the worker.
  void on_fenced(const WorkerFenced& event);
  void on_message(FromWorker event);
  void on_report(WorkerReport event);
  void on_exited(const WorkerExited& event);

  // From the log. Of the session's events those that are about its cells; the session has taken them in.
  /// True if the cell here has started: the caller then calls ReplicaView::sync() and go_on().
  [[nodiscard]] bool on_started(const session::Started& event);
  void on_bid_lost(const session::BidLost& event);
  void on_all_yielded(const session::AllYielded& event);
  /// True if it was the cell that is here.
  bool on_ended(const session::CellEnded& event);
  /// Another replica has the lead, or none: what the worker does in the background would go on beside the
  /// session.
  void on_lead_gone();
  void on_cleared();
  /// The session was replaced as a whole. The start of the cell here, if the new state has it.
  [[nodiscard]] std::optional<session::Started> on_adopted();
  void on_lease_read(const raft::ReadState& read);

  // On the way.
  /// Gives the cell to the worker where it can go there now.
  void forward();
  /// Opens the fence if the cell may go, ends the cell if its worker cannot start, commits it if it is
  /// complete.
  void go_on();
  /// The cell that waits is taken up where nothing is in its way.
  void start_waiting();
  /// Called often.
  void tick();

  // Its worker.
  /// Requires a session.
  [[nodiscard]] bool wants_worker() const;
  /// True for the executor, for a replica whose cell has started, and for one that prepares: only such a
  /// replica runs cells again for their values. Requires a session.
  [[nodiscard]] bool runs_cells() const;
  /// The worker shows head. One that has diverged shows what is in no log.
  [[nodiscard]] bool is_worker_at_head() const;
  /// Launches one where one is wanted, ends one that is not.
  void tend_worker();
  void launch_worker();
  void end_worker();
  void replace_worker();
  /// Ends its process where that uses what a cell of another session has been granted. Called as long as it
  /// does, and once when it does not any more.
  void make_way();

 private:
  [[nodiscard]] bool refuse_outdated(const ExecutionId& execution, std::uint64_t restarts) const;
  [[nodiscard]] bool speaks_for_session(const std::string& parent) const;
  void go_if_allowed();
  void end_by_death(const std::string& reason);
  void answer_own(const session::Ended& ended);
  void leave_to_log();
  void drop();

  Parts parts_;
  ReplicaCore& core_;
  WorkerLife& worker_;
  std::optional<CellRun> cell_;
  std::optional<Execute> waiting_;  ///< the next cell, while one runs
  std::optional<Time> preparing_until_;
  std::optional<Time> in_the_way_since_;  ///< a cell runs in a process that is to make way
  std::optional<Time> made_way_at_;       ///< the last process that did, between two cells
};

}  // namespace banyan::node
