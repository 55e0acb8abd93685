#include "runtime/http/message_socket.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <optional>
#include <utility>

#include "runtime/http/connect.h"
#include "runtime/http/coroutine.h"
#include "runtime/http/server_socket.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

constexpr std::size_t kReasonMax = 123;      // RFC 6455, 5.5: a control frame holds 125 bytes
constexpr std::size_t kPiece = 64 << 10;     // a client masks in pieces of this size
constexpr std::size_t kReadStep = 64 << 10;  // the least that is read at once
constexpr int kNoStatus = 1005;              // RFC 6455, 7.4.1: the peer's close frame gave no code

// The close code with which Beast answered a broken frame; 0 for other failures.
int code_answered(error_code error) {
  if (error == websocket::error::bad_frame_payload) return websocket::close_code::bad_payload;
  return error == websocket::condition::protocol_violation ? websocket::close_code::protocol_error : 0;
}

Result<MessageSocket> declined(unsigned status) {
  const ErrorKind kind = status == 401 || status == 403 ? ErrorKind::kDenied
                         : status == 404                ? ErrorKind::kNotFound
                                                        : ErrorKind::kUnavailable;
  return fail(kind, "the server declined the WebSocket with status " + std::to_string(status));
}

}  // namespace

struct MessageSocket::Impl : std::enable_shared_from_this<MessageSocket::Impl> {
  struct Outgoing {
    jupyter::Frame frame;
    std::uint64_t bytes;                                      // what the handler of on_drained() is told
    std::optional<websocket::ping_data> ping = std::nullopt;  // set: a ping goes out instead of a frame
  };
  struct Closing {
    int code;
    std::string reason;
  };

  Impl(beast::tcp_stream stream, SocketOptions limits)
      : ws(std::move(stream)), options(limits), close_timer(ws.get_executor()) {}

  void open() {
    ready = true;
    write_next();
  }

  void configure(beast::role_type side) {
    role = side;
    websocket::stream_base::timeout timeout = websocket::stream_base::timeout::suggested(role);
    timeout.handshake_timeout = options.handshake_timeout;
    timeout.idle_timeout = options.silence_timeout;
    timeout.keep_alive_pings = true;
    beast::get_lowest_layer(ws).expires_never();
    ws.set_option(timeout);
    listen_to_control();
    ws.read_message_max(0);  // read_frame() counts the bytes itself
    ws.auto_fragment(options.fragments);
    if (options.fragments || role == beast::role_type::client) ws.write_buffer_bytes(kPiece);
  }

  void enqueue(Outgoing outgoing) {
    if (over || closing) return;
    if (queued + outgoing.bytes > options.queue_bytes_max) {
      close(websocket::close_code::internal_error, "the other side reads too slowly");
      return;
    }
    queued += outgoing.bytes;
    queue.push_back(std::move(outgoing));
    write_next();
  }

  void write_next() {
    if (!ready || busy || over) return;
    if (queue.empty()) {
      if (closing) write_close();
      return;
    }
    busy = true;
    if (queue.front().ping) return write_ping();
    const jupyter::Frame& frame = queue.front().frame;
    std::vector<asio::const_buffer> buffers;
    buffers.reserve(frame.pieces.size());
    for (const Blob& piece : frame.pieces) buffers.emplace_back(piece.view().data(), piece.size());
    ws.binary(frame.kind == jupyter::FrameKind::kBinary);
    ws.async_write(buffers, [self = shared_from_this()](error_code error, std::size_t) {
      self->busy = false;
      if (error) return self->stop_writing();
      const std::uint64_t bytes = self->queue.front().bytes;
      self->queue.pop_front();
      self->queued -= bytes;
      // The handler is copied, because it may drop the socket and itself with it.
      if (const auto drained = self->drained) drained(bytes);
      self->write_next();
    });
  }

  void write_ping() {
    ws.async_ping(*queue.front().ping, [self = shared_from_this()](error_code error) {
      self->busy = false;
      if (error) return self->stop_writing();
      self->queue.pop_front();
      self->write_next();
    });
  }

  void listen_to_control() {
    ws.control_callback([this](websocket::frame_type kind, std::string_view payload) {
      if (kind == websocket::frame_type::close) return;
      // The handler is copied, because it may drop the socket and itself with it.
      if (const auto handler = control)
        handler(kind == websocket::frame_type::ping ? Control::kPing : Control::kPong, payload);
    });
  }

  // Writing has failed. The reader has close_timeout to find out why, because the peer's close frame may be
  // on its way.
  void stop_writing() {
    if (closing) return finish();
    ready = false;
    expect_end();
  }

  void expect_end() {
    close_timer.expires_after(options.close_timeout);
    close_timer.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->finish();
    });
  }

  void write_close() {
    busy = true;
    const websocket::close_reason reason(static_cast<websocket::close_code>(closing->code), closing->reason);
    ws.async_close(reason, [self = shared_from_this()](error_code) { self->finish(); });
  }

  void close(int code, std::string reason) {
    if (over || closing) return;
    reason.resize(std::min(reason.size(), kReasonMax));
    closing = Closing{code, std::move(reason)};
    if (close_code == 0) close_code = code;
    expect_end();
    write_next();
  }

  void finish() {
    if (std::exchange(over, true)) return;
    close_timer.cancel();
    beast::get_lowest_layer(ws).close();
    if (!busy) queue.clear();
  }

  Error ended(error_code error) {
    if (error == websocket::error::closed && close_code == 0) {
      close_code = ws.reason().code == 0 ? kNoStatus : ws.reason().code;
    }
    if (close_code == 0) close_code = code_answered(error);
    if (!closing) finish();
    const auto& reason = ws.reason().reason;
    const std::string why = reason.empty() ? error.message() : std::string(reason.data(), reason.size());
    return {ErrorKind::kUnavailable, "the WebSocket ended: " + why};
  }

  // Reads in growing steps and counts what has arrived. The length in a frame's header must not make us
  // allocate, and Beast's own limit would reset the connection before the peer has read the close frame.
  static asio::awaitable<Result<jupyter::Frame>> read_frame(std::shared_ptr<Impl> self) {
    const std::size_t bytes_max = self->options.message_bytes_max;
    std::string bytes;
    auto buffer = asio::dynamic_buffer(bytes);
    do {
      const std::size_t step = std::min(std::max(bytes.size(), kReadStep), bytes_max - bytes.size() + 1);
      const auto [error, size] = co_await self->ws.async_read_some(buffer, step, kAwait);
      if (error) co_return tl::unexpected<Error>(self->ended(error));
      if (bytes.size() > bytes_max) {
        const std::string why = "a message exceeds " + std::to_string(bytes_max) + " bytes";
        self->close(websocket::close_code::too_big, why);
        co_return fail(ErrorKind::kTooLarge, why);
      }
    } while (!self->ws.is_message_done());
    const auto kind = self->ws.got_text() ? jupyter::FrameKind::kText : jupyter::FrameKind::kBinary;
    co_return jupyter::Frame{kind, {Blob(std::move(bytes))}};
  }

  static asio::awaitable<Result<jupyter::Message>> read(std::shared_ptr<Impl> self) {
    const auto frame = co_await read_frame(self);
    if (!frame) co_return tl::unexpected<Error>(frame.error());
    auto message = jupyter::decode_frame(self->protocol, frame->kind, frame->pieces.front());
    if (message) co_return std::move(*message);
    if (self->role == beast::role_type::server)
      self->close(message.error().close_code, message.error().reason);
    co_return fail(ErrorKind::kInvalid, std::move(message.error().reason));
  }

  websocket::stream<beast::tcp_stream, false> ws;  // without permessage-deflate
  SocketOptions options;
  asio::steady_timer close_timer;
  beast::role_type role = beast::role_type::server;
  jupyter::SubProtocol protocol = jupyter::SubProtocol::kLegacy;
  std::deque<Outgoing> queue;
  std::uint64_t queued = 0;
  std::function<void(std::uint64_t)> drained;
  std::function<void(Control, std::string_view)> control;
  std::optional<Closing> closing;
  int close_code = 0;
  bool ready = false;  // the handshake is done
  bool busy = false;   // a write or the close is under way
  bool over = false;
};

MessageSocket::MessageSocket(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

MessageSocket::~MessageSocket() {
  if (!impl_) return;
  impl_->drained = nullptr;
  impl_->control = nullptr;
  if (!impl_->closing) impl_->finish();
}

MessageSocket& MessageSocket::operator=(MessageSocket&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

asio::awaitable<Result<jupyter::Message>> MessageSocket::read() { return Impl::read(impl_); }
asio::awaitable<Result<jupyter::Frame>> MessageSocket::read_frame() { return Impl::read_frame(impl_); }
void MessageSocket::set_message_bytes_max(std::size_t bytes) { impl_->options.message_bytes_max = bytes; }

void MessageSocket::send(const jupyter::Message& message) {
  auto frame = jupyter::encode_frame(impl_->protocol, message);
  if (!frame) return impl_->close(websocket::close_code::internal_error, frame.error().message);
  impl_->enqueue({std::move(*frame), message.size()});
}

void MessageSocket::send_frame(jupyter::Frame frame) {
  const std::uint64_t bytes = frame.size();
  impl_->enqueue({std::move(frame), bytes});
}

void MessageSocket::on_drained(std::function<void(std::uint64_t)> handler) {
  impl_->drained = std::move(handler);
}
void MessageSocket::ping(std::string_view payload) {
  impl_->enqueue({.frame = {},
                  .bytes = 0,
                  .ping = websocket::ping_data(beast::string_view(payload.data(), payload.size()))});
}
void MessageSocket::on_control(std::function<void(Control, std::string_view)> handler) {
  impl_->control = std::move(handler);
}
void MessageSocket::close(int code, std::string reason) { impl_->close(code, std::move(reason)); }
void MessageSocket::drop() { impl_->finish(); }
int MessageSocket::close_code() const { return impl_->close_code; }
jupyter::SubProtocol MessageSocket::protocol() const { return impl_->protocol; }
std::uint64_t MessageSocket::queued() const { return impl_->queued; }

asio::awaitable<Result<MessageSocket>> MessageSocket::connect(Endpoint endpoint, std::string target,
                                                              jupyter::SubProtocol protocol,
                                                              SocketOptions options) {
  auto stream = co_await connect_stream(endpoint, options.handshake_timeout);
  if (!stream) co_return fail(stream.error().kind, std::move(stream.error().message));
  const auto impl = std::make_shared<Impl>(std::move(*stream), options);
  impl->configure(beast::role_type::client);
  impl->ws.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
    request.set(http::field::user_agent, "banyan");
    if (!endpoint.token.empty()) request.set(http::field::authorization, "token " + endpoint.token);
    if (protocol == jupyter::SubProtocol::kV1) {
      request.set(http::field::sec_websocket_protocol, std::string(jupyter::kV1Name));
    }
  }));
  websocket::response_type response;
  const auto [error] =
      co_await impl->ws.async_handshake(response, endpoint.authority(), endpoint.base + target, kAwait);
  if (error) {
    impl->finish();
    if (error == websocket::error::upgrade_declined) co_return declined(response.result_int());
    co_return fail(ErrorKind::kUnavailable,
                   "the WebSocket handshake with " + endpoint.authority() + " failed: " + error.message());
  }
  impl->protocol =
      jupyter::choose_sub_protocol(std::string_view(response[http::field::sec_websocket_protocol]));
  impl->open();
  co_return MessageSocket(impl);
}

MessageSocket incoming_socket(beast::tcp_stream stream, jupyter::SubProtocol protocol,
                              SocketOptions options) {
  auto impl = std::make_shared<MessageSocket::Impl>(std::move(stream), options);
  impl->protocol = protocol;
  return MessageSocket(std::move(impl));
}

beast::tcp_stream& stream_of(MessageSocket& socket) { return socket.impl()->ws.next_layer(); }

asio::awaitable<Result<Done>> accept_upgrade(MessageSocket& socket, const UpgradeRequest& request) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): stays while this coroutine waits
  const std::shared_ptr<MessageSocket::Impl> impl = socket.impl();
  const bool v1 = impl->protocol == jupyter::SubProtocol::kV1;
  impl->configure(beast::role_type::server);
  impl->ws.set_option(websocket::stream_base::decorator([v1](websocket::response_type& response) {
    response.set(http::field::server, "banyan");
    if (v1) response.set(http::field::sec_websocket_protocol, std::string(jupyter::kV1Name));
  }));
  const auto [error] = co_await impl->ws.async_accept(request, kAwait);
  if (error) {
    impl->finish();
    co_return fail(ErrorKind::kUnavailable, "the WebSocket handshake failed: " + error.message());
  }
  impl->open();
  co_return Done{};
}

}  // namespace banyan::runtime
