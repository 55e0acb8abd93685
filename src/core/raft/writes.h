// Which part of a replica's state is on its disk, while several writes are on their way.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "core/raft/log.h"
#include "core/raft/output.h"

namespace banyan::raft {

/// Hands out writes in order and learns from their completion what is durable.
///
/// A write may complete after the entries that it carried were replaced by others, even by equal ones again.
/// So each outstanding write knows up to where its entries are still those of the log, and a truncation
/// lowers that.
class Writes {
 public:
  Writes(const HardState& stored, Index stored_to)
      : issued_(stored), durable_(stored), issued_to_(stored_to), durable_to_(stored_to) {}

  /// The last entry that is on disk and still part of the log.
  [[nodiscard]] Index durable_to() const { return durable_to_; }
  [[nodiscard]] const HardState& durable() const { return durable_; }

  /// Entries from `index` on were replaced.
  void truncated(Index index);
  /// The log was replaced by a snapshot that is not on disk.
  void installed(const Snapshot& snapshot);
  /// The snapshot replaces an older one and a part of the log.
  void compacted(const Snapshot& snapshot) { snapshot_ = snapshot; }
  /// The commit index goes to disk with the next issue(), even alone.
  void want_commit() { commit_wanted_ = true; }

  /// The write that brings the disk up to `state` and `log`, when there is anything to write.
  std::optional<Persist> issue(const Log& log, const HardState& state);
  /// The write that must complete before a message may leave that depends on `state` and `log` as they are.
  [[nodiscard]] WriteToken barrier(const Log& log, const HardState& state) const;
  [[nodiscard]] bool done(WriteToken token) const { return token <= done_; }
  /// The disk has `state` and all of `log`, and no write is on its way.
  [[nodiscard]] bool settled(const Log& log, const HardState& state) const {
    return outstanding_.empty() && !snapshot_ && durable_ == state && durable_to_ == log.last();
  }
  /// All writes up to `token` are on disk.
  void complete(WriteToken token);

 private:
  struct Outstanding {
    WriteToken token;
    Index entries_to;
    HardState state;
  };
  [[nodiscard]] bool must_sync(const Log& log, const HardState& state) const;

  HardState issued_;
  HardState durable_;
  Index issued_to_;
  Index durable_to_;
  std::optional<Snapshot> snapshot_;
  bool install_ = false;  ///< `snapshot_` replaces the log, too
  bool commit_wanted_ = false;
  std::deque<Outstanding> outstanding_;
  WriteToken last_{0};
  WriteToken done_{0};
};

}  // namespace banyan::raft
