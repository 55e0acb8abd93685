// The hosts as the gateway knows them, and what sessions hold on them. This is plain data: it decides
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/device.h"
#include "core/cluster/kernel.h"
#include "core/cluster/ledger.h"

namespace banyan::cluster {

/// What a host says that it has. A 0 means that it has none, or has not said.
struct Capacity {
  std::uint64_t cpus = 0;
  std::uint64_t gpus = 0;  ///< a host of an earlier version has GPUs and names no devices
  std::uint64_t memory_bytes = 0;
  std::vector<Device> devices;
};

/// Whether sessions can count on a host now.
enum class HostState : std::uint8_t {
  kUnheard,  ///< since it started last it has not said what it holds
  kUp,       ///< it answers, and what it holds is known: a session may count on it
  kSilent    ///< it answered before
};

/// What is known of one host.
struct Host {
  HostState state = HostState::kUnheard;
  Capacity capacity;
  /// All kernels that its configuration names. A host of an earlier version reports none and runs the default
  /// kernel.
  std::vector<KernelReport> kernels;
  Time kernels_since;     ///< since when it has reported these kernels, after it started last
  bool draining = false;  ///< it gets no new replicas, and those that it has move to other hosts
  bool forced = false;    ///< and they do so also where a session loses a variable by that
};

/// What a session needs of its hosts.
struct SessionKind {
  std::string kernel;
  Demand demand;                  ///< of each of its cells
  std::string owner = {};         ///< whose it is; empty when nobody has said
  bool reserves_devices = false;  ///< what its first cell has is its own until it is suspended or closed
  bool rests_at_once = false;     ///< it is suspended whenever nothing happens in it
};

/// The hosts by name, the kernels that they can run, and the ledger.
class Cluster {
 public:
  /// `default_kernel`: the kernel that a host runs which reports none.
  explicit Cluster(std::string default_kernel) : default_kernel_(std::move(default_kernel)) {}

  // Changes, as the gateway hears of them. What is said of a host that was not added is ignored.
  /// The host is one of the platform's. A host that is there already keeps what is known of it.
  void add(const HostId& host) { hosts_.try_emplace(host); }
  /// The host is none of the platform's any more. What sessions hold there stays in the ledger until they say
  /// otherwise.
  void remove(const HostId& host);
  /// From now on it is drained, or it takes part again. `forced`: as in Host.
  void set_draining(const HostId& host, bool draining, bool forced = false);
  /// True when the host's kernels or devices have changed.
  bool report(const HostId& host, Capacity capacity, std::vector<KernelReport> kernels, Time now);
  void set_state(const HostId& host, HostState state);
  /// The session is of this kind, and has replicas on these hosts and on no others.
  void hold(const SessionId& session, SessionKind kind, std::set<HostId> hosts);
  /// The session has one more replica, on this host.
  void add_replica(const SessionId& session, const HostId& host);
  void run(const SessionId& session, std::optional<Binding> binding) {
    ledger_.run(session, std::move(binding));
  }
  void report_bound(const HostId& host, const SessionId& session, std::set<DeviceId> devices) {
    ledger_.report_bound(host, session, std::move(devices));
  }
  /// These devices there are the session's also between its cells; nothing: none are.
  void reserve(const SessionId& session, std::optional<Binding> binding) {
    ledger_.reserve(session, std::move(binding));
  }
  void drop(const SessionId& session);
  /// The hosts of which some count of devices may have changed since this was called last.
  [[nodiscard]] std::set<HostId> take_changed_devices() { return ledger_.take_changed(); }
  /// The owners whose cells' number of devices may have.
  [[nodiscard]] std::set<std::string> take_changed_owners() { return ledger_.take_changed_owners(); }

  // Questions.
  [[nodiscard]] const std::map<HostId, Host>& hosts() const { return hosts_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// Whether sessions may count on the host.
  [[nodiscard]] bool usable(const HostId& host) const;
  /// Whether the host may get new replicas: it is usable, and it is not being drained.
  [[nodiscard]] bool takes_replicas(const HostId& host) const;
  [[nodiscard]] bool draining(const HostId& host) const;
  /// GPUs that the kernels of the replicas on the host need for a cell, all together: what is promised there.
  [[nodiscard]] std::uint64_t subscribed_gpus(const HostId& host) const;
  /// How many GPUs the host reported; 0 for an unknown host.
  [[nodiscard]] std::uint64_t gpus_of(const HostId& host) const;
  /// The report of that host on the kernel, under the kernel's own name. A host that has not reported since
  /// it started counts as checking. `reason` explains every state but kRuns.
  [[nodiscard]] KernelReport kernel_on(const HostId& host, const std::string& kernel) const;
  /// Why the host has not what a cell needs, also when none of it is bound; nothing when it has.
  [[nodiscard]] std::optional<std::string> why_too_small(const HostId& host, const Demand& demand) const;
  /// What the session is; nothing while it holds nothing.
  [[nodiscard]] const SessionKind* kind_of(const SessionId& session) const;
  /// The host has said that it cannot run the session's kernel.
  [[nodiscard]] bool is_unable(const HostId& host, const SessionId& session) const;
  /// Whether the host can run the kernel will be known soon.
  [[nodiscard]] bool is_trying(const HostId& host, const std::string& kernel) const;
  /// Since when the host has reported that it cannot run the kernel; nothing when it has not.
  [[nodiscard]] std::optional<Time> unable_since(const HostId& host, const std::string& kernel) const;
  /// Why the session could not go on there; nothing when it can. A host with another minor version of Python
  /// is refused, because it may not load the values, which are pickles of the Python that made them.
  [[nodiscard]] std::optional<std::string> why_not_on(const HostId& host, const SessionId& session) const;
  /// For a person, to follow a sentence: which hosts cannot run the kernel and why. Empty when none says so.
  [[nodiscard]] std::string hosts_unable(const std::string& kernel) const;
  /// Why a session of this kernel has no place anywhere; nothing while some host can run it or is checking.
  [[nodiscard]] std::optional<std::string> no_host_runs(const std::string& kernel) const;

 private:
  void subscribe(const SessionId& session, bool more);

  std::string default_kernel_;
  std::map<HostId, Host> hosts_;
  std::map<SessionId, SessionKind> kinds_;      ///< of each session that holds something
  std::map<HostId, std::uint64_t> subscribed_;  ///< subscribed_gpus(), of hosts where that is not 0
  Ledger ledger_;
};

}  // namespace banyan::cluster
