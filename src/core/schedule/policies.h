// The policies, one in each file.
#pragma once

#include <memory>

#include "core/schedule/policy.h"

namespace banyan::schedule {

/// Fewest replicas for each cpu.
std::unique_ptr<const Placement> least_loaded();
/// The last executor first, then by load.
std::unique_ptr<const ExecutorChoice> last_executor();
/// By load: fewest running cells, then fewest replicas.
std::unique_ptr<const ExecutorChoice> least_loaded_executor();

/// True when `a` runs fewer cells for each cpu than `b`, or as many and has fewer replicas. Equal loads: by
/// name.
bool runs_less(const HostLoad& a, const HostLoad& b);
/// True when `a` has fewer replicas for each cpu than `b`. Equal loads: by name.
bool holds_less(const HostLoad& a, const HostLoad& b);

}  // namespace banyan::schedule
