// The ledger: on which hosts each session has replicas, where its cell runs, and on which devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/cluster/device.h"
#include "core/cluster/holdings.h"

namespace banyan::cluster {

/// What each session holds, and the devices of each host. The sums of each host are computed from the
/// sessions' entries, so they can neither drift nor become negative. Each call states what holds from now on,
/// whatever was said before, so a call that is repeated changes nothing.
class Ledger {
 public:
  /// The session has one replica on each of these hosts, and none elsewhere.
  void hold(const SessionId& session, std::set<HostId> hosts);
  /// The session is theirs.
  void set_owner(const SessionId& session, std::string owner) {
    holdings_.set_owner(session, std::move(owner));
  }
  /// The session's cell runs there on these devices, or will in a moment; nothing: none of its cells runs. A
  /// session runs one cell at a time.
  void run(const SessionId& session, std::optional<Binding> binding);
  /// These devices there, at least one, are the session's also between its cells; nothing: none are.
  void reserve(const SessionId& session, std::optional<Binding> binding);
  /// The host says that a cell of the session has these devices there, whatever else is known of the cell.
  void report_bound(const HostId& host, const SessionId& session, std::set<DeviceId> devices);
  /// Nobody knows what cells have on that host, or it is known again: meanwhile it is no part of anybody's
  /// share.
  void set_silent(const HostId& host, bool silent);
  /// What the host has said of that does not hold any more.
  void forget_bound(const HostId& host);
  /// The session holds nothing any more.
  void drop(const SessionId& session);
  /// The host has these devices and no others.
  void set_devices(const HostId& host, std::vector<Device> devices);

  /// The hosts of the session's replicas; none for a session that is not known.
  [[nodiscard]] const std::set<HostId>& replicas_of(const SessionId& session) const;
  [[nodiscard]] std::uint64_t replicas_on(const HostId& host) const;
  /// The sessions with a replica on the host, in the order of their ids.
  [[nodiscard]] std::vector<SessionId> sessions_on(const HostId& host) const;
  [[nodiscard]] std::uint64_t cells_on(const HostId& host) const;
  /// Where the session's cell runs, or is about to, with the devices that the scheduler has named for it:
  /// none from when the host has reported itself which ones the cell has. Nothing when no cell runs.
  [[nodiscard]] std::optional<Binding> binding_of(const SessionId& session) const;
  /// The host has the device, and it works.
  [[nodiscard]] bool works(const HostId& host, const DeviceId& device) const;
  /// The devices that are the session's also between its cells.
  [[nodiscard]] std::optional<Binding> reserved_by(const SessionId& session) const;
  [[nodiscard]] DeviceCounts device_counts(const HostId& host) const;
  /// The hosts of which some count of devices may have changed since this was called last.
  [[nodiscard]] std::set<HostId> take_changed() { return std::exchange(changed_, {}); }
  /// The owners of whose devices that is so.
  [[nodiscard]] std::set<std::string> take_changed_owners() { return holdings_.take_changed(); }
  /// The healthy devices of the host that no session has, in its order.
  [[nodiscard]] std::vector<DeviceId> idle_devices(const HostId& host) const;
  /// The session that has the device, for a cell or reserved; nothing when none has.
  [[nodiscard]] std::optional<SessionId> holder_of(const HostId& host, const DeviceId& device) const;
  /// So many of them for the session; none when there are not so many. Those that its own cells had last come
  /// first, because its process may have its data there; those that another session's cells had last come
  /// last.
  [[nodiscard]] std::set<DeviceId> some_idle(const HostId& host, const SessionId& session,
                                             std::uint64_t count) const;
  /// What sessions and their owners have of all hosts' devices.
  [[nodiscard]] const Holdings& holdings() const { return holdings_; }
  /// How many entries it has, of sessions and of hosts.
  [[nodiscard]] std::size_t size() const { return sessions_.size() + hosts_.size(); }

 private:
  struct Entry {
    std::set<HostId> replicas;
    std::optional<Binding> cell;
    std::optional<Binding> reserved;
  };
  struct Sum {
    std::uint64_t replicas = 0;
    std::uint64_t cells = 0;
    std::vector<Device> devices;
    std::map<SessionId, std::set<DeviceId>> reported;  ///< what the host has said that cells have
    /// How often each device is named as bound, by run(), report_bound() and reserve(): mostly by several,
    /// for one cell.
    std::map<DeviceId, std::uint64_t> bound;
    std::map<DeviceId, SessionId> last;  ///< whose cell had each device last
    DeviceCounts counts;                 ///< follow from `devices` and `bound`
    bool silent = false;
  };
  void forget_if_idle(const HostId& host);
  void release_replicas(const std::set<HostId>& hosts);
  void release_reserved(const SessionId& session, const std::optional<Binding>& binding);
  void release_cell(const SessionId& session, const std::optional<Binding>& binding);
  void take(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices);
  void release(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices);
  void count(const HostId& host);
  void hold_devices(const HostId& host, const SessionId& session, const std::set<DeviceId>& devices,
                    bool held);

  std::map<SessionId, Entry> sessions_;
  std::map<HostId, Sum> hosts_;  ///< the hosts with devices, and those on which some session holds something
  std::set<HostId> changed_;
  Holdings holdings_;
};

}  // namespace banyan::cluster
