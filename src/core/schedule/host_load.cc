#include "core/schedule/host_load.h"

#include <algorithm>
#include <tuple>

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
                .idle_gpus = ledger.device_counts(host).idle};
  const auto known = cluster.hosts().find(host);
  if (known == cluster.hosts().end()) return load;
  load.cpus = known->second.capacity.cpus;
  load.memory_bytes = known->second.capacity.memory_bytes;
  return load;
}

bool holds_less(const HostLoad& a, const HostLoad& b) {
  return std::tuple(share(a.replicas, b), a.host) < std::tuple(share(b.replicas, a), b.host);
}

bool runs_less(const HostLoad& a, const HostLoad& b) {
  const std::uint64_t cells_a = share(a.cells, b), cells_b = share(b.cells, a);
  return cells_a != cells_b ? cells_a < cells_b : holds_less(a, b);
}

}  // namespace banyan::schedule
