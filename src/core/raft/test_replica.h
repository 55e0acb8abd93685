// For tests: a replica with a disk and an application whose progress the test decides.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/raft/raft.h"

namespace banyan::raft {

/// What survives a crash.
struct Disk {
  HardState hard_state;
  Snapshot snapshot;
  std::map<Index, Entry> entries;

  void store(const Persist& write) {
    hard_state = write.hard_state;
    if (write.snapshot) snapshot = *write.snapshot;
    entries.erase(entries.upper_bound(write.truncate_after), entries.end());
    for (const Entry& entry : write.entries) entries.insert_or_assign(entry.index, entry);
    entries.erase(entries.begin(), entries.upper_bound(snapshot.index));
  }
  [[nodiscard]] Restored restored() const {
    Restored restored{hard_state, snapshot, {}};
    for (const auto& [index, entry] : entries) restored.entries.push_back(entry);
    return restored;
  }
  static Disk of(const Restored& restored) {
    Disk disk{restored.hard_state, restored.snapshot, {}};
    for (const Entry& entry : restored.entries) disk.entries.insert_or_assign(entry.index, entry);
    return disk;
  }
};

/// One step of the application: a snapshot to take over, or entries to apply.
struct ApplyTask {
  std::optional<Snapshot> install;
  std::vector<Entry> entries;
  [[nodiscard]] Index last() const { return entries.empty() ? install->index : entries.back().index; }
};

/// A replica, its disk, and the writes and applications that it asked for and that are not done.
struct TestReplica {
  TestReplica(const Config& with, const Restored& from)
      : config(with), disk(Disk::of(from)), raft(start(with, from)) {}

  static Raft start(const Config& config, const Restored& from) {
    auto opened = Raft::open(config, from);
    CHECK(opened.has_value(), opened.error().message);
    return *std::move(opened);
  }
  Output take() {
    Output out = raft.take_output();
    if (out.persist) writes.push_back(*out.persist);
    if (out.install || !out.committed.empty()) tasks.push_back({out.install, out.committed});
    return out;
  }
  void finish_write() {
    const WriteToken token = writes.front().token;
    disk.store(writes.front());
    writes.pop_front();
    raft.persisted(token);
  }
  ApplyTask finish_task() {
    ApplyTask task = std::move(tasks.front());
    tasks.pop_front();
    raft.applied(task.last());
    return task;
  }
  /// Finishes everything that it asks for, and returns the messages that it sent meanwhile.
  std::vector<Message> settle() {
    std::vector<Message> sent;
    for (Output out = take(); !out.empty(); out = take()) {
      sent.insert(sent.end(), out.messages.begin(), out.messages.end());
      while (!writes.empty()) finish_write();
      while (!tasks.empty()) (void)finish_task();
    }
    return sent;
  }
  /// The member `from` says in this replica's term what `body` has.
  void hear(std::uint64_t from, Body body) { raft.step({{from}, config.id, raft.term(), std::move(body)}); }
  /// The first `survivors` outstanding writes had reached the disk, the others are lost.
  void crash_and_restart(std::size_t survivors) {
    for (; survivors > 0; --survivors) {
      disk.store(writes.front());
      writes.pop_front();
    }
    writes.clear();
    tasks.clear();
    config.seed += 1;
    raft = start(config, disk.restored());
  }

  Config config;
  Disk disk;
  Raft raft;
  std::deque<Persist> writes;
  std::deque<ApplyTask> tasks;
};

/// A leader without followers, with its first entry committed.
inline TestReplica leader_of_one(Config config) {
  TestReplica replica(config, Restored::birth({config.id}));
  replica.raft.campaign();
  (void)replica.settle();
  CHECK(replica.raft.role() == Role::kLeader, "a voter alone elects itself");
  return replica;
}

/// Replica 1 of `voters`, elected with the vote of replica 2 in term 2; nothing else has happened.
inline TestReplica leader_by_vote_of_two(Config config, std::set<ReplicaId> voters = {{1}, {2}, {3}}) {
  TestReplica replica(config, Restored::birth(std::move(voters)));
  replica.raft.campaign();
  replica.raft.step({{2}, {1}, {2}, VoteReply{Ballot::kPoll, true}});
  (void)replica.take();
  replica.finish_write();
  replica.raft.step({{2}, {1}, {2}, VoteReply{Ballot::kElection, true}});
  CHECK(replica.raft.role() == Role::kLeader, "two of three are a majority");
  return replica;
}

/// How many of the messages to `to` have this body.
template <class Kind>
std::size_t count_sent(const std::vector<Message>& messages, std::uint64_t to) {
  return static_cast<std::size_t>(std::ranges::count_if(messages, [&](const Message& message) {
    return message.to.value == to && std::holds_alternative<Kind>(message.body);
  }));
}

}  // namespace banyan::raft
