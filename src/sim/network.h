// The network between daemons: frames are late, lost, repeated and reordered, and links are cut in one
// direction or both.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/random.h"
#include "port/network.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace banyan::sim {

/// How good the network is at the moment.
struct Quality {
  Duration latency = 200us;  ///< at least
  Duration jitter = 300us;   ///< added, uniform
  double late = 0.01;        ///< share of frames that take up to `late_max`
  Duration late_max = 20ms;
  double loss = 0;
  double repeat = 0;
};

/// Where frames and hints of a peer go.
class Receiver {
 public:
  virtual ~Receiver() = default;
  virtual void frame_arrived(const HostId& from, node::PeerFrame frame) = 0;
  virtual void peer_up(const HostId& peer) = 0;
  virtual void peer_down(const HostId& peer) = 0;
};

class Network {
 public:
  /// Sees each frame that a peer sends.
  using Tap = std::function<void(const HostId& from, const HostId& to, const node::PeerFrame& frame)>;

  /// One frame in `codec_share` passes through the wire encoding.
  Network(Scheduler& scheduler, Rng rng, Trace& trace, std::uint64_t codec_share)
      : scheduler_(scheduler), rng_(rng), trace_(trace), codec_share_(codec_share) {}

  /// Adds a peer; it outlives the network.
  void attach(const HostId& id, Receiver& receiver);
  void set_tap(Tap tap) { tap_ = std::move(tap); }
  void send(const HostId& from, const HostId& to, node::PeerFrame frame);

  void set_quality(const Quality& quality) { quality_ = quality; }
  /// Frames from `from` to `to` are dropped until mend(). Cuts add up.
  void cut(const HostId& from, const HostId& to);
  void mend(const HostId& from, const HostId& to);
  void mend_all();
  /// The connections of `id` break or come up, and its peers mostly notice.
  void connections_changed(const HostId& id, bool up);
  /// A hint out of the blue.
  void hint(const HostId& at, const HostId& about, bool up);

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
};

/// The network as one daemon sees it.
class NetworkPort final : public port::Network {
 public:
  NetworkPort(sim::Network& network, Process& process, HostId self)
      : network_(network), process_(process), self_(std::move(self)) {}
  void send(const HostId& to, node::PeerFrame frame) override {
    if (process_.lets_out()) network_.send(self_, to, std::move(frame));
  }

 private:
  sim::Network& network_;
  Process& process_;
  HostId self_;
};

}  // namespace banyan::sim
