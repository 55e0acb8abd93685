// A cloud under a scheduler, second by second in effect, event by event in fact (Eva, EuroSys'25, §6; where
// the paper is silent, what its public artifact does).
#pragma once

#include <cstdint>
#include <optional>

#include "core/eva/fleet.h"
#include "sim/eva/jobs.h"

namespace banyan::sim::eva {

/// What the throughput table tells apart.
enum class Names {
  kBase,     ///< programs: gcn; what one variant teaches holds for all
  kVariant,  ///< programs with their demands: gcn[3], as the public artifact does
};

/// What an experiment varies.
struct Conditions {
  std::int64_t round_s = 300;
  Names names = Names::kBase;
  double default_throughput = 0.95;    ///< of the scheduler's table
  std::optional<double> uniform_pair;  ///< the truth for every pair, instead of what was measured (Figure 4)
  double migration_scale = 1;          ///< of checkpoint, fetch, build and initialisation (Figure 5)
  std::uint64_t bound_every = 0;       ///< plans: prove a lower bound of each such one's price; 0: of none
};

/// What an operator would ask afterwards.
struct Outcome {
  double cost_usd = 0;
  double jct_h = 0;               ///< mean job completion time
  double idle_h = 0;              ///< mean time that a job made no progress
  double tasks_per_instance = 0;  ///< over time
  double throughput = 0;          ///< mean normalised throughput of jobs while they progress
  double migrations_per_task = 0;
  /// Price of plans over what no placement of their tasks is below (interference left out); 0: of none.
  double price_to_bound = 0;
  std::uint64_t instances = 0;
  std::uint64_t rounds = 0;  ///< with at least one job
  std::uint64_t full = 0;    ///< of them full reconfigurations
  double end_s = 0;
};

/// Runs all jobs to their end under the policy. The policy sees demands, its own decisions and what a
/// throughput monitor reports; run times and profiles only where it is one that is told them. Deterministic.
Outcome simulate(const JobList& list, const Policy& policy, const Conditions& conditions = {});

}  // namespace banyan::sim::eva
