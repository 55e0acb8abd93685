// How far more GPUs may be promised than there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/cluster/cluster.h"

namespace banyan::schedule {

/// The most GPUs that may be promised, to those that there are times the replicas of a session (NotebookOS's
/// subscription ratio, SR).
struct SubscriptionLimit {
  enum class Kind : std::uint8_t {
    kNone,
    kFixed,
    kDynamic  ///< the ratio of all hosts together, and at least 1
  } kind = Kind::kNone;
  double most = 0;  ///< when it is fixed

  /// "none", "dynamic" or a number above 0. kInvalid says what it may be.
  static Result<SubscriptionLimit> parse(std::string_view text);
};

/// The ratio of a host, S / (G R), with `more` GPUs promised there; nothing for a host without GPUs.
std::optional<double> subscription_of(const cluster::Cluster& cluster, const HostId& host,
                                      std::uint64_t replicas, std::uint64_t more = 0);
/// The ratio of all hosts together, the sums of S and of G R; 0 without GPUs.
double subscription_of_all(const cluster::Cluster& cluster, std::uint64_t replicas);
/// The ratio that no host may pass now by a placement; nothing where there is no limit.
std::optional<double> most_subscribed(const cluster::Cluster& cluster, const SubscriptionLimit& limit,
                                      std::uint64_t replicas);
/// Why a replica whose cells need so many GPUs would pass that ratio there, for a person; nothing when it
/// would not.
std::optional<std::string> why_oversubscribed(const cluster::Cluster& cluster, std::optional<double> most,
                                              const HostId& host, std::uint64_t gpus, std::uint64_t replicas);

}  // namespace banyan::schedule
