// The public Alibaba trace (cluster-trace-gpu-v2023) as a job list.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace banyan::sim::eva {

/// Which durations jobs get.
enum class Durations {
  kTrace,  ///< the durations of the trace, from scheduling to deletion
  kGavel,  ///< 10^x minutes, with x uniform in [1.5, 3] for 80% of the jobs and in [3, 4] for 20%
};

/// Reads openb_pod_list_default.csv and gives a list that read_jobs() reads. Failed pods and those that fit
/// no type are left out; GPUs, CPUs and GiB are rounded up; arrivals are exponential with a mean gap of 1,200
/// s; each distinct demand runs as one of the base workloads, drawn from `seed`.
Result<std::string> convert_alibaba(const std::string& csv_text, const std::string& file, Durations durations,
                                    std::uint64_t seed);

}  // namespace banyan::sim::eva
