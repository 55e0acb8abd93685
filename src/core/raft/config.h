// How one replica behaves, fixed for its life, and what it starts from.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/raft/types.h"

namespace banyan::raft {

/// Whether an election starts with a poll, so that a replica which cannot win disturbs nobody.
enum class PreVote : std::uint8_t { kOff, kOn };
/// Whether a leader that hears no quorum steps down, and replicas that hear a leader refuse to vote.
enum class CheckQuorum : std::uint8_t { kOff, kOn };
/// How a read proves that its leader still leads.
enum class ReadMode : std::uint8_t {
  kQuorum,  ///< a heartbeat round confirms each read; right whatever clocks do
  kLease,   ///< the last round that a quorum answered is enough; needs CheckQuorum and ticks of equal length
            ///< everywhere
};
/// When a follower that has an entry is told that the entry is committed. The follower that forwarded it is
/// always told at once, because a client waits there.
enum class CommitNotice : std::uint8_t {
  kAtOnce,
  kWithNext,  ///< with the next Append or Heartbeat: a lone proposal takes half as many messages
};
/// What a leader does when a change of the membership that removes it takes effect.
enum class OnRemoval : std::uint8_t { kStepDown, kStay };
/// Who makes sure that at most one change of the membership is under way.
enum class ChangeCheck : std::uint8_t {
  kByLeader,  ///< the leader refuses a change while another one is not in effect
  kByDriver,  ///< the driver makes sure; the core ignores a committed change that does not fit
};

/// Bounds and choices of one replica. Time is counted in ticks, whose length the driver decides.
struct Config {
  ReplicaId id;
  int election_ticks = 10;  ///< the election timeout is random in [election_ticks, 2 * election_ticks)
  int heartbeat_ticks = 1;
  PreVote pre_vote = PreVote::kOn;
  CheckQuorum check_quorum = CheckQuorum::kOn;
  ReadMode read_mode = ReadMode::kQuorum;
  CommitNotice commit_notice = CommitNotice::kAtOnce;
  OnRemoval on_removal = OnRemoval::kStepDown;
  ChangeCheck change_check = ChangeCheck::kByLeader;
  std::uint64_t max_append_bytes =
      1 << 20;  ///< the size limit of an Append; a single larger entry still goes alone
  std::uint64_t max_apply_bytes = 16 << 20;        ///< committed entries in one Output, at least one entry
  int max_inflight_messages = 128;                 ///< unanswered Appends to one follower
  std::uint64_t max_inflight_bytes = 32 << 20;     ///< the same limit in bytes; one message always goes
  std::uint64_t max_uncommitted_bytes = 64 << 20;  ///< proposals of this leader; beyond it propose() fails
  std::uint64_t max_pending_reads = 4096;          ///< reads that wait in a leader; beyond it they fail
  int snapshot_retry_ticks = 100;                  ///< an unanswered snapshot is sent again after this long
  std::uint64_t seed = 1;                          ///< seeds the election timeouts; mixed with the id
};

/// What a replica starts from: what its driver stored. Default: a replica that joins and knows nothing.
struct Restored {
  HardState hard_state;
  Snapshot snapshot;
  std::vector<Entry> entries;  ///< contiguous; those up to snapshot.index are ignored

  /// The start of every first member of a new group: all get the same voters (and the same `data`).
  /// A member that is added later starts from Restored{} and receives a snapshot.
  static Restored birth(std::set<ReplicaId> voters, Blob data = {}) {
    Restored restored;
    restored.hard_state = {.term = {1}, .vote = kNobody, .commit = {1}};
    restored.snapshot.index = {1};
    restored.snapshot.term = {1};
    restored.snapshot.membership.voters = std::move(voters);
    restored.snapshot.data = std::move(data);
    return restored;
  }
};

}  // namespace banyan::raft
