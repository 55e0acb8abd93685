// The worker of a replica, from one process to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "node/chunk_sync.h"
#include "node/history_questions.h"
#include "node/host_chunks.h"
#include "node/host_speeds.h"
#include "node/replica_core.h"
#include "node/view_build.h"
#include "node/worker_view.h"

namespace banyan::node {

/// At most one process at a time. It is launched, becomes ready, and ends; the next one comes after a pause
/// that grows while none becomes ready. What is of one process ends with it: its view, what it was refused,
/// the question that it asked. This class does not know whether a process is wanted, nor which cell it runs.
class WorkerLife {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    ReplicaCore& core;
    HostChunks& chunks;
    HostSpeeds& speeds;
    ChunkSync& sync;
    HistoryQuestions& questions;
  };
  WorkerLife(const WorkerLife&) = delete;  // views refer to what is here
  WorkerLife& operator=(const WorkerLife&) = delete;
  explicit WorkerLife(const Parts& parts) : parts_(parts), build_(parts.core.host, parts.core.session_id) {}

  // The process that there is. There has to be one, but for exists(), id() and is_ready().
  [[nodiscard]] bool exists() const { return worker_.has_value(); }
  [[nodiscard]] std::optional<WorkerId> id() const;
  /// It exists, and has said that it is ready.
  [[nodiscard]] bool is_ready() const { return worker_ && worker_->ready; }
  /// In the operating system; 0 until it is ready.
  [[nodiscard]] std::uint64_t pid() const { return worker_->pid; }
  [[nodiscard]] WorkerView& view() { return worker_->view; }
  [[nodiscard]] const WorkerView& view() const { return worker_->view; }
  /// It ran something that is not in the log, and is to be ended.
  [[nodiscard]] bool has_diverged() const { return worker_->diverged; }
  void diverge() { worker_->diverged = true; }
  /// A cell that it may still speak of is another replica's. `fenced`: the process waits for an answer.
  void refuse(const ExecutionId& execution, bool fenced);
  [[nodiscard]] bool refuses(const ExecutionId& execution) const {
    return worker_->refused.contains(execution);
  }
  /// Interrupts it. `killed_after`: when it does not end its cell by then, it is killed.
  void interrupt(std::optional<Duration> killed_after);
  /// The interrupt has ended its cell: it is not killed.
  void call_off_kill() { kill_at_.reset(); }
  void on_ready(const WorkerReady& event);

  // How its variables become those of head.
  [[nodiscard]] ViewBuild& build() { return build_; }
  [[nodiscard]] const ViewBuild& build() const { return build_; }

  // From one to the next.
  /// Launches a process if there is none and one is `wanted`. Before the replica has joined its group,
  /// `wanted` is not read: the next one is due once it has.
  void launch(bool wanted);
  /// The next one is to be launched, now or after a pause.
  [[nodiscard]] bool is_next_awaited() const { return next_at_.has_value(); }
  [[nodiscard]] bool is_next_due() const { return next_at_ && *next_at_ <= parts_.core.host.now().mono; }
  /// None is wanted for now.
  void expect_none() { next_at_.reset(); }
  /// Kills it and forgets it: its exit is not told. The next one may be launched at once.
  void kill();
  /// It has exited, by itself or because tick() killed it. Whether the next one may be launched at once.
  [[nodiscard]] bool on_exited(const WorkerExited& event);
  /// Why the last one ended.
  [[nodiscard]] const std::string& last_death() const { return last_death_; }
  void set_last_death(std::string reason) { last_death_ = std::move(reason); }
  /// Several in a row have ended before they were ready.
  [[nodiscard]] bool fails_to_start() const { return failures_ >= kFailuresMax; }
  /// What failed before says nothing about the next one.
  void forget_failures() { failures_ = 0; }
  /// Called often: kills one that an interrupt did not end.
  void tick();

 private:
  static constexpr int kFailuresMax = 3;
  struct Worker {
    WorkerId id;
    bool ready = false;
    std::uint64_t pid = 0;
    bool diverged = false;
    WorkerView view;
    std::set<ExecutionId> refused;
  };
  void gone();

  Parts parts_;
  std::optional<Worker> worker_;
  std::optional<Time> kill_at_;  ///< deadline of an interrupt
  ViewBuild build_;
  WorkerView::Repeats repeats_;
  std::optional<Time> next_at_;  ///< when the next one is launched, when the last one is gone
  int failures_ = 0;             ///< one after the other
  std::string last_death_;
};

}  // namespace banyan::node
