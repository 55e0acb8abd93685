// The devices of a host.
#pragma once

#include <vector>

#include "core/cluster/device.h"

namespace banyan::port {

/// Says which devices (GPUs) a host has. Cells are bound to them by `node` (HostDevices).
class Devices {
 public:
  virtual ~Devices() = default;
  /// All devices and whether they work now, in an order that does not change. Called about every second, so
  /// it does not block.
  virtual std::vector<cluster::Device> list() = 0;
};

}  // namespace banyan::port
