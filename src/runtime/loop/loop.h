// The one thread of a daemon, and the small pool beside it for what blocks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>

#include "base/time.h"

namespace banyan::runtime {

/// An io_context with a clock and a pool. Everything except the `work` of offload() runs on the thread that
/// calls run().
class Loop {
 public:
  /// The pool has `pool_threads`, at least one, for fsync, hashing and the like.
  explicit Loop(std::size_t pool_threads = 2);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& io() { return io_; }
  /// CLOCK_MONOTONIC and the wall clock.
  [[nodiscard]] Now now() const;
  /// Calls `task` on the loop, soon. Safe from any thread.
  void post(std::function<void()> task);
  /// Calls `task` every `period`. Calls that the loop was too late for are not made up for.
  void every(Duration period, std::function<void()> task);
  /// Calls `task` once after `delay`.
  void after(Duration delay, std::function<void()> task);
  /// Runs `work` on a pool thread, then `done` on the loop. Safe from any thread.
  void offload(std::function<void()> work, std::function<void()> done);
  /// The same for work that has time: its thread has few claims to the processor, so that it is in nobody's
  /// way.
  void offload_in_background(std::function<void()> work, std::function<void()> done);
  /// Runs the loop until stop().
  void run();
  /// Ends run(). Safe from any thread.
  void stop();

 private:
  void offload_to(boost::asio::thread_pool& pool, std::function<void()> work, std::function<void()> done);

  boost::asio::io_context io_;
  boost::asio::thread_pool pool_;
  boost::asio::thread_pool background_{1};
};

}  // namespace banyan::runtime
