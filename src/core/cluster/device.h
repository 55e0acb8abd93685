// Devices (GPUs), and what a cell needs of them.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/ids.h"

namespace banyan::cluster {

/// A GPU of a host, or a part of one that can be bound by itself.
struct Device {
  DeviceId id;
  std::string model;               ///< empty when it is not known
  std::uint64_t memory_bytes = 0;  ///< 0 when it is not known
  bool healthy = true;             ///< a faulty one is not bound to a cell

  friend bool operator==(const Device&, const Device&) = default;
};

/// What a cell needs while it runs.
struct Demand {
  std::uint64_t gpus = 0;  ///< all on one host, for the cell alone
};

/// Where a cell runs, or is about to, and the devices that are granted to it there.
struct Binding {
  HostId host;
  std::set<DeviceId> devices;
};

/// The devices of a host. Each is counted once.
struct DeviceCounts {
  std::uint64_t idle = 0;
  std::uint64_t bound = 0;   ///< to a cell, or reserved, also those that have become faulty since
  std::uint64_t faulty = 0;  ///< and no session has them

  [[nodiscard]] std::uint64_t all() const { return idle + bound + faulty; }
};

}  // namespace banyan::cluster
