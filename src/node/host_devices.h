// The devices of a host: which of them are bound to a cell, and which of them processes use.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/cluster/device.h"

namespace banyan::node {

/// Devices are bound by the host itself, because only it knows what runs on it: a gateway may believe that a
/// host that does not answer has not begun a cell, and grant its devices to another one.
///
/// A library that has begun to use a device mostly goes on with it until its process ends, also between cells
/// and in cells that have been granted none. So a cell also gets what its process has been granted before and
/// still uses, as long as no cell that asks for devices has been refused them; and where a process uses what
/// another session's cell gets, it is in the way: that cell waits until the process is gone.
class HostDevices {
 public:
  HostDevices() = default;
  HostDevices(const HostDevices&) = delete;  // grants refer to it
  HostDevices& operator=(const HostDevices&) = delete;

  /// The devices of one cell; given back when this is destroyed. It must not outlive its HostDevices.
  class Grant {
   public:
    Grant() = default;
    Grant(HostDevices& owner, std::set<DeviceId> devices, bool for_new_process)
        : owner_(&owner), devices_(std::move(devices)), for_new_process_(for_new_process) {}
    Grant(Grant&& other) noexcept
        : owner_(other.owner_),
          devices_(std::exchange(other.devices_, {})),
          for_new_process_(other.for_new_process_) {}
    Grant& operator=(Grant&& other) noexcept {
      std::swap(owner_, other.owner_);
      std::swap(devices_, other.devices_);
      std::swap(for_new_process_, other.for_new_process_);
      return *this;
    }
    ~Grant() {
      for (const DeviceId& device : devices_) owner_->bound_.erase(device);
    }

    [[nodiscard]] const std::set<DeviceId>& devices() const { return devices_; }
    /// Gives back all but so many.
    void shrink(std::uint64_t gpus) {
      while (devices_.size() > gpus)
        owner_->bound_.erase(devices_.extract(std::prev(devices_.end())).value());
    }
    /// The cell's process uses other devices than these, and would go on with them.
    [[nodiscard]] bool is_for_new_process() const { return for_new_process_; }

   private:
    HostDevices* owner_ = nullptr;  ///< null: it holds nothing
    std::set<DeviceId> devices_;
    bool for_new_process_ = false;
  };

  /// What is wanted for a cell.
  struct Wish {
    SessionId session;
    std::uint64_t gpus = 0;
    std::set<DeviceId> preferred = {};    ///< those that the gateway has chosen
    std::optional<WorkerId> worker = {};  ///< that is to run it
  };

  void set(std::vector<cluster::Device> devices) { all_ = std::move(devices); }
  [[nodiscard]] const std::vector<cluster::Device>& all() const { return all_; }
  /// Binds so many devices: those that the worker has and uses if these are enough, else those that are
  /// preferred if they can be bound, else any, and those first that no other session's process uses. A cell
  /// that wants none gets what its worker has and uses. kUnavailable when too many are bound to other cells,
  /// kNotFound when the host has too few that work; with a reason for a person.
  [[nodiscard]] Result<Grant> bind(const Wish& wish);

  /// The worker ran the cell that has this, and is being ended: what it uses is free when it is gone.
  void keep_until_exit(WorkerId worker, Grant grant) { ending_.insert_or_assign(worker, std::move(grant)); }
  void on_exited(WorkerId worker);

  /// A cell begins in the worker with these, which its process may use from now on.
  void on_goes(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices);
  /// The worker says that its process uses these now.
  void on_uses(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices);
  /// The worker's process, and those that it has started, use these now and no others.
  void on_all_uses(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices);
  [[nodiscard]] std::set<DeviceId> used_by(std::optional<WorkerId> worker) const;
  /// A cell with devices has begun in it.
  [[nodiscard]] bool has_been_granted(WorkerId worker) const;
  /// It uses what a cell of another session has.
  [[nodiscard]] bool is_in_the_way(WorkerId worker) const;
  /// The sessions of such workers.
  [[nodiscard]] std::set<SessionId> in_the_way() const;
  /// No other worker uses any of these.
  [[nodiscard]] bool are_clear(const std::set<DeviceId>& devices, WorkerId of) const;

 private:
  struct Use {
    SessionId session;
    std::set<DeviceId> devices;
    std::set<DeviceId> granted;  ///< to cells that it has run
  };
  /// What the worker has been granted, uses, and can be bound.
  [[nodiscard]] std::set<DeviceId> kept_by(std::optional<WorkerId> worker) const;
  [[nodiscard]] std::set<DeviceId> known(const std::set<DeviceId>& devices) const;
  struct Bound {
    SessionId session;
    bool asked_for = false;  ///< by the cell, or it has what its process uses
  };
  void note_refused();
  [[nodiscard]] bool is_free(const DeviceId& device) const;
  [[nodiscard]] std::set<DeviceId> choose(const Wish& wish, const std::vector<DeviceId>& free) const;

  std::vector<cluster::Device> all_;
  std::map<DeviceId, Bound> bound_;
  std::map<WorkerId, Use> uses_;  ///< of those that use some, or may
  /// Some cell was refused while a cell had these that had not asked for them.
  std::set<DeviceId> awaited_;
  std::map<WorkerId, Grant> ending_;  ///< last, because grants refer to what is above
};

}  // namespace banyan::node
