// Measures the time of a full reconfiguration by the number of tasks, beside Table 5 of the paper on Eva, and
// the time of a whole simulation.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "cli/table/table.h"
#include "core/eva/policies.h"
#include "core/eva/reconfigure.h"
#include "figures.h"
#include "sim/eva/cluster.h"

namespace banyan::bench {
namespace {

using nlohmann::json;
using namespace banyan::eva;       // NOLINT(google-build-using-namespace)
using namespace banyan::sim::eva;  // NOLINT(google-build-using-namespace)

struct Options {
  std::vector<std::uint32_t> tasks{1000, 2000, 4000, 8000, 100'000, 1'000'000};
  std::string jobs = "../shared/data/eva_jobs_gavel.csv.zst";
  int repeat = 15;
  bool simulate = true;
  bool json = false;
};

/// The seconds of Table 5 of the paper; 0 where the table has no row.
double paper_s(std::uint32_t tasks) {
  return tasks == 1000 ? 0.40 : tasks == 2000 ? 1.50 : tasks == 4000 ? 5.53 : tasks == 8000 ? 22.06 : 0;
}
/// The goal of this tree in ms; 0: there is none.
std::pair<double, double> goal_ms(std::uint32_t tasks) {
  if (tasks == 8000) return {1, 20};
  if (tasks == 1'000'000) return {50, 2000};
  return {0, 0};
}

/// Every pair of names has been seen, with a throughput of its own, and so have a thousand sets of three.
ThroughputTable learned_table(std::uint32_t kinds) {
  Rng rng(5);
  ThroughputTable table(kinds);
  for (std::uint32_t a = 0; a < kinds; ++a)
    for (std::uint32_t b = 0; b < kinds; ++b) table.record(a, {{b}}, 0.85 + 0.15 * rng.uniform());
  for (int set = 0; set < 1000; ++set) {
    std::vector<std::uint32_t> neighbours{static_cast<std::uint32_t>(rng.below(kinds)),
                                          static_cast<std::uint32_t>(rng.below(kinds))};
    std::ranges::sort(neighbours);
    table.record(static_cast<std::uint32_t>(rng.below(kinds)), neighbours, 0.7 + 0.3 * rng.uniform());
  }
  return table;
}

/// Median ms of a full reconfiguration, from the tasks to the plan.
double full_ms(const JobList& list, const ThroughputTable& table, const std::vector<Task>& tasks,
               int repeat) {
  const Snapshot snapshot{.catalog = list.catalog,
                          .workloads = list.workloads,
                          .instances = {},
                          .tasks = tasks,
                          .throughputs = table,
                          .history = {}};
  std::vector<double> ms;
  for (int i = 0; i < repeat; ++i) {
    const auto started = std::chrono::steady_clock::now();
    const Plan plan = full_reconfiguration(Groups(snapshot));
    ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
    CHECK(i > 0 || !fault(snapshot, plan), "the plan that was timed is wrong");
  }
  std::ranges::sort(ms);
  return ms[ms.size() / 2];
}

json measure(const JobList& list, const ThroughputTable& learned, std::uint32_t count, int repeat) {
  Rng rng(count);
  std::vector<Task> tasks(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    tasks[i].id = i;
    tasks[i].workload = list.jobs[rng.below(list.jobs.size())].workload;
  }
  const ThroughputTable uniform(static_cast<std::uint32_t>(list.workloads.size()));
  return {{"tasks", count},
          {"full_uniform_ms", full_ms(list, uniform, tasks, repeat)},
          {"full_learned_ms", full_ms(list, learned, tasks, repeat)},
          {"paper_ms", paper_s(count) * 1000}};
}

int run(const Options& options) {
  auto list = read_jobs(options.jobs);
  if (!list) {
    std::fprintf(stderr, "%s\nmade-up jobs instead\n", list.error().message.c_str());
    list = synthetic_jobs(1, 5000);
  }
  const auto names = static_cast<std::uint32_t>(list->workloads.size());
  for (std::uint32_t w = 0; w < names; ++w)
    list->workloads[w].kind = w;  // each name has statistics of its own
  const ThroughputTable learned = learned_table(names);
  json out = {{"task_names", names}, {"rows", json::array()}};
  std::vector<std::vector<cli::Cell>> rows;
  Growth uniform{"full reconfiguration with uniform interference, by tasks", {}};
  Growth learned_table{"the same with a learned table", {}};
  for (const std::uint32_t count : options.tasks) {
    std::fprintf(stderr, "%u tasks\n", count);
    json row = measure(*list, learned, count, options.repeat);
    const auto [uniform_goal, learned_goal] = goal_ms(count);
    rows.push_back({{std::to_string(count)},
                    against(row["full_uniform_ms"], uniform_goal),
                    against(row["full_learned_ms"], learned_goal),
                    {paper_s(count) > 0 ? text(paper_s(count) * 1000) : "-"}});
    uniform.points.emplace_back(count, row["full_uniform_ms"].get<double>());
    learned_table.points.emplace_back(count, row["full_learned_ms"].get<double>());
    out["rows"].push_back(std::move(row));
  }
  double simulation_s = 0;
  if (options.simulate) {
    std::fprintf(stderr, "a whole simulation: %zu jobs under Eva\n", list->jobs.size());
    const auto policy = policy_named("eva");
    const auto started = std::chrono::steady_clock::now();
    const Outcome outcome = simulate(*list, **policy);
    simulation_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    out["simulation"] = {{"jobs", list->jobs.size()}, {"s", simulation_s}, {"cost_usd", outcome.cost_usd}};
  }
  if (options.json) {
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  std::printf("%s", cli::render({{"tasks", cli::Align::kRight},
                                 {"uniform ms", cli::Align::kRight},
                                 {"learned ms", cli::Align::kRight},
                                 {"paper ms", cli::Align::kRight}},
                                rows, cli::stdout_wants_colour())
                        .c_str());
  std::fputs(plot({uniform, learned_table}).c_str(), stdout);
  if (options.simulate)
    std::printf("\n%zu jobs under Eva: %s s on one core (goal: under 3)\n", list->jobs.size(),
                text(simulation_s).c_str());
  return 0;
}

}  // namespace
}  // namespace banyan::bench

int main(int argc, char** argv) {
  banyan::bench::Options options;
  CLI::App app("Full reconfiguration by number of tasks; goals in brackets.", "bench eva");
  app.add_option("--tasks", options.tasks, "numbers of tasks")->delimiter(',');
  app.add_option("--jobs", options.jobs, "a job list, for its task names and mix")->capture_default_str();
  app.add_option("--repeat", options.repeat)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("!--no-simulation", options.simulate, "skip the whole simulation");
  app.add_flag("--json", options.json, "one JSON object on stdout and nothing else");
  CLI11_PARSE(app, argc, argv);
  return banyan::bench::run(options);
}
