// One end of a Unix stream socket that carries frames, on the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <functional>
#include <memory>

#include "runtime/worker/frame.h"

namespace banyan::runtime {

/// Sends frames in order and delivers those that arrive. All calls and handlers are on the loop's thread; a
/// handler may destroy the channel.
class StateChannel {
 public:
  struct Handlers {
    std::function<void(Frame)> frame;
    /// Called once, and no handler after it: the peer has closed the channel (kUnavailable) or broken the
    /// protocol (kCorrupt), or a frame could not be made (kIo, kTooLarge).
    std::function<void(Error)> closed;
  };

  /// `pool` copies big memfds. It and `loop` must outlive the channel.
  StateChannel(boost::asio::io_context& loop, boost::asio::thread_pool& pool, UniqueFd socket,
               Handlers handlers);
  StateChannel(const StateChannel&) = delete;
  ~StateChannel();

  void send(Outgoing outgoing);
  /// Delivers no frames until resume(). The peer waits when the socket's buffer is full.
  void pause() { paused_ = true; }
  void resume();
  /// Whether the end of the channel was seen, or an error.
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  struct Pending {
    SealedFrame frame;
    bool ready = false;  ///< false while the pool writes its memfd
    std::size_t part = 0;
    std::size_t sent = 0;  ///< how many bytes of `part` are out
  };

  void wait_readable();
  void on_readable();
  void write();
  Result<bool> write_some(Pending& pending);
  void complete(Pending& pending, Result<SealedFrame> sealed);
  void close(Error error);

  boost::asio::io_context& loop_;
  boost::asio::thread_pool& pool_;
  boost::asio::local::stream_protocol::socket socket_;
  FrameReader reader_;
  Handlers handlers_;
  std::deque<std::shared_ptr<Pending>> outbox_;
  bool paused_ = false;
  bool reading_ = false;  ///< a wait or a delivery is under way
  bool writing_ = false;  ///< a wait until the socket takes more is under way
  bool closed_ = false;
  std::shared_ptr<bool> life_ =
      std::make_shared<bool>(true);  ///< handlers that outlive the channel see it gone
};

}  // namespace banyan::runtime
