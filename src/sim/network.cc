#include "sim/network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/codec.h"

namespace banyan::sim {

namespace {
std::uint64_t weight(const node::PeerFrame& frame) {
  if (const auto* raft = std::get_if<node::RaftFrame>(&frame)) return raft->items.size();
  const auto& link = std::get<node::LinkFrame>(frame);
  return 1000 + link.messages.size() + (link.ack << 16);
}

std::string describe(const HostId& to, const node::PeerFrame& frame) {
  std::string text = "to " + to.value;
  if (const auto* raft = std::get_if<node::RaftFrame>(&frame)) {
    for (const auto& item : raft->items) {
      text += " raft" + std::to_string(item.message.body.index()) + ":t" +
              std::to_string(item.message.term.value) + ":" + item.session.value.substr(0, 4);
    }
  } else {
    const auto& link = std::get<node::LinkFrame>(frame);
    text += " ack " + std::to_string(link.ack);
    for (const auto& numbered : link.messages) {
      text += " #" + std::to_string(numbered.seq) + "/" + std::to_string(numbered.message.index());
    }
  }
  return text;
}
}  // namespace

void Network::attach(const HostId& id, Receiver& receiver) {
  CHECK(peers_.size() < kPeersMax, "the simulator's network has room for 16 peers");
  peers_.push_back({id, &receiver});
}

std::size_t Network::place(const HostId& id) const {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].id == id) return i;
  }
  return kPeersMax;
}

void Network::send(const HostId& from, const HostId& to, node::PeerFrame frame) {
  if (tap_) tap_(from, to, frame);
  trace_.note(from.value, "send", weight(frame), [&] { return describe(to, frame); });
  const std::size_t source = place(from);
  const std::size_t target = place(to);
  if (target == kPeersMax || source == target || !passes(source, target)) return;
  if (rng_.chance(quality_.loss)) return;
  if (codec_share_ > 0 && rng_.below(codec_share_) == 0) frame = through_codec(std::move(frame));
  if (quality_.repeat > 0 && rng_.chance(quality_.repeat)) transmit(source, target, frame);
  transmit(source, target, std::move(frame));
}

void Network::transmit(std::size_t from, std::size_t to, node::PeerFrame frame) {
  Duration delay =
      quality_.latency + Duration(rng_.below(static_cast<std::uint64_t>(quality_.jitter.count()) + 1));
  if (rng_.chance(quality_.late))
    delay += Duration(rng_.below(static_cast<std::uint64_t>(quality_.late_max.count()) + 1));
  scheduler_.after(delay, [this, from, to, frame = std::move(frame)]() mutable {
    if (passes(from, to)) peers_[to].receiver->frame_arrived(peers_[from].id, std::move(frame));
  });
}

node::PeerFrame Network::through_codec(node::PeerFrame frame) {
  const std::string bytes = encode(frame);
  auto decoded = decode<node::PeerFrame>(bytes);
  if (!decoded || encode(*decoded) != bytes) {
    codec_failures_.push_back("a frame does not survive its encoding");
    return frame;
  }
  return std::move(*decoded);
}

void Network::cut(const HostId& from, const HostId& to) {
  ++cuts(place(from), place(to));
  if (rng_.chance(0.3)) {
    scheduler_.after(Duration(rng_.below(3'000'000'000)), [this, from, to] {
      if (!passes(place(from), place(to))) hint(to, from, false);
    });
  }
}

void Network::mend(const HostId& from, const HostId& to) {
  int& count = cuts(place(from), place(to));
  count = std::max(0, count - 1);
  if (count == 0) hint(to, from, true);
}

void Network::mend_all() { std::fill(cuts_.begin(), cuts_.end(), 0); }

void Network::connections_changed(const HostId& id, bool up) {
  for (const Peer& peer : peers_) {
    if (peer.id == id) continue;
    const auto late = [&] { return Duration(rng_.below(rng_.chance(0.1) ? 800'000'000 : 5'000'000)); };
    if (up || rng_.chance(0.8)) scheduler_.after(late(), [this, &peer, id, up] { hint(peer.id, id, up); });
    if (up) scheduler_.after(late(), [this, &peer, id] { hint(id, peer.id, true); });
  }
}

void Network::hint(const HostId& at, const HostId& about, bool up) {
  Receiver& receiver = *peers_[place(at)].receiver;
  if (up) {
    receiver.peer_up(about);
  } else {
    receiver.peer_down(about);
  }
}

void Network::introduce(const HostId& who, const HostId& at) {
  const std::string key = "key-" + std::to_string(keys_[who]) + "-of-" + who.value;
  scheduler_.after(quality_.latency, [this, who, at, key] {
    if (passes(place(who), place(at))) peers_[place(at)].receiver->peer_introduced(who, address_of(who), key);
  });
}

}  // namespace banyan::sim
