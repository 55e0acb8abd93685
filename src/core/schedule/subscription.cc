#include "core/schedule/subscription.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace banyan::schedule {

namespace {
std::string rounded(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}
}  // namespace

Result<SubscriptionLimit> SubscriptionLimit::parse(std::string_view text) {
  if (text == "none") return SubscriptionLimit{};
  if (text == "dynamic") return SubscriptionLimit{.kind = Kind::kDynamic};
  double most = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), most);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || !std::isfinite(most) || most <= 0)
    return fail(ErrorKind::kInvalid,
                "'" + std::string(text) + "' is no limit: give \"none\", \"dynamic\" or a number above 0");
  return SubscriptionLimit{Kind::kFixed, most};
}

std::optional<double> subscription_of(const cluster::Cluster& cluster, const HostId& host,
                                      std::uint64_t replicas, std::uint64_t more) {
  const std::uint64_t gpus = cluster.ledger().device_counts(host).all();
  if (gpus == 0) return std::nullopt;
  return static_cast<double>(cluster.subscribed_gpus(host) + more) / static_cast<double>(gpus * replicas);
}

double subscription_of_all(const cluster::Cluster& cluster, std::uint64_t replicas) {
  std::uint64_t promised = 0, gpus = 0;
  for (const auto& [host, known] : cluster.hosts()) {
    promised += cluster.subscribed_gpus(host);
    gpus += cluster.ledger().device_counts(host).all();
  }
  return gpus == 0 ? 0 : static_cast<double>(promised) / static_cast<double>(gpus * replicas);
}

std::optional<double> most_subscribed(const cluster::Cluster& cluster, const SubscriptionLimit& limit,
                                      std::uint64_t replicas) {
  using Kind = SubscriptionLimit::Kind;
  if (limit.kind == Kind::kNone) return std::nullopt;
  return limit.kind == Kind::kFixed ? limit.most : std::max(1.0, subscription_of_all(cluster, replicas));
}

std::optional<std::string> why_oversubscribed(const cluster::Cluster& cluster, std::optional<double> most,
                                              const HostId& host, std::uint64_t gpus,
                                              std::uint64_t replicas) {
  if (!most || gpus == 0) return std::nullopt;
  const auto after = subscription_of(cluster, host, replicas, gpus);
  if (!after || *after <= *most) return std::nullopt;
  return "its sessions would share its GPUs at a ratio of " + rounded(*after) + ", and " + rounded(*most) +
         " is the limit (subscription_limit)";
}

}  // namespace banyan::schedule
