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

/// What a CPU of a demand is: the trace counts hyperthreads, the physical experiments whole cores.
enum class CpuUnit { kHyperthread, kCore };

/// Seconds until an instance of a type serves, and until it is gone.
struct TypeDelays {
  std::int64_t acquire_s = 0;  ///< from request to the start of billing
  std::int64_t set_up_s = 0;   ///< billed: worker start and registration
  std::int64_t terminate_s = 0;
};

/// The 21 types of the evaluation: families p3, c7i, r7i.
Catalog ec2_catalog(CpuUnit unit);
/// By index of the type in ec2_catalog().
std::span<const TypeDelays> ec2_delays();

/// A measured workload (Table 7).
struct BaseWorkload {
  std::string_view name;
  double iterations_s = 0;    ///< alone; jobs are whole numbers of iterations
  std::int64_t fetch_s = 0;   ///< at each launch
  std::int64_t build_s = 0;   ///< the first time on an instance
  std::int64_t init_s = 0;    ///< after the launch, before progress
  std::int64_t upload_s = 0;  ///< checkpoint, after the kill
  Resources on_p3;            ///< demand in cores
  Resources on_others;        ///< on c7i and r7i
};
/// The nine single-task workloads, in the order of the interference matrix.
std::span<const BaseWorkload> base_workloads();
/// By name; nullopt: no such workload.
std::optional<std::uint32_t> base_workload_named(std::string_view name);

/// Normalised throughput of one beside the other (Figure 1); 0.95 where nobody measured.
double measured_pair(std::uint32_t workload, std::uint32_t neighbour);

}  // namespace banyan::sim::eva
