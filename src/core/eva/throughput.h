// The co-location throughput table: how fast a task runs beside others, as far as that was observed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>  // unordered: sets are looked up by hash, never iterated
#include <utility>
#include <vector>

namespace banyan::eva {

/// The mean of what was observed.
struct Mean {
  double sum = 0;
  std::uint64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] bool known() const { return count > 0; }
  [[nodiscard]] double value() const { return sum / static_cast<double>(count); }
};

/// What a throughput monitor reports of one task in a round.
struct Observation {
  std::uint32_t kind = 0;
  std::vector<std::uint32_t> neighbours;  ///< the kinds of the other tasks on its instance, ascending
};

/// Normalised throughputs (1: as alone) by the kind of a workload and its neighbours. A set of neighbours
/// that was recorded has the recorded value, an unseen set the product of its pairs, and an unseen pair the
/// default t (Eva §4.3).
class ThroughputTable {
 public:
  /// A set of tasks that were seen together: the kinds, ascending and with repeats, and what some of them
  /// reached.
  struct Seen {
    std::vector<std::uint32_t> members;
    std::map<std::uint32_t, Mean> of;  ///< the throughput of a kind in this set
  };

  /// A table for the kinds 0 to `kinds` − 1. 0 < `default_throughput` ≤ 1.
  explicit ThroughputTable(std::uint32_t kinds, double default_throughput = 0.95);

  /// The throughput of `kind` beside `neighbours` (ascending). O(neighbours).
  [[nodiscard]] double of(std::uint32_t kind, std::span<const std::uint32_t> neighbours) const;
  /// What was recorded of a kind beside exactly these; nullopt when nothing was.
  [[nodiscard]] std::optional<double> recorded(std::uint32_t kind,
                                               std::span<const std::uint32_t> neighbours) const;
  /// The throughput of a kind beside one neighbour.
  [[nodiscard]] double pair(std::uint32_t kind, std::uint32_t neighbour) const {
    return pair_value_[std::size_t{kind} * kinds_ + neighbour];
  }
  /// The throughput of a kind beside its most harmless neighbours. No set lets it run faster, whether it is
  /// recorded or not.
  [[nodiscard]] double best(std::uint32_t kind) const;
  /// The throughput of an unseen pair.
  [[nodiscard]] double default_throughput() const { return default_; }
  /// True when nothing was recorded, so that all pairs have the default.
  [[nodiscard]] bool uniform() const { return recorded_ == 0; }
  /// A number that changes whenever a mean changes by more than 1e-6: plans may differ from earlier ones
  /// then.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// Records the throughput of a single task, in (0, 1].
  void record(std::uint32_t kind, std::span<const std::uint32_t> neighbours, double throughput);
  /// Records what a job of several tasks reports: one throughput, that of its slowest task. One entry learns
  /// from it (Eva §4.4). If no task has a record, that of the task with the most neighbours; if some recorded
  /// value is at most the observation, the lowest recorded one; if all recorded values are higher, that of
  /// the unrecorded task with the most neighbours, or the lowest one where every task has a record.
  void record_job(std::span<const Observation> tasks, double throughput);

  /// What a member adds to the hash of a set. The hash of a set is the sum.
  static std::uint64_t hash_part(std::uint32_t kind);
  /// The record of the set with this hash for which `same(members)` holds. Only sets of three and more have
  /// records here.
  template <class Same>
  [[nodiscard]] const Seen* find(std::uint64_t hash, Same same) const {
    const auto found = sets_.find(hash);
    if (found == sets_.end()) return nullptr;
    for (const Seen& seen : found->second)
      if (same(seen.members)) return &seen;
    return nullptr;
  }
  /// True when a set of three or more was seen.
  [[nodiscard]] bool has_sets() const { return !sets_.empty(); }

 private:
  std::uint32_t kinds_;
  double default_;
  std::vector<Mean> pairs_;                                    ///< [kind][neighbour]
  std::vector<double> pair_value_;                             ///< the values of `pairs_`, which plans read
  std::unordered_map<std::uint64_t, std::vector<Seen>> sets_;  // unordered: looked up by hash, never iterated
  std::vector<double> best_seen_;  ///< by kind: its best throughput in recorded sets of three and more
  std::uint64_t recorded_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace banyan::eva
