// Who leads: polls, elections, votes and the planned hand-over.
#include "base/check.h"
#include "core/raft/raft.h"

namespace banyan::raft {

void Raft::campaign() {
  // Under lease reads an election could depose a leader that serves reads under the lease this replica gave.
  if (config_.read_mode != ReadMode::kLease || !in_lease()) hup(Why::kTimeout);
}

/// Starts a ballot: a poll first where pre_vote wants it. A chosen successor starts the election at once, for
/// its leader waits for it.
void Raft::hup(Why why) {
  if (std::holds_alternative<Leader>(role_) || !may_campaign()) return;
  const bool poll = config_.pre_vote == PreVote::kOn && why == Why::kTimeout;
  start_ballot(poll ? Ballot::kPoll : Ballot::kElection, why);
}

bool Raft::may_campaign() const {
  if (!is_voter(membership_, config_.id)) return false;
  // While a snapshot is on its way to the disk, a crash would bring back the log from before it.
  if (writes_.durable_to() < snapshot_.index) return false;
  // With a committed change that is not in effect here, this replica would count a quorum that the group no
  // longer accepts.
  const auto change = log_.change_after(in_effect_);
  return !change || *change > log_.commit();
}

void Raft::start_ballot(Ballot ballot, Why why) {
  reset_election_timer();
  if (ballot == Ballot::kElection) {
    term_ = term_ + 1;
    vote_ = config_.id;
  }
  role_ = Candidate{.ballot = ballot, .granted = {}};
  const VoteRequest request{ballot, log_.last(), log_.last_term(), why == Why::kTransfer};
  for (const ReplicaId id : members(membership_)) {
    if (id == config_.id || !is_voter(membership_, id)) continue;
    // The request claims a log and a term, so both must be durable. If a crash could take them back, this
    // replica could claim the same term with a shorter log and count votes that were given for the longer
    // one.
    if (ballot == Ballot::kPoll)
      send(id, term_ + 1, request);
    else
      send_when_durable(id, request);
  }
  // In an election this replica's own vote counts once it is durable, see persisted().
  if (ballot == Ballot::kPoll) count_vote(config_.id, true);
}

void Raft::count_vote(ReplicaId id, bool granted) {
  auto& candidate = std::get<Candidate>(role_);
  candidate.granted.emplace(id, granted);
  switch (tally(membership_, candidate.granted)) {
    case Tally::kPending:
      return;
    case Tally::kLost:
      return become_follower(term_, kNobody);
    case Tally::kWon:
      if (candidate.ballot == Ballot::kPoll) return start_ballot(Ballot::kElection, Why::kTimeout);
      return become_leader();
  }
}

void Raft::handle(const Message& m, const VoteRequest& request) {
  // Nobody checks here whether this replica is a voter: it may have become one without knowing it yet.
  // Of a later term than this replica's only a poll comes here: accept_term() has raised the term for the
  // others.
  const bool free = vote_ == m.from || (vote_ == kNobody && leader() == kNobody) || m.term > term_;
  if (!free || !log_.not_ahead_of(request.last_index, request.last_term)) {
    send(m.from, VoteReply{request.ballot, false});
  } else if (request.ballot == Ballot::kPoll) {
    send(m.from, m.term, VoteReply{Ballot::kPoll, true});
  } else {
    vote_ = m.from;
    election_elapsed_ = 0;  // the candidate gets time to win
    send_when_durable(m.from, VoteReply{Ballot::kElection, true});
  }
}

void Raft::handle(const Message& m, const VoteReply& reply) {
  const auto* candidate = std::get_if<Candidate>(&role_);
  if (candidate != nullptr && candidate->ballot == reply.ballot) count_vote(m.from, reply.granted);
}

void Raft::become_leader() {
  CHECK(writes_.durable().term == term_ && writes_.durable().vote == config_.id,
        "a leader's vote for itself is durable");
  Leader leader;
  for (const ReplicaId id : members(membership_)) {
    Progress peer;
    peer.next = log_.last() + 1;
    peer.heard_tick = ticks_;
    leader.peers.emplace(id, peer);
  }
  Progress& self = leader.peers.at(config_.id);
  self.match = writes_.durable_to();
  self.flow = Flow::kReplicate;
  // The log may hold a change that is not in effect here: no other one is taken before this log is applied.
  leader.pending_change = log_.last();
  reset_election_timer();
  role_ = std::move(leader);
  append_own(std::get<Leader>(role_), EntryType::kNoop, {});
}

void Raft::forget_leader() {
  // Under lease reads the leader relies on this replica's refusal to vote for others.
  auto* follower = std::get_if<Follower>(&role_);
  if (follower != nullptr && config_.read_mode != ReadMode::kLease) follower->leader = kNobody;
}

Result<Done> Raft::transfer_leadership(ReplicaId to) {
  if (auto* leading = std::get_if<Leader>(&role_)) return start_transfer(*leading, to);
  if (leader() == kNobody) return fail(ErrorKind::kUnavailable, "no leader is known; try again");
  send(leader(), TransferRequest{to});
  return Done{};
}

void Raft::handle(const Message&, const TransferRequest& request) {
  if (auto* leading = std::get_if<Leader>(&role_)) (void)start_transfer(*leading, request.target).has_value();
}

Result<Done> Raft::start_transfer(Leader& leader, ReplicaId to) {
  if (!is_voter(membership_, to)) return fail(ErrorKind::kInvalid, "only a voter can take the lead");
  if (to == config_.id || to == leader.transfer_to) return Done{};
  leader.transfer_to = to;
  leader.transfer_tick = ticks_;
  finish_transfer(leader, to);
  return Done{};
}

/// Lets the successor go once it has the whole log. From then on this leader serves no read by its lease.
void Raft::finish_transfer(Leader& leader, ReplicaId to) {
  if (leader.transfer_to != to || leader.peers.at(to).match != log_.last()) return;
  leader.lease_given_away = true;
  send(to, TimeoutNow{});
}

void Raft::handle(const Message&, const TimeoutNow&) {
  if (std::holds_alternative<Follower>(role_)) hup(Why::kTransfer);
}

}  // namespace banyan::raft
