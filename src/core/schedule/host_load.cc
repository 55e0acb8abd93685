#include "core/schedule/host_load.h"

#include <algorithm>

namespace banyan::schedule {

namespace {
// For comparing a/cpus(a) with b/cpus(b) without a division. A host that has not told its cpus counts as one
// with a single cpu.
std::uint64_t share(std::uint64_t load, const HostLoad& other) {
  return load * std::max<std::uint64_t>(other.cpus, 1);
}
}  // namespace

HostLoad load_of(const cluster::Cluster& cluster, const HostId& host) {
  const cluster::Ledger& ledger = cluster.ledger();
  HostLoad load{.host = host,
                .replicas = ledger.replicas_on(host),
                .cells = ledger.cells_on(host),
                .idle_gpus = ledger.device_counts(host).idle,
                .busy_gpus = ledger.device_counts(host).bound};
  const auto known = cluster.hosts().find(host);
  if (known == cluster.hosts().end()) return load;
  load.cpus = known->second.capacity.cpus;
  load.memory_bytes = known->second.capacity.memory_bytes;
  return load;
}

std::strong_ordering compare_held(const HostLoad& a, const HostLoad& b) {
  return share(a.replicas, b) <=> share(b.replicas, a);
}

bool holds_less(const HostLoad& a, const HostLoad& b) {
  const auto order = compare_held(a, b);
  return order != 0 ? order < 0 : a.host < b.host;
}

std::vector<HostId> first_hosts(const std::vector<HostLoad>& hosts, std::uint64_t wanted, Before before) {
  std::vector<const HostLoad*> order;
  for (const HostLoad& load : hosts) order.push_back(&load);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(wanted, order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](const HostLoad* a, const HostLoad* b) { return before(*a, *b); });
  std::vector<HostId> chosen;
  for (auto load = order.begin(); load != end; ++load) chosen.push_back((*load)->host);
  return chosen;
}

bool runs_less(const HostLoad& a, const HostLoad& b) {
  const std::uint64_t cells_a = share(a.cells, b), cells_b = share(b.cells, a);
  return cells_a != cells_b ? cells_a < cells_b : holds_less(a, b);
}

}  // namespace banyan::schedule
