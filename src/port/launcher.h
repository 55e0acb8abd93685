// Workers: Python processes of a host.
#pragma once

#include "node/host_events.h"

namespace banyan::port {

/// Starts workers and talks to them (docs/internals/worker.md). Calls do not block; what workers do arrives
/// as WorkerReady, FromWorker, WorkerFenced, WorkerAsks, WorkerReport, WorkerApplied, WorkerRepeated,
/// WorkerReads, WorkerRemoves and WorkerExited events. Calls for a worker that is gone have no effect: its
/// WorkerExited is on the way.
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual void launch(node::LaunchWorker request) = 0;
  virtual void stop(WorkerId worker, node::Stop how) = 0;
  virtual void send(WorkerId worker, jupyter::Message message) = 0;
  virtual void answer_fence(node::AnswerFence answer) = 0;
  virtual void answer(node::AnswerWorker answer) = 0;
  virtual void apply(node::ApplyToWorker view) = 0;
  virtual void repeat(node::RepeatOnWorker cell) = 0;
  virtual void ask_reads(node::AskReads question) = 0;
  virtual void ask_removals(node::AskRemovals question) = 0;
  /// Removes what workers of the session have left on this host. To be called when the last one has ended.
  virtual void forget(const SessionId& session) = 0;
  virtual void set_lease(WorkerId worker, std::optional<Time> deadline) = 0;
};

}  // namespace banyan::port
