// The policies. `least_loaded.cc` has the placement and the executor choice of that name.
#pragma once

#include <memory>

#include "core/schedule/policy.h"

namespace banyan::schedule {

/// Hosts with the fewest replicas for each cpu come first.
std::unique_ptr<const Placement> least_loaded();
/// Hosts with the fewest GPUs that cells have now come first, then the least loaded ones (NotebookOS).
std::unique_ptr<const Placement> fewest_busy_gpus();
/// Hosts with the most replicas for each cpu come first, so that others stay empty.
std::unique_ptr<const Placement> packed();
/// Hosts with the fewest replicas come first, however large they are.
std::unique_ptr<const Placement> spread();
/// Any hosts: a baseline.
std::unique_ptr<const Placement> at_random();
/// The last executor comes first, then hosts by load.
std::unique_ptr<const ExecutorChoice> last_executor();
/// For a cell that needs GPUs, hosts with most idle GPUs come first. Then ready workers, then hosts by load:
/// fewest running cells for each cpu, then fewest replicas.
std::unique_ptr<const ExecutorChoice> least_loaded_executor();

}  // namespace banyan::schedule
