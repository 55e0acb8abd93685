#include "core/raft/writes.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::raft {

void Writes::truncated(Index index) {
  // Writes under way may still bring replaced entries to the disk: they count only up to `kept`.
  const Index kept = index - 1;
  issued_to_ = std::min(issued_to_, kept);
  durable_to_ = std::min(durable_to_, kept);
  for (Outstanding& write : outstanding_) write.entries_to = std::min(write.entries_to, kept);
}

void Writes::installed(const Snapshot& snapshot) {
  truncated({1});
  issued_to_ = snapshot.index;
  snapshot_ = snapshot;
  install_ = true;
}

bool Writes::must_sync(const Log& log, const HardState& state) const {
  if (log.last() > issued_to_ || install_) return true;
  if (state.term != issued_.term || state.vote != issued_.vote) return true;
  // A change takes effect only when a restart would find it committed (Raft::apply_limit()), so its commit
  // index is worth an fsync.
  const auto change = log.change_after(issued_.commit);
  return change && *change <= log.commit();
}

std::optional<Persist> Writes::issue(const Log& log, const HardState& state) {
  const bool sync = must_sync(log, state);
  const bool commit = commit_wanted_ && state.commit != issued_.commit;
  commit_wanted_ = false;
  if (!sync && !commit && !snapshot_) return std::nullopt;
  Persist persist;
  last_.value += 1;
  persist.token = last_;
  persist.sync = sync ? Sync::kRequired : Sync::kLazy;
  persist.hard_state = state;
  persist.snapshot = std::exchange(snapshot_, std::nullopt);
  persist.truncate_after = issued_to_;
  persist.entries = log.slice(issued_to_ + 1, log.last(), UINT64_MAX);
  outstanding_.push_back({last_, log.last(), state});
  issued_ = state;
  issued_to_ = log.last();
  install_ = false;
  return persist;
}

WriteToken Writes::barrier(const Log& log, const HardState& state) const {
  return must_sync(log, state) ? WriteToken{last_.value + 1} : last_;
}

void Writes::complete(WriteToken token) {
  CHECK(token <= last_, "a write was reported that was never issued");
  done_ = std::max(done_, token);
  while (!outstanding_.empty() && outstanding_.front().token <= token) {
    durable_to_ = std::max(durable_to_, outstanding_.front().entries_to);
    durable_ = outstanding_.front().state;
    outstanding_.pop_front();
  }
}

}  // namespace banyan::raft
