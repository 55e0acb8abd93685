// New sessions that wait for hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/schedule/events.h"
#include "core/schedule/policy.h"

namespace banyan::schedule {

/// Places each on as many hosts as it is to have replicas, of those that can run its kernel. A platform that
/// has just started is waited for; when not all of its hosts come up a majority of the replicas is enough,
/// and the session grows later.
class Newcomers {
 public:
  /// `replicas`: of a session. `placement` and `cluster` outlive this.
  Newcomers(std::uint64_t replicas, const Placement& placement, const cluster::Cluster& cluster);

  void add(SessionAsked asked, Time now);
  void drop(const SessionId& session);
  /// PlaceSession or RefuseSession for each that need not wait any more, in the order in which they came.
  /// Each is told to `decided` before the next one is looked at: what is placed has to be in the cluster's
  /// ledger.
  void decide(Time now, const std::function<void(Decision)>& decided);

 private:
  struct Waiting {
    SessionId session;
    std::string kernel;
    Time since;
  };
  /// Nothing: it goes on waiting.
  [[nodiscard]] std::optional<Decision> decision_on(const Waiting& one, Time now) const;
  /// Where it goes; nothing: it has to wait.
  [[nodiscard]] std::optional<std::vector<HostId>> place(const Waiting& one, Duration waited) const;
  [[nodiscard]] std::string too_few(const Waiting& one) const;

  std::uint64_t replicas_;
  const Placement& placement_;
  const cluster::Cluster& cluster_;
  std::vector<Waiting> waiting_;  ///< who asked first is first
};

}  // namespace banyan::schedule
