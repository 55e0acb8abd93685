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

/// One thread; `context` outlives it. What is queued when it is destroyed is sent for up to a second while
/// the context closes.
class ZmqSocket {
 public:
  /// kIo names the address and why.
  static Result<std::unique_ptr<ZmqSocket>> bind(boost::asio::io_context& loop, zmq::context_t& context,
                                                 zmq::socket_type type, const std::string& address);
  ZmqSocket(const ZmqSocket&) = delete;
  ~ZmqSocket();

  /// All frames of the next message; one call at a time. Fails only when the socket does.
  boost::asio::awaitable<Result<std::vector<Blob>>> receive();

  /// Queues a message. False when it cannot be queued now, or the socket fails.
  bool send(const std::vector<Blob>& frames);

  /// Of a publisher: whether send() refuses while one subscriber is behind (true), or drops for that one.
  void wait_for_slow_subscribers(bool wait);

 private:
  ZmqSocket(boost::asio::io_context& loop, zmq::context_t& context, zmq::socket_type type);
  [[nodiscard]] bool readable();

  zmq::socket_t socket_;
  boost::asio::posix::stream_descriptor edge_;
};

}  // namespace banyan::runtime
