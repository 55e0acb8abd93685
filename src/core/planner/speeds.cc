#include "core/planner/speeds.h"

#include <algorithm>
#include <limits>

namespace banyan::planner {

namespace {

constexpr std::int64_t kTelling_us =
    1'000;  // shorter first times are mostly warming up and the clock's grain
constexpr std::int64_t kFactorMax = 16;
constexpr std::int64_t kLongestFirst_us = 1'000'000'000'000;  // 12 days
constexpr std::size_t kKnownMax = 256;  // user code can invent types without end, and hosts come and go

Rate assumed_way() { return {125e6, 1000}; }

/// Makes room for one more key by forgetting the one with the fewest samples.
template <class Key>
void make_room(std::map<Key, Rate>& known, const Key& more) {
  if (known.size() < kKnownMax || known.contains(more)) return;
  known.erase(std::ranges::min_element(known, {}, [](const auto& item) { return item.second.samples(); }));
}

void again(Rate& rate, const std::vector<RateSample>& samples) {
  for (const RateSample& sample : samples) rate.observe(sample.units, sample.took_us);
}

}  // namespace

Rate& RatesByType::at(const std::string& type) {
  make_room(known_, type);
  return known_.try_emplace(type, any_.units_per_second(), static_cast<double>(any_.of(0).us)).first->second;
}

void RatesByType::observe(const std::string& type, double units, std::int64_t took_us) {
  at(type).observe(units, took_us);
  any_.observe(units, took_us);
}

Estimate RatesByType::of(const std::string& type, double units) const {
  const auto known = known_.find(type);
  return (known == known_.end() ? any_ : known->second).of(units);
}

void RatesByType::recall(const std::map<std::string, std::vector<RateSample>>& known,
                         const std::vector<RateSample>& any) {
  again(any_, any);
  for (const auto& [type, samples] : known) again(at(type), samples);
}

Rate& Speeds::peer(const HostId& id) {
  make_room(peers_, id);
  return peers_.try_emplace(id, assumed_way()).first->second;
}

void Speeds::serialised(const std::string& type, std::int64_t first_us, std::int64_t took_us) {
  if (first_us < kTelling_us || first_us > kLongestFirst_us) return;
  took_us = std::clamp(took_us, first_us / kFactorMax, first_us * kFactorMax);
  serialise_.observe(type, static_cast<double>(first_us), took_us);
  ++samples_;
}

Estimate Speeds::serialise(const std::string& type, std::int64_t first_us) const {
  return serialise_.of(type, static_cast<double>(first_us));
}

void Speeds::received(const HostId& from, std::uint64_t bytes, std::int64_t took_us) {
  observe(peer(from), bytes, took_us);
}

void Speeds::loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us) {
  load_.observe(type, static_cast<double>(bytes), took_us);
  ++samples_;
}

SpeedsRecord Speeds::record() const {
  SpeedsRecord record{.peers = {},
                      .types = {},
                      .any_type = load_.any().remembered(),
                      .disk = disk_.remembered(),
                      .run = run_.remembered(),
                      .serialised = {},
                      .serialised_any = serialise_.any().remembered()};
  for (const auto& [peer, rate] : peers_) record.peers[peer] = rate.remembered();
  for (const auto& [type, rate] : load_.known()) record.types[type] = rate.remembered();
  for (const auto& [type, rate] : serialise_.known()) record.serialised[type] = rate.remembered();
  return record;
}

void Speeds::recall(const SpeedsRecord& record) {
  for (const auto& [id, samples] : record.peers) again(peer(id), samples);
  load_.recall(record.types, record.any_type);
  again(disk_, record.disk);
  again(run_, record.run);
  serialise_.recall(record.serialised, record.serialised_any);
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
  return load_.of(type, static_cast<double>(bytes));
}

}  // namespace banyan::planner
