// A simulated cloud under a scheduler. It runs from event to event; times are whole seconds. It follows Eva
// (EuroSys'25, §6), and the paper's public artifact where the paper is silent.
#pragma once

#include <cstdint>
#include <optional>

#include "core/eva/fleet.h"
#include "sim/eva/jobs.h"

namespace banyan::sim::eva {

/// Which names the throughput table tells apart.
enum class Names {
  kBase,     ///< programs, such as gcn: what one variant teaches holds for all
  kVariant,  ///< programs with their demands, such as gcn[3], as in the public artifact
};

/// What an experiment varies.
struct Conditions {
  std::int64_t round_s = 300;
  Names names = Names::kBase;
  double default_throughput = 0.95;    ///< the throughput of unseen pairs in the scheduler's table
  std::optional<double> uniform_pair;  ///< the truth for every pair, instead of what was measured (Figure 4)
  double migration_scale = 1;          ///< scales checkpoint, fetch, build and initialisation (Figure 5)
  std::uint64_t bound_every = 0;  ///< prove a lower bound of the price of every so many-th plan; 0: of none
};

/// What an operator would ask afterwards.
struct Outcome {
  double cost_usd = 0;
  double jct_h = 0;               ///< mean job completion time
  double idle_h = 0;              ///< mean time in which a job made no progress
  double tasks_per_instance = 0;  ///< the mean over time
  double throughput = 0;          ///< mean normalised throughput of jobs while they progress
  double migrations_per_task = 0;
  /// The price of plans over a lower bound for any placement of their tasks, without interference; 0 without
  /// bounds.
  double price_to_bound = 0;
  std::uint64_t instances = 0;
  std::uint64_t rounds = 0;  ///< rounds with at least one job
  std::uint64_t full = 0;    ///< the rounds in which the fleet was reconfigured in full
  double end_s = 0;
};

/// Runs all jobs to their end under the policy. The policy sees demands, its own decisions and what a
/// throughput monitor reports; run times and profiles only if it is a policy that is told them. Equal
/// arguments give equal outcomes.
Outcome simulate(const JobList& list, const Policy& policy, const Conditions& conditions = {});

}  // namespace banyan::sim::eva
