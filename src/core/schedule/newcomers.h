// New sessions that wait for hosts.
#pragma once

#include <cstdint>
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
  /// The next decision about one that waits, PlaceSession or RefuseSession; nothing: all go on waiting. What
  /// it places has to be in the cluster's ledger before the next call.
  [[nodiscard]] std::optional<Decision> next(Time now);

 private:
  struct Waiting {
    SessionId session;
    std::string kernel;
    Time since;
  };
  /// Where it goes; nothing: it has to wait.
  [[nodiscard]] std::optional<std::vector<HostId>> place(const Waiting& one, Duration waited) const;
  [[nodiscard]] std::string too_few(const Waiting& one) const;

  std::uint64_t replicas_;
  const Placement& placement_;
  const cluster::Cluster& cluster_;
  std::vector<Waiting> waiting_;  ///< who asked first is first
};

}  // namespace banyan::schedule
