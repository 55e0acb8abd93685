// What makes the worker of a replica show head: when its view is looked at.
#pragma once

#include <optional>

#include "node/beside_cells.h"
#include "node/chunk_sync.h"
#include "node/replica_cells.h"
#include "node/replica_core.h"
#include "node/worker_life.h"

namespace banyan::node {

/// Looks at the view of the worker (WorkerView) whenever something may have changed that it waits for, passes
/// on what the worker is to do, and gives the worker what waited until the view shows head: the cell, and
/// requests beside cells.
class ReplicaView {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    ReplicaCore& core;
    ChunkSync& sync;
    WorkerLife& worker;
    ReplicaCells& cells;
    BesideCells& beside;
  };
  explicit ReplicaView(const Parts& parts)
      : parts_(parts), core_(parts.core), worker_(parts.worker), cells_(parts.cells) {}

  /// Has the worker take the next step towards head. At head, it gets the requests that wait, and the cell.
  void sync();
  /// Called often.
  void tick();
  /// Wants a worker at head for 5 s, because this replica may become the executor.
  void prepare();
  /// A request for the worker that is no cell.
  void to_kernel(jupyter::Message message);

  // From the worker.
  void on_ready(const WorkerReady& event);
  void on_applied(const WorkerApplied& event);
  void on_repeated(const WorkerRepeated& event);
  void on_reads(const WorkerReads& event);

  // Chunks.
  /// A peer that asked for one was sent it: a standby waits with its own loading.
  void on_chunk_given() { gave_at_ = core_.host.now().mono; }
  /// How the replica stands, for where they come from. Requires a session.
  [[nodiscard]] ChunkSync::Standing of_chunks() const;

 private:
  [[nodiscard]] bool executor_is_there() const;
  [[nodiscard]] bool takes(const jupyter::Message& message) const;
  void send_early_requests();
  void tell_progress();

  Parts parts_;
  ReplicaCore& core_;
  WorkerLife& worker_;
  ReplicaCells& cells_;
  std::optional<Time> gave_at_;
};

}  // namespace banyan::node
