// Linearizable reads: an index, and the proof that no other leader has committed more.
#include <limits>

#include "core/raft/raft.h"

namespace banyan::raft {

Result<Done> Raft::read_index(std::uint64_t context) {
  if (auto* leading = std::get_if<Leader>(&role_))
    return lead_read(*leading, {config_.id, context, log_.commit()});
  if (leader() == kNobody) return fail(ErrorKind::kUnavailable, "no leader is known; try again");
  send(leader(), ReadRequest{context});
  return Done{};
}

void Raft::handle(const Message& m, const ReadRequest& request) {
  if (auto* leading = std::get_if<Leader>(&role_))
    (void)lead_read(*leading, {m.from, request.context, log_.commit()}).has_value();
}

void Raft::handle(const Message&, const ReadReply& reply) {
  read_states_.push_back({reply.context, reply.index});
}

Result<Done> Raft::lead_read(Leader& leader, const PendingRead& read) {
  if (leader.reads.count() >= config_.max_pending_reads)
    return fail(ErrorKind::kUnavailable, "too many reads wait for a quorum; try again");
  // A new leader does not know how far its predecessors committed before an entry of its own term is
  // committed.
  if (log_.term(log_.commit()) != term_) {
    leader.reads.postpone(read);
    return Done{};
  }
  const PendingRead now{read.from, read.context, log_.commit()};
  if (lease_holds(leader)) {
    answer_read(now);
  } else {
    leader.reads.add(now);
  }
  return Done{};
}

void Raft::answer_read(const PendingRead& read) {
  if (read.from == config_.id) {
    read_states_.push_back({read.context, read.index});
  } else {
    send(read.from, ReadReply{read.context, read.index});
  }
}

bool Raft::lease_holds(const Leader& leader) const {
  if (config_.read_mode != ReadMode::kLease || leader.lease_given_away) return false;
  const auto since = leader.reads.confirmed_tick();
  // Followers refuse to vote for others for election_ticks after they heard the round, so nobody else leads
  // until then. Their ticks may be out of step with this replica's by one at each end: that is the 2.
  return since && ticks_ - *since + 2 <= static_cast<std::uint64_t>(config_.election_ticks);
}

void Raft::confirm_reads(Leader& leader) {
  const std::uint64_t round = quorum_reached(membership_, [&](ReplicaId id) {
    return id == config_.id ? std::numeric_limits<std::uint64_t>::max() : leader.peers.at(id).round;
  });
  for (const PendingRead& read : leader.reads.confirm(round)) answer_read(read);
}

}  // namespace banyan::raft
