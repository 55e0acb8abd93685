// What a replica answers to questions about its session's history: from user code, and from outside of cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/session/cells.h"
#include "core/session/history.h"
#include "core/session/removals.h"
#include "node/chunk_sync.h"
#include "node/history_questions.h"
#include "node/host_chunks.h"
#include "node/host_speeds.h"
#include "node/pending_chunks.h"
#include "node/replica_cells.h"
#include "node/replica_core.h"
#include "node/replica_view.h"
#include "node/worker_life.h"

namespace banyan::node {

/// Finds out the answers; HistoryQuestions keeps what a question waits for. One from outside of
/// cells is answered after a linearizable read; a change that it asks for goes into the log. What a cell asks
/// for takes effect with its commit.
class ReplicaHistory {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    ReplicaCore& core;
    HostChunks& chunks;
    HostSpeeds& speeds;
    ChunkSync& sync;
    const PendingChunks& pending;
    WorkerLife& worker;
    ReplicaCells& cells;
    ReplicaView& view;
    HistoryQuestions& questions;
  };
  explicit ReplicaHistory(const Parts& parts)
      : parts_(parts), core_(parts.core), worker_(parts.worker), questions_(parts.questions) {}

  // What is asked.
  void ask(const AskedQuestion& question);
  void import(const ImportSession& request);
  void on_asks(const WorkerAsks& event);

  // What answers are waited for.
  /// The gateway has answered what this replica's worker asked of it.
  void on_gateway(const SessionAnswer& said) { questions_.on_gateway(said); }
  /// The worker says what moving head would remove from the disk.
  void on_removes(const WorkerRemoves& event);
  /// Answers those whose read is confirmed, as far as the log is applied.
  void answer_read();
  void on_amended(const session::Amended& event);
  /// Reads may be lost with the leader that they went to.
  void on_new_leader();
  /// Called often: asks again, and gives up what has waited too long.
  void tick();

 private:
  void answer_now(const AskedQuestion& question);
  void go_on_removing(const AskedQuestion& asked, const std::vector<session::Removal>& removals);
  void stop_removing(const AskedQuestion& asked);
  void amend(const std::string& request, session::Answer answered);
  void confirm();
  [[nodiscard]] bool a_cell_runs() const;
  [[nodiscard]] std::optional<session::OutputsSoFar> outputs_so_far() const;

  Parts parts_;
  ReplicaCore& core_;
  WorkerLife& worker_;
  HistoryQuestions& questions_;
};

}  // namespace banyan::node
