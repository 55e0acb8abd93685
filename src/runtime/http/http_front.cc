#include "runtime/http/http_front.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "runtime/http/coroutine.h"
#include "runtime/http/http_text.h"
#include "runtime/http/origin.h"
#include "runtime/http/server_socket.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;
using Parser = http::request_parser<http::string_body>;

constexpr std::size_t kHeadReadBytes = 4096;
constexpr std::size_t kBodyReadBytes = 64 << 10;
constexpr Duration kLinger = 1s;  // the client of a broken request has so long to read the answer
constexpr std::size_t kLingerBytes = 4 << 20;  // so much of a broken request is read and thrown away
constexpr std::string_view kConfirmed = "confirmed ";
constexpr Duration kAcceptPause = 100ms;  // after a failed accept, mostly for want of file descriptors

/// A value that a coroutine waits for and that a call of the node brings.
template <class T>
class Answer {
 public:
  explicit Answer(const asio::any_io_executor& executor) : timer_(executor) {}

  void bring(T value) {
    if (!value_) value_ = std::move(value);
    timer_.cancel();
  }

  /// Waits for the value; nothing when the time is over first.
  asio::awaitable<std::optional<T>> wait(Duration limit) {
    if (!value_) {
      timer_.expires_after(limit);
      co_await timer_.async_wait(kAwait);
    }
    co_return std::move(value_);
  }

 private:
  asio::steady_timer timer_;
  std::optional<T> value_;
};

struct Accepted {};
using Decision = std::variant<Accepted, node::RejectClient>;

/// A WebSocket client, from its upgrade request to its end.
struct Client {
  Answer<Decision> decision;
  MessageSocket socket;
};

node::HttpReply error_reply(int status, const std::string& message) {
  const std::string reason(http::obsolete_reason(static_cast<http::status>(status)));
  const nlohmann::json body = {{"reason", reason}, {"message", message}};
  return {.id = {},
          .status = status,
          .headers = {},
          .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

/// The answer to a request that Beast refuses; nothing when the client just went away.
std::optional<node::HttpReply> answer_to(error_code error, const HttpOptions& options) {
  if (error == http::error::header_limit) {
    return error_reply(431, "the header exceeds " + std::to_string(options.header_bytes_max) + " bytes");
  }
  if (error == http::error::body_limit) {
    return error_reply(413, "the body exceeds " + std::to_string(options.body_bytes_max) + " bytes");
  }
  const bool left = error == http::error::end_of_stream || error == http::error::partial_message;
  const bool malformed = error.category() == http::make_error_code(http::error::bad_version).category();
  if (left || !malformed) return std::nullopt;
  return error_reply(400, "the request is malformed: " + error.message());
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

/// How many messages a client confirms. Its pong repeats our ping, and a client that confirms unasked sends a
/// ping "confirmed N". Other pings and pongs only keep a connection alive.
std::optional<std::uint64_t> confirmed(MessageSocket::Control kind, std::string_view payload) {
  if (kind == MessageSocket::Control::kPing) {
    if (!payload.starts_with(kConfirmed)) return std::nullopt;
    payload.remove_prefix(kConfirmed.size());
  }
  std::uint64_t messages = 0;
  const auto [end, error] = std::from_chars(payload.data(), payload.data() + payload.size(), messages);
  const bool whole = error == std::errc{} && end == payload.data() + payload.size();
  return whole ? std::optional(messages) : std::nullopt;
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct HttpFront::Impl : std::enable_shared_from_this<HttpFront::Impl> {
  Impl(asio::io_context& io, HttpOptions o, Events e, port::LogSink l)
      : acceptor(io), options(std::move(o)), events(std::move(e)), log(std::move(l)) {}

  void emit(node::GatewayEvent event) {
    if (!stopped) events(std::move(event));
  }

  void note(node::Log::Level level, std::string text) {
    if (!stopped) log({level, std::move(text)});
  }

  asio::awaitable<void> accept_all();
  asio::awaitable<void> serve(tcp::socket socket);
  asio::awaitable<bool> await_request(beast::tcp_stream& stream, beast::flat_buffer& buffer);
  asio::awaitable<error_code> read_request(beast::tcp_stream& stream, beast::flat_buffer& buffer,
                                           Parser& parser);
  asio::awaitable<bool> converse(beast::tcp_stream& stream, Request request);
  asio::awaitable<bool> write(beast::tcp_stream& stream, const Request& request, node::HttpReply reply,
                              bool keep_alive);
  asio::awaitable<void> refuse(beast::tcp_stream& stream, const Request& request, node::HttpReply reply);
  asio::awaitable<void> open(beast::tcp_stream stream, Request request);
  asio::awaitable<bool> admit(ConnectionId id, Client& client, const Request& request);
  void end_all(bool politely);

  tcp::acceptor acceptor;
  HttpOptions options;
  Events events;
  port::LogSink log;
  std::set<beast::tcp_stream*> streams;  // all HTTP connections, so that stop() can close them
  std::map<RequestId, std::shared_ptr<Answer<node::HttpReply>>> requests;
  std::map<ConnectionId, std::shared_ptr<Client>> clients;
  std::uint64_t last_request = 0;
  std::uint64_t last_client = 0;
  std::size_t connections = 0;
  bool stopped = false;
};

asio::awaitable<void> HttpFront::Impl::accept_all() {
  asio::steady_timer pause(acceptor.get_executor());
  while (acceptor.is_open()) {
    auto [error, socket] = co_await acceptor.async_accept(kAwait);
    if (!acceptor.is_open()) co_return;
    if (error) {
      note(node::Log::Level::kWarning, "cannot take a connection: " + error.message());
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kAwait);
    } else if (connections >= options.connections_max) {
      note(node::Log::Level::kWarning,
           "a connection was refused: " + std::to_string(connections) + " are open");
    } else {
      spawn(acceptor.get_executor(), shared_from_this(), &Impl::serve, std::move(socket));
    }
  }
}

asio::awaitable<void> HttpFront::Impl::serve(tcp::socket socket) {
  struct Count {
    explicit Count(std::size_t& n) : n_(n) { ++n_; }
    ~Count() { --n_; }
    std::size_t& n_;
  } count(connections);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  std::optional<Request> upgrade;
  streams.insert(&stream);
  while (!stopped && co_await await_request(stream, buffer)) {
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(options.header_bytes_max));
    parser.body_limit(options.body_bytes_max);
    if (const error_code error = co_await read_request(stream, buffer, parser)) {
      if (auto reply = answer_to(error, options)) co_await refuse(stream, parser.get(), std::move(*reply));
      break;
    }
    if (beast::websocket::is_upgrade(parser.get())) {
      upgrade = parser.release();
      break;
    }
    if (!co_await converse(stream, parser.release())) break;
  }
  streams.erase(&stream);
  if (upgrade && !stopped) co_await open(std::move(stream), std::move(*upgrade));
}

asio::awaitable<bool> HttpFront::Impl::await_request(beast::tcp_stream& stream, beast::flat_buffer& buffer) {
  if (buffer.size() > 0) co_return true;
  stream.expires_after(options.idle_timeout);
  const auto [error, size] = co_await stream.async_read_some(buffer.prepare(kHeadReadBytes), kAwait);
  buffer.commit(size);
  co_return !error;
}

asio::awaitable<error_code> HttpFront::Impl::read_request(beast::tcp_stream& stream,
                                                          beast::flat_buffer& buffer, Parser& parser) {
  stream.expires_after(options.header_timeout);
  const auto [broken, header] = co_await http::async_read_header(stream, buffer, parser, kAwait);
  if (broken) co_return broken;
  stream.expires_after(options.body_timeout);
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, 11);
    const auto [unsent, sent] = co_await http::async_write(stream, go_on, kAwait);
    if (unsent) co_return unsent;
  }
  if (parser.content_length_remaining().value_or(0) > buffer.capacity()) buffer.reserve(kBodyReadBytes);
  const auto [cut, body] = co_await http::async_read(stream, buffer, parser, kAwait);
  co_return cut;
}

asio::awaitable<bool> HttpFront::Impl::converse(beast::tcp_stream& stream, Request request) {
  Headers headers = header_map(request);
  const bool keep_alive = request.keep_alive();
  if (!origin_passes(headers, options.allowed_origins)) {
    note(node::Log::Level::kWarning, "a page of another origin was refused: " + headers["origin"]);
    co_return co_await write(stream, request,
                             error_reply(403, "pages of this origin may not call the gateway"), keep_alive);
  }
  if (request.method() == http::verb::options && headers.contains("access-control-request-method")) {
    const node::HttpReply preflight{
        .id = {},
        .status = 204,
        .headers = {{"access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS"},
                    {"access-control-allow-headers", "accept, authorization, content-type, x-xsrftoken"},
                    {"access-control-max-age", "600"}},
        .body = {}};
    co_return co_await write(stream, request, preflight, keep_alive);
  }
  const RequestId id{++last_request};
  const auto answer = std::make_shared<Answer<node::HttpReply>>(stream.get_executor());
  requests[id] = answer;
  stream.expires_never();
  emit(node::HttpRequest{.id = id,
                         .method = std::string(request.method_string()),
                         .target = std::string(request.target()),
                         .headers = std::move(headers),
                         .body = std::move(request.body())});
  auto reply = co_await answer->wait(options.reply_timeout);
  requests.erase(id);
  if (stopped) co_return false;
  if (!reply) {
    note(node::Log::Level::kError, "no answer to " + std::string(request.method_string()) + " " +
                                       std::string(path_of(view(request.target()))));
    reply = error_reply(504, "the gateway took too long to answer");
  }
  co_return co_await write(stream, request, std::move(*reply), keep_alive);
}

asio::awaitable<bool> HttpFront::Impl::write(beast::tcp_stream& stream, const Request& request,
                                             node::HttpReply reply, bool keep_alive) {
  Response response(static_cast<http::status>(reply.status), request.version());
  response.set(http::field::server, "banyan");
  const Headers headers = header_map(request);
  if (origin_is_listed(headers, options.allowed_origins)) {
    response.set(http::field::access_control_allow_origin, headers.at("origin"));
    response.set(http::field::vary, "Origin");
  }
  for (const auto& [name, value] : reply.headers) response.set(name, value);
  for (const std::string& cookie : reply.cookies) response.insert(http::field::set_cookie, cookie);
  const bool bodiless = reply.status == 204 || reply.status == 304 || reply.status < 200;
  if (!bodiless) {
    if (!response.count(http::field::content_type))
      response.set(http::field::content_type, "application/json");
    response.set("X-Content-Type-Options", "nosniff");
    response.content_length(reply.body.size());
    if (request.method() != http::verb::head) response.body() = std::move(reply.body);
  }
  response.keep_alive(keep_alive);
  stream.expires_after(options.body_timeout);
  http::response_serializer<http::string_body> serializer(response);
  const auto [error, size] = co_await http::async_write(stream, serializer, kAwait);
  co_return !error && keep_alive;
}

// Answers a request that cannot be read to its end, then lets the client read the answer: closing with unread
// bytes would reset the connection and throw the answer away.
asio::awaitable<void> HttpFront::Impl::refuse(beast::tcp_stream& stream, const Request& request,
                                              node::HttpReply reply) {
  stream.expires_never();
  co_await write(stream, request, std::move(reply), false);
  error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream.expires_after(kLinger);
  std::string rest(64 << 10, '\0');
  for (std::size_t total = 0; total < kLingerBytes;) {
    const auto [error, size] = co_await stream.async_read_some(asio::buffer(rest), kAwait);
    if (error) break;
    total += size;
  }
}

asio::awaitable<void> HttpFront::Impl::open(beast::tcp_stream stream, Request request) {
  Headers headers = header_map(request);
  if (!origin_passes(headers, options.allowed_origins)) {
    note(node::Log::Level::kWarning, "a WebSocket of another origin was refused: " + headers["origin"]);
    co_await refuse(stream, request, error_reply(403, "pages of this origin may not call the gateway"));
    co_return;
  }
  const ConnectionId id{++last_client};
  const auto protocol = jupyter::choose_sub_protocol(view(request[http::field::sec_websocket_protocol]));
  stream.expires_never();
  const auto executor = stream.get_executor();
  const auto client = std::make_shared<Client>(Answer<Decision>(executor),
                                               incoming_socket(std::move(stream), protocol, options.socket));
  clients[id] = client;
  client->socket.on_drained([this, id](std::uint64_t bytes) { emit(node::ClientDrained{id, bytes}); });
  client->socket.on_control([this, id](MessageSocket::Control kind, std::string_view payload) {
    if (const auto messages = confirmed(kind, payload)) emit(node::ClientConfirmed{id, *messages});
  });
  emit(node::ClientOpening{id, std::string(request.target()), std::move(headers)});
  if (co_await admit(id, *client, request)) {
    while (clients.contains(id)) {
      auto message = co_await client->socket.read();
      if (!message) {
        if (message.error().kind != ErrorKind::kUnavailable) {
          note(node::Log::Level::kWarning, "a client's frame was refused: " + message.error().message);
        }
        break;
      }
      emit(node::FromClient{id, std::move(*message)});
    }
  }
  if (clients.erase(id) > 0) emit(node::ClientClosed{id});
}

// Waits for the node's decision and acts on it. True once the WebSocket is open.
asio::awaitable<bool> HttpFront::Impl::admit(ConnectionId id, Client& client, const Request& request) {
  const auto decision = co_await client.decision.wait(options.reply_timeout);
  if (stopped) co_return false;
  if (!decision) {
    co_await refuse(stream_of(client.socket), request,
                    error_reply(504, "the gateway took too long to answer"));
    co_return false;
  }
  if (const auto* rejection = std::get_if<node::RejectClient>(&*decision)) {
    clients.erase(id);
    co_await refuse(stream_of(client.socket), request, error_reply(rejection->status, rejection->message));
    co_return false;
  }
  const auto accepted = co_await accept_upgrade(client.socket, request);
  co_return accepted.has_value();
}

void HttpFront::Impl::end_all(bool politely) {
  if (std::exchange(stopped, true)) return;
  error_code ignored;
  acceptor.close(ignored);
  for (beast::tcp_stream* stream : streams) stream->close();
  for (auto& [id, answer] : requests) answer->bring({});
  for (auto& [id, client] : std::exchange(clients, {})) {
    client->decision.bring(Accepted{});
    if (politely) {
      client->socket.close(1011, "the gateway is stopping");
    } else {
      client->socket.drop();
    }
  }
}

Result<std::unique_ptr<HttpFront>> HttpFront::listen(asio::io_context& io, HttpOptions options, Events events,
                                                     port::LogSink log) {
  error_code error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return fail(ErrorKind::kInvalid, "not a numeric address to listen on: " + options.address);
  const tcp::endpoint endpoint(address, options.port);
  auto impl = std::make_shared<Impl>(io, std::move(options), std::move(events), std::move(log));
  const auto step = [&](auto&& call) {
    if (!error) call();
  };
  impl->acceptor.open(endpoint.protocol(), error);
  step([&] { impl->acceptor.set_option(asio::socket_base::reuse_address(true), error); });
  step([&] { impl->acceptor.bind(endpoint, error); });
  step([&] { impl->acceptor.listen(asio::socket_base::max_listen_connections, error); });
  if (error) {
    return fail(ErrorKind::kIo, "cannot listen on " + endpoint.address().to_string() + " port " +
                                    std::to_string(endpoint.port()) + ": " + error.message() +
                                    "; choose another port or stop what uses it");
  }
  spawn(impl->acceptor.get_executor(), impl, &Impl::accept_all);
  return std::unique_ptr<HttpFront>(new HttpFront(std::move(impl)));
}

HttpFront::HttpFront(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpFront::~HttpFront() { impl_->end_all(false); }

std::uint16_t HttpFront::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

void HttpFront::stop() { impl_->end_all(true); }

void HttpFront::reply(node::HttpReply reply) {
  const auto waiting = impl_->requests.find(reply.id);
  if (waiting != impl_->requests.end()) waiting->second->bring(std::move(reply));
}

void HttpFront::accept(ConnectionId id) {
  const auto client = impl_->clients.find(id);
  if (client != impl_->clients.end()) client->second->decision.bring(Accepted{});
}

void HttpFront::reject(node::RejectClient rejection) {
  const auto client = impl_->clients.find(rejection.id);
  if (client != impl_->clients.end()) client->second->decision.bring(std::move(rejection));
}

void HttpFront::send(ConnectionId id, jupyter::Message message) {
  const auto client = impl_->clients.find(id);
  if (client != impl_->clients.end()) client->second->socket.send(message);
}

void HttpFront::ping(node::PingClient ping) {
  const auto client = impl_->clients.find(ping.id);
  if (client != impl_->clients.end()) client->second->socket.ping(std::to_string(ping.messages));
}

void HttpFront::close(node::CloseClient close) {
  const auto client = impl_->clients.find(close.id);
  if (client != impl_->clients.end()) client->second->socket.close(close.code, std::move(close.reason));
}

}  // namespace banyan::runtime
