// The hosts as the gateway knows them, and what sessions hold on them. Plain data: it decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/cluster/kernel.h"
#include "core/cluster/ledger.h"

namespace banyan::cluster {

/// What a host has, as it says; 0: it has not said, or has none.
struct Capacity {
  std::uint64_t cpus = 0;
  std::uint64_t gpus = 0;
  std::uint64_t memory_bytes = 0;
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
  /// All that it can or could run. None: a host of an earlier version, which runs the default kernel.
  std::vector<KernelReport> kernels;
  Time kernels_since;  ///< since when it has told of these, after it started last
};

/// The hosts by name, the kernels that they can run, and the ledger.
class Cluster {
 public:
  /// `default_kernel`: what a host runs that names none.
  Cluster(const std::vector<HostId>& hosts, std::string default_kernel);

  // What is heard. A host that the configuration does not name is ignored.
  /// True when its kernels have changed.
  bool report(const HostId& host, const Capacity& capacity, std::vector<KernelReport> kernels, Time now);
  void set_state(const HostId& host, HostState state);
  /// The session, of this kernel, has replicas on these hosts and none elsewhere.
  void hold(const SessionId& session, std::string kernel, std::set<HostId> hosts);
  /// One more, beside those that it has.
  void add_replica(const SessionId& session, const HostId& host);
  void run(const SessionId& session, std::optional<HostId> host) { ledger_.run(session, std::move(host)); }
  void drop(const SessionId& session);

  // What is known.
  [[nodiscard]] const std::map<HostId, Host>& hosts() const { return hosts_; }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  /// A session may count on it.
  [[nodiscard]] bool usable(const HostId& host) const;
  /// How many GPUs it said it has; 0 for an unknown host.
  [[nodiscard]] std::uint64_t gpus_of(const HostId& host) const;
  /// The kernel on that host, under the kernel's own name. A host that is
  /// unheard of is still checking. `reason` says, for whatever is not kRuns, why.
  [[nodiscard]] KernelReport kernel_on(const HostId& host, const std::string& kernel) const;
  /// Since when the host says that it cannot run the kernel; nothing when it does not say so.
  [[nodiscard]] std::optional<Time> unable_since(const HostId& host, const std::string& kernel) const;
  /// Why the session could not go on there; nothing when it can. Its values are pickles of the Python that
  /// made them: one of another minor version may not load them.
  [[nodiscard]] std::optional<std::string> why_not_on(const HostId& host, const SessionId& session) const;
  /// For a person, to follow a sentence: which hosts cannot run the kernel and why. Empty when none says so.
  [[nodiscard]] std::string hosts_unable(const std::string& kernel) const;
  /// Why a session of this kernel has no place anywhere; nothing while a host can run it, or may yet.
  [[nodiscard]] std::optional<std::string> no_host_runs(const std::string& kernel) const;

 private:
  std::string default_kernel_;
  std::map<HostId, Host> hosts_;
  std::map<SessionId, std::string> kernels_;  ///< of the sessions that hold something
  Ledger ledger_;
};

}  // namespace banyan::cluster
