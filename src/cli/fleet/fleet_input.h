// What `banyan plan fleet` reads: tasks, a catalog, and the fleet that there is.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/eva/fleet.h"

namespace banyan::cli {

/// Everything to which a snapshot refers, and names for people.
struct FleetInput {
  eva::Catalog catalog;
  std::vector<eva::Workload> workloads;
  std::vector<eva::Task> tasks;
  std::vector<std::string> task_names;  ///< by index in `tasks`
  std::vector<eva::Instance> instances;
  std::vector<std::string> instance_names;  ///< by index in `instances`
  std::uint32_t kinds = 0;                  ///< how many rows the throughput table has
};

/// Catalog: `type,family,gpu,cpu,ram_gib,usd_h`.
/// Tasks: `id,gpu,cpu,ram_gib`, and where wanted `workload` (tasks of one disturb others alike), `job` (its
/// tasks advance together), `move_usd` (what moving it costs) and demands for one family: `gpu@FAMILY`,
/// `cpu@FAMILY`, `ram_gib@FAMILY` (an empty cell: as elsewhere), `speed@FAMILY` (0: cannot run there).
/// Current fleet (`current_path` empty: none): `instance,type,task`, a line for each task; `task` is empty
/// for an idle instance. Errors name file and line.
Result<FleetInput> read_fleet_input(const std::string& tasks_path, const std::string& catalog_path,
                                    const std::string& current_path);

}  // namespace banyan::cli
