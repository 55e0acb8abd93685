#include "sim/eva/facts.h"

#include <array>
#include <vector>

namespace banyan::sim::eva {

namespace {

struct Ec2Type {
  std::string_view name;
  std::uint32_t family;
  double gpus;
  double hyperthreads;
  double ram_gib;
  double usd_h;
  TypeDelays delays;
};

constexpr Ec2Type kTypes[] = {
    {"p3.2xlarge", 0, 1, 8, 61, 3.06, {22, 151, 1}},
    {"p3.8xlarge", 0, 4, 32, 244, 12.24, {37, 192, 1}},
    {"p3.16xlarge", 0, 8, 64, 488, 24.48, {52, 182, 1}},
    {"c7i.large", 1, 0, 2, 4, 0.08925, {7, 163, 1}},
    {"c7i.xlarge", 1, 0, 4, 8, 0.1785, {12, 149, 1}},
    {"c7i.2xlarge", 1, 0, 8, 16, 0.357, {7, 149, 1}},
    {"c7i.4xlarge", 1, 0, 16, 32, 0.714, {7, 143, 1}},
    {"c7i.8xlarge", 1, 0, 32, 64, 1.428, {7, 144, 1}},
    {"c7i.12xlarge", 1, 0, 48, 96, 2.142, {7, 145, 1}},
    {"c7i.16xlarge", 1, 0, 64, 128, 2.856, {7, 143, 1}},
    {"c7i.24xlarge", 1, 0, 96, 192, 4.284, {7, 146, 1}},
    {"c7i.48xlarge", 1, 0, 192, 384, 8.568, {7, 150, 1}},
    {"r7i.large", 2, 0, 2, 16, 0.1323, {7, 143, 1}},
    {"r7i.xlarge", 2, 0, 4, 32, 0.2646, {7, 143, 1}},
    {"r7i.2xlarge", 2, 0, 8, 64, 0.5292, {7, 145, 1}},
    {"r7i.4xlarge", 2, 0, 16, 128, 1.0584, {7, 161, 1}},
    {"r7i.8xlarge", 2, 0, 32, 256, 2.1168, {7, 158, 1}},
    {"r7i.12xlarge", 2, 0, 48, 384, 3.1752, {7, 147, 1}},
    {"r7i.16xlarge", 2, 0, 64, 512, 4.2336, {7, 145, 1}},
    {"r7i.24xlarge", 2, 0, 96, 768, 6.3504, {7, 149, 1}},
    {"r7i.48xlarge", 2, 0, 192, 1536, 12.7008, {12, 150, 1}},
};

constexpr double kUnmeasured = 0.95;

// The throughput of the row's workload beside the column's; both are in the order of base_workloads().
constexpr double kPairs[9][9] = {
    {0.928, 0.973, 0.999, 0.919, 0.835, 0.990, kUnmeasured, kUnmeasured, 0.928},
    {0.853, 0.889, 0.970, 0.975, 0.882, 0.955, kUnmeasured, kUnmeasured, 0.908},
    {0.995, 1, 0.991, 0.993, 0.848, 0.930, kUnmeasured, kUnmeasured, 0.927},
    {0.793, 0.965, 0.787, 0.865, 0.999, 0.995, kUnmeasured, kUnmeasured, 0.793},
    {0.915, 0.898, 0.952, 0.981, 0.904, 0.962, 0.953, 0.647, 0.915},
    {0.805, 0.978, 0.978, 0.986, 0.950, 0.966, 0.828, 0.937, 0.805},
    {kUnmeasured, kUnmeasured, kUnmeasured, kUnmeasured, 0.992, 0.997, 0.933, 0.889, kUnmeasured},
    {kUnmeasured, kUnmeasured, kUnmeasured, kUnmeasured, 0.944, 0.996, 0.943, 0.671, kUnmeasured},
    {0.928, 1, 0.999, 0.919, 0.835, 0.990, kUnmeasured, kUnmeasured, 0.928},
};

}  // namespace

Catalog ec2_catalog(CpuUnit unit) {
  Catalog catalog{.families = {"p3", "c7i", "r7i"}, .types = {}};
  for (const Ec2Type& type : kTypes) {
    const double cpus = unit == CpuUnit::kCore ? type.hyperthreads / 2 : type.hyperthreads;
    catalog.types.push_back(
        {std::string(type.name), type.family, resources(type.gpus, cpus, type.ram_gib), type.usd_h});
  }
  return catalog;
}

std::span<const TypeDelays> ec2_delays() {
  static const std::vector<TypeDelays> delays = [] {
    std::vector<TypeDelays> all;
    for (const Ec2Type& type : kTypes) all.push_back(type.delays);
    return all;
  }();
  return delays;
}

std::span<const BaseWorkload> base_workloads() {
  static const std::array<BaseWorkload, 9> kWorkloads{{
      {"resnet18", 2.1, 1, 10, 80, 1, resources(1, 4, 24), resources(1, 4, 24)},
      {"sage", 2.433017451763153, 1, 10, 160, 1, resources(1, 8, 50), resources(1, 8, 50)},
      {"cyclegan", 1.1394022428072417, 2, 10, 2, 5, resources(1, 4, 10), resources(1, 4, 10)},
      {"gpt2", 3.305535078048706, 10, 10, 15, 20, resources(4, 4, 10), resources(4, 4, 10)},
      {"gcn", 0.16014614275523595, 1, 10, 28, 1, resources(0, 12, 40), resources(0, 6, 40)},
      {"openfoam", 8.4, 7, 10, 1, 14, resources(0, 8, 8), resources(0, 6, 8)},
      {"seq", 0.008324104361236095, 3, 10, 12, 5, resources(0, 14, 16), resources(0, 8, 16)},
      {"a3c", 12.736207246780396, 1, 10, 10, 1, resources(0, 10, 8), resources(0, 4, 8)},
      {"vit", 2.3503475870404924, 1, 10, 143, 2, resources(2, 8, 60), resources(2, 8, 60)},
  }};
  return kWorkloads;
}

std::optional<std::uint32_t> base_workload_named(std::string_view name) {
  const auto all = base_workloads();
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return i;
  return std::nullopt;
}

double measured_pair(std::uint32_t workload, std::uint32_t neighbour) { return kPairs[workload][neighbour]; }

}  // namespace banyan::sim::eva
