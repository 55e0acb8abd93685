// The devices of a host.
#pragma once

#include <set>
#include <vector>

#include "core/cluster/device.h"

namespace banyan::port {

/// A process has a device open, or has memory on it.
struct DeviceUse {
  DeviceId device;
  int process = 0;  ///< its id, as the host agent sees it

  friend auto operator<=>(const DeviceUse&, const DeviceUse&) = default;
};

/// Says which devices (GPUs) a host has, and which processes use them. Cells are bound to them by `node`
/// (HostDevices). Both are called about every second, so they do not block.
class Devices {
 public:
  virtual ~Devices() = default;
  /// All devices and whether they work now, in an order that does not change.
  virtual std::vector<cluster::Device> list() = 0;
  /// What these processes use now.
  virtual std::vector<DeviceUse> uses(const std::set<int>& processes) = 0;
};

}  // namespace banyan::port
