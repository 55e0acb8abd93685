#include "core/planner/speeds.h"

#include <algorithm>
#include <limits>

namespace banyan::planner {

namespace {

constexpr std::size_t kKnownMax = 256;  // types' names come from user code, and hosts come and go

Rate assumed_way() { return {125e6, 1000}; }

/// For one more: what was seen least is forgotten.
template <class Key>
void make_room(std::map<Key, Rate>& known, const Key& more) {
  if (known.size() < kKnownMax || known.contains(more)) return;
  known.erase(std::ranges::min_element(known, {}, [](const auto& item) { return item.second.samples(); }));
}

}  // namespace

Rate& Speeds::peer(const HostId& id) {
  make_room(peers_, id);
  return peers_.try_emplace(id, assumed_way()).first->second;
}

Rate& Speeds::type(const std::string& name) {
  make_room(types_, name);
  return types_.try_emplace(name, any_type_.units_per_second(), static_cast<double>(any_type_.of(0).us))
      .first->second;
}

void Speeds::received(const HostId& from, std::uint64_t bytes, std::int64_t took_us) {
  observe(peer(from), bytes, took_us);
}

void Speeds::loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us) {
  this->type(type).observe(static_cast<double>(bytes), took_us);
  observe(any_type_, bytes, took_us);
}

SpeedsRecord Speeds::record() const {
  SpeedsRecord record{.peers = {},
                      .types = {},
                      .any_type = any_type_.remembered(),
                      .disk = disk_.remembered(),
                      .run = run_.remembered()};
  for (const auto& [peer, rate] : peers_) record.peers[peer] = rate.remembered();
  for (const auto& [type, rate] : types_) record.types[type] = rate.remembered();
  return record;
}

void Speeds::recall(const SpeedsRecord& record) {
  const auto again = [](Rate& rate, const std::vector<RateSample>& samples) {
    for (const RateSample& sample : samples) rate.observe(sample.units, sample.took_us);
  };
  again(any_type_, record.any_type);
  for (const auto& [id, samples] : record.peers) again(peer(id), samples);
  for (const auto& [name, samples] : record.types) again(type(name), samples);
  again(disk_, record.disk);
  again(run_, record.run);
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
