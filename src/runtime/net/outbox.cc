#include "runtime/net/outbox.h"

#include <utility>

namespace banyan::runtime {

namespace {

constexpr std::size_t kBatchBytes = 1 << 20;

Blob length_of(std::string_view frame) {
  std::string length(kFrameLengthBytes, '\0');
  boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(length.data()),
                                  static_cast<std::uint32_t>(frame.size()));
  return Blob(std::move(length));
}

}  // namespace

Outbox::Outbox(std::shared_ptr<MessageSocket> socket) : socket_(std::move(socket)) {
  socket_->on_drained([this](std::uint64_t) {
    queued_bytes_ -= on_way_;
    on_way_ = 0;
    if (!queue_.empty()) send_batch();
  });
}

Outbox::~Outbox() { socket_->on_drained(nullptr); }

bool Outbox::send(std::string frame, std::uint64_t queue_bytes_max) {
  if (!queue_.empty() && queued_bytes_ + frame.size() > queue_bytes_max) return false;
  queued_bytes_ += frame.size();
  queue_.push_back(std::move(frame));
  if (on_way_ == 0) send_batch();
  return true;
}

void Outbox::send_batch() {
  jupyter::Frame batch{jupyter::FrameKind::kBinary, {}};
  for (; !queue_.empty() && on_way_ < kBatchBytes; queue_.pop_front()) {
    on_way_ += queue_.front().size();
    batch.pieces.push_back(length_of(queue_.front()));
    batch.pieces.emplace_back(std::move(queue_.front()));
  }
  socket_->send_frame(std::move(batch));
}

}  // namespace banyan::runtime
