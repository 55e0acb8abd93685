// Time to choose what to load and what to run again, and size of what the history keeps for it, by number of
// cells.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/random.h"
#include "cli/table/table.h"
#include "core/planner/choice.h"
#include "figures.h"

namespace banyan::bench {
namespace {

using nlohmann::json;
using namespace banyan::planner;  // NOLINT(google-build-using-namespace)

struct Options {
  std::vector<std::uint32_t> cells{200, 500, 1000, 2000, 5000, 10'000, 20'000};
  std::uint32_t variables = 200;
  double dynamic = 0.02;
  int repeat = 15;
  bool json = false;
};

/// The goal of this tree in ms; 0: there is none.
double goal_ms(std::uint32_t cells) { return cells == 2000 ? 5 : cells == 20'000 ? 100 : 0; }

/// A session: each cell reads three variables, most of them written lately, and binds one or two.
struct Session {
  checkpoint::Tree tree;
  std::map<CommitId, Cell> cells;
  std::map<CoVariableId, std::int64_t> load_us;

  Session(const Options& options, std::uint32_t count) {
    Rng rng(7);
    std::vector<std::string> recent;
    for (std::uint64_t number = 1; number <= count; ++number) {
      const CommitId commit{number};
      const auto name = [&] { return "variable_" + std::to_string(rng.below(options.variables)); };
      Cell cell{.reads_all = rng.chance(options.dynamic),
                .runtime_us = static_cast<std::int64_t>(1000 * (1 + rng.below(1000)) * (1 + rng.below(10)))};
      for (int i = 0; i < 3; ++i)
        cell.reads.insert(recent.empty() || rng.chance(0.3) ? name() : recent[rng.below(recent.size())]);
      if (rng.chance(0.05)) cell.objection = "it wrote a file";
      checkpoint::Change change;
      for (std::uint64_t ordinal = 0; ordinal < 1 + rng.below(2); ++ordinal) {
        const CoVariableId version{commit, ordinal};
        change.bound[name()] = version;
        load_us[version] = static_cast<std::int64_t>(100 * (1 + rng.below(100)) * (1 + rng.below(100)));
      }
      for (const auto& [bound, version] : change.bound) recent.push_back(bound);
      if (recent.size() > 20) recent.erase(recent.begin(), recent.end() - 20);
      tree.add(commit, {number - 1}, std::move(change));
      cells.emplace(commit, std::move(cell));
    }
  }

  [[nodiscard]] Lineage lineage() const {
    return {tree, [](const CoVariableId&) { return true; },
            [this](CommitId commit) { return cells.at(commit); }};
  }

  /// The bytes that the log keeps of the commits beside their code: changes, reads, run times.
  [[nodiscard]] std::size_t metadata_bytes() const {
    std::size_t bytes = encode(tree.nodes()).size();
    for (const auto& [commit, cell] : cells) bytes += encode(cell).size();
    return bytes;
  }
};

json measure(const Options& options, std::uint32_t count) {
  const Session session(options, count);
  const View target = session.tree.view({count});
  const Costs costs{.load = [&](const CoVariableId& version) -> std::optional<LoadCost> {
                      return LoadCost{.way_us = session.load_us.at(version)};
                    },
                    .run_us = [](const HistoryGraph::CellNode& cell) { return cell.runtime_us; }};
  std::vector<double> ms;
  Choice choice;
  for (int i = 0; i < options.repeat; ++i) {
    const auto started = std::chrono::steady_clock::now();
    choice = choose(HistoryGraph(target, session.lineage()), costs);
    ms.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
  }
  std::ranges::nth_element(ms, ms.begin() + static_cast<std::ptrdiff_t>(ms.size() / 2));
  return {{"cells", count},
          {"vars", target.size()},
          {"plan_ms", ms[ms.size() / 2]},
          {"metadata_bytes", session.metadata_bytes()},
          {"runs", choice.runs.size()},
          {"loads", choice.loads.size()}};
}

int run(const Options& options) {
  json out = {{"rows", json::array()}};
  std::vector<std::vector<cli::Cell>> rows;
  Growth growth{"the choice, by cells", {}};
  for (const std::uint32_t count : options.cells) {
    std::fprintf(stderr, "%u cells\n", count);
    json row = measure(options, count);
    rows.push_back({{std::to_string(count)},
                    {std::to_string(row["vars"].get<int>())},
                    against(row["plan_ms"], goal_ms(count)),
                    {std::to_string(row["metadata_bytes"].get<int>())},
                    {std::to_string(row["runs"].get<int>())},
                    {std::to_string(row["loads"].get<int>())}});
    growth.points.emplace_back(count, row["plan_ms"].get<double>());
    out["rows"].push_back(std::move(row));
  }
  if (options.json) {
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  const auto right = cli::Align::kRight;
  std::printf("%s", cli::render({{"cells", right},
                                 {"variables", right},
                                 {"plan ms", right},
                                 {"metadata bytes", right},
                                 {"cells to run", right},
                                 {"versions to load", right}},
                                rows, cli::stdout_wants_colour())
                        .c_str());
  std::fputs(plot({growth}).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace banyan::bench

int main(int argc, char** argv) {
  banyan::bench::Options options;
  CLI::App app("The choice of what to load and what to run again, by number of cells; goals in brackets.",
               "bench planner");
  app.add_option("--cells", options.cells, "numbers of cells")->delimiter(',');
  app.add_option("--variables", options.variables, "names that cells bind")->capture_default_str();
  app.add_option("--dynamic", options.dynamic, "share of cells that may read any variable")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object on stdout and nothing else");
  CLI11_PARSE(app, argc, argv);
  // Freed memory stays with the process, as it does in a host agent once glibc has seen it free 8 MB.
  // Otherwise page faults are up to half of the measured time.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  return banyan::bench::run(options);
}
