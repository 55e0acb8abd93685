#include "core/schedule/gpu_hours.h"

#include <algorithm>
#include <utility>

namespace banyan::schedule {

namespace {

constexpr Duration kHour = 1h;
constexpr Duration kLookEvery = 1s;
constexpr std::int64_t kDay = 24;  // hours

std::int64_t hour_of(Time time) { return time.time_since_epoch() / kHour; }

}  // namespace

/// Up to now, each hour its part; and forgets what is a day ago.
void GpuHours::add_up(Owner& owner, Time now) {
  while (owner.devices > 0 && owner.since < now) {
    const Hour hour = hour_of(owner.since);
    const Time end = std::min(now, Time((hour + 1) * kHour));
    owner.hours[hour] += (end - owner.since) * static_cast<Duration::rep>(owner.devices);
    owner.since = end;
  }
  owner.since = now;
  owner.hours.erase(owner.hours.begin(), owner.hours.upper_bound(hour_of(now) - kDay));
}

Duration GpuHours::sum(const Owner& owner) {
  Duration all{};
  for (const auto& [hour, time] : owner.hours) all += time;
  return all;
}

void GpuHours::on_has(const std::string& owner, std::uint64_t devices, Time now) {
  if (most_ == Duration()) return;
  Owner& one = owners_[owner];
  add_up(one, now);
  one.devices = devices;
  if (sum(one) >= most_) spent_.insert(owner);
}

std::set<std::string> GpuHours::look(Time now) {
  if (now - looked_at_ < kLookEvery) return {};
  looked_at_ = now;
  std::set<std::string> freed;
  for (auto& [name, owner] : owners_) {
    add_up(owner, now);
    if (sum(owner) >= most_) {
      spent_.insert(name);
    } else if (spent_.erase(name) > 0) {
      freed.insert(name);
    }
  }
  std::erase_if(owners_,
                [](const auto& item) { return item.second.devices == 0 && item.second.hours.empty(); });
  return freed;
}

Time GpuHours::ends(const std::string& owner) const {
  const auto found = owners_.find(owner);
  if (found == owners_.end()) return {};
  Duration left = sum(found->second);
  for (const auto& [hour, time] : found->second.hours) {
    left -= time;
    if (left < most_) return Time((hour + kDay) * kHour);
  }
  return {};
}

Duration GpuHours::used(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? Duration() : sum(found->second);
}

}  // namespace banyan::schedule
