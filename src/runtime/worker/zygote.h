// The warm Python process of a host that forks its workers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/process.h"
#include "runtime/worker/state_channel.h"
#include "runtime/worker/worker_messages.h"

namespace banyan::runtime {

/// Starts the zygote, starts it again when it dies, and passes requests on. All calls and handlers are on the
/// loop's thread.
class Zygote {
 public:
  struct Handlers {
    std::function<void(const ZygoteSays&)> says;
    /// The process is gone, and with it all its workers and requests. The next one is being started.
    std::function<void(std::string reason)> died;
  };

  /// The arguments that name the control socket are added to `spec.command`. `loop` and `pool` must outlive
  /// the zygote.
  Zygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec, Handlers handlers);
  Zygote(const Zygote&) = delete;
  ~Zygote();

  /// Sends a request. It waits when there is no process at the moment.
  void request(Outgoing frame);
  /// Whether the process has said that it serves.
  [[nodiscard]] bool ready() const { return ready_; }
  /// The process id; 0 when there is no process.
  [[nodiscard]] int pid() const { return process_ ? process_->pid() : 0; }

 private:
  void start();
  void received(const Frame& frame);
  void channel_closed(const Error& error);
  void process_ended(ExitStatus status);
  void died(const std::string& reason);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  ProcessSpec spec_;
  Handlers handlers_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds backoff_{0};
  bool ready_ = false;
  std::string complaint_;  ///< how the process broke the protocol before it was killed
  std::unique_ptr<StateChannel> channel_;
  std::unique_ptr<Process> process_;
  std::vector<Outgoing> waiting_;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
