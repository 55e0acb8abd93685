#include "runtime/kernel_shim/zmq_socket.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kCopyMax = 1024;
constexpr int kLingerMs = 1000;
constexpr int kSubscriberQueueMax = 1000;  // messages that wait for one subscriber

zmq::message_t message_of(const Blob& blob) {
  if (blob.size() <= kCopyMax) return {blob.view().data(), blob.size()};
  auto owner = std::make_unique<Blob>(blob);
  void* bytes = const_cast<char*>(blob.view().data());
  return {bytes, blob.size(), [](void*, void* hint) { delete static_cast<Blob*>(hint); }, owner.release()};
}

Blob blob_of(zmq::message_t message) {
  auto owner = std::make_shared<zmq::message_t>(std::move(message));
  const std::string_view view(static_cast<const char*>(owner->data()), owner->size());
  return {std::move(owner), view};
}

}  // namespace

ZmqSocket::ZmqSocket(asio::io_context& loop, zmq::context_t& context, zmq::socket_type type)
    : socket_(context, type), edge_(loop) {
  socket_.set(zmq::sockopt::linger, kLingerMs);
  if (type == zmq::socket_type::pub) {
    socket_.set(zmq::sockopt::sndhwm, kSubscriberQueueMax);
    wait_for_slow_subscribers(true);
  } else {
    socket_.set(zmq::sockopt::sndhwm, 0);
    // A client that has restarted with its old identity gets the replies.
    if (type == zmq::socket_type::router) socket_.set(zmq::sockopt::router_handover, true);
  }
}

ZmqSocket::~ZmqSocket() {
  if (edge_.is_open()) edge_.release();  // the descriptor belongs to the ZMQ socket
}

Result<std::unique_ptr<ZmqSocket>> ZmqSocket::bind(asio::io_context& loop, zmq::context_t& context,
                                                   zmq::socket_type type, const std::string& address) {
  try {
    std::unique_ptr<ZmqSocket> socket(new ZmqSocket(loop, context, type));
    socket->socket_.bind(address);
    socket->edge_.assign(socket->socket_.get(zmq::sockopt::fd));
    return socket;
  } catch (const zmq::error_t& error) {
    return fail(ErrorKind::kIo, "cannot bind " + address + ": " + error.what());
  }
}

bool ZmqSocket::readable() { return (socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) != 0; }

// The file descriptor becomes readable only when the socket's state changes, and any call on the socket may
// swallow such a change. So send() wakes the reader when something has arrived.
asio::awaitable<Result<std::vector<Blob>>> ZmqSocket::receive() {
  try {
    while (!readable()) {
      co_await edge_.async_wait(asio::posix::descriptor_base::wait_read, asio::as_tuple(asio::use_awaitable));
    }
    std::vector<Blob> frames;
    for (bool more = true; more;) {
      zmq::message_t part;
      (void)socket_.recv(
          part, zmq::recv_flags::none);  // the parts of a message arrive together, so this does not wait
      more = part.more();
      frames.push_back(blob_of(std::move(part)));
    }
    co_return frames;
  } catch (const zmq::error_t& error) {
    co_return fail(ErrorKind::kIo, std::string("a ZMQ socket fails: ") + error.what());
  }
}

bool ZmqSocket::send(const std::vector<Blob>& frames) {
  try {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      const auto wait = i == 0 ? zmq::send_flags::dontwait
                               : zmq::send_flags::none;  // once the first part is taken, the others are too
      if (!socket_.send(message_of(frames[i]), more | wait)) return false;
    }
    if (readable()) edge_.cancel();
  } catch (const zmq::error_t&) {
    return false;
  }
  return true;
}

void ZmqSocket::wait_for_slow_subscribers(bool wait) { socket_.set(zmq::sockopt::xpub_nodrop, wait); }

}  // namespace banyan::runtime
