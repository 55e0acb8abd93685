// The policies, one in each file.
#pragma once

#include <memory>

#include "core/schedule/policy.h"

namespace banyan::schedule {

/// Hosts with the fewest replicas for each cpu come first.
std::unique_ptr<const Placement> least_loaded();
/// The last executor comes first, then hosts by load.
std::unique_ptr<const ExecutorChoice> last_executor();
/// Hosts come by load: fewest running cells, then fewest replicas.
std::unique_ptr<const ExecutorChoice> least_loaded_executor();

/// True when `a` runs fewer cells for each cpu than `b`, or as many and has fewer replicas. Hosts with
/// equal loads are ordered by name.
bool runs_less(const HostLoad& a, const HostLoad& b);
/// True when `a` has fewer replicas for each cpu than `b`. Hosts with equal loads are ordered by name.
bool holds_less(const HostLoad& a, const HostLoad& b);

}  // namespace banyan::schedule
