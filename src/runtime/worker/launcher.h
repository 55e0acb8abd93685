// The live port::Launcher: real Python workers, forked by a zygote.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "port/launcher.h"
#include "runtime/worker/config.h"
#include "runtime/worker/worker.h"

namespace banyan::runtime {

/// Owns the zygotes and the workers of a host. Calls and events are on the loop's thread, and no event is
/// emitted from within a call. Destroying the launcher kills all workers. The `Time` of set_lease is on
/// CLOCK_MONOTONIC.
class WorkerLauncher final : public port::Launcher {
 public:
  /// `loop` must outlive the launcher. Logs which limits and which sandbox it found. kInvalid when the
  /// runtime directory's path is too long for sockets, or when a directory that workers need is hidden from
  /// them; kNotFound when no kernel's interpreter is there; kIo when a directory cannot be made; kUnavailable
  /// when a required sandbox does not work.
  static Result<std::unique_ptr<WorkerLauncher>> create(boost::asio::io_context& loop, WorkerConfig config,
                                                        std::function<void(node::HostEvent)> emit,
                                                        LogSink log);
  ~WorkerLauncher() override;

  void launch(node::LaunchWorker request) override;
  void stop(WorkerId worker, node::Stop how) override;
  void send(WorkerId worker, jupyter::Message message) override;
  void answer_fence(node::AnswerFence answer) override;
  void answer(node::AnswerWorker answer) override;
  void apply(node::ApplyToWorker view) override;
  void repeat(node::RepeatOnWorker cell) override;
  void ask_reads(node::AskReads question) override;
  void ask_removals(node::AskRemovals question) override;
  void forget(const SessionId& session) override;
  void set_lease(WorkerId worker, std::optional<Time> deadline) override;

  /// Which kernels this host can run, as far as it is known. A HostKernels event tells of each change.
  [[nodiscard]] std::vector<node::KernelReport> kernels() const;
  /// The processes of each worker: its own, and those that it has started.
  [[nodiscard]] std::map<WorkerId, std::set<int>> processes() const;
  /// The process id of the first kernel's zygote; 0 when there is none at the moment.
  [[nodiscard]] int zygote_pid() const;

 private:
  class Impl;
  explicit WorkerLauncher(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace banyan::runtime
