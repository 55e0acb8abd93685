// Frames on a connection: a binary message is a batch of frames, each behind its length (32 bits, little
// endian).
#pragma once

#include <boost/endian/conversion.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/http/message_socket.h"

namespace banyan::runtime {

inline constexpr std::size_t kFrameLengthBytes = 4;

/// Calls `take` with each frame of a batch. A batch that is cut short ends before the cut.
template <class Take>
void each_frame(std::string_view batch, Take take) {
  while (batch.size() >= kFrameLengthBytes) {
    const std::size_t size =
        boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(batch.data()));
    batch.remove_prefix(kFrameLengthBytes);
    if (size > batch.size()) return;
    take(batch.substr(0, size));
    batch.remove_prefix(size);
  }
}

/// The frames that wait to be sent on one connection, and those on their way.
class Outbox {
 public:
  /// Takes over the socket's handler of on_drained().
  explicit Outbox(std::shared_ptr<MessageSocket> socket);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  ~Outbox();

  /// Queues a frame; false when the queue is full. An empty queue takes a frame of any size.
  bool send(std::string frame, std::uint64_t queue_bytes_max);

 private:
  void send_batch();

  std::shared_ptr<MessageSocket> socket_;
  std::deque<std::string> queue_;
  std::uint64_t queued_bytes_ = 0;  ///< waiting or on their way
  std::uint64_t on_way_ = 0;
};

}  // namespace banyan::runtime
