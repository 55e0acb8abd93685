// Makes things fail, at random and with quiet periods, and at last puts everything right.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/random.h"
#include "sim/conditions.h"
#include "sim/log_oracle.h"
#include "sim/reinstalls.h"
#include "sim/server.h"

namespace banyan::sim {

/// What the nemesis can break.
struct Fleet {
  Network& network;
  std::vector<std::unique_ptr<HostServer>>& hosts;
  GatewayServer& gateway;
  LogOracle& oracle;
  DataStore* store = nullptr;
};

/// Strikes with faults at random moments, with quiet periods between them.
class Nemesis {
 public:
  /// `only` has the numbers of the strikes that take place; without it all do. What one strike draws changes
  /// no other, so that a schedule with fewer strikes is the same up to the first one that is left out.
  Nemesis(Scheduler& scheduler, Rng rng, Trace& trace, Fleet fleet, const Weather& weather,
          std::optional<std::set<std::uint64_t>> only)
      : scheduler_(scheduler),
        rng_(rng),
        trace_(trace),
        fleet_(fleet),
        reinstalls_(scheduler, fleet.gateway.front(), fleet.oracle),
        weather_(weather),
        only_(std::move(only)) {}

  void start();
  /// A client sees the reply of a cell of this session at this moment.
  void replied(const SessionId& session);
  /// A replica of a new session has begun on the host, which does not know it yet.
  void founded(const HostId& host);
  /// A request of an export or an import is on its way to this session.
  void transfers(const SessionId& session);
  /// Ends all faults: every machine that is not lost runs, every link works, every disk is fast.
  void heal();
  /// At last one host is drained, in some schedules. All sessions must leave it.
  void drain_one();
  [[nodiscard]] const std::optional<HostId>& drained() const { return drained_; }
  /// How many strikes there were, with those that did not take place. They are numbered from 1.
  [[nodiscard]] std::uint64_t strikes() const { return strikes_; }
  [[nodiscard]] const std::set<HostId>& lost() const { return lost_; }
  /// Whether a host that has lost its disk is on its way back.
  [[nodiscard]] bool reinstalls() const { return reinstalls_.any_away(); }

 private:
  void next();
  void strike();
  void strike(Fault fault, Rng& rng);
  [[nodiscard]] Fault draw(Rng& rng) const;
  [[nodiscard]] Duration outage(Rng& rng) const;
  /// A shorter outage, because nothing happens without a gateway.
  [[nodiscard]] Duration outage_of_gateway(Rng& rng) const;
  HostServer& any_host(Rng& rng) { return *fleet_.hosts[rng.below(fleet_.hosts.size())]; }
  /// A host that runs a cell if there is one, else any host.
  HostServer& busy_host(Rng& rng);
  HostServer* host(const HostId& id);
  void crash(HostServer& host, Rng& rng);
  void crash_gateway(Rng& rng);
  void crash_mid_step(Rng& rng);
  void crash_at_write(Rng& rng);
  [[nodiscard]] std::vector<HostServer*> members(const SessionId& session);
  void crash_several(const std::vector<HostServer*>& among, Rng& rng);
  bool lose(HostServer& host);
  void wipe(HostServer& host, Rng& rng);
  /// Whether the host has the only whole copy of a chunk of which another one is damaged.
  [[nodiscard]] bool is_needed_for_repair(HostServer& host) const;
  void stop_host(Rng& rng);
  void stop_gateway(Rng& rng);
  void partition(Rng& rng);
  void cut_for(std::vector<std::pair<HostId, HostId>> pairs, Duration duration);
  void spoil_network(Rng& rng);
  void slow_disk(Rng& rng);
  void corrupt_chunk(Rng& rng);
  void hint(Rng& rng);
  void change_fleet(Rng& rng);
  void break_device(Rng& rng);
  void trouble_store(Rng& rng);
  /// Asks the gateway for the host to take part, until it says that it does.
  void add_back(const HostId& host);

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  Fleet fleet_;
  Reinstalls reinstalls_;
  Weather weather_;
  std::optional<std::set<std::uint64_t>> only_;
  std::uint64_t strikes_ = 0;
  bool healed_ = false;
  bool quiet_ = false;
  TrueTime period_ends_{};
  std::optional<Rng> at_next_reply_;     ///< set: members of the session crash when the next reply is seen
  std::optional<Rng> at_next_birth_;     ///< set: the host of the next replica that begins loses its disk
  std::optional<Rng> at_next_transfer_;  ///< set: the same for the next request of an export or import
  std::set<HostId> lost_;
  std::optional<HostId> drained_;
};

}  // namespace banyan::sim
