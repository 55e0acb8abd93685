// Commit latency and throughput of Raft over the live network and disk: three hosts, each a process, all on
// this machine and its one device; 1 KB entries, every commit after fsync on a majority.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/table/table.h"
#include "raft/cluster.h"
#include "raft/device.h"

namespace banyan::bench {
namespace {

using nlohmann::json;

struct Options {
  std::vector<int> groups{1, 100, 1000};
  double seconds = 5;
  int depth = 32;
  std::string directory = "/var/tmp";
  bool json = false;
};

/// The value below which `percent` of the sorted samples are, in ms.
double percentile_ms(const std::vector<std::uint64_t>& sorted, std::size_t percent) {
  return sorted.empty() ? 0 : static_cast<double>(sorted[(sorted.size() - 1) * percent / 100]) / 1e6;
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, value < 100 ? "%.2f" : "%.0f", value);
  return buffer;
}

/// A folder for this run, removed at its end.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent)
      : path_(parent / ("banyan-bench-raft-" + std::to_string(getpid()))) {
    std::error_code ignored;
    std::filesystem::create_directories(path_, ignored);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// One line of the table: first one proposal at a time in each group, then `depth` of them.
Result<json> measure(int groups, const Options& options, const std::filesystem::path& directory) {
  std::fprintf(stderr, "%d groups: starting three hosts\n", groups);
  auto cluster = Cluster::start(groups, directory);
  if (!cluster) return tl::unexpected(cluster.error());
  Load load;
  load.length = std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000));
  std::fprintf(stderr, "%d groups: one proposal at a time in each\n", groups);
  const auto single = cluster->measure(load);
  if (!single) return tl::unexpected(single.error());
  load.depth = options.depth;
  std::fprintf(stderr, "%d groups: %d proposals at a time in each\n", groups, load.depth);
  const auto many = cluster->measure(load);
  if (!many) return tl::unexpected(many.error());
  const auto rate = [&](const auto& samples) {
    return std::round(static_cast<double>(samples.size()) / options.seconds);
  };
  return json{{"groups", groups},
              {"p50_ms", rounded(percentile_ms(*single, 50))},
              {"p99_ms", rounded(percentile_ms(*single, 99))},
              {"ops_per_s", rate(*single)},
              {"pipelined_depth", load.depth},
              {"pipelined_p50_ms", rounded(percentile_ms(*many, 50))},
              {"pipelined_p99_ms", rounded(percentile_ms(*many, 99))},
              {"pipelined_ops_per_s", rate(*many)}};
}

void print(const json& figures) {
  using cli::Align;
  std::printf("device, 4 KiB and fdatasync: in place p50 %s ms, p99 %s ms; append p50 %s ms, p99 %s ms\n\n",
              text(figures["device_fsync_p50_ms"]).c_str(), text(figures["device_fsync_p99_ms"]).c_str(),
              text(figures["device_append_p50_ms"]).c_str(), text(figures["device_append_p99_ms"]).c_str());
  std::vector<std::vector<cli::Cell>> rows;
  for (const json& row : figures["rows"]) {
    std::vector<cli::Cell> cells{{std::to_string(row["groups"].get<int>())}};
    for (const char* key :
         {"p50_ms", "p99_ms", "ops_per_s", "pipelined_p50_ms", "pipelined_p99_ms", "pipelined_ops_per_s"})
      cells.push_back({text(row[key])});
    rows.push_back(std::move(cells));
  }
  const std::string many = "x" + std::to_string(figures["rows"][0]["pipelined_depth"].get<int>());
  std::fputs(cli::render({{"groups", Align::kRight},
                          {"p50 ms", Align::kRight},
                          {"p99 ms", Align::kRight},
                          {"commits/s", Align::kRight},
                          {many + " p50 ms", Align::kRight},
                          {"p99 ms", Align::kRight},
                          {"commits/s", Align::kRight}},
                         rows, false)
                 .c_str(),
             stdout);
  std::printf("\n%u cores, load %s at the end\n", figures["cores"].get<unsigned>(),
              text(figures["load_1min"]).c_str());
}

int complain(const Error& error) {
  std::fprintf(stderr, "bench_raft: %s\n", error.message.c_str());
  return error.kind == ErrorKind::kInvalid ? 2 : 1;
}

int run(const Options& options) {
  const Folder folder(options.directory);
  std::fprintf(stderr, "the device alone\n");
  const auto device = measure_device(folder.path(), 200);
  if (!device) return complain(device.error());
  json figures{{"entry_bytes", kEntryBytes},
               {"seconds", options.seconds},
               {"device_fsync_p50_ms", rounded(percentile_ms(device->in_place, 50))},
               {"device_fsync_p99_ms", rounded(percentile_ms(device->in_place, 99))},
               {"device_append_p50_ms", rounded(percentile_ms(device->append, 50))},
               {"device_append_p99_ms", rounded(percentile_ms(device->append, 99))},
               {"rows", json::array()}};
  for (const int groups : options.groups) {
    auto row = measure(groups, options, folder.path() / std::to_string(groups));
    if (!row) return complain(row.error());
    figures["rows"].push_back(std::move(*row));
  }
  double load[1] = {0};
  (void)getloadavg(load, 1);
  figures["cores"] = std::thread::hardware_concurrency();
  figures["load_1min"] = rounded(load[0]);
  if (options.json) {
    std::printf("%s\n", figures.dump().c_str());
  } else {
    print(figures);
  }
  return 0;
}

}  // namespace
}  // namespace banyan::bench

int main(int argc, char** argv) {
  banyan::bench::Options options;
  CLI::App app{"Raft over the live network and disk: commit latency and throughput", "bench_raft"};
  app.add_option("--groups", options.groups, "how many groups, one measurement each")
      ->delimiter(',')
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "length of a measurement")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--depth", options.depth, "proposals under way in each group, for the second measurement")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--dir", options.directory, "a folder on the device to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_flag("--json", options.json, "one JSON object on stdout and nothing else");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return banyan::bench::run(options);
}
