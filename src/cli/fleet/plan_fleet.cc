#include "cli/fleet/plan_fleet.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/fleet/fleet_input.h"
#include "cli/table/table.h"
#include "core/eva/colocation.h"
#include "core/eva/columns.h"
#include "core/eva/fleet.h"
#include "sim/eva/exact/exact.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

/// An instance of the plan as it is printed.
struct Line {
  std::string name;  ///< the name of an existing instance, or "new"
  std::string type;
  double usd_h = 0;
  double rp_usd_h = 0;    ///< what its tasks would cost if each ran alone (RP)
  double tnrp_usd_h = 0;  ///< the same, less what they lose beside each other (TNRP)
  std::vector<std::string> tasks;
};

/// A task that changes its instance. A task that had none starts.
struct Move {
  std::string task;
  std::string from;
  std::string to;
};

struct Report {
  std::vector<Line> lines;
  std::vector<Move> moves;
  std::vector<std::string> released;
  double usd_h = 0;
  double bound_usd_h = 0;
  double alone_usd_h = 0;  ///< the price with each task on an instance of its own
};

Report describe(const FleetInput& input, const eva::Snapshot& snapshot, const eva::Plan& plan) {
  const eva::Groups groups(snapshot);
  Report report{.usd_h = eva::price_usd_h(input.catalog, plan)};
  report.bound_usd_h = eva::relax(groups, groups.counts(), 0).bound_usd_h;
  std::vector<bool> kept(input.instances.size());
  std::size_t hired = 0;
  for (const eva::PlannedInstance& instance : plan.instances) {
    const bool is_new = instance.existing == eva::kNone;
    if (!is_new) kept[instance.existing] = true;
    const eva::InstanceType& type = input.catalog.types[instance.type];
    Line line{.name = is_new ? "new-" + std::to_string(++hired) : input.instance_names[instance.existing],
              .type = type.name,
              .usd_h = type.usd_h};
    eva::Colocation here(groups, instance.type);
    for (const std::uint32_t task : plan.tasks_of(instance)) {
      const std::uint32_t group = groups.of_task(task);
      here.add(group);
      line.rp_usd_h += groups[group].reservation.usd_h;
      line.tasks.push_back(input.task_names[task]);
      const std::uint32_t from = input.tasks[task].instance;
      if (from != instance.existing || from == eva::kNone)
        report.moves.push_back(
            {input.task_names[task], from == eva::kNone ? "" : input.instance_names[from], line.name});
    }
    line.tnrp_usd_h = here.value();
    report.alone_usd_h += line.rp_usd_h;
    report.lines.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (!kept[i]) report.released.push_back(input.instance_names[i]);
  return report;
}

json to_json(const Report& report) {
  json out = {{"usd_h", report.usd_h},
              {"lower_bound_usd_h", report.bound_usd_h},
              {"no_packing_usd_h", report.alone_usd_h},
              {"instances", json::array()},
              {"moves", json::array()},
              {"release", report.released}};
  for (const Line& line : report.lines)
    out["instances"].push_back({{"instance", line.name},
                                {"type", line.type},
                                {"usd_h", line.usd_h},
                                {"rp_usd_h", line.rp_usd_h},
                                {"tnrp_usd_h", line.tnrp_usd_h},
                                {"tasks", line.tasks}});
  for (const Move& move : report.moves) {
    json entry = {{"task", move.task}, {"to", move.to}};
    entry["from"] = move.from.empty() ? json(nullptr) : json(move.from);
    out["moves"].push_back(std::move(entry));
  }
  return out;
}

std::string usd(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

void print(const Report& report, bool with_moves) {
  std::vector<std::vector<Cell>> rows;
  for (const Line& line : report.lines) {
    std::string tasks;
    for (const std::string& task : line.tasks) tasks += (tasks.empty() ? "" : " ") + task;
    rows.push_back(
        {{line.name}, {line.type}, {usd(line.usd_h)}, {usd(line.rp_usd_h)}, {usd(line.tnrp_usd_h)}, {tasks}});
  }
  std::printf("%s", render({{"instance"},
                            {"type"},
                            {"$/h", Align::kRight},
                            {"RP", Align::kRight},
                            {"TNRP", Align::kRight},
                            {"tasks"}},
                           rows, stdout_wants_colour())
                        .c_str());
  std::printf("\n$%s/h; no plan costs less than $%s/h (%.2f%% below); each task alone: $%s/h\n",
              usd(report.usd_h).c_str(), usd(report.bound_usd_h).c_str(),
              report.usd_h > 0 ? 100 * (1 - report.bound_usd_h / report.usd_h) : 0.0,
              usd(report.alone_usd_h).c_str());
  std::printf(
      "RP: what its tasks would cost each alone; TNRP: the same, less what they lose beside each other\n");
  if (!with_moves) return;
  for (const Move& move : report.moves) {
    if (move.from.empty())
      std::printf("start %s on %s\n", move.task.c_str(), move.to.c_str());
    else
      std::printf("move %s from %s to %s\n", move.task.c_str(), move.from.c_str(), move.to.c_str());
  }
  for (const std::string& name : report.released) std::printf("release %s\n", name.c_str());
}

/// The policy of this name: one of the core, or the integer program.
Result<std::unique_ptr<const eva::Policy>> policy_of(const std::string& name) {
  constexpr double kLimit_s = 60;
  if (name == "exact") return sim::eva::exact(kLimit_s);
  auto policy = eva::policy_named(name);
  if (!policy) return fail(policy.error().kind, policy.error().message + ", exact");
  return policy;
}

}  // namespace

int plan_fleet(const PlanFleetOptions& options) {
  constexpr int kWrongInput = 2;
  const auto input = read_fleet_input(options.tasks, options.catalog, options.current);
  const std::string name = !options.policy.empty()   ? options.policy
                           : options.current.empty() ? "improved"
                                                     : "partial";
  const auto policy = policy_of(name);
  if (!input || !policy) {
    std::fprintf(stderr, "banyan: %s\n", (!input ? input.error() : policy.error()).message.c_str());
    return kWrongInput;
  }
  const eva::ThroughputTable throughputs(input->kinds, options.throughput);
  const eva::Snapshot snapshot{.catalog = input->catalog,
                               .workloads = input->workloads,
                               .instances = input->instances,
                               .tasks = input->tasks,
                               .throughputs = throughputs,
                               .profiled = &throughputs,
                               .history = {}};
  const Report report = describe(*input, snapshot, (*policy)->plan(snapshot));
  if (options.json)
    std::printf("%s\n", to_json(report).dump(2).c_str());
  else
    print(report, !options.current.empty());
  return 0;
}

}  // namespace banyan::cli
