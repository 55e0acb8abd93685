// The devices of a host, and which of them are bound to a cell.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/cluster/device.h"

namespace banyan::node {

/// Devices are bound by the host itself, because only it knows what runs on it: a gateway may believe that a
/// host that does not answer has not begun a cell, and grant its devices to another one.
class HostDevices {
 public:
  HostDevices() = default;
  HostDevices(const HostDevices&) = delete;  // grants refer to it
  HostDevices& operator=(const HostDevices&) = delete;

  /// The devices of one cell; given back when this is destroyed. It must not outlive its HostDevices.
  class Grant {
   public:
    Grant() = default;
    Grant(HostDevices& owner, std::set<DeviceId> devices) : owner_(&owner), devices_(std::move(devices)) {}
    Grant(Grant&& other) noexcept : owner_(other.owner_), devices_(std::exchange(other.devices_, {})) {}
    Grant& operator=(Grant&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(devices_, other.devices_);
      return *this;
    }
    ~Grant() {
      for (const DeviceId& device : devices_) owner_->bound_.erase(device);
    }

    [[nodiscard]] const std::set<DeviceId>& devices() const { return devices_; }

   private:
    HostDevices* owner_ = nullptr;  ///< null: it holds nothing
    std::set<DeviceId> devices_;
  };

  void set(std::vector<cluster::Device> devices) { all_ = std::move(devices); }
  [[nodiscard]] const std::vector<cluster::Device>& all() const { return all_; }
  /// Binds so many devices: those that are `preferred` if they can be bound, else any. kUnavailable when too
  /// many are bound to other cells, kNotFound when the host has too few that work; with a reason for a
  /// person.
  [[nodiscard]] Result<Grant> bind(std::uint64_t gpus, const std::set<DeviceId>& preferred);

  /// The worker ran the cell that has this, and is being ended: what it uses is free when it is gone.
  void keep_until_exit(WorkerId worker, Grant grant) { ending_.insert_or_assign(worker, std::move(grant)); }
  void on_exited(WorkerId worker) { ending_.erase(worker); }

 private:
  std::vector<cluster::Device> all_;
  std::set<DeviceId> bound_;
  std::map<WorkerId, Grant> ending_;  ///< last, because grants refer to what is above
};

}  // namespace banyan::node
