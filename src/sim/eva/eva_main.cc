#include "sim/eva/eva_main.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "sim/eva/convert.h"
#include "sim/eva/experiment.h"
#include "sim/eva/report.h"
#include "sim/eva/runner.h"

namespace banyan::sim::eva {

namespace {

constexpr const char* kChartJs = "/usr/share/javascript/chart.js/chart.min.js";  // Debian: libjs-chart.js

struct Options {
  std::vector<std::string> tables;
  std::vector<std::string> figures;
  std::string jobs;  ///< a list that takes the place of both
  std::string data = "../shared/data";
  std::string out = "eva-report";
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  bool json = false;
};

struct ConvertOptions {
  std::string trace;
  bool gavel = false;
  std::uint64_t seed = 1;
};

int failed(const Error& error, int code) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return code;
}

std::string text_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<Lists> read_lists(const Options& options) {
  if (!options.jobs.empty()) {
    auto list = read_jobs(options.jobs);
    if (!list) return tl::unexpected(list.error());
    return Lists{*list, *list, "Jobs of " + options.jobs + " in all tables."};
  }
  auto gavel = read_jobs(options.data + "/eva_jobs_gavel.csv.zst");
  auto alibaba = read_jobs(options.data + "/eva_jobs_alibaba.csv.zst");
  if (gavel && alibaba)
    return Lists{std::move(*gavel), std::move(*alibaba),
                 "Jobs of the Alibaba GPU trace of 2023, as the paper's artifact lists them."};
  const Error& error = !gavel ? gavel.error() : alibaba.error();
  if (error.kind != ErrorKind::kIo) return tl::unexpected(error);
  std::fprintf(stderr, "%s; 300 made-up jobs instead (--jobs and --data name others)\n",
               error.message.c_str());
  return Lists{synthetic_jobs(1, 300), synthetic_jobs(2, 300),
               "Made-up jobs: the figures compare with each other, not with the paper."};
}

/// Identifies the program and its lists: values that another build or other lists have computed are not
/// reused.
std::string fingerprint(const Lists& lists) {
  std::size_t hash = std::hash<std::string>{}(text_of_file("/proc/self/exe"));
  const auto mix = [&](double value) { hash = hash * 1099511628211U ^ std::hash<double>{}(value); };
  for (const JobList* list : {&lists.gavel, &lists.alibaba}) {
    for (const Job& job : list->jobs) {
      mix(static_cast<double>(job.arrival_s));
      mix(job.work_s);
      mix(job.workload);
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016zx", hash);
  return text;
}

Result<std::vector<Experiment>> chosen(const Options& options, const Lists& lists) {
  std::vector<Experiment> all = experiments(lists);
  std::vector<std::string> names;
  for (const std::string& number : options.tables) names.push_back("table " + number);
  for (const std::string& number : options.figures) names.push_back("figure " + number);
  if (names.empty()) return all;
  std::vector<Experiment> some;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name, &Experiment::name);
    if (found == all.end())
      return fail(ErrorKind::kNotFound,
                  "there is no " + name + " here: tables 3 to 6 and 10 to 14, figures 4 to 8");
    some.push_back(*found);
  }
  return some;
}

int run(const Options& options) {
  const std::string chart_js = text_of_file(kChartJs);
  if (chart_js.empty())
    return failed({ErrorKind::kIo, std::string(kChartJs) + ": cannot be read; install libjs-chart.js"}, 1);
  const auto lists = read_lists(options);
  if (!lists) return failed(lists.error(), 2);
  const auto wanted = chosen(options, *lists);
  if (!wanted) return failed(wanted.error(), 2);
  std::vector<Cell> cells;
  for (const Experiment& experiment : *wanted)
    cells.insert(cells.end(), experiment.cells.begin(), experiment.cells.end());
  const std::filesystem::path out = options.out;
  const auto values =
      run_cells(cells, {.directory = out / "cells" / fingerprint(*lists), .threads = options.threads});
  if (!values) return failed(values.error(), 1);
  std::vector<Sheet> sheets;
  for (const Experiment& experiment : *wanted) sheets.push_back(experiment.sheet(*values));
  if (const auto written = write_report(out, sheets, lists->origin, chart_js); !written)
    return failed(written.error(), 1);
  if (options.json) {
    std::printf("%s\n", to_json(sheets).dump().c_str());
  } else {
    for (const Sheet& sheet : sheets) std::printf("%s\n", to_text(sheet).c_str());
    std::printf("%s\n", (out / "report.html").c_str());
  }
  return 0;
}

int convert(const ConvertOptions& options) {
  const std::string text = text_of_file(options.trace);
  if (text.empty()) return failed({ErrorKind::kIo, options.trace + ": cannot be read, or is empty"}, 2);
  const auto list = convert_alibaba(text, options.trace,
                                    options.gavel ? Durations::kGavel : Durations::kTrace, options.seed);
  if (!list) return failed(list.error(), 2);
  std::fwrite(list->data(), 1, list->size(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  ConvertOptions to_convert;
  CLI::App app(
      "The tables and figures of Eva (EuroSys'25), ours beside the paper's: report.html, CSV and JSON in "
      "--out.\n"
      "An interrupted run goes on where it stopped.",
      "banyan sim eva");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    auto* command = app.add_subcommand(name, what);
    command->add_option("--jobs", options.jobs, "a job list (CSV, also .zst) in place of the paper's");
    command
        ->add_option("--data", options.data,
                     "folder with eva_jobs_gavel.csv.zst and eva_jobs_alibaba.csv.zst")
        ->capture_default_str();
    command->add_option("--out", options.out, "folder of the report")->capture_default_str();
    command->add_option("--threads", options.threads, "simulations at once")->check(CLI::PositiveNumber);
    command->add_flag("--json", options.json, "print the rows as JSON");
    return command;
  };
  add("table", "tables 3 to 6 and 10 to 14")->add_option("number", options.tables)->required();
  add("figure", "figures 4 to 8")->add_option("number", options.figures)->required();
  add("all", "all of them");
  auto* converting = app.add_subcommand("convert", "the public Alibaba pod list as a job list, on stdout");
  converting->add_option("trace", to_convert.trace, "openb_pod_list_default.csv")->required();
  converting->add_flag("--gavel", to_convert.gavel, "durations by Gavel's model instead of the trace's");
  converting->add_option("--seed", to_convert.seed)->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return converting->parsed() ? convert(to_convert) : run(options);
}

}  // namespace banyan::sim::eva
