// Job lists: read from a file, or made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/eva/facts.h"

namespace banyan::sim::eva {

/// A job: equal tasks that advance together.
struct Job {
  std::uint64_t id = 0;
  std::uint32_t workload = 0;  ///< an index into JobList::workloads
  std::uint32_t tasks = 1;
  std::int64_t arrival_s = 0;
  double work_s = 0;  ///< how long it runs alone: a whole number of iterations
};

/// Jobs in the order of their arrival, and their workloads.
struct JobList {
  Catalog catalog;
  std::vector<Workload> workloads;   ///< as the scheduler knows them: one for each demand of a base workload
  std::vector<std::uint32_t> bases;  ///< by workload: the base workload that it runs as
  std::vector<Job> jobs;

  /// The index of the workload with this name, which is added when there is none yet.
  std::uint32_t workload(const std::string& name, std::uint32_t base, const Resources& on_p3,
                         const Resources& on_others);
  /// Adds a job; its time is cut to whole iterations of its workload, as a trace of iterations would have it.
  void add(std::uint64_t id, std::uint32_t workload, std::uint32_t tasks, std::int64_t arrival_s,
           double duration_s);
};

/// Reads `job,name,arrival_s,duration_s,gpu,vcpu,ram_gib[,tasks]` (more columns are ignored), zstd-compressed
/// when the name ends in .zst. A name is a base workload's, perhaps with a variant: gcn[3]. Errors name the
/// file and the line.
Result<JobList> read_jobs(const std::string& path);

/// `count` jobs of our own making for tests and first tries: Poisson arrivals with this mean gap, base
/// workloads in turn at random, durations by Gavel's model (10^x minutes; x uniform in [1.5, 3] for 80%, in
/// [3, 4] for 20%).
JobList synthetic_jobs(std::uint64_t seed, std::uint32_t count, double gap_s = 1200);

}  // namespace banyan::sim::eva
