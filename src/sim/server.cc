#include "sim/server.h"

#include <utility>

#include "base/check.h"

namespace banyan::sim {

namespace {
constexpr Duration kTick = 50ms;

port::LogSink log_to(Trace& trace, std::string who) {
  return [&trace, who = std::move(who)](const node::Log& line) {
    trace.note(who, "log", line.text.size(), [&] { return line.text; });
  };
}

/// Damages what a restart finds of a replica, where such a bug is planted.
void damage(Plant plant, Rng& rng, node::StoredReplica& stored) {
  if (plant == Plant::kVoteForgotten && !stored.entries.empty()) {
    stored.hard_state.vote = {};
    stored.hard_state.term = stored.entries.back().term;
  }
  if (plant == Plant::kTailForgotten) {
    for (std::uint64_t lost = rng.below(6); lost > 0 && !stored.entries.empty(); --lost)
      stored.entries.pop_back();
    const raft::Index last = !stored.entries.empty() ? stored.entries.back().index
                             : stored.snapshot       ? stored.snapshot->index
                                                     : raft::Index{0};
    stored.hard_state.commit = std::min(stored.hard_state.commit, last);
  }
}
}  // namespace

// ---- hosts
// ----------------------------------------------------------------------------------------------------------

/// One life of a host agent. Its ports lead back through the server's Process, so that nothing of an earlier
/// life reaches a later one.
struct HostServer::Life {
  Life(HostServer& server, Incarnation incarnation)
      : network(server.around_.network, server.process_, server.config_.id, server.peers_),
        disk(server.disk_, server.process_),
        launcher({server.around_.scheduler, server.around_.trace, server.witness_, server.clock_,
                  server.config_.id, server.around_.plant},
                 server.rng_.fork(), server.process_,
                 [&server](node::HostEvent event) { server.deliver(std::move(event)); }),
        chunks(server.around_.store == nullptr
                   ? nullptr
                   : std::make_unique<ChunkPort>(*server.around_.store, server.process_)),
        node(server.config_, incarnation, server.rng_.next()),
        driver(node, {network, disk, launcher,
                      [&server] { return server.clock_.read(server.around_.scheduler.now()); },
                      log_to(server.around_.trace, server.config_.id.value), chunks.get()}) {}

  NetworkPort network;
  DiskPort disk;
  Launcher launcher;
  std::unique_ptr<ChunkPort> chunks;
  node::HostNode node;
  port::HostDriver driver;
};

HostServer::HostServer(Surroundings around, Rng rng, node::HostConfig config, HostClock clock,
                       std::set<HostId> peers, DiskWatcher& watcher, WorkerWitness& witness)
    : around_(around),
      rng_(rng),
      config_(std::move(config)),
      clock_(clock),
      peers_(std::move(peers)),
      disk_(around.scheduler, rng_.fork(), around.trace, config_.id, watcher),
      devices_(config_.devices.size()),
      witness_(witness) {
  if (around.plant == Plant::kDiskAcksEarly) disk_.acknowledge_early();
  if (around.plant == Plant::kChunkNotStored) disk_.lose_chunks();
}

HostServer::~HostServer() = default;

void HostServer::start() {
  if (alive() || lost_) return;
  if (life_) crash();  // the process has ended, and its crash is still to come
  process_.begin();
  tick_waits_ = false;
  around_.trace.note(config_.id.value, "STARTS", process_.life());
  life_ = std::make_unique<Life>(*this, Incarnation{rng_.next() | 1});
  auto stored = life_->disk.recover();
  CHECK(stored.has_value(), "a virtual disk can always be read");
  for (node::StoredReplica& replica : stored->replicas) damage(around_.plant, rng_, replica);
  deliver(std::move(*stored));
  tell_figures();
  tick();
  around_.network.connections_changed(config_.id, true);
}

void HostServer::tell_figures() {
  process_.enter(process_.life(), [this] {
    deliver(node::HostFigures{8, 16ULL << 30, 50 << 20, devices_.list(), life_->launcher.uses()});
  });
}

void HostServer::crash() {
  if (!life_) return;
  around_.trace.note(config_.id.value, "CRASHES", process_.life());
  witness_.host_crashed(config_.id);
  process_.end();
  life_.reset();
  disk_.crash();
  around_.network.connections_changed(config_.id, false);
}

void HostServer::lose() {
  around_.trace.note(config_.id.value, "IS LOST");
  crash();
  lost_ = forgot_ = true;
}

void HostServer::install_anew() {
  CHECK(lost_, "a machine that runs is not replaced");
  around_.trace.note(config_.id.value, "IS INSTALLED ANEW");
  disk_.replace();
  around_.network.change_key(config_.id);
  lost_ = false;
  start();
}

void HostServer::deliver(node::HostEvent event) {
  around_.trace.note(config_.id.value, "event", event.index());
  life_->driver.deliver(std::move(event));
  if (!process_.broken()) return;
  process_.end();  // crash() comes later: the caller may be a part of the life that ends
  around_.scheduler.after(0ns, [this, life = process_.life()] {
    if (process_.life() == life) crash();
  });
}

void HostServer::tick() {
  around_.scheduler.after(kTick - 2ms + Duration(rng_.below(4'000'000)), [this, life = process_.life()] {
    if (!process_.alive() || process_.life() != life) return;
    // A process that was stopped finds one tick when it goes on, not all that it missed.
    if (!std::exchange(tick_waits_, true)) {
      process_.enter(life, [this] {
        tick_waits_ = false;
        deliver(node::Tick{});
      });
    }
    tick();
  });
}

void HostServer::kill_worker() {
  if (alive()) life_->launcher.kill_one(rng_);
}

bool HostServer::runs_cell() const { return alive() && life_->launcher.runs_cell(); }

void HostServer::frame_arrived(const HostId& from, node::PeerFrame frame) {
  process_.enter(process_.life(), [this, from, frame = std::move(frame)]() mutable {
    deliver(node::FrameArrived{from, std::move(frame)});
  });
}
void HostServer::peer_up(const HostId& peer) {
  process_.enter(process_.life(), [this, peer] {
    if (peer == node::kGateway) around_.network.introduce(config_.id, node::kGateway);
    deliver(node::PeerUp{peer});
  });
}
void HostServer::peer_down(const HostId& peer) {
  process_.enter(process_.life(), [this, peer] { deliver(node::PeerDown{peer}); });
}

// ---- gateway
// --------------------------------------------------------------------------------------------------------

struct GatewayServer::Life {
  Life(GatewayServer& server, Incarnation incarnation)
      : network(server.around_.network, server.process_, node::kGateway, {}),
        store(server.store_, server.process_),
        front(server.front_),
        node(server.config_, incarnation, server.rng_.next()),
        driver(node, {network, store, front,
                      [&server] { return server.clock_.read(server.around_.scheduler.now()); },
                      log_to(server.around_.trace, node::kGateway.value)}) {}

  NetworkPort network;
  StorePort store;
  FrontPort front;
  node::GatewayNode node;
  port::GatewayDriver driver;
};

GatewayServer::GatewayServer(Surroundings around, Rng rng, node::GatewayConfig config, HostClock clock)
    : around_(around),
      rng_(rng),
      config_(std::move(config)),
      clock_(clock),
      store_(around.scheduler, rng_.fork()),
      front_(around.scheduler, rng_.fork(), around.trace, process_, config_.token, around.plant) {
  if (around.plant == Plant::kStoreAcksEarly) store_.acknowledge_early();
}

GatewayServer::~GatewayServer() = default;

void GatewayServer::start() {
  if (alive()) return;
  if (life_) crash();  // the process has ended, and its crash is still to come
  process_.begin();
  tick_waits_ = false;
  around_.trace.note("gateway", "STARTS", process_.life());
  life_ = std::make_unique<Life>(*this, Incarnation{rng_.next() | 1});
  front_.gateway_started([this](node::GatewayEvent event) { deliver(std::move(event)); });
  auto records = life_->store.load();
  CHECK(records.has_value(), "a virtual control store can always be read");
  deliver(node::StoreLoaded{std::move(*records)});
  tick();
  around_.network.connections_changed(node::kGateway, true);
}

void GatewayServer::stop() {
  if (process_.alive() && !stopped()) front_.gateway_stops();
  process_.stop();
}

void GatewayServer::resume() {
  front_.gateway_goes_on();
  process_.resume();
}

void GatewayServer::crash() {
  if (!life_) return;
  around_.trace.note("gateway", "CRASHES", process_.life());
  process_.end();
  life_.reset();
  store_.crash();
  front_.gateway_died();
  on_death_();
  around_.network.connections_changed(node::kGateway, false);
}

void GatewayServer::deliver(node::GatewayEvent event) {
  around_.trace.note("gateway", "event", event.index());
  life_->driver.deliver(std::move(event));
  if (!process_.broken()) return;
  process_.end();
  around_.scheduler.after(0ns, [this, life = process_.life()] {
    if (process_.life() == life) crash();
  });
}

void GatewayServer::tick() {
  around_.scheduler.after(kTick - 2ms + Duration(rng_.below(4'000'000)), [this, life = process_.life()] {
    if (!process_.alive() || process_.life() != life) return;
    if (!std::exchange(tick_waits_, true)) {
      process_.enter(life, [this] {
        tick_waits_ = false;
        deliver(node::Tick{});
      });
    }
    tick();
  });
}

void GatewayServer::frame_arrived(const HostId& from, node::PeerFrame frame) {
  process_.enter(process_.life(), [this, from, frame = std::move(frame)]() mutable {
    deliver(node::FrameArrived{from, std::move(frame)});
  });
}
void GatewayServer::peer_up(const HostId& peer) {
  process_.enter(process_.life(), [this, peer] { deliver(node::PeerUp{peer}); });
}
void GatewayServer::peer_down(const HostId& peer) {
  process_.enter(process_.life(), [this, peer] { deliver(node::PeerDown{peer}); });
}

void GatewayServer::peer_introduced(const HostId& peer, const std::string& address, const std::string& key) {
  process_.enter(process_.life(),
                 [this, peer, address, key] { deliver(node::PeerIntroduced{peer, address, key}); });
}

}  // namespace banyan::sim
