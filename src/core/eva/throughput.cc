#include "core/eva/throughput.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace banyan::eva {

namespace {

std::vector<std::uint32_t> with(std::uint32_t kind, std::span<const std::uint32_t> neighbours) {
  std::vector<std::uint32_t> members(neighbours.begin(), neighbours.end());
  members.insert(std::upper_bound(members.begin(), members.end(), kind), kind);
  return members;
}

std::uint64_t hash_of(std::span<const std::uint32_t> members) {
  std::uint64_t hash = 0;
  for (const std::uint32_t member : members) hash += ThroughputTable::hash_part(member);
  return hash;
}

}  // namespace

ThroughputTable::ThroughputTable(std::uint32_t kinds, double default_throughput)
    : kinds_(kinds),
      default_(default_throughput),
      pairs_(std::size_t{kinds} * kinds),
      pair_value_(std::size_t{kinds} * kinds, default_throughput),
      best_seen_(kinds) {
  CHECK(default_throughput > 0 && default_throughput <= 1, "a throughput is normalised to that alone");
}

// The finaliser of SplitMix64. Its values are as good as random, so sums of them make good hashes of sets.
std::uint64_t ThroughputTable::hash_part(std::uint32_t kind) {
  std::uint64_t x = (kind + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::optional<double> ThroughputTable::recorded(std::uint32_t kind,
                                                std::span<const std::uint32_t> neighbours) const {
  if (neighbours.empty()) return 1.0;
  if (neighbours.size() == 1) {
    const Mean& mean = pairs_[std::size_t{kind} * kinds_ + neighbours[0]];
    return mean.known() ? std::optional(mean.value()) : std::nullopt;
  }
  const std::vector<std::uint32_t> members = with(kind, neighbours);
  const Seen* seen = find(hash_of(members), [&](const auto& other) { return other == members; });
  if (seen == nullptr) return std::nullopt;
  const auto of = seen->of.find(kind);
  return of == seen->of.end() ? std::nullopt : std::optional(of->second.value());
}

double ThroughputTable::of(std::uint32_t kind, std::span<const std::uint32_t> neighbours) const {
  if (const auto known = recorded(kind, neighbours)) return *known;
  double product = 1;
  for (const std::uint32_t neighbour : neighbours) product *= pair(kind, neighbour);
  return product;
}

double ThroughputTable::best(std::uint32_t kind) const {
  const auto row = std::span(pair_value_).subspan(std::size_t{kind} * kinds_, kinds_);
  return std::max(best_seen_[kind], *std::ranges::max_element(row));
}

void ThroughputTable::record(std::uint32_t kind, std::span<const std::uint32_t> neighbours,
                             double throughput) {
  if (neighbours.empty()) return;
  const auto learn = [&](Mean& mean, double before) {
    mean.add(std::min(throughput, 1.0));
    ++recorded_;
    if (std::abs(mean.value() - before) > 1e-6) ++revision_;
  };
  if (neighbours.size() == 1) {
    const std::size_t at = std::size_t{kind} * kinds_ + neighbours[0];
    learn(pairs_[at], pair_value_[at]);
    pair_value_[at] = pairs_[at].value();
    return;
  }
  const double before = of(kind, neighbours);
  const std::vector<std::uint32_t> members = with(kind, neighbours);
  std::vector<Seen>& bucket = sets_[hash_of(members)];
  auto seen =
      std::find_if(bucket.begin(), bucket.end(), [&](const Seen& other) { return other.members == members; });
  if (seen == bucket.end()) seen = bucket.insert(bucket.end(), Seen{members, {}});
  learn(seen->of[kind], before);
  best_seen_[kind] = std::max(best_seen_[kind], throughput);
}

void ThroughputTable::record_job(std::span<const Observation> tasks, double throughput) {
  const Observation* crowded = nullptr;  // the unrecorded task with most neighbours
  const Observation* lowest = nullptr;   // the recorded task with the lowest value
  double lowest_value = 0;
  for (const Observation& task : tasks) {
    if (task.neighbours.empty()) continue;  // it is alone on its instance, so nobody slows it
    if (const auto value = recorded(task.kind, task.neighbours)) {
      if (lowest == nullptr || *value < lowest_value) lowest = &task, lowest_value = *value;
    } else if (crowded == nullptr || task.neighbours.size() > crowded->neighbours.size()) {
      crowded = &task;
    }
  }
  const bool explained = lowest != nullptr && lowest_value <= throughput;
  const Observation* learns = crowded == nullptr || explained ? lowest : crowded;
  if (learns != nullptr) record(learns->kind, learns->neighbours, throughput);
}

}  // namespace banyan::eva
