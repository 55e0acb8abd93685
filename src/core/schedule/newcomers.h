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
#include "core/schedule/subscription.h"

namespace banyan::schedule {

/// Places each new session on hosts that can run its kernel, one host for each replica. While a platform has
/// just started, sessions wait for its hosts. When not all hosts come up, a majority of the replicas is
/// enough, and the session grows later.
class Newcomers {
 public:
  /// `replicas`: how many a session has. `placement` and `cluster` outlive this.
  Newcomers(std::uint64_t replicas, const Placement& placement, const SubscriptionLimit& limit,
            const cluster::Cluster& cluster);

  void add(SessionAsked asked, Time now);
  void drop(const SessionId& session);
  /// Decides on each session that need not wait any more, in the order in which they came: PlaceSession or
  /// RefuseSession. `decided` hears each decision before the next session is looked at, and writes the placed
  /// replicas into the cluster's ledger.
  void decide(Time now, const std::function<void(Decision)>& decided);

 private:
  struct Waiting {
    SessionId session;
    cluster::SessionKind kind;
    Time since;
  };
  /// Nothing when the session goes on waiting.
  [[nodiscard]] std::optional<Decision> decision_on(const Waiting& one, Time now) const;
  /// The hosts of the session; nothing when it has to wait.
  [[nodiscard]] std::optional<std::vector<HostId>> place(const Waiting& one, Duration waited) const;
  [[nodiscard]] std::string too_few(const Waiting& one) const;
  /// Why the host can hold no replica of it, also while nothing runs there; nothing when it can.
  [[nodiscard]] std::optional<std::string> why_not(const HostId& host, const Waiting& one,
                                                   std::optional<double> most) const;

  std::uint64_t replicas_;
  const Placement& placement_;
  SubscriptionLimit limit_;
  const cluster::Cluster& cluster_;
  std::vector<Waiting> waiting_;  ///< in the order in which they asked
};

}  // namespace banyan::schedule
