// How much a host has to do, as policies see it, and which of two hosts has less.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/cluster/cluster.h"

namespace banyan::schedule {

/// What a policy knows of a host.
struct HostLoad {
  HostId host;
  std::uint64_t replicas = 0;      ///< how many replicas of all sessions it has
  std::uint64_t cells = 0;         ///< how many cells run there now
  std::uint64_t cpus = 0;          ///< 0 when unknown
  std::uint64_t memory_bytes = 0;  ///< that the machine has; 0 when unknown
  std::uint64_t idle_gpus = 0;     ///< that work and are bound to no cell
  std::uint64_t busy_gpus = 0;     ///< that are bound to cells
};

/// The load of a host. An unknown host gets its name and zeros.
[[nodiscard]] HostLoad load_of(const cluster::Cluster& cluster, const HostId& host);

/// True when `a` runs fewer cells for each cpu than `b`, or as many and has fewer replicas. Hosts with
/// equal loads are ordered by name.
bool runs_less(const HostLoad& a, const HostLoad& b);
/// By replicas for each cpu.
std::strong_ordering compare_held(const HostLoad& a, const HostLoad& b);
/// True when `a` has fewer replicas for each cpu than `b`. Hosts with equal loads are ordered by name.
bool holds_less(const HostLoad& a, const HostLoad& b);
/// Compares two hosts; an order without equals.
using Before = bool (*)(const HostLoad& a, const HostLoad& b);
/// At most so many of the hosts: those that come before all others, in that order.
[[nodiscard]] std::vector<HostId> first_hosts(const std::vector<HostLoad>& hosts, std::uint64_t wanted,
                                              Before before);

}  // namespace banyan::schedule
