// A bound ZMQ socket on the event loop.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "base/bytes.h"
#include "base/result.h"

namespace boost::asio {
class io_context;
}

namespace banyan::runtime {

/// A socket for one thread; `context` must outlive it. Messages that are queued when it is destroyed are
/// still sent while the context closes, for up to a second.
class ZmqSocket {
 public:
  /// Binds a socket. kIo names the address and says why it cannot be bound.
  static Result<std::unique_ptr<ZmqSocket>> bind(boost::asio::io_context& loop, zmq::context_t& context,
                                                 zmq::socket_type type, const std::string& address);
  ZmqSocket(const ZmqSocket&) = delete;
  ~ZmqSocket();

  /// Waits for the next message and returns its frames; one call at a time. Fails only when the socket does.
  boost::asio::awaitable<Result<std::vector<Blob>>> receive();

  /// Queues a message. False when it cannot be queued now, or when the socket fails.
  bool send(const std::vector<Blob>& frames);

  /// For a publisher: whether send() refuses messages while one subscriber is behind (true), or drops them
  /// for that subscriber only (false).
  void wait_for_slow_subscribers(bool wait);

 private:
  ZmqSocket(boost::asio::io_context& loop, zmq::context_t& context, zmq::socket_type type);
  [[nodiscard]] bool readable();

  zmq::socket_t socket_;
  boost::asio::posix::stream_descriptor edge_;
};

}  // namespace banyan::runtime
