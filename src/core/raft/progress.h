// What a leader knows of one member, and how much it may send there.
#pragma once

#include <cstdint>
#include <deque>

#include "core/raft/config.h"
#include "core/raft/output.h"
#include "core/raft/types.h"

namespace banyan::raft {

/// The Appends to one follower that are not answered, oldest first. Bounded in number and bytes.
class Inflight {
 public:
  void add(Index last, std::uint64_t bytes);
  /// Forgets those that end at or before `match`.
  void answered(Index match);
  void clear();
  [[nodiscard]] bool full(const Config& limits) const;
  [[nodiscard]] std::size_t count() const { return sent_.size(); }

 private:
  struct Sent {
    Index last;
    std::uint64_t bytes;
  };
  std::deque<Sent> sent_;
  std::uint64_t bytes_ = 0;
};

/// One member as its leader sees it. `match` < `next`; in kProbe the member's log may end anywhere before
/// next.
struct Progress {
  Index match;
  Index next;
  Flow flow = Flow::kProbe;
  bool paused = false;  ///< kProbe: an Append is out and not answered
  bool nudge = false;   ///< kReplicate: send one Append even if nothing is new or all slots are taken
  Index sent_commit;    ///< the highest commit index that an Append told
  Index forwarded;      ///< the last entry that this member forwarded: it waits for the commit
  Index snapshot;       ///< kSnapshot: the one that is out; 0 otherwise, and once it is known to be lost
  std::uint64_t snapshot_tick = 0;  ///< when the snapshot was sent
  bool heard = false;               ///< whether it has answered since this leader leads
  std::uint64_t heard_tick = 0;     ///< when the member answered last; at first, when it became known
  std::uint64_t round = 0;          ///< the newest heartbeat round it answered
  Inflight inflight;

  void probe();
  void replicate();
  void await_snapshot(Index index, std::uint64_t tick);
  /// The member is durable up to `index`. False when that is old news.
  bool advance(Index index);
  /// The member has no match for an Append after `prev`; its log can agree up to `hint` at most. False when
  /// the rejection is stale.
  bool step_back(Index prev, Index hint);
  [[nodiscard]] bool blocked(const Config& limits) const;
};

}  // namespace banyan::raft
