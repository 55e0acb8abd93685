#include "runtime/http/connect.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <string>
#include <vector>

#include "runtime/http/coroutine.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

}  // namespace

asio::awaitable<Result<beast::tcp_stream>> connect_stream(const Endpoint& endpoint, Duration timeout) {
  const auto executor = co_await asio::this_coro::executor;
  const std::string where = endpoint.authority();
  const auto unreachable = [&](const boost::system::error_code& error) {
    return fail(ErrorKind::kUnavailable, "cannot connect to " + where + ": " + error.message());
  };
  tcp::resolver resolver(executor);  // Asio looks names up on a thread of its own
  boost::system::error_code named;
  const auto numeric = asio::ip::make_address(endpoint.host, named);
  std::vector<tcp::endpoint> addresses;
  if (!named) {
    addresses.emplace_back(numeric, endpoint.port);
  } else {
    const auto [unknown, found] =
        co_await resolver.async_resolve(endpoint.host, std::to_string(endpoint.port), kAwait);
    if (unknown) co_return unreachable(unknown);
    for (const auto& entry : found) addresses.push_back(entry.endpoint());
  }
  beast::tcp_stream stream(executor);
  stream.expires_after(timeout);
  const auto [refused, address] = co_await stream.async_connect(addresses, kAwait);
  if (refused) co_return unreachable(refused);
  boost::system::error_code ignored;
  stream.socket().set_option(tcp::no_delay(true), ignored);
  co_return stream;
}

}  // namespace banyan::runtime
