// The receiving end of replication. What a follower acknowledges is durable on its disk by then.
#include <algorithm>

#include "base/check.h"
#include "core/raft/raft.h"

namespace banyan::raft {
namespace {

bool contiguous(const Append& append) {
  Index expected = append.prev_index;
  return std::ranges::all_of(append.entries, [&](const Entry& entry) {
    expected = expected + 1;
    return entry.index == expected;
  });
}

}  // namespace

void Raft::follow(ReplicaId leader) {
  CHECK(!std::holds_alternative<Leader>(role_), "two replicas lead in one term");
  if (auto* follower = std::get_if<Follower>(&role_)) {
    follower->leader = leader;
    election_elapsed_ = 0;
  } else {
    become_follower(term_, leader);
  }
}

void Raft::handle(const Message& m, const Append& append) {
  if (!contiguous(append)) return;
  follow(m.from);
  // What is committed agrees with the leader's log, so the answer is certain without a look at the entries.
  if (append.prev_index < log_.commit()) return send_when_durable(m.from, AppendAccepted{log_.commit()});
  if (log_.term(append.prev_index) != append.prev_term) {
    // The hint skips all entries that cannot be the leader's, so that few rounds find where the logs agree.
    const Index hint = log_.last_not_above(append.prev_index, append.prev_term);
    return send(m.from, AppendRejected{append.prev_index, hint, log_.term(hint).value_or(Term{})});
  }
  if (const auto changed = log_.merge(append.entries)) writes_.truncated(*changed);
  const Index match = append.prev_index + append.entries.size();
  log_.commit_to(std::min(append.commit, match));  // what follows `match` may not be the leader's
  send_when_durable(m.from, AppendAccepted{match});
}

void Raft::handle(const Message& m, const Heartbeat& heartbeat) {
  follow(m.from);
  log_.commit_to(heartbeat.commit);
  send(m.from, HeartbeatReply{heartbeat.round});
}

void Raft::handle(const Message& m, const InstallSnapshot& install) {
  follow(m.from);
  restore_snapshot(install.snapshot);
  send_when_durable(m.from, AppendAccepted{log_.commit()});
}

void Raft::restore_snapshot(const Snapshot& snapshot) {
  if (snapshot.index <= log_.commit()) return;
  // The log already has everything that the snapshot stands for, and maybe more: it stays.
  if (log_.term(snapshot.index) == snapshot.term) return log_.commit_to(snapshot.index);
  log_.reset(snapshot.index, snapshot.term);
  writes_.installed(snapshot);
  snapshot_ = snapshot;
  membership_ = snapshot.membership;
  in_effect_ = snapshot.index;
}

}  // namespace banyan::raft
