// The sending end of replication: what goes to whom, and what is committed.
#include <algorithm>

#include "core/raft/raft.h"

namespace banyan::raft {

Progress* Raft::Leader::find(ReplicaId id) {
  const auto found = peers.find(id);
  return found == peers.end() ? nullptr : &found->second;
}

/// Notes that a member answers this leader; nullptr when this replica does not lead, or the sender is no
/// member.
Progress* Raft::hear(const Message& m) {
  auto* leader = std::get_if<Leader>(&role_);
  Progress* peer = leader == nullptr ? nullptr : leader->find(m.from);
  if (peer == nullptr) return nullptr;
  peer->heard = true;
  peer->heard_tick = ticks_;
  return peer;
}

std::uint64_t Raft::ticks_since_quorum(const Leader& leader) const {
  return ticks_ - quorum_reached(membership_, [&](ReplicaId id) {
           return id == config_.id ? ticks_ : leader.peers.at(id).heard_tick;
         });
}

Proposed Raft::append_own(Leader& leader, EntryType type, Blob data) {
  leader.uncommitted_bytes += data.size();
  const Entry& entry = log_.append(term_, type, std::move(data));
  return {entry.term, entry.index};
}

void Raft::advance_commit(Leader& leader) {
  const Index old = log_.commit();
  const Index reached{
      quorum_reached(membership_, [&](ReplicaId id) { return leader.peers.at(id).match.value; })};
  // An entry of an older term may still be replaced when a quorum has it (Raft paper, section 5.4.2).
  if (reached <= old || log_.term(reached) != term_) return;
  log_.commit_to(reached);
  for (Index index = old + 1; index <= reached; index = index + 1) {
    const Entry& entry = log_.at(index);
    if (entry.term == term_) leader.uncommitted_bytes -= entry.data.size();
  }
  // The first commit of its own term shows this leader what is committed: reads may begin.
  for (const PendingRead& read : leader.reads.take_postponed()) (void)lead_read(leader, read).has_value();
}

void Raft::handle(const Message& m, const AppendAccepted& accepted) {
  Progress* peer = hear(m);
  if (peer == nullptr || accepted.match > log_.last()) return;
  auto& leader = std::get<Leader>(role_);
  // An answer to a probe that found the logs equal advances nothing, and still ends the probing.
  const bool probe_answered = peer->flow == Flow::kProbe && accepted.match == peer->match;
  if (!peer->advance(accepted.match) && !probe_answered) return;
  const bool log_reaches_it = peer->match + 1 >= log_.first();
  if (peer->flow == Flow::kProbe || (peer->flow == Flow::kSnapshot && log_reaches_it)) {
    peer->replicate();
  } else if (peer->flow == Flow::kSnapshot && peer->match >= peer->snapshot) {
    peer->probe();  // it has the snapshot, and the log was compacted beyond that meanwhile: it needs the next
  }
  advance_commit(leader);
  finish_transfer(leader, m.from);
}

void Raft::handle(const Message& m, const AppendRejected& rejected) {
  Progress* peer = hear(m);
  if (peer != nullptr)
    peer->step_back(rejected.prev_index, log_.last_not_above(rejected.hint_index, rejected.hint_term));
}

void Raft::handle(const Message& m, const HeartbeatReply& reply) {
  Progress* peer = hear(m);
  if (peer == nullptr) return;
  peer->paused = false;
  // The last Appends may be lost. Where they have taken all slots nothing else would show it: one Append
  // makes the follower say whether its log reaches so far.
  if (peer->flow == Flow::kReplicate && peer->match < log_.last()) peer->nudge = true;
  peer->round = std::max(peer->round, reply.round);
  confirm_reads(std::get<Leader>(role_));
}

void Raft::send_heartbeats(Leader& leader) {
  leader.heartbeat_due = false;
  const std::uint64_t round = leader.reads.start_round(ticks_);
  for (const auto& [id, peer] : leader.peers)
    // A follower may only be told of commits that it is known to have: the rest of its log may be another's.
    if (id != config_.id) send(id, Heartbeat{std::min(peer.match, log_.commit()), round});
  confirm_reads(leader);  // a group of one has its quorum at once
}

/// Sends what the follower lacks, as far as its flow allows: entries, or an empty Append where there is a new
/// commit index to tell, a nudge is due, or a probe begins.
void Raft::send_appends(ReplicaId id, Progress& peer) {
  while (peer.flow != Flow::kSnapshot) {
    const bool blocked = peer.blocked(config_);
    if (blocked && !peer.nudge) return;
    const Index prev = peer.next - 1;
    const auto prev_term = log_.term(prev);
    if (!prev_term) return send_snapshot(id, peer);  // the entry before is compacted
    std::vector<Entry> entries;
    if (!blocked) entries = log_.slice(peer.next, log_.last(), config_.max_append_bytes);
    // Who forwarded an entry is told of its commit at once, whatever the others are told.
    const bool waits = config_.commit_notice == CommitNotice::kAtOnce || peer.sent_commit < peer.forwarded;
    const bool tells_commit = waits && peer.sent_commit < std::min(log_.commit(), prev);
    if (peer.flow == Flow::kReplicate && entries.empty() && !tells_commit && !peer.nudge) return;
    const Index last = prev + entries.size();
    std::uint64_t bytes = 0;
    for (const Entry& entry : entries) bytes += cost(entry);
    const bool empty = entries.empty();
    send(id, Append{prev, *prev_term, log_.commit(), std::move(entries)});
    peer.sent_commit = std::min(log_.commit(), last);
    peer.nudge = false;
    peer.paused = peer.flow == Flow::kProbe;
    if (peer.flow != Flow::kReplicate || empty) return;
    peer.next = last + 1;
    peer.inflight.add(last, bytes);
  }
}

void Raft::send_snapshot(ReplicaId id, Progress& peer) {
  // A snapshot is large, so it is not sent again to a member that shows no life any more. Whoever needs one
  // has answered this leader before, or is new.
  const bool alive = ticks_ - peer.heard_tick < static_cast<std::uint64_t>(config_.election_ticks);
  if (!alive) return;
  peer.await_snapshot(snapshot_.index, ticks_);
  send(id, InstallSnapshot{snapshot_});
}

void Raft::report_unreachable(ReplicaId id) {
  auto* leader = std::get_if<Leader>(&role_);
  Progress* peer = leader == nullptr ? nullptr : leader->find(id);
  if (peer == nullptr || peer->flow != Flow::kReplicate) return;
  peer->probe();
  // Sending goes on when the member answers the next heartbeat.
  peer->paused = true;
}

void Raft::report_snapshot(ReplicaId id, Delivery delivery) {
  auto* leader = std::get_if<Leader>(&role_);
  Progress* peer = leader == nullptr ? nullptr : leader->find(id);
  if (peer == nullptr || peer->flow != Flow::kSnapshot) return;
  if (delivery == Delivery::kFailed) peer->snapshot = {};
  peer->probe();
  // Sending goes on when the member answers the snapshot or the next heartbeat.
  peer->paused = true;
}

}  // namespace banyan::raft
