// For tests: the safety properties of the Raft paper (figure 3), checked on every state that a test shows.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "core/raft/raft.h"

namespace banyan::raft {

/// Watches all replicas of one group. violation() stays empty while the properties hold.
class Invariants {
 public:
  /// The state of a replica after a step of it.
  void observe(const Raft& raft) {
    const ReplicaId id = raft.status().id;
    election_safety(raft, id);
    log_matching(raft, id);
    state_machine_safety(raft, id);
    leader_completeness(raft, id);
  }
  /// The replica lost its memory: its commit index may go back to the one on its disk.
  void restarted(ReplicaId id) {
    seen_.erase(id);
    commit_.erase(id);
  }
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  void fail(const std::string& what, ReplicaId id, Index index, Term term) {
    if (violation_.empty())
      violation_ = what + ": replica " + std::to_string(id.value) + " at index " +
                   std::to_string(index.value) + ", term " + std::to_string(term.value);
  }

  void election_safety(const Raft& raft, ReplicaId id) {
    if (raft.role() != Role::kLeader) return;
    const auto [leader, fresh] = leaders_.emplace(raft.term(), id);
    if (leader->second != id) fail("two leaders in one term", id, {}, raft.term());
  }

  /// Every (index, term) has one content and one predecessor, wherever it is: by induction, equal prefixes.
  void log_matching(const Raft& raft, ReplicaId id) {
    const Log& log = raft.log();
    auto& seen = seen_[id];
    seen.erase(seen.upper_bound(log.last()), seen.end());
    for (Index index = log.last(); index >= log.first(); index = index - 1) {
      const Entry& entry = log.at(index);
      const auto known = seen.find(index);
      if (known != seen.end() && known->second == entry.term) break;
      seen[index] = entry.term;
      const Placed placed{entry, *log.term(index - 1)};
      const auto [first, fresh] = placed_.try_emplace({index, entry.term}, placed);
      if (!(first->second.entry == entry) || first->second.before != placed.before)
        fail("logs differ before an equal position", id, index, entry.term);
    }
  }

  void state_machine_safety(const Raft& raft, ReplicaId id) {
    const Log& log = raft.log();
    Index& checked = commit_[id];
    const Index start = std::max(checked + 1, log.first());
    for (Index index = start; index <= log.commit(); index = index + 1) {
      const auto [first, fresh] = committed_.try_emplace(index, log.at(index).term);
      if (first->second != log.at(index).term) fail("two entries committed", id, index, log.at(index).term);
    }
    if (log.commit() < checked) fail("the commit index fell", id, log.commit(), raft.term());
    checked = log.commit();
  }

  /// Checked once for each leader, when it appears: it never loses entries later.
  void leader_completeness(const Raft& raft, ReplicaId id) {
    if (raft.role() != Role::kLeader || !complete_.emplace(raft.term(), id).second) return;
    for (const auto& [index, term] : committed_) {
      if (index < raft.log().first()) continue;
      if (raft.log().term(index) != term) fail("a leader lacks a committed entry", id, index, term);
    }
  }

  struct Placed {
    Entry entry;
    Term before;
  };
  std::map<Term, ReplicaId> leaders_;
  std::map<Term, ReplicaId> complete_;
  std::map<std::pair<Index, Term>, Placed> placed_;
  std::map<Index, Term> committed_;
  std::map<ReplicaId, std::map<Index, Term>> seen_;
  std::map<ReplicaId, Index> commit_;
  std::string violation_;
};

}  // namespace banyan::raft
