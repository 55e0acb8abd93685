// Facts of Eva's evaluation: what EC2 offers, how its workloads behave, how they disturb each other. Sources:
// AWS price list us-east-1 (on demand, 2024); Eva, EuroSys'25, Figure 1, Tables 1 and 7, and its public
// artifact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/eva/catalog.h"

namespace banyan::sim::eva {

using namespace banyan::eva;  // NOLINT(google-build-using-namespace): the simulator of exactly this

/// What counts as one CPU of a demand: the trace counts hyperthreads, the physical experiments whole cores.
enum class CpuUnit { kHyperthread, kCore };

/// Seconds until an instance of a type serves, and until it is gone.
struct TypeDelays {
  std::int64_t acquire_s = 0;  ///< from the request to the start of billing
  std::int64_t set_up_s = 0;   ///< until the worker has started and registered; this time is billed
  std::int64_t terminate_s = 0;
};

/// The 21 types of the evaluation: families p3, c7i, r7i.
Catalog ec2_catalog(CpuUnit unit);
/// The delays of each type, by its index in ec2_catalog().
std::span<const TypeDelays> ec2_delays();

/// A measured workload (Table 7).
struct BaseWorkload {
  std::string_view name;
  double iterations_s = 0;    ///< iterations per second alone; jobs are whole numbers of iterations
  std::int64_t fetch_s = 0;   ///< fetching it takes so long at each launch
  std::int64_t build_s = 0;   ///< building it takes so long the first time on an instance
  std::int64_t init_s = 0;    ///< initialising takes so long after the launch, before there is progress
  std::int64_t upload_s = 0;  ///< uploading the checkpoint takes so long after the kill
  Resources on_p3;            ///< its demand on p3, in cores
  Resources on_others;        ///< its demand on c7i and r7i
};
/// The nine single-task workloads, in the order of the interference matrix.
std::span<const BaseWorkload> base_workloads();
/// The index of the workload with this name; nullopt when there is none.
std::optional<std::uint32_t> base_workload_named(std::string_view name);

/// The normalised throughput of one workload beside the other (Figure 1); 0.95 for pairs that were not
/// measured.
double measured_pair(std::uint32_t workload, std::uint32_t neighbour);

}  // namespace banyan::sim::eva
