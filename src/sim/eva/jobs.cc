#include "sim/eva/jobs.h"

#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/csv.h"
#include "base/random.h"

namespace banyan::sim::eva {

namespace {

Result<std::string> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorKind::kIo, path + ": cannot be read; name a job list with --jobs");
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!path.ends_with(".zst")) return bytes;
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > (1ULL << 32))
    return fail(ErrorKind::kCorrupt, path + ": is no zstd frame that tells its size");
  std::string text(size, '\0');
  const auto got = ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0) return fail(ErrorKind::kCorrupt, path + ": " + ZSTD_getErrorName(got));
  return text;
}

}  // namespace

std::uint32_t JobList::workload(const std::string& name, std::uint32_t base, const Resources& on_p3,
                                const Resources& on_others) {
  for (std::uint32_t i = 0; i < workloads.size(); ++i)
    if (workloads[i].name == name) return i;
  workloads.push_back({name, base, {Profile{on_p3}, Profile{on_others}, Profile{on_others}}});
  bases.push_back(base);
  return static_cast<std::uint32_t>(workloads.size() - 1);
}

void JobList::add(std::uint64_t id, std::uint32_t workload, std::uint32_t tasks, std::int64_t arrival_s,
                  double duration_s) {
  const double rate = base_workloads()[bases[workload]].iterations_s;
  jobs.push_back({id, workload, tasks, arrival_s, std::floor(duration_s * rate) / rate});
}

Result<JobList> read_jobs(const std::string& path) {
  const auto text = contents(path);
  if (!text) return tl::unexpected(text.error());
  const auto csv = Csv::parse(*text, path);
  if (!csv) return tl::unexpected(csv.error());
  const auto needed = csv->require({"job", "name", "arrival_s", "duration_s", "gpu", "vcpu", "ram_gib"});
  if (!needed) return tl::unexpected(needed.error());
  JobList list{.catalog = ec2_catalog(CpuUnit::kHyperthread), .workloads = {}, .bases = {}, .jobs = {}};
  for (const Csv::Row& row : csv->rows()) {
    std::optional<Error> bad;
    const auto value = [&](const char* column) {
      const auto number = csv->number(row, column);
      if (!number && !bad) bad = number.error();
      return number ? *number : 0;
    };
    const std::string name(csv->text(row, "name"));
    const auto base = base_workload_named(std::string_view(name).substr(0, name.find('[')));
    if (!base) return csv->wrong(row, "no workload is called '" + name + "'");
    const Resources demand = resources(value("gpu"), value("vcpu"), value("ram_gib"));
    const auto tasks = static_cast<std::uint32_t>(csv->has("tasks") ? value("tasks") : 1);
    const auto id = static_cast<std::uint64_t>(value("job"));
    const auto arrival_s = static_cast<std::int64_t>(value("arrival_s"));
    const double duration_s = value("duration_s");
    if (bad) return tl::unexpected(*bad);
    if (tasks == 0) return csv->wrong(row, "tasks is 0; a job has at least one");
    const std::uint32_t workload = list.workload(name, *base, demand, demand);
    if (list.workloads[workload].on[0]->demand != demand)
      return csv->wrong(row, "'" + name + "' had another demand before");
    if (!reservation(list.catalog, list.workloads[workload]))
      return csv->wrong(row, "job " + std::to_string(id) + " fits no type");
    list.add(id, workload, tasks, arrival_s, duration_s);
  }
  std::ranges::sort(list.jobs, {}, [](const Job& job) { return std::pair(job.arrival_s, job.id); });
  return list;
}

JobList synthetic_jobs(std::uint64_t seed, std::uint32_t count, double gap_s) {
  Rng rng(seed);
  JobList list{.catalog = ec2_catalog(CpuUnit::kCore), .workloads = {}, .bases = {}, .jobs = {}};
  double arrival_s = 0;
  for (std::uint32_t id = 0; id < count; ++id) {
    arrival_s += -gap_s * std::log1p(-rng.uniform());
    const auto base = static_cast<std::uint32_t>(rng.below(base_workloads().size()));
    const BaseWorkload& kind = base_workloads()[base];
    const double x = rng.chance(0.8) ? 1.5 + 1.5 * rng.uniform() : 3 + rng.uniform();
    list.add(id, list.workload(std::string(kind.name), base, kind.on_p3, kind.on_others), 1,
             static_cast<std::int64_t>(arrival_s), 60 * std::pow(10, x));
  }
  return list;
}

}  // namespace banyan::sim::eva
