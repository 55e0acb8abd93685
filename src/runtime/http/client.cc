#include "runtime/http/client.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>

#include "runtime/http/connect.h"
#include "runtime/http/coroutine.h"
#include "runtime/http/http_text.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kReadBytes = 64 << 10;  // the buffer's room, which bounds what one read takes

}  // namespace

asio::awaitable<Result<HttpAnswer>> http_call(Endpoint endpoint, HttpCall call) {
  auto stream = co_await connect_stream(endpoint, call.timeout);
  if (!stream) co_return fail(stream.error().kind, std::move(stream.error().message));
  const auto broken = [&](const boost::system::error_code& error) {
    return fail(ErrorKind::kUnavailable,
                "the gateway at " + endpoint.authority() + " did not answer: " + error.message());
  };
  http::request<http::string_body> request;
  request.method_string(call.method);
  request.target(endpoint.base + call.target);
  request.set(http::field::host, endpoint.authority());
  request.set(http::field::user_agent, "banyan");
  request.set(http::field::connection, "close");
  request.set(http::field::content_type, "application/json");
  if (!endpoint.token.empty()) request.set(http::field::authorization, "token " + endpoint.token);
  for (const auto& [name, value] : call.headers) request.set(name, value);
  request.body() = std::move(call.body);
  request.prepare_payload();
  stream->expires_after(call.timeout);
  const auto [unsent, sent] = co_await http::async_write(*stream, request, kAwait);
  if (unsent) co_return broken(unsent);

  beast::flat_buffer buffer;
  buffer.reserve(kReadBytes);
  http::response_parser<http::string_body> parser;
  parser.body_limit(call.body_bytes_max);
  if (call.method == "HEAD") parser.skip(true);
  const auto [unread, size] = co_await http::async_read(*stream, buffer, parser, kAwait);
  if (unread) co_return broken(unread);
  HttpAnswer answer{.status = static_cast<int>(parser.get().result_int()),
                    .headers = header_map(parser.get()),
                    .body = std::move(parser.get().body())};
  co_return answer;
}

}  // namespace banyan::runtime
