// Starting coroutines that nobody waits for.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace banyan::runtime {

/// Runs a member coroutine, which keeps its object and its arguments. What it throws leaves the loop's run(),
/// and ends the daemon.
template <class Executor, class Owner, class... Parameters, class... Arguments>
void spawn(const Executor& executor, std::shared_ptr<Owner> owner,
           boost::asio::awaitable<void> (Owner::*member)(Parameters...), Arguments... arguments) {
  boost::asio::co_spawn(
      executor,
      [](std::shared_ptr<Owner> kept, auto what, Arguments... given) -> boost::asio::awaitable<void> {
        co_await (kept.get()->*what)(std::move(given)...);
      }(std::move(owner), member, std::move(arguments)...),
      [](const std::exception_ptr& thrown) {
        if (thrown) std::rethrow_exception(thrown);
      });
}

}  // namespace banyan::runtime
