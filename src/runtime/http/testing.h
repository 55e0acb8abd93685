// A test's event loop: server and clients on one thread.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/time.h"

namespace banyan::runtime {

/// An io_context that a test runs until something has happened.
class TestLoop {
 public:
  boost::asio::io_context io;

  /// Runs until `done()`; false when that takes longer than `limit`.
  bool until(const std::function<bool()>& done, Duration limit = 20s) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      io.restart();
      io.run_one_for(10ms);
    }
    return true;
  }

  /// Runs `task` to its end and returns what it returns.
  template <class T>
  T await(boost::asio::awaitable<T> task, Duration limit = 20s) {
    std::optional<T> result;
    boost::asio::co_spawn(
        io,
        [](boost::asio::awaitable<T> inner, std::optional<T>& out) -> boost::asio::awaitable<void> {
          out.emplace(co_await std::move(inner));
        }(std::move(task), result),
        boost::asio::detached);
    if (!until([&] { return result.has_value(); }, limit)) {
      ADD_FAILURE() << "a coroutine did not end in time";
      std::abort();
    }
    return std::move(*result);
  }
};

}  // namespace banyan::runtime
