// What the experiments share: simulations as cells, and variations of job lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/eva/cluster.h"
#include "sim/eva/experiment.h"

namespace banyan::sim::eva {

/// A list on which several cells run.
using SharedList = std::shared_ptr<const JobList>;

/// The cell of a simulation; its key is "LIST-POLICY-SETTING".
Cell simulation(const std::string& list_name, SharedList list, const std::string& policy,
                const std::string& setting = "", const Conditions& conditions = {});
/// The key that simulation() gives.
std::string simulation_key(const std::string& list_name, const std::string& policy,
                           const std::string& setting = "");

/// A list that is not owned: the caller keeps it alive.
SharedList borrowed(const JobList& list);

/// The list in which this share of the jobs with GPUs gets 2, 4 or 8 of them, at 5:4:1, with CPUs and RAM in
/// proportion as far as a type has them (Figure 6).
JobList with_large_jobs(const JobList& list, double share, std::uint64_t seed);
/// The list in which this share of the jobs gets 2 or 4 tasks, at 1:1 (Figure 7).
JobList with_many_tasks(const JobList& list, double share, std::uint64_t seed);
/// The jobs of a list, which arrive faster by this factor (Figure 8).
JobList with_arrivals(const JobList& list, double factor);
/// The jobs of a list with their run times dealt anew at random.
JobList with_times_dealt_anew(const JobList& list, std::uint64_t seed);
/// The first jobs.
JobList first_jobs(const JobList& list, std::size_t count);

}  // namespace banyan::sim::eva
