// The plain data of a Raft group: positions in the log, entries, and what a replica must remember.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace banyan::raft {

/// Counts elections. 0 is before the first.
using Term = Id<struct TermTag, std::uint64_t>;
/// A position in the log. 0 is before the first entry; a group is born with a snapshot at 1.
using Index = Id<struct IndexTag, std::uint64_t>;

constexpr Index operator+(Index index, std::uint64_t count) { return {index.value + count}; }
constexpr Index operator-(Index index, std::uint64_t count) { return {index.value - count}; }
constexpr std::uint64_t operator-(Index a, Index b) { return a.value - b.value; }
constexpr Term operator+(Term term, std::uint64_t count) { return {term.value + count}; }

/// Nobody: no vote, no leader.
inline constexpr ReplicaId kNobody{0};

/// What an entry means to whoever applies it.
enum class EntryType : std::uint8_t {
  kCommand,  ///< bytes that were proposed
  kNoop,     ///< a new leader's first entry; nothing to apply
  kChange,   ///< an encoded Change of the membership; the core puts it into effect
};

/// One entry of the log. Two entries with equal index and term are equal (log matching).
struct Entry {
  Term term;
  Index index;
  EntryType type = EntryType::kCommand;
  Blob data;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// What an entry takes beside its data.
inline constexpr std::uint64_t kEntryCost = 16;
/// The bytes that an entry counts for in every limit of Config.
inline std::uint64_t cost(const Entry& entry) { return entry.data.size() + kEntryCost; }

/// What a replica must find again after a crash, beside log and snapshot.
struct HardState {
  Term term;
  ReplicaId vote;  ///< whom it voted for in `term`
  Index commit;    ///< may be behind what was known; never ahead of the stored log
  friend bool operator==(const HardState&, const HardState&) = default;
};

/// Who takes part. While `outgoing` is not empty the group is in joint consensus (Raft paper, section 6):
/// elections and commits need a majority of `voters` and one of `outgoing`.
struct Membership {
  std::set<ReplicaId> voters;
  std::set<ReplicaId> outgoing;       ///< the voters before the change that is under way
  std::set<ReplicaId> learners;       ///< receive the log, count for nothing
  std::set<ReplicaId> learners_next;  ///< outgoing voters that become learners when the change ends
  bool auto_leave = false;            ///< the leader ends the joint phase by itself
  friend bool operator==(const Membership&, const Membership&) = default;
};

/// The applied state at `index`, in place of the entries up to it.
struct Snapshot {
  Index index;
  Term term;              ///< the term of the entry at `index`
  Membership membership;  ///< the membership in effect at `index`
  Blob data;              ///< the driver's own bytes
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace banyan::raft
