// The network between daemons: frames are late, lost, repeated and reordered, and links are cut in one
// direction or both.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "port/network.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace banyan::sim {

/// How good the network is at the moment.
struct Quality {
  Duration latency = 200us;  ///< every frame takes at least so long
  Duration jitter = 300us;   ///< and up to so much longer, uniformly
  double late = 0.01;        ///< the share of frames that take up to `late_max` on top
  Duration late_max = 20ms;
  double loss = 0;    ///< the share of frames that are lost
  double repeat = 0;  ///< the share of frames that arrive twice
};

/// Where a peer listens. Addresses are names with a port here.
inline std::string address_of(const HostId& peer) { return peer.value + ":1"; }

/// Takes the frames and hints that reach a peer.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void frame_arrived(const HostId& from, node::PeerFrame frame) = 0;
  virtual void peer_up(const HostId& peer) = 0;
  virtual void peer_down(const HostId& peer) = 0;
  /// A peer has connected, proven its key and said where it listens.
  virtual void peer_introduced(const HostId&, const std::string& /*address*/, const std::string& /*key*/) {}
};

/// All links between daemons.
class Network {
 public:
  /// Sees each frame that a peer sends.
  using Tap = std::function<void(const HostId& from, const HostId& to, const node::PeerFrame& frame)>;

  /// One frame in `codec_share` passes through the wire encoding, which costs too much time for all.
  Network(Scheduler& scheduler, Rng rng, Trace& trace, std::uint64_t codec_share)
      : scheduler_(scheduler), rng_(rng), trace_(trace), codec_share_(codec_share) {}

  /// Adds a peer, which must outlive the network.
  void attach(const HostId& id, Receiver& receiver);
  void set_tap(Tap tap) { tap_ = std::move(tap); }
  void send(const HostId& from, const HostId& to, node::PeerFrame frame);

  void set_quality(const Quality& quality) { quality_ = quality; }
  /// Drops frames from `from` to `to` until mend(). Two cuts need two mends.
  void cut(const HostId& from, const HostId& to);
  void mend(const HostId& from, const HostId& to);
  void mend_all();
  /// Breaks all connections of `id` or brings them up; its peers mostly get a hint of that.
  void connections_changed(const HostId& id, bool up);
  /// Gives the peer `at` a hint about another one, whether it is true or not.
  void hint(const HostId& at, const HostId& about, bool up);

  /// Tells the peer `at` who connects to it, and where that one listens.
  void introduce(const HostId& who, const HostId& at);
  /// The peer is installed anew, and has made another key. Nobody claims another's name here.
  void change_key(const HostId& peer) { ++keys_[peer]; }

  /// Violations of the codec, for the checkers.
  [[nodiscard]] const std::vector<std::string>& codec_failures() const { return codec_failures_; }

 private:
  struct Peer {
    HostId id;
    Receiver* receiver = nullptr;
  };
  [[nodiscard]] std::size_t place(const HostId& id) const;
  [[nodiscard]] int& cuts(std::size_t from, std::size_t to) { return cuts_[from * kPeersMax + to]; }
  [[nodiscard]] bool passes(std::size_t from, std::size_t to) { return cuts(from, to) == 0; }
  void transmit(std::size_t from, std::size_t to, node::PeerFrame frame);
  node::PeerFrame through_codec(node::PeerFrame frame);

  static constexpr std::size_t kPeersMax = 16;
  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  std::uint64_t codec_share_;
  Quality quality_;
  Tap tap_;
  std::vector<Peer> peers_;
  std::vector<int> cuts_ = std::vector<int>(kPeersMax * kPeersMax, 0);
  std::vector<std::string> codec_failures_;
  std::map<HostId, std::uint64_t> keys_;  ///< how often each peer was installed anew
};

/// The network as one daemon sees it. It reaches the peers that it was told to connect.
class NetworkPort final : public port::Network {
 public:
  NetworkPort(sim::Network& network, Process& process, HostId self, std::set<HostId> peers)
      : network_(network), process_(process), self_(std::move(self)), peers_(std::move(peers)) {}
  void send(const HostId& to, node::PeerFrame frame) override {
    if (process_.lets_out() && peers_.contains(to)) network_.send(self_, to, std::move(frame));
  }
  void connect(const HostId& peer, const std::string&, const std::string&) override {
    if (process_.lets_out()) peers_.insert(peer);
  }
  void disconnect(const HostId& peer) override {
    if (process_.lets_out()) peers_.erase(peer);
  }

 private:
  sim::Network& network_;
  Process& process_;
  HostId self_;
  std::set<HostId> peers_;
};

}  // namespace banyan::sim
