// One life of a worker: from the request to fork it to its end.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <zmq.hpp>

#include "node/host_events.h"
#include "runtime/worker/cgroup.h"
#include "runtime/worker/config.h"
#include "runtime/worker/state_channel.h"
#include "runtime/worker/zmq_link.h"
#include "runtime/worker/zygote.h"

namespace banyan::runtime {

/// What the workers of a host share. All of it must outlive them.
struct Shared {
  boost::asio::io_context& loop;
  boost::asio::thread_pool& pool;  ///< computes digests and fills big memfds
  zmq::context_t& zmq;
  const WorkerConfig& config;
  const Cgroups& cgroups;
  std::function<void(node::HostEvent)> emit;
  LogSink log;
  /// The worker has imported these libraries, or parts of them.
  std::function<void(WorkerId, const std::vector<std::string>& modules)> imported;
  /// The worker has ended and everything it said was emitted. Called once, from a posted handler.
  std::function<void(WorkerId, std::string reason)> ended;
};

/// The name of the file that takes a session's output which no client sees. A session's id may come from a
/// client, so the name keeps only characters that cannot form a path.
std::string log_name_of(const SessionId& session);

/// One worker process with its state channel, its Jupyter sockets, its lease page and its limits. It emits
/// the worker's events in the order in which the worker caused them; WorkerExited is the last.
class Worker {
 public:
  /// `zygote` is the one that is to fork the process.
  Worker(Shared& shared, std::shared_ptr<Zygote> zygote, node::LaunchWorker request);
  Worker(const Worker&) = delete;
  ~Worker();

  /// Asks the zygote for the process.
  Result<Done> start();

  void stop(node::Stop how);
  void send(const jupyter::Message& message);
  void answer_fence(const node::AnswerFence& answer);
  void answer(const node::AnswerWorker& answer);
  void apply(const node::ApplyToWorker& view);
  void repeat(const node::RepeatOnWorker& cell);
  void ask_reads(const node::AskReads& question);
  void ask_removals(const node::AskRemovals& question);
  void set_lease(std::optional<Time> deadline);

  [[nodiscard]] const Zygote& zygote() const { return *zygote_; }
  /// 0 before it has been forked.
  [[nodiscard]] int pid() const { return pid_; }
  /// The zygote has forked the process, or has seen it end.
  void spawned(int pid);
  void exited(ExitStatus status);
  /// The process is gone with its zygote, or could not be forked.
  void lost(std::string reason);

 private:
  Result<Done> write_connection_file();
  std::filesystem::path directory() const;
  std::filesystem::path connection_file() const;
  void log(node::Log::Level level, const std::string& text) const;

  void received(const Frame& frame);
  void hello(const Hello& hello);
  template <class Said>
  void emit_digested(Said said);
  void channel_closed(const Error& error);
  void link_problem(const Error& error);
  /// Kills the process; `reason` is what WorkerExited will say.
  void kill(std::string reason);
  void kill_after(std::chrono::milliseconds delay, std::string reason);
  void announce();
  void gone(std::string reason);
  void check_ended();

  Shared& shared_;
  const std::shared_ptr<Zygote> zygote_;
  const node::LaunchWorker request_;
  const std::string key_;
  const Endpoints endpoints_;
  std::optional<LeasePage> lease_;
  std::optional<Cgroup> cgroup_;
  std::unique_ptr<StateChannel> channel_;
  std::unique_ptr<ZmqLink> link_;
  boost::asio::steady_timer deadline_;  ///< kills a process that does not come up, or does not end
  boost::asio::steady_timer linger_;    ///< how long to listen for what a process that is gone has said
  int pid_ = 0;
  std::string python_;      ///< the version of its interpreter
  bool linked_ = false;     ///< the Jupyter sockets work
  bool ready_ = false;      ///< WorkerReady was emitted
  bool digesting_ = false;  ///< the pool computes the digests of a report
  bool complained_ = false;
  std::optional<std::string> kill_reason_;
  std::optional<std::string> exit_reason_;  ///< set when the process is gone
  bool link_drained_ = false;
  bool lingered_ = false;
  bool ended_ = false;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
