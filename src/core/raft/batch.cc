#include "core/raft/batch.h"

#include <utility>

namespace banyan::raft {
namespace {

constexpr std::uint64_t kMessageCost = 64;

std::uint64_t payload(const Message& message) {
  if (const auto* append = std::get_if<Append>(&message.body)) {
    std::uint64_t bytes = 0;
    for (const Entry& entry : append->entries) bytes += cost(entry);
    return bytes;
  }
  if (const auto* install = std::get_if<InstallSnapshot>(&message.body)) return install->snapshot.data.size();
  if (const auto* forward = std::get_if<Forward>(&message.body)) return forward->data.size();
  return 0;
}

}  // namespace

void FrameBuilder::add(const SessionId& group, Message message) {
  Beat beat{.group = group, .from = message.from, .to = message.to, .term = message.term, .commit = {}};
  if (const auto* heartbeat = std::get_if<Heartbeat>(&message.body)) {
    beat.round = heartbeat->round;
    beat.commit = heartbeat->commit;
  } else if (const auto* reply = std::get_if<HeartbeatReply>(&message.body)) {
    beat.round = reply->round;
    beat.reply = true;
  } else {
    bytes_ += kMessageCost + payload(message);
    messages_.push_back({group, std::move(message)});
    return;
  }
  const auto [kept, fresh] = beats_.try_emplace({group, beat.from, beat.to, beat.reply}, beat);
  const auto age = [](const Beat& b) { return std::pair(b.term, b.round); };
  if (fresh) {
    bytes_ += kMessageCost;
  } else if (age(kept->second) <= age(beat)) {
    kept->second = beat;
  }
}

PeerFrame FrameBuilder::take() {
  PeerFrame frame;
  frame.beats.reserve(beats_.size());
  for (const auto& [key, beat] : beats_) frame.beats.push_back(beat);
  frame.messages = std::exchange(messages_, {});
  beats_.clear();
  bytes_ = 0;
  return frame;
}

std::vector<GroupMessage> unpack(PeerFrame frame) {
  std::vector<GroupMessage> all = std::move(frame.messages);
  all.reserve(all.size() + frame.beats.size());
  for (const Beat& beat : frame.beats) {
    Message message{beat.from, beat.to, beat.term, Heartbeat{beat.commit, beat.round}};
    if (beat.reply) message.body = HeartbeatReply{beat.round};
    all.push_back({beat.group, std::move(message)});
  }
  return all;
}

}  // namespace banyan::raft
