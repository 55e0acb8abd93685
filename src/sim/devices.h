// Model devices of a host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "port/devices.h"

namespace banyan::sim {

/// Devices that become faulty and work again by command. They outlive the host agent.
class Devices final : public port::Devices {
 public:
  explicit Devices(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) all_.push_back({.id = {"gpu" + std::to_string(i)}});
  }
  std::vector<cluster::Device> list() override { return all_; }
  /// Model workers say themselves what they use (sim::Worker).
  std::vector<port::DeviceUse> uses(const std::set<int>& /*processes*/) override { return {}; }

  /// One of them, chosen at random, is faulty from now on.
  void break_one(Rng& rng) {
    if (!all_.empty()) all_[rng.below(all_.size())].healthy = false;
  }
  void repair() {
    for (cluster::Device& device : all_) device.healthy = true;
  }

 private:
  std::vector<cluster::Device> all_;
};

}  // namespace banyan::sim
