// Many groups share one connection between two hosts: their messages travel in one frame, and their
// heartbeats in a compact form of which only the newest of each pair of replicas is kept.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "core/raft/message.h"

namespace banyan::raft {

/// A message and the group it belongs to.
struct GroupMessage {
  SessionId group;
  Message message;
  friend bool operator==(const GroupMessage&, const GroupMessage&) = default;
};

/// A Heartbeat or a HeartbeatReply of one group.
struct Beat {
  SessionId group;
  ReplicaId from;
  ReplicaId to;
  Term term;
  std::uint64_t round = 0;
  Index commit;
  bool reply = false;
  friend bool operator==(const Beat&, const Beat&) = default;
};

/// What one host sends to another at once. Encoded with base/codec.h.
struct PeerFrame {
  std::vector<Beat> beats;
  std::vector<GroupMessage> messages;
  friend bool operator==(const PeerFrame&, const PeerFrame&) = default;
};

/// Collects the messages of all groups for one host until the driver sends a frame.
class FrameBuilder {
 public:
  /// Other messages keep their order within a group; a heartbeat may overtake them, which Raft allows.
  void add(const SessionId& group, Message message);
  [[nodiscard]] bool empty() const { return beats_.empty() && messages_.empty(); }
  /// Cost of the waiting messages (raft::cost of entries, snapshot data), for the driver's limits.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// Everything collected; the builder is empty afterwards.
  [[nodiscard]] PeerFrame take();

 private:
  using Key = std::tuple<SessionId, ReplicaId, ReplicaId, bool>;
  std::map<Key, Beat> beats_;
  std::vector<GroupMessage> messages_;
  std::uint64_t bytes_ = 0;
};

/// The messages of a frame, ready for Raft::step().
std::vector<GroupMessage> unpack(PeerFrame frame);

}  // namespace banyan::raft
