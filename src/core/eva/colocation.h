// A growing set of tasks on one instance, and what it earns: its throughput-normalised reservation price,
// TNRP.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/eva/groups.h"

namespace banyan::eva {

/// The tasks on one instance. `groups` must outlive it.
class Colocation {
 public:
  /// An empty instance of `type` (an index into the catalog).
  Colocation(const Groups& groups, std::uint32_t type);
  /// An instance with these tasks, which must fit.
  Colocation(const Groups& groups, std::uint32_t type, std::span<const GroupCount> members);

  [[nodiscard]] std::uint32_t type() const { return type_; }
  [[nodiscard]] std::uint32_t tasks() const { return tasks_; }
  [[nodiscard]] std::vector<GroupCount> members() const;
  [[nodiscard]] std::uint32_t count(std::uint32_t group) const;

  /// Σ TNRP in $/h (Eva §4.3, §4.4): tput · RP(τ), for a task of a job with n tasks RP(τ) · (1 − n · (1 −
  /// tput)), at least 0.
  [[nodiscard]] double value() const { return value_; }
  /// The value with one more task. O(distinct members).
  [[nodiscard]] double value_with(std::uint32_t group) const;
  /// True when one more task of the group can run here.
  [[nodiscard]] bool has_room(std::uint32_t group) const;
  /// Decides between tasks that bring the same TNRP; the greatest suitability wins. On an empty instance that
  /// is the task with the largest share of some resource, which has the fewest other places to go. Later it
  /// is the one that uses what is left in its proportions, the smaller the better: Σ demand · free / Σ
  /// demand², in shares of the instance.
  [[nodiscard]] double suitability(std::uint32_t group) const;
  /// Adds one task; it must fit.
  void add(std::uint32_t group);
  /// The cheapest type that holds these tasks and runs none of them slower.
  [[nodiscard]] std::uint32_t cheapest_type() const;

 private:
  struct Member {
    std::uint32_t group = 0;
    std::uint32_t kind = 0;
    std::uint32_t count = 0;
    double price = 0;  ///< RP · speed, in $/h
    double job_tasks = 1;
    double product = 1;  ///< the product of its pairs with every other task here
  };

  [[nodiscard]] const InstanceType& instance_type() const { return groups_->snapshot().catalog.types[type_]; }
  [[nodiscard]] const ThroughputTable::Seen* seen_with(std::uint32_t kind) const;

  const Groups* groups_;
  std::uint32_t type_;
  std::uint32_t tasks_ = 0;
  double value_ = 0;
  std::uint64_t hash_ = 0;  ///< the hash of the set of kinds (ThroughputTable::hash_part)
  Resources free_;
  std::array<double, kResources>
      share_{};  ///< the share of the whole instance that one thousandth of a resource is
  std::vector<Member> members_;
};

}  // namespace banyan::eva
