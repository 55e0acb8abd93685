#include "node/link.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {
constexpr std::uint64_t kFrameBytes = 1 << 20;  // a frame is closed once it is this large
constexpr std::uint64_t kAckBytes = 256 << 10;  // received bytes that call for an acknowledgement at once
constexpr std::size_t kEarlyMax = 4096;         // messages kept out of order; the rest is repeated anyway
constexpr Duration kAckDelay = 20ms;            // lets an acknowledgement ride on the next message
constexpr Duration kKeepAlive = 500ms;
constexpr Duration kResendPauseMax = 2s;
}  // namespace

Link::Link(Incarnation own_life, const Timing& timing, const Sizes& sizes)
    : own_life_(own_life),
      resend_(timing.link_resend),
      window_(sizes.link_window),
      peer_(own_life),
      backoff_(timing.link_resend) {}

void Link::send(PeerMessage message) {
  waiting_bytes_ += weight_of(message);
  waiting_.push_back(std::move(message));
}

void Link::forget_unheard() {
  if (peer_.present()) return;
  waiting_.clear();
  waiting_bytes_ = 0;
}

void Link::start_anew(Incarnation peer_life) {
  if (peer_.present()) {
    // Addressed to the life that ended. Before the first contact they wait for whoever comes.
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  peer_.begin(peer_life);
  unacked_.clear();
  early_.clear();
  unacked_bytes_ = unanswered_bytes_ = received_ = 0;
  next_seq_ = 1;
  resend_at_.reset();
  backoff_ = resend_;
}

void Link::take_ack(std::uint64_t ack, Time now) {
  bool progress = false;
  while (!unacked_.empty() && unacked_.front().numbered.seq <= ack) {
    unacked_bytes_ -= unacked_.front().bytes;
    unacked_.pop_front();
    progress = true;
  }
  if (!progress) return;
  backoff_ = resend_;
  resend_at_ = unacked_.empty() ? std::optional<Time>{} : now + backoff_;
}

void Link::take(Numbered numbered, std::vector<PeerMessage>& delivered) {
  unanswered_bytes_ += weight_of(numbered.message);
  if (numbered.seq <= received_) return;
  if (numbered.seq > received_ + 1) {
    if (early_.size() < kEarlyMax) early_.emplace(numbered.seq, std::move(numbered.message));
    return;
  }
  ++received_;
  delivered.push_back(std::move(numbered.message));
  for (auto next = early_.begin(); next != early_.end() && next->first == received_ + 1;
       next = early_.erase(next)) {
    ++received_;
    delivered.push_back(std::move(next->second));
  }
}

Link::Received Link::receive(LinkFrame frame, Time now) {
  Received result;
  if (peer_.is_former(frame.from)) return result;
  if (peer_.take_question(frame)) ack_at_ = now;
  if (!peer_.is_confirmed(frame)) {
    ack_at_ = now;
    return result;
  }
  last_heard_ = now;
  if (peer_.present() != frame.from) {
    start_anew(frame.from);
    result.reset = true;
    ack_at_ = now;
  }
  // A frame for an earlier life of ours, or from a peer that does not know us yet, is only a sign of life.
  if (frame.to != own_life_) {
    ack_at_ = now;
    return result;
  }
  take_ack(frame.ack, now);
  if (frame.messages.empty()) return result;
  for (Numbered& numbered : frame.messages) take(std::move(numbered), result.messages);
  if (!ack_at_) ack_at_ = now + kAckDelay;
  if (unanswered_bytes_ >= kAckBytes) ack_at_ = now;
  return result;
}

LinkFrame Link::frame(Time now) {
  last_sent_ = now;
  ack_at_.reset();
  unanswered_bytes_ = 0;
  LinkFrame out{
      .from = own_life_, .to = peer_.present().value_or(Incarnation{}), .ack = received_, .messages = {}};
  peer_.put_into(out);
  return out;
}

std::optional<LinkFrame> Link::poll(Time now) {
  const bool quiet = !last_sent_ || now - *last_sent_ >= (peer_.present() ? kKeepAlive : resend_);
  if (!peer_.present()) {
    if (!quiet) return std::nullopt;
    return frame(now);
  }
  const bool repeat = resend_at_ && *resend_at_ <= now;
  const bool fresh = !waiting_.empty() && unacked_bytes_ < window_;
  if (!repeat && !fresh && !quiet && !(ack_at_ && *ack_at_ <= now)) return std::nullopt;

  const auto other = peer_.asked_by_other_life();
  LinkFrame out = frame(now);
  if (other) {  // both may have begun a new life: the answer is for who asked, and nothing else is
    out.to = *other;
    out.ack = 0;
    return out;
  }
  std::uint64_t bytes = 0;
  if (repeat) {
    for (auto it = unacked_.begin(); it != unacked_.end() && bytes < kFrameBytes; ++it) {
      out.messages.push_back(it->numbered);
      bytes += it->bytes;
    }
    backoff_ = std::min(backoff_ * 2, kResendPauseMax);
    resend_at_ = now + backoff_;
    return out;
  }
  while (!waiting_.empty() && unacked_bytes_ < window_ && bytes < kFrameBytes) {
    Pending pending{{next_seq_++, std::move(waiting_.front())}, 0};
    waiting_.pop_front();
    pending.bytes = weight_of(pending.numbered.message);
    waiting_bytes_ -= pending.bytes;
    bytes += pending.bytes;
    unacked_bytes_ += pending.bytes;
    out.messages.push_back(pending.numbered);
    unacked_.push_back(std::move(pending));
  }
  if (!out.messages.empty() && !resend_at_) resend_at_ = now + backoff_;
  return out;
}

void Link::transport_changed(Time now) {
  backoff_ = resend_;
  if (!unacked_.empty()) resend_at_ = now;
  last_sent_.reset();
}

std::uint64_t weight_of(const PeerMessage& message) {
  constexpr std::uint64_t kOverhead = 64;
  if (const auto* part = std::get_if<ChunkPart>(&message)) return kOverhead + part->bytes.size();
  if (const auto* output = std::get_if<FromKernel>(&message)) return kOverhead + output->message.size();
  if (const auto* input = std::get_if<ToKernel>(&message)) return kOverhead + input->message.size();
  if (const auto* execute = std::get_if<Execute>(&message)) return kOverhead + execute->request.size();
  if (const auto* ended = std::get_if<ExecutionEnded>(&message)) return kOverhead + ended->reply.size();
  if (const auto* report = std::get_if<HostReport>(&message))
    return kOverhead * (1 + report->replicas.size());
  return kOverhead;
}

}  // namespace banyan::node
