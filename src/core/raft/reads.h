// Linearizable reads on a leader, waiting for the proof that it still leads (Ongaro's thesis, section 6.4).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "core/raft/types.h"

namespace banyan::raft {

/// One read: who asked, and from which index on the answer is linearizable.
struct PendingRead {
  ReplicaId from;
  std::uint64_t context = 0;
  Index index;
};

/// Reads that came since the last heartbeat round start the next one together; an older round may not serve
/// them, because the leader may have been deposed between that round and the read.
class Reads {
 public:
  /// The leader has no entry of its own term committed yet: `read` waits for one.
  void postpone(const PendingRead& read) { postponed_.push_back(read); }
  [[nodiscard]] std::vector<PendingRead> take_postponed() { return std::exchange(postponed_, {}); }

  /// `read` waits for a round that starts after now.
  void add(const PendingRead& read) { waiting_.push_back({round_ + 1, read}); }
  [[nodiscard]] std::size_t count() const { return waiting_.size() + postponed_.size(); }
  [[nodiscard]] bool round_wanted() const { return !waiting_.empty() && waiting_.back().round > round_; }
  /// Starts a round at `tick` and returns its number.
  std::uint64_t start_round(std::uint64_t tick);
  /// The reads that are proven by a quorum's answers to `round`.
  std::vector<PendingRead> confirm(std::uint64_t round);
  /// The tick at which the newest round that a quorum answered started; nothing before the first.
  [[nodiscard]] std::optional<std::uint64_t> confirmed_tick() const { return confirmed_tick_; }

 private:
  struct Waiting {
    std::uint64_t round;
    PendingRead read;
  };
  struct Round {
    std::uint64_t number;
    std::uint64_t tick;
  };
  std::vector<PendingRead> postponed_;
  std::deque<Waiting> waiting_;
  std::deque<Round> rounds_;  ///< not confirmed, oldest first
  std::uint64_t round_ = 0;
  std::optional<std::uint64_t> confirmed_tick_;
};

}  // namespace banyan::raft
