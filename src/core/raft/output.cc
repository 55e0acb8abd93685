// The boundary to the driver: batches out, completions in.
#include <algorithm>

#include "base/check.h"
#include "core/raft/raft.h"

namespace banyan::raft {

Output Raft::take_output() {
  Output out;
  if (auto* leader = std::get_if<Leader>(&role_)) {
    if (leader->heartbeat_due || leader->reads.round_wanted()) send_heartbeats(*leader);
    for (auto& [id, peer] : leader->peers)
      if (id != config_.id) send_appends(id, peer);
  }
  out.persist = writes_.issue(log_, hard_state());
  out.messages = std::exchange(outbox_, {});
  // Messages were queued in the order of the writes they wait for, so the first that must wait ends the
  // search.
  const auto held =
      std::ranges::find_if(deferred_, [&](const Deferred& d) { return !writes_.done(d.after); });
  for (auto ready = deferred_.begin(); ready != held; ++ready)
    out.messages.push_back(std::move(ready->message));
  deferred_.erase(deferred_.begin(), held);
  hand_out(out);
  out.reads = std::exchange(read_states_, {});
  const RoleChange now{role(), term_, leader()};
  if (now != told_) out.role = told_ = now;
  return out;
}

Index Raft::apply_limit() const {
  const Index limit = std::min(log_.commit(), writes_.durable_to());
  // A change of the membership waits until this disk knows that it is committed: a restart must not go back
  // to a membership that the group has left.
  const auto change = log_.change_after(std::max(handed_out_, writes_.durable().commit));
  return change && *change <= limit ? *change - 1 : limit;
}

/// Gives the driver what it may apply: a snapshot that was installed, then committed entries.
void Raft::hand_out(Output& out) {
  if (handed_out_ < snapshot_.index) {
    if (writes_.durable_to() < snapshot_.index) return;  // a crash would bring the older log back
    out.install = snapshot_;
    handed_out_ = snapshot_.index;
  }
  const Index limit = apply_limit();
  if (limit <= handed_out_) return;
  out.committed = log_.slice(handed_out_ + 1, limit, config_.max_apply_bytes);
  handed_out_ = out.committed.back().index;
}

void Raft::persisted(WriteToken token) {
  writes_.complete(token);
  if (auto* leader = std::get_if<Leader>(&role_)) {
    const auto self = leader->peers.find(config_.id);
    if (self != leader->peers.end() && self->second.advance(writes_.durable_to())) advance_commit(*leader);
  } else if (const auto* candidate = std::get_if<Candidate>(&role_)) {
    const HardState& durable = writes_.durable();
    const bool own_vote = durable.term == term_ && durable.vote == config_.id;
    if (candidate->ballot == Ballot::kElection && own_vote) count_vote(config_.id, true);
  }
}

void Raft::applied(Index index) {
  CHECK(index <= handed_out_, "something was applied that was never handed out");
  applied_ = std::max(applied_, index);
  apply_changes(applied_);
}

Result<Done> Raft::compact(Index index, Blob data, std::uint64_t entries_kept) {
  if (index > applied_) return fail(ErrorKind::kInvalid, "only what is applied can be compacted");
  if (index <= snapshot_.index) return fail(ErrorKind::kConflict, "a newer snapshot is there already");
  snapshot_ = {index, *log_.term(index), membership_at(index), std::move(data)};
  writes_.compacted(snapshot_);
  log_.compact(index - std::min(entries_kept, index.value));
  return Done{};
}

bool Raft::at_rest() const {
  const bool told = outbox_.empty() && deferred_.empty() && read_states_.empty();
  const bool done = applied_ == log_.last();  // and so committed
  if (!told || !done || !writes_.settled(log_, hard_state()) || leader() == kNobody || is_joint(membership_))
    return false;
  const auto* leading = std::get_if<Leader>(&role_);
  if (leading == nullptr) return true;
  if (leading->transfer_to != kNobody || leading->reads.count() > 0) return false;
  return std::ranges::all_of(leading->peers, [&](const auto& item) {
    const auto& [id, peer] = item;
    const bool heard =
        id == config_.id || ticks_ - peer.heard_tick < static_cast<std::uint64_t>(config_.election_ticks);
    return heard && peer.match == log_.last();
  });
}

Status Raft::status() const {
  Status status;
  status.id = config_.id;
  status.role = role();
  status.term = term_;
  status.vote = vote_;
  status.leader = leader();
  status.first = log_.first();
  status.last = log_.last();
  status.durable = writes_.durable_to();
  status.commit = log_.commit();
  status.applied = applied_;
  status.membership = membership_;
  const auto* leading = std::get_if<Leader>(&role_);
  if (leading == nullptr) return status;
  status.transfer_to = leading->transfer_to;
  status.ticks_since_quorum = ticks_since_quorum(*leading);
  for (const auto& [id, peer] : leading->peers) {
    const bool recent =
        peer.heard && ticks_ - peer.heard_tick < static_cast<std::uint64_t>(config_.election_ticks);
    status.peers[id] = {.match = peer.match,
                        .next = peer.next,
                        .flow = peer.flow,
                        .paused = peer.blocked(config_),
                        .recently_active = id == config_.id || recent};
  }
  return status;
}

}  // namespace banyan::raft
