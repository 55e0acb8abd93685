#include "core/planner/speeds.h"

#include <algorithm>
#include <limits>

namespace banyan::planner {

namespace {

constexpr std::size_t kTypesMax = 256;  // the names come from user code

Rate assumed_way() { return {125e6, 1000}; }

}  // namespace

void Speeds::received(const HostId& from, std::uint64_t bytes, std::int64_t took_us) {
  observe(peers_.try_emplace(from, assumed_way()).first->second, bytes, took_us);
}

void Speeds::loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us) {
  observe_type(type, static_cast<double>(bytes), took_us);
}

void Speeds::observe_type(const std::string& type, double bytes, std::int64_t took_us) {
  if (types_.contains(type) || types_.size() < kTypesMax)
    types_.try_emplace(type, any_type_.units_per_second(), static_cast<double>(any_type_.of(0).us))
        .first->second.observe(bytes, took_us);
  observe(any_type_, bytes, took_us);
}

SpeedsRecord Speeds::record() const {
  SpeedsRecord record{.peers = {}, .types = {}, .disk = disk_.remembered(), .run = run_.remembered()};
  for (const auto& [peer, rate] : peers_) record.peers[peer] = rate.remembered();
  for (const auto& [type, rate] : types_) record.types[type] = rate.remembered();
  return record;
}

void Speeds::recall(const SpeedsRecord& record) {
  const auto again = [](Rate& rate, const std::vector<RateSample>& samples) {
    for (const RateSample& sample : samples) rate.observe(sample.units, sample.took_us);
  };
  for (const auto& [peer, samples] : record.peers)
    again(peers_.try_emplace(peer, assumed_way()).first->second, samples);
  for (const auto& [type, samples] : record.types) {
    for (const RateSample& sample : samples) observe_type(type, sample.units, sample.took_us);
  }
  again(disk_, record.disk);
  again(run_, record.run);
  samples_ = 0;
}

Rate Speeds::from(const HostId& peer) const {
  const auto known = peers_.find(peer);
  return known == peers_.end() ? assumed_way() : known->second;
}

double Speeds::receive_rate(std::span<const HostId> peers) const {
  if (peers.empty()) return assumed_way().units_per_second();
  double slowest = std::numeric_limits<double>::max();
  for (const HostId& peer : peers) slowest = std::min(slowest, from(peer).units_per_second());
  return slowest * static_cast<double>(peers.size());
}

Estimate Speeds::receive(std::uint64_t bytes, std::span<const HostId> peers) const {
  const auto parts = static_cast<double>(std::max<std::size_t>(peers.size(), 1));
  const double part = static_cast<double>(bytes) / parts;
  if (peers.empty()) return assumed_way().more(part);
  Estimate longest;
  for (const HostId& peer : peers) {
    const Estimate one = from(peer).more(part);
    if (one.cautious_us() > longest.cautious_us()) longest = one;
  }
  return longest;
}

Estimate Speeds::load(const std::string& type, std::uint64_t bytes) const {
  const auto known = types_.find(type);
  return (known == types_.end() ? any_type_ : known->second).of(static_cast<double>(bytes));
}

}  // namespace banyan::planner
