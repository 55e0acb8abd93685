// Hosts that lose their disks and come back under their names.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/log_oracle.h"
#include "sim/server.h"

namespace banyan::sim {

/// Follows the disks for another watcher, and says which replica begins.
class Births final : public DiskWatcher {
 public:
  /// `watcher` outlives it.
  explicit Births(DiskWatcher& watcher) : watcher_(watcher) {}
  /// Called when the host has founded a replica, before the host knows that it is durable.
  void on_birth(std::function<void(const HostId&)> call) { on_birth_ = std::move(call); }

  void durable(const HostId& host, const std::vector<node::DiskWrite>& batch) override;
  void broken_contract(const HostId& host, std::string what) override {
    watcher_.broken_contract(host, std::move(what));
  }

 private:
  DiskWatcher& watcher_;
  std::function<void(const HostId&)> on_birth_ = [](const HostId&) {};
};

/// Somebody removes such a host by force, installs it anew on an empty disk, and takes it back: it has
/// another key, which the platform learns then. The host agent starts before it is taken back, or after.
class Reinstalls {
 public:
  /// All outlive it.
  Reinstalls(Scheduler& scheduler, Front& front, LogOracle& oracle)
      : scheduler_(scheduler), front_(front), oracle_(oracle) {}

  /// When which step is taken.
  struct Pace {
    Duration noticed;           ///< until it is removed
    Duration installed;         ///< from then until it is there again
    bool starts_first = false;  ///< its agent starts before the host is taken back
  };
  /// The host loses its disk now.
  void begin(HostServer& host, Pace pace);
  /// What is not done yet is done now.
  void hurry();
  /// Whether the host is on its way back.
  [[nodiscard]] bool away(const HostId& host) const { return away_.contains(host); }
  [[nodiscard]] bool any_away() const { return !away_.empty(); }

 private:
  enum class Step : std::uint8_t { kDown, kRemoving, kRemoved, kReturning };
  struct Away {
    HostServer* host = nullptr;
    Pace pace;
    Step step = Step::kDown;
  };
  void remove(const HostId& host);
  void ask_removal(const HostId& host);
  void come_back(const HostId& host);
  void take_back(const HostId& host);
  void end(const HostId& host);

  Scheduler& scheduler_;
  Front& front_;
  LogOracle& oracle_;
  std::map<HostId, Away> away_;
};

}  // namespace banyan::sim
