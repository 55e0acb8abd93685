// The co-location throughput table: how fast a task runs beside others, as far as that has been seen.
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
  std::vector<std::uint32_t> neighbours;  ///< kinds on the same instance, itself left out, ascending
};

/// Normalised throughputs (1: as alone) by kind of workload and neighbours. A recorded set counts as
/// recorded; an unseen set is the product of its pairs, an unseen pair the default t (Eva §4.3).
class ThroughputTable {
 public:
  /// A set of neighbours beside which some of its members have been seen; members ascending, with repeats.
  struct Seen {
    std::vector<std::uint32_t> members;
    std::map<std::uint32_t, Mean> of;  ///< by kind
  };

  /// For kinds 0 to `kinds` − 1. 0 < `default_throughput` ≤ 1.
  explicit ThroughputTable(std::uint32_t kinds, double default_throughput = 0.95);

  /// Of `kind` beside `neighbours` (ascending). O(neighbours).
  [[nodiscard]] double of(std::uint32_t kind, std::span<const std::uint32_t> neighbours) const;
  /// What was recorded of it beside exactly these; nullopt: nothing.
  [[nodiscard]] std::optional<double> recorded(std::uint32_t kind,
                                               std::span<const std::uint32_t> neighbours) const;
  /// Beside one neighbour.
  [[nodiscard]] double pair(std::uint32_t kind, std::uint32_t neighbour) const {
    return pair_value_[std::size_t{kind} * kinds_ + neighbour];
  }
  /// Beside its most harmless neighbours: no set that is not recorded lets it run faster, nor any that is.
  [[nodiscard]] double best(std::uint32_t kind) const;
  /// What stands in for an unseen pair.
  [[nodiscard]] double default_throughput() const { return default_; }
  /// True when nothing has been recorded: all pairs are the default.
  [[nodiscard]] bool uniform() const { return recorded_ == 0; }
  /// Changes whenever a mean changes by more than 1e-6: plans made before may differ now.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// A single task's throughput, in (0, 1].
  void record(std::uint32_t kind, std::span<const std::uint32_t> neighbours, double throughput);
  /// A job of several tasks reports one throughput, its slowest task's. One entry learns from it (Eva §4.4):
  /// with none of them recorded, the task with most neighbours; if some recorded value is at most the
  /// observation, the lowest recorded; if all recorded are higher, the unrecorded task with most neighbours
  /// (all recorded: the lowest).
  void record_job(std::span<const Observation> tasks, double throughput);

  /// The part of a set's hash that a member adds; the hash of a set is the sum.
  static std::uint64_t hash_part(std::uint32_t kind);
  /// The record of the set with this hash for which `same(members)` holds; sets of three and more only.
  template <class Same>
  [[nodiscard]] const Seen* find(std::uint64_t hash, Same same) const {
    const auto found = sets_.find(hash);
    if (found == sets_.end()) return nullptr;
    for (const Seen& seen : found->second)
      if (same(seen.members)) return &seen;
    return nullptr;
  }
  /// True when a set of three or more has been seen.
  [[nodiscard]] bool has_sets() const { return !sets_.empty(); }

 private:
  std::uint32_t kinds_;
  double default_;
  std::vector<Mean> pairs_;                                    ///< [kind][neighbour]
  std::vector<double> pair_value_;                             ///< the same as values: what plans read
  std::unordered_map<std::uint64_t, std::vector<Seen>> sets_;  // unordered: looked up by hash, never iterated
  std::vector<double> best_seen_;  ///< by kind, in recorded sets of three and more
  std::uint64_t recorded_ = 0;
  std::uint64_t revision_ = 0;
};

}  // namespace banyan::eva
