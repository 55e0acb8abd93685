#include "core/planner/speeds.h"

#include <algorithm>

namespace banyan::planner {

namespace {

constexpr std::size_t kTypesMax = 256;  // the names come from user code

Rate assumed_way() { return {125e6, 1000}; }

}  // namespace

void Speeds::received(const HostId& from, std::uint64_t bytes, std::int64_t took_us) {
  peers_.try_emplace(from, assumed_way()).first->second.observe(static_cast<double>(bytes), took_us);
}

void Speeds::loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us) {
  const auto units = static_cast<double>(bytes);
  if (types_.contains(type) || types_.size() < kTypesMax)
    types_.try_emplace(type, any_type_.units_per_second(), static_cast<double>(any_type_.of(0).us))
        .first->second.observe(units, took_us);
  any_type_.observe(units, took_us);
}

double Speeds::receive_rate() const {
  double together = 0;
  for (const auto& [peer, rate] : peers_) together += rate.units_per_second();
  return peers_.empty() ? assumed_way().units_per_second() : together;
}

Estimate Speeds::receive(std::uint64_t bytes) const {
  if (peers_.empty()) return assumed_way().of(static_cast<double>(bytes));
  const double together = receive_rate();
  Estimate longest;
  for (const auto& [peer, rate] : peers_) {
    const Estimate part = rate.of(static_cast<double>(bytes) * rate.units_per_second() / together);
    longest = {.us = std::max(longest.us, part.us), .error_us = std::max(longest.error_us, part.error_us)};
  }
  return longest;
}

Estimate Speeds::load(const std::string& type, std::uint64_t bytes) const {
  const auto known = types_.find(type);
  return (known == types_.end() ? any_type_ : known->second).of(static_cast<double>(bytes));
}

}  // namespace banyan::planner
