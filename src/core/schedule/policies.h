// The policies. `least_loaded.cc` has the placement and the executor choice of that name.
#pragma once

#include <memory>

#include "core/schedule/policy.h"

namespace banyan::schedule {

/// Hosts with the fewest replicas for each cpu come first.
std::unique_ptr<const Placement> least_loaded();
/// The last executor comes first, then hosts by load.
std::unique_ptr<const ExecutorChoice> last_executor();
/// For a cell that needs GPUs, hosts with most idle GPUs come first. Then ready workers, then hosts by load:
/// fewest running cells for each cpu, then fewest replicas.
std::unique_ptr<const ExecutorChoice> least_loaded_executor();

}  // namespace banyan::schedule
