// The machines of a schedule: hosts, and the one with the gateway. Their disks outlive crashes; each start is
// a new life of the daemon, built from what the disk holds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "port/drivers.h"
#include "sim/clock.h"
#include "sim/data_store.h"
#include "sim/devices.h"
#include "sim/disk.h"
#include "sim/front.h"
#include "sim/network.h"
#include "sim/process.h"
#include "sim/worker.h"

namespace banyan::sim {

/// What all machines share.
struct Surroundings {
  Scheduler& scheduler;
  Trace& trace;
  Network& network;
  Plant plant = Plant::kNone;
  DataStore* store = nullptr;  ///< that all hosts read
};

/// A host agent with its virtual ports, through all its lives.
class HostServer final : public Receiver {
 public:
  /// `peers`: whom it can reach before the gateway tells it of others.
  HostServer(Surroundings around, Rng rng, node::HostConfig config, HostClock clock, std::set<HostId> peers,
             DiskWatcher& watcher, WorkerWitness& witness);
  ~HostServer() override;

  /// Begins a life, unless it has one or is lost.
  void start();
  void crash();
  /// Ends the machine, with its disk.
  void lose();
  /// A machine takes the place of the one that was lost: of the same name, with an empty disk and another
  /// key.
  void install_anew();
  /// Lets it crash when so many more effects are out.
  void crash_mid_step(std::uint64_t effects) { process_.break_after(effects); }
  [[nodiscard]] bool about_to_crash() const { return process_.breaks(); }
  void stop() { process_.stop(); }
  void resume() { process_.resume(); }
  void kill_worker();
  /// Whether the user code of a cell runs here.
  [[nodiscard]] bool runs_cell() const;
  [[nodiscard]] bool alive() const { return process_.alive(); }
  [[nodiscard]] bool stopped() const { return process_.stopped(); }
  [[nodiscard]] bool lost() const { return lost_; }
  /// Whether it has lost its disk at some time.
  [[nodiscard]] bool forgot() const { return forgot_; }
  [[nodiscard]] const HostId& id() const { return config_.id; }
  /// The present life of the host agent, or its last one.
  [[nodiscard]] Process::Life life() const { return process_.life(); }
  Disk& disk() { return disk_; }
  Devices& devices() { return devices_; }
  /// The host agent looks at its devices, as it does every second.
  void tell_figures();
  HostClock& clock() { return clock_; }

  void frame_arrived(const HostId& from, node::PeerFrame frame) override;
  void peer_up(const HostId& peer) override;
  void peer_down(const HostId& peer) override;

 private:
  struct Life;
  void deliver(node::HostEvent event);
  void tick();

  Surroundings around_;
  Rng rng_;
  node::HostConfig config_;
  HostClock clock_;
  std::set<HostId> peers_;
  Disk disk_;
  Devices devices_;
  WorkerWitness& witness_;
  Process process_;
  bool tick_waits_ = false;
  bool lost_ = false;
  bool forgot_ = false;
  std::unique_ptr<Life> life_;
};

/// The gateway with its virtual ports, through all its lives.
class GatewayServer final : public Receiver {
 public:
  GatewayServer(Surroundings around, Rng rng, node::GatewayConfig config, HostClock clock);
  ~GatewayServer() override;

  void start();
  void crash();
  void crash_mid_step(std::uint64_t effects) { process_.break_after(effects); }
  [[nodiscard]] bool about_to_crash() const { return process_.breaks(); }
  void stop();
  void resume();
  [[nodiscard]] bool alive() const { return process_.alive(); }
  [[nodiscard]] bool stopped() const { return process_.stopped(); }
  Front& front() { return front_; }
  Store& store() { return store_; }
  HostClock& clock() { return clock_; }
  /// Called when the gateway's process ends.
  void on_death(std::function<void()> call) { on_death_ = std::move(call); }

  void frame_arrived(const HostId& from, node::PeerFrame frame) override;
  void peer_up(const HostId& peer) override;
  void peer_down(const HostId& peer) override;
  void peer_introduced(const HostId& peer, const std::string& address, const std::string& key) override;

 private:
  struct Life;
  void deliver(node::GatewayEvent event);
  void tick();

  Surroundings around_;
  Rng rng_;
  node::GatewayConfig config_;
  HostClock clock_;
  Store store_;
  Process process_;
  Front front_;
  bool tick_waits_ = false;
  std::function<void()> on_death_ = [] {};
  std::unique_ptr<Life> life_;
};

}  // namespace banyan::sim
