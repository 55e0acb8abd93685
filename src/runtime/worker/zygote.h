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

/// Starts the zygote, starts it again when it dies, and passes requests on. All calls and handlers on the
/// loop thread.
class Zygote {
 public:
  struct Handlers {
    std::function<void(const ZygoteSays&)> says;
    /// It is gone, and with it all its workers and requests. The next one is on the way.
    std::function<void(std::string reason)> died;
  };

  /// `spec.command` lacks the arguments that name the control socket. `loop` and `pool` outlive the zygote.
  Zygote(boost::asio::io_context& loop, boost::asio::thread_pool& pool, ProcessSpec spec, Handlers handlers);
  Zygote(const Zygote&) = delete;
  ~Zygote();

  /// Waits for a zygote when there is none yet.
  void request(Outgoing frame);
  /// It has started, and said so.
  [[nodiscard]] bool ready() const { return ready_; }
  /// 0 when there is none.
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
  std::string complaint_;  ///< what it did wrong before it was killed
  std::unique_ptr<StateChannel> channel_;
  std::unique_ptr<Process> process_;
  std::vector<Outgoing> waiting_;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

}  // namespace banyan::runtime
