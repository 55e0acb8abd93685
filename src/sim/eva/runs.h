// What the experiments share: simulations as cells, and variations of job lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/eva/cluster.h"
#include "sim/eva/experiment.h"

namespace banyan::sim::eva {

/// A list that several cells run on.
using SharedList = std::shared_ptr<const JobList>;

/// A simulation; the key is "LIST-POLICY-SETTING".
Cell simulation(const std::string& list_name, SharedList list, const std::string& policy,
                const std::string& setting = "", const Conditions& conditions = {});
/// The key that simulation() gives.
std::string simulation_key(const std::string& list_name, const std::string& policy,
                           const std::string& setting = "");

/// A view of a list that the caller keeps alive.
SharedList borrowed(const JobList& list);

/// Of the jobs with GPUs this share gets 2, 4 or 8 of them at 5:4:1, with CPUs and RAM in proportion as far
/// as a type has them (Figure 6).
JobList with_large_jobs(const JobList& list, double share, std::uint64_t seed);
/// This share of the jobs gets 2 or 4 tasks at 1:1 (Figure 7).
JobList with_many_tasks(const JobList& list, double share, std::uint64_t seed);
/// The same jobs, arriving so much faster (Figure 8).
JobList with_arrivals(const JobList& list, double factor);
/// The same jobs with each other's run times, dealt at random.
JobList with_times_dealt_anew(const JobList& list, std::uint64_t seed);
/// The first jobs.
JobList first_jobs(const JobList& list, std::size_t count);

}  // namespace banyan::sim::eva
