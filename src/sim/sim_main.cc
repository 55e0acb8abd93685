#include "sim/sim_main.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sim/eva/eva_main.h"
#include "sim/plant.h"
#include "sim/pool.h"
#include "sim/schedule.h"
#include "sim/shrink.h"

namespace banyan::sim {

namespace {

struct Options {
  std::uint64_t seeds = 20;
  std::optional<std::uint64_t> seed;
  std::uint64_t cells = 100;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string plant = "none";
  bool json = false;
  bool trace = false;
  bool shrink = false;
  std::vector<std::uint64_t> faults;
  bool chooses_faults = false;  ///< --faults was given, maybe with no number

  [[nodiscard]] ScheduleOptions schedule(std::uint64_t of) const {
    ScheduleOptions schedule{.seed = of, .cells = cells, .faults = {}, .trace = {}};
    schedule.plant = plant_of(plant).value_or(Plant::kNone);
    if (chooses_faults) schedule.faults.emplace(faults.begin(), faults.end());
    if (trace) schedule.trace = [](const std::string& line) { std::puts(line.c_str()); };
    return schedule;
  }
};

struct Total {
  std::uint64_t schedules = 0;
  std::uint64_t cells = 0;
  std::uint64_t events = 0;
  double virtual_s = 0;
  std::uint64_t hash =
      0;  ///< combines the hashes of all schedules; the order in which they end does not matter
  std::vector<ScheduleResult> failed;
};

std::string hex(std::uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string command(const ScheduleOptions& schedule) {
  std::string text =
      "banyan sim --seed " + std::to_string(schedule.seed) + " --cells " + std::to_string(schedule.cells);
  if (schedule.plant != Plant::kNone) text += " --plant " + std::string(name_of(schedule.plant));
  if (schedule.faults) {
    std::string numbers;
    for (const std::uint64_t number : *schedule.faults) numbers += "," + std::to_string(number);
    text += " --faults " + (numbers.empty() ? "none" : numbers.substr(1));
  }
  return text + " --trace";
}

/// Makes the first failing schedule small and prints how the small one fails.
int shrink_first(const Options& options, std::uint64_t seed) {
  const bool shown = isatty(STDERR_FILENO) != 0;
  const auto failing =
      shrink(options.schedule(seed), options.jobs, [&](std::uint64_t tried, const Failing& smallest) {
        if (!shown) return;
        std::fprintf(
            stderr, "\rshrinking: %llu schedules tried, %zu faults and %llu cells left ",
            static_cast<unsigned long long>(tried),
            smallest.options.faults ? smallest.options.faults->size() : std::size_t{smallest.result.faults},
            static_cast<unsigned long long>(smallest.options.cells));
        std::fflush(stderr);
      });
  if (shown) std::fputc('\n', stderr);
  if (!failing) {
    std::fprintf(stderr, "%s\n", failing.error().message.c_str());
    return 2;
  }
  std::printf("small: seed %llu with %llu cells fails so:\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(failing->options.cells));
  for (const std::string& what : failing->result.violations) std::printf("  %s\n", what.c_str());
  std::printf("  again: %s\n", command(failing->options).c_str());
  return 1;
}

class Progress {
 public:
  explicit Progress(std::uint64_t schedules) : schedules_(schedules), shown_(isatty(STDERR_FILENO) != 0) {}
  void show(const Total& total) const {
    if (!shown_) return;
    constexpr int kWidth = 40;
    const int full = static_cast<int>(kWidth * total.schedules / schedules_);
    std::fprintf(stderr, "\r[%s%s] %llu/%llu schedules, %zu failed", std::string(full, '#').c_str(),
                 std::string(kWidth - full, '.').c_str(), static_cast<unsigned long long>(total.schedules),
                 static_cast<unsigned long long>(schedules_), total.failed.size());
    if (total.schedules == schedules_) std::fputc('\n', stderr);
    std::fflush(stderr);
  }

 private:
  std::uint64_t schedules_;
  bool shown_;
};

void print(const Options& options, const Total& total, double wall_s) {
  if (options.json) {
    nlohmann::json out = {{"schedules", total.schedules},
                          {"cells", total.cells},
                          {"violations", total.failed.size()},
                          {"events_per_s", wall_s > 0 ? static_cast<double>(total.events) / wall_s : 0},
                          {"events", total.events},
                          {"virtual_s", total.virtual_s},
                          {"wall_s", wall_s},
                          {"trace_hash", hex(total.hash)},
                          {"failing_seeds", nlohmann::json::array()},
                          {"failures", nlohmann::json::array()}};
    for (const ScheduleResult& failed : total.failed) {
      out["failing_seeds"].push_back(failed.seed);
      out["failures"].push_back({{"seed", failed.seed},
                                 {"command", command(options.schedule(failed.seed))},
                                 {"violations", failed.violations}});
    }
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  for (const ScheduleResult& failed : total.failed) {
    std::printf("seed %llu breaks a promise:\n", static_cast<unsigned long long>(failed.seed));
    for (const std::string& what : failed.violations) std::printf("  %s\n", what.c_str());
    std::printf("  again: %s\n", command(options.schedule(failed.seed)).c_str());
  }
  std::printf("%-12s %-10s %-11s %-13s %-10s %-8s %s\n", "schedules", "cells", "violations", "events/s",
              "virtual s", "wall s", "trace hash");
  std::printf("%-12llu %-10llu %-11zu %-13.0f %-10.0f %-8.1f %s\n",
              static_cast<unsigned long long>(total.schedules), static_cast<unsigned long long>(total.cells),
              total.failed.size(), wall_s > 0 ? static_cast<double>(total.events) / wall_s : 0,
              total.virtual_s, wall_s, hex(total.hash).c_str());
}

std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app("Runs seeded schedules of a simulated fleet with faults, and checks the promises P1 to P4.",
               "banyan sim");
  app.footer("banyan sim eva: the tables and figures of Eva's paper; see banyan sim eva --help");
  app.add_option("--seeds", options.seeds, "How many schedules: seeds 1 to N, or N from --seed on")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "The first seed; alone: this one schedule");
  app.add_option("--cells", options.cells, "Cells in each schedule")->check(CLI::PositiveNumber);
  app.add_option("--jobs", options.jobs, "Processes at once; as many as there are cores by default")
      ->check(CLI::PositiveNumber);
  app.add_option("--plant", options.plant, "Plant a bug, to see the checkers find it")
      ->check(
          [](const std::string& name) { return plant_of(name) ? "" : "no planted bug is called " + name; });
  const auto numbers = [&](const std::string& text) {
    options.chooses_faults = true;
    std::istringstream words(text == "none" ? "" : text);
    for (std::string word; std::getline(words, word, ',');) {
      if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos)
        throw CLI::ValidationError("--faults", "is none, or numbers with commas between them, as 3,17");
      options.faults.push_back(std::stoull(word));
    }
  };
  app.add_option_function<std::string>(
      "--faults", numbers, "Only the faults of these numbers strike: 3,17, or none; --trace has them");
  app.add_flag("--shrink", options.shrink, "Make the first schedule that fails small");
  app.add_flag("--json", options.json, "One JSON object on stdout");
  app.add_flag("--trace", options.trace, "Print what happens in the schedule of --seed");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (options.seed && app.count("--seeds") == 0) options.seeds = 1;
  if (options.trace && (!options.seed || options.seeds != 1)) {
    std::fprintf(stderr, "--trace needs --seed S, and follows one schedule only\n");
    return 2;
  }
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "eva") == 0) return eva::main(argc - 1, argv + 1);
  Options options;
  if (const auto status = parse(argc, argv, options)) return *status;
  const auto started = std::chrono::steady_clock::now();
  const Progress progress(options.seeds);
  Total total;
  const auto run = [&](std::uint64_t seed) { return run_schedule(options.schedule(seed)); };
  const auto done = [&](ScheduleResult result) {
    ++total.schedules;
    total.cells += result.cells;
    total.events += result.events;
    total.virtual_s += static_cast<double>(result.took.count()) / 1e9;
    total.hash += result.trace_hash ^ (result.seed * 0x9e3779b97f4a7c15);
    if (!result.violations.empty()) total.failed.push_back(std::move(result));
    progress.show(total);
  };
  if (options.trace) {
    done(run(*options.seed));
  } else {
    const unsigned jobs = static_cast<unsigned>(std::min<std::uint64_t>(options.jobs, options.seeds));
    const auto ran = run_pool({options.seed.value_or(1), options.seeds, jobs}, run, done);
    if (!ran) {
      std::fprintf(stderr, "%s\n", ran.error().message.c_str());
      return 2;
    }
  }
  std::sort(total.failed.begin(), total.failed.end(),
            [](const ScheduleResult& a, const ScheduleResult& b) { return a.seed < b.seed; });
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
  print(options, total, wall.count());
  if (options.shrink && !options.json && !total.failed.empty())
    return shrink_first(options, total.failed.front().seed);
  return total.failed.empty() ? 0 : 1;
}

}  // namespace banyan::sim
