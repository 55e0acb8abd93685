// Starting coroutines that nobody waits for, and what those of this layer wait with.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <utility>

namespace banyan::runtime {

/// Asio's completion token of this layer: an operation that is awaited with it gives its error code first and
/// throws nothing.
constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

/// Runs a member coroutine that nobody waits for; it keeps its object and its arguments alive. What it throws
/// leaves the loop's run() and ends the daemon.
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
