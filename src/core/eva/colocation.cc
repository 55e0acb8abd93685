#include "core/eva/colocation.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::eva {

namespace {

/// What a task adds to the value for each $ of its reservation price. All n tasks of its job lose what it
/// loses, so its loss counts n times.
double worth(double throughput, double job_tasks) { return std::max(0.0, 1 - (1 - throughput) * job_tasks); }

}  // namespace

Colocation::Colocation(const Groups& groups, std::uint32_t type)
    : groups_(&groups), type_(type), free_(instance_type().capacity) {
  for (std::size_t r = 0; r < kResources; ++r)
    share_[r] = free_.milli[r] > 0 ? 1 / static_cast<double>(free_.milli[r]) : 0;
}

Colocation::Colocation(const Groups& groups, std::uint32_t type, std::span<const GroupCount> members)
    : Colocation(groups, type) {
  for (const GroupCount& member : members)
    for (std::uint32_t i = 0; i < member.count; ++i) add(member.group);
}

std::vector<GroupCount> Colocation::members() const {
  std::vector<GroupCount> members;
  members.reserve(members_.size());
  for (const Member& member : members_) members.push_back({member.group, member.count});
  return members;
}

std::uint32_t Colocation::count(std::uint32_t group) const {
  for (const Member& member : members_)
    if (member.group == group) return member.count;
  return 0;
}

bool Colocation::has_room(std::uint32_t group) const {
  const Profile* profile = groups_->profile(group, instance_type().family);
  return profile != nullptr && fits(profile->demand, free_);
}

double Colocation::suitability(std::uint32_t group) const {
  const Profile& profile = *groups_->profile(group, instance_type().family);
  double dominant = 0;  // the largest share of any resource
  double aligned = 0;   // Σ demand · free, in shares of the instance
  double size = 0;      // Σ demand², likewise
  for (std::size_t r = 0; r < kResources; ++r) {
    const double demand = static_cast<double>(profile.demand.milli[r]) * share_[r];
    dominant = std::max(dominant, demand);
    aligned += demand * static_cast<double>(free_.milli[r]) * share_[r];
    size += demand * demand;
  }
  return tasks_ == 0 || size == 0 ? dominant : aligned / size;
}

const ThroughputTable::Seen* Colocation::seen_with(std::uint32_t kind) const {
  const ThroughputTable& table = groups_->throughputs();
  if (tasks_ < 2 || !table.has_sets()) return nullptr;
  return table.find(hash_ + ThroughputTable::hash_part(kind), [&](const std::vector<std::uint32_t>& seen) {
    if (seen.size() != tasks_ + 1) return false;
    const auto count = [&](std::uint32_t of) { return std::count(seen.begin(), seen.end(), of); };
    std::int64_t others = 0;  // tasks of the new task's kind that are here
    for (const Member& member : members_) {
      if (member.kind == kind) {
        others += member.count;
        continue;
      }
      std::int64_t same = 0;  // several groups may be of one kind: they differ only in their jobs
      for (const Member& other : members_)
        if (other.kind == member.kind) same += other.count;
      if (count(member.kind) != same) return false;
    }
    return count(kind) == others + 1;
  });
}

double Colocation::value_with(std::uint32_t group) const {
  const Group& added = (*groups_)[group];
  const double price = added.reservation.usd_h * groups_->profile(group, instance_type().family)->speed;
  if (!groups_->awareness().interference) return value_ + price;
  const ThroughputTable& table = groups_->throughputs();
  const ThroughputTable::Seen* seen = seen_with(added.kind);
  const auto throughput = [&](std::uint32_t kind, double product) {
    if (seen == nullptr) return product;
    const auto of = seen->of.find(kind);
    return of == seen->of.end() ? product : of->second.value();
  };
  double value = 0;
  double product = 1;  // the new task's throughput beside those that are here
  for (const Member& member : members_) {
    const double with = member.product * table.pair(member.kind, added.kind);
    value += member.count * member.price * worth(throughput(member.kind, with), member.job_tasks);
    const double beside = table.pair(added.kind, member.kind);
    for (std::uint32_t i = 0; i < member.count; ++i) product *= beside;
  }
  return value + price * worth(throughput(added.kind, product), added.job_tasks);
}

void Colocation::add(std::uint32_t group) {
  const Profile* profile = groups_->profile(group, instance_type().family);
  CHECK(profile != nullptr && fits(profile->demand, free_), "a task is put where it does not fit");
  const Group& added = (*groups_)[group];
  value_ = value_with(group);
  free_ -= profile->demand;
  const ThroughputTable& table = groups_->throughputs();
  double product = 1;
  Member* own = nullptr;
  for (Member& member : members_) {
    const double beside = table.pair(added.kind, member.kind);
    for (std::uint32_t i = 0; i < member.count; ++i) product *= beside;
    member.product *= table.pair(member.kind, added.kind);
    if (member.group == group) own = &member;
  }
  if (own != nullptr) {
    ++own->count;
  } else {
    members_.push_back({group, added.kind, 1, added.reservation.usd_h * profile->speed,
                        static_cast<double>(added.job_tasks), product});
  }
  hash_ += ThroughputTable::hash_part(added.kind);
  ++tasks_;
}

std::uint32_t Colocation::cheapest_type() const {
  const Catalog& catalog = groups_->snapshot().catalog;
  std::uint32_t best = type_;
  for (std::uint32_t t = 0; t < catalog.types.size(); ++t) {
    const InstanceType& type = catalog.types[t];
    if (type.usd_h >= catalog.types[best].usd_h) continue;
    Resources demand;
    const bool runs = std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
      const Profile* there = groups_->profile(member.group, type.family);
      if (there == nullptr || there->speed < groups_->profile(member.group, instance_type().family)->speed)
        return false;
      for (std::uint32_t i = 0; i < member.count; ++i) demand += there->demand;
      return true;
    });
    if (runs && fits(demand, type.capacity)) best = t;
  }
  return best;
}

}  // namespace banyan::eva
