#include "sim/eva/convert.h"

#include <cmath>
#include <map>
#include <optional>

#include "base/csv.h"
#include "base/random.h"
#include "sim/eva/facts.h"

namespace banyan::sim::eva {

namespace {

constexpr double kMeanGap_s = 1200;

double gavel_duration_s(Rng& rng) {
  const double x = rng.chance(0.8) ? 1.5 + 1.5 * rng.uniform() : 3 + rng.uniform();
  return 60 * std::pow(10, x);
}

}  // namespace

Result<std::string> convert_alibaba(const std::string& csv_text, const std::string& file, Durations durations,
                                    std::uint64_t seed) {
  const auto csv = Csv::parse(csv_text, file);
  if (!csv) return tl::unexpected(csv.error());
  const auto needed =
      csv->require({"cpu_milli", "memory_mib", "num_gpu", "pod_phase", "deletion_time", "scheduled_time"});
  if (!needed) return tl::unexpected(needed.error());
  const Catalog catalog = ec2_catalog(CpuUnit::kHyperthread);
  Rng rng(seed);
  std::map<Resources, std::string> names;  // the workload's name for each demand
  std::map<std::uint32_t, int> variants;   // how many variants each base workload has
  double arrival_s = 0;
  std::size_t id = 0;
  std::string out = "job,name,arrival_s,duration_s,gpu,vcpu,ram_gib\n";
  for (const Csv::Row& row : csv->rows()) {
    if (csv->text(row, "pod_phase") == "Failed" || csv->text(row, "scheduled_time").empty()) continue;
    double amounts[3];
    const char* const columns[] = {"num_gpu", "cpu_milli", "memory_mib"};
    for (int i = 0; i < 3; ++i) {
      const auto amount = csv->number(row, columns[i]);
      if (!amount) return tl::unexpected(amount.error());
      amounts[i] = *amount;
    }
    const auto from = csv->number(row, "scheduled_time");
    const auto until = csv->number(row, "deletion_time");
    if (!from) return tl::unexpected(from.error());
    if (!until) return tl::unexpected(until.error());
    const Resources demand =
        resources(std::ceil(amounts[0]), std::ceil(amounts[1] / 1000), std::ceil(amounts[2] / 1024));
    const Workload any{.name = "", .on = {Profile{demand}, Profile{demand}, Profile{demand}}};
    if (!reservation(catalog, any)) continue;
    const auto [name, is_new] = names.try_emplace(demand);
    if (is_new) {
      const auto base = static_cast<std::uint32_t>(rng.below(base_workloads().size()));
      name->second = std::string(base_workloads()[base].name) + "[" + std::to_string(variants[base]++) + "]";
    }
    arrival_s += -kMeanGap_s * std::log1p(-rng.uniform());
    const double duration_s = durations == Durations::kGavel ? gavel_duration_s(rng) : *until - *from;
    out += std::to_string(id++) + "," + name->second + "," + std::to_string(std::llround(arrival_s)) + "," +
           std::to_string(std::llround(duration_s));
    for (const std::int64_t milli : demand.milli) out += "," + std::to_string(milli / 1000);
    out += "\n";
  }
  return out;
}

}  // namespace banyan::sim::eva
