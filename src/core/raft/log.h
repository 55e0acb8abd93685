// The log in memory, from the last compaction on.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "core/raft/types.h"

namespace banyan::raft {

/// Entries at contiguous indexes after a base, and the commit index. Knows nothing of disks or peers.
class Log {
 public:
  /// An empty log after `base`, everything up to it committed.
  Log(Index base, Term base_term) : base_(base), base_term_(base_term), commit_(base) {}

  [[nodiscard]] Index first() const { return base_ + 1; }
  [[nodiscard]] Index last() const { return base_ + entries_.size(); }
  [[nodiscard]] Term last_term() const { return entries_.empty() ? base_term_ : entries_.back().term; }
  [[nodiscard]] Index commit() const { return commit_; }
  /// The term at `index`, also at the base; nothing where it is compacted or not yet there.
  [[nodiscard]] std::optional<Term> term(Index index) const;
  /// `index` must lie in [first(), last()].
  [[nodiscard]] const Entry& at(Index index) const;
  /// Whether a log that ends with (`index`, `term`) holds all that this one may have seen committed (Raft
  /// paper, section 5.4.1).
  [[nodiscard]] bool not_ahead_of(Index index, Term term) const;
  /// The largest index <= `from` whose term is <= `term`: where two logs can still agree. May be the base.
  [[nodiscard]] Index last_not_above(Index from, Term term) const;
  /// Entries [from, to], cut before the one that makes them cost more than `max_bytes`; at least one.
  [[nodiscard]] std::vector<Entry> slice(Index from, Index to, std::uint64_t max_bytes) const;
  /// The first kChange entry after `index`.
  [[nodiscard]] std::optional<Index> change_after(Index index) const;

  /// Adds an entry after the last one; it gets its index here.
  const Entry& append(Term term, EntryType type, Blob data);
  /// Makes the log hold `entries`, which follow a position where this log agrees with the leader's. Entries
  /// that are there already stay; the first that differs takes all that follow it away. Returns the index
  /// from which on it changed, nothing when it did not.
  std::optional<Index> merge(std::span<const Entry> entries);
  /// Raises the commit index; lower values are ignored. At most last().
  void commit_to(Index index);
  /// Forgets entries up to `index`, which must be committed.
  void compact(Index index);
  /// Becomes an empty log after a snapshot.
  void reset(Index base, Term base_term);

 private:
  void push(Entry entry);
  void truncate_from(Index index);

  Index base_;
  Term base_term_;
  Index commit_;
  std::deque<Entry> entries_;
  std::set<Index> changes_;
};

}  // namespace banyan::raft
