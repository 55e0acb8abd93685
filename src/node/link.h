// A link: messages between two daemons, each exactly once and in order, over a network that loses, repeats
// and reorders frames. It lasts as long as both lives; when either daemon starts anew, the link starts anew
// and says so.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "node/peer_life.h"
#include "node/protocol.h"
#include "node/timing.h"

namespace banyan::node {

/// One end of a link. Pure; the owner passes frames in and sends what comes out.
class Link {
 public:
  Link(Incarnation own_life, const Timing& timing, const Sizes& sizes);

  /// What a frame brought.
  struct Received {
    bool reset =
        false;  ///< the peer is another life than before: messages sent to the old one are gone with it
    std::vector<PeerMessage> messages;
  };

  /// Queues a message. The queue has no bound of its own: who may produce without end looks at
  /// backlog_bytes() before.
  void send(PeerMessage message);
  /// Drops what waits for the first contact, if there was none: it was meant for somebody who does not come.
  void forget_unheard();
  /// Takes in a frame of the peer.
  Received receive(LinkFrame frame, Time now);
  /// The next frame to send, if one is due: new messages within the window, repeats after a timeout,
  /// acknowledgements, and an empty frame now and then so that each side knows the other is alive. Call until
  /// it returns nothing.
  std::optional<LinkFrame> poll(Time now);
  /// The transport lost or found the peer: repeat soon.
  void transport_changed(Time now);

  /// Of messages not yet acknowledged, and of those not yet sent.
  [[nodiscard]] std::uint64_t backlog_bytes() const { return unacked_bytes_ + waiting_bytes_; }
  /// When the last frame of the peer arrived; nothing before the first.
  [[nodiscard]] std::optional<Time> last_heard() const { return last_heard_; }
  /// The peer's life, once known.
  [[nodiscard]] std::optional<Incarnation> peer_life() const { return peer_.present(); }

 private:
  struct Pending {
    Numbered numbered;
    std::uint64_t bytes = 0;
  };
  void start_anew(Incarnation peer_life);
  void take_ack(std::uint64_t ack, Time now);
  void take(Numbered numbered, std::vector<PeerMessage>& delivered);
  LinkFrame frame(Time now);

  Incarnation own_life_;
  Duration resend_;
  std::uint64_t window_;
  PeerLife peer_;
  std::optional<Time> last_heard_;
  std::optional<Time> last_sent_;
  std::optional<Time> ack_at_;
  std::optional<Time> resend_at_;  // while something is not acknowledged
  Duration backoff_;
  std::uint64_t next_seq_ = 1;  // of the next message sent
  std::uint64_t received_ = 0;  // all up to here were handed to the owner
  std::uint64_t unacked_bytes_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t unanswered_bytes_ = 0;  // received since the last acknowledgement
  std::deque<Pending> unacked_;
  std::deque<PeerMessage> waiting_;
  std::map<std::uint64_t, PeerMessage> early_;  // arrived before their predecessors
};

/// Roughly how many bytes a message takes on the wire; exact enough to bound a window.
std::uint64_t weight_of(const PeerMessage& message);

}  // namespace banyan::node
