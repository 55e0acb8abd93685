// Makes things fail, at random and with quiet periods, and at last puts everything right.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"
#include "sim/server.h"

namespace banyan::sim {

/// How hard a schedule is.
struct Intensity {
  Duration between = 500ms;  ///< mean time between faults in a stormy period
  double quiet = 0.3;        ///< share of periods without faults
  bool crashes = true;
  bool partitions = true;
  bool stops = true;  ///< SIGSTOP
  bool bad_network = true;
  bool slow_disks = true;
  bool gateway = true;  ///< the gateway suffers too
  Duration outage_max = 3s;
};

class Nemesis {
 public:
  Nemesis(Scheduler& scheduler, Rng rng, Trace& trace, Network& network,
          std::vector<std::unique_ptr<HostServer>>& hosts, GatewayServer& gateway, Intensity intensity)
      : scheduler_(scheduler),
        rng_(rng),
        trace_(trace),
        network_(network),
        hosts_(hosts),
        gateway_(gateway),
        intensity_(intensity) {}

  void start();
  /// Ends all faults: every machine runs, every link works, every disk is fast.
  void heal();

 private:
  void next();
  void strike();
  Duration outage();
  HostServer& any_host() { return *hosts_[rng_.below(hosts_.size())]; }
  /// Any that runs a cell, if there is one.
  HostServer& busy_host();
  void crash_host();
  void crash_gateway();
  void stop_host();
  void stop_gateway();
  void partition();
  void cut_for(std::vector<std::pair<HostId, HostId>> pairs, Duration duration);
  void spoil_network();
  void slow_disk();
  void corrupt_chunk();
  void lie();
  void after(Duration delay, void (Nemesis::*then)()) {
    scheduler_.after(delay, [this, then] { (this->*then)(); });
  }

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  Network& network_;
  std::vector<std::unique_ptr<HostServer>>& hosts_;
  GatewayServer& gateway_;
  Intensity intensity_;
  bool healed_ = false;
  bool quiet_ = false;
  TrueTime period_ends_{};
};

}  // namespace banyan::sim
