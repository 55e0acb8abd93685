#include "core/raft/raft.h"

#include <algorithm>

#include "base/check.h"
#include "base/codec.h"

namespace banyan::raft {
namespace {

Result<Done> check_config(const Config& config) {
  if (config.id == kNobody) return fail(ErrorKind::kInvalid, "a replica id must not be 0");
  if (config.heartbeat_ticks < 1 || config.election_ticks <= config.heartbeat_ticks)
    return fail(ErrorKind::kInvalid,
                "election_ticks must be larger than heartbeat_ticks, and that at least 1");
  if (config.max_inflight_messages < 1)
    return fail(ErrorKind::kInvalid, "max_inflight_messages must be at least 1");
  if (config.read_mode == ReadMode::kLease && config.check_quorum == CheckQuorum::kOff)
    return fail(ErrorKind::kInvalid, "lease reads need check_quorum: without it no lease is kept");
  return Done{};
}

Result<Done> check_restored(const Restored& restored) {
  Index last = restored.snapshot.index;
  Term term = restored.snapshot.term;
  for (const Entry& entry : restored.entries) {
    if (entry.index <= restored.snapshot.index) continue;
    if (entry.index != last + 1 || entry.term < term)
      return fail(ErrorKind::kCorrupt,
                  "the stored log has a gap or falling terms at entry " + std::to_string(entry.index.value));
    last = entry.index;
    term = entry.term;
  }
  if (restored.hard_state.commit > last)
    return fail(ErrorKind::kCorrupt, "the stored log ends before its commit index " +
                                         std::to_string(restored.hard_state.commit.value));
  if (restored.hard_state.term < term)
    return fail(ErrorKind::kCorrupt, "the stored term is older than the last entry's");
  return Done{};
}

Log restored_log(const Restored& restored) {
  Log log(restored.snapshot.index, restored.snapshot.term);
  std::vector<Entry> entries;
  std::ranges::copy_if(restored.entries, std::back_inserter(entries),
                       [&](const Entry& entry) { return entry.index > restored.snapshot.index; });
  (void)log.merge(entries);
  log.commit_to(restored.hard_state.commit);
  return log;
}

/// Whether a message is taken whatever its term is. Requests to the leader, and answers to reads, carry no
/// authority: whoever leads may serve them.
bool outside_terms(const Body& body) {
  return std::holds_alternative<Forward>(body) || std::holds_alternative<ReadRequest>(body) ||
         std::holds_alternative<ReadReply>(body) || std::holds_alternative<TransferRequest>(body);
}

bool from_a_leader(const Body& body) {
  return std::holds_alternative<Append>(body) || std::holds_alternative<Heartbeat>(body) ||
         std::holds_alternative<InstallSnapshot>(body);
}

}  // namespace

Result<Raft> Raft::open(const Config& config, const Restored& restored) {
  if (auto good = check_config(config); !good) return tl::unexpected(good.error());
  if (auto good = check_restored(restored); !good) return tl::unexpected(good.error());
  return Raft(config, restored);
}

Raft::Raft(const Config& config, const Restored& restored)
    : config_(config),
      rng_(Rng(config.seed).next() ^ Rng(config.id.value).next()),  // members with one seed must differ
      log_(restored_log(restored)),
      writes_(restored.hard_state, log_.last()),
      snapshot_(restored.snapshot),
      membership_(membership_at(log_.commit())),
      in_effect_(log_.commit()),
      term_(restored.hard_state.term),
      vote_(restored.hard_state.vote) {
  reset_election_timer();
  told_.term = term_;
}

void Raft::tick() {
  ++ticks_;
  writes_.want_commit();  // a commit index alone is not worth a write more often than that
  if (auto* leader = std::get_if<Leader>(&role_)) {
    tick_leader(*leader);
  } else if (++election_elapsed_ >= election_timeout_) {
    hup(Why::kTimeout);
  }
}

void Raft::tick_leader(Leader& leader) {
  const auto election_ticks = static_cast<std::uint64_t>(config_.election_ticks);
  if (config_.check_quorum == CheckQuorum::kOn && ticks_since_quorum(leader) >= election_ticks) {
    become_follower(term_, kNobody);
    return;
  }
  // After that time the successor has had its chance, and proposals are taken again.
  if (ticks_ - leader.transfer_tick >= election_ticks) leader.transfer_to = kNobody;
  if (++leader.heartbeat_elapsed >= config_.heartbeat_ticks) {
    leader.heartbeat_elapsed = 0;
    leader.heartbeat_due = true;
  }
  for (auto& [id, peer] : leader.peers) {
    const auto retry = static_cast<std::uint64_t>(config_.snapshot_retry_ticks);
    if (peer.flow != Flow::kSnapshot || ticks_ - peer.snapshot_tick < retry) continue;
    // No answer: the snapshot counts as lost, and probing will show whether another one is needed.
    peer.snapshot = {};
    peer.probe();
  }
}

void Raft::become_follower(Term term, ReplicaId leader) {
  if (term != term_) {
    CHECK(term > term_, "terms never fall");
    term_ = term;
    vote_ = kNobody;
  }
  role_ = Follower{leader};
  reset_election_timer();
}

void Raft::reset_election_timer() {
  const auto ticks = static_cast<std::uint64_t>(config_.election_ticks);
  election_elapsed_ = 0;
  election_timeout_ = static_cast<int>(ticks + rng_.below(ticks));
}

Role Raft::role() const {
  if (std::holds_alternative<Leader>(role_)) return Role::kLeader;
  const auto* candidate = std::get_if<Candidate>(&role_);
  if (candidate == nullptr) return Role::kFollower;
  return candidate->ballot == Ballot::kPoll ? Role::kPreCandidate : Role::kCandidate;
}

ReplicaId Raft::leader() const {
  if (std::holds_alternative<Leader>(role_)) return config_.id;
  const auto* follower = std::get_if<Follower>(&role_);
  return follower != nullptr ? follower->leader : kNobody;
}

bool Raft::in_lease() const {
  if (config_.check_quorum == CheckQuorum::kOff) return false;
  // Before its restart this replica may have given a leader the lease under which that leader serves reads.
  const bool restarted = ticks_ < static_cast<std::uint64_t>(config_.election_ticks);
  if (config_.read_mode == ReadMode::kLease && restarted) return true;
  // The timer of a leader stands still at 0, so a leader is in its own lease.
  return leader() != kNobody && election_elapsed_ < config_.election_ticks;
}

void Raft::step(const Message& message) {
  if (message.to != config_.id || message.from == config_.id) return;
  if (!outside_terms(message.body) && !accept_term(message)) return;
  std::visit([&](const auto& body) { handle(message, body); }, message.body);
}

bool Raft::accept_term(const Message& m) {
  const auto* request = std::get_if<VoteRequest>(&m.body);
  const auto* reply = std::get_if<VoteReply>(&m.body);
  if (m.term > term_) {
    // A replica that was cut off and has campaigned alone must not depose a leader that others still hear.
    if (request != nullptr && !request->transfer && in_lease()) return false;
    const bool poll = (request != nullptr && request->ballot == Ballot::kPoll) ||
                      (reply != nullptr && reply->ballot == Ballot::kPoll && reply->granted);
    // A poll names a term that nobody has begun, so it must not raise this replica's term.
    if (!poll) become_follower(m.term, kNobody);
    return true;
  }
  if (m.term < term_) {
    // The sender learns the newer term, or it would go on as the leader or candidate of an older one.
    if (from_a_leader(m.body)) send(m.from, TermNotice{});
    if (request != nullptr) send(m.from, VoteReply{request->ballot, false});
    return false;
  }
  return true;
}

// accept_term() has already done what a notice is for.
void Raft::handle(const Message&, const TermNotice&) {}

/// Sends a message that promises something of this replica's log, term or vote: it leaves when these, as they
/// are now, are on the disk.
void Raft::send_when_durable(ReplicaId to, Body body) {
  deferred_.push_back({writes_.barrier(log_, hard_state()), {config_.id, to, term_, std::move(body)}});
}

Result<Proposed> Raft::propose(Blob data) { return submit(EntryType::kCommand, std::move(data)); }

Result<Proposed> Raft::propose_change(const Change& change) {
  return submit(EntryType::kChange, Blob(encode(change)));
}

Result<Proposed> Raft::submit(EntryType type, Blob data) {
  if (auto* leading = std::get_if<Leader>(&role_)) return admit(*leading, type, std::move(data));
  if (leader() == kNobody) return fail(ErrorKind::kUnavailable, "no leader is known; try again");
  send(leader(), Forward{type, std::move(data)});
  return Proposed{term_, {0}};
}

void Raft::handle(const Message& m, const Forward& forward) {
  // The follower waits for no answer: an entry that never comes tells it of a refusal.
  auto* leading = std::get_if<Leader>(&role_);
  if (leading == nullptr) return;
  const auto proposed = admit(*leading, forward.type, forward.data);
  Progress* peer = leading->find(m.from);
  if (proposed && peer != nullptr) peer->forwarded = proposed->index;
}

Result<Proposed> Raft::admit(Leader& leader, EntryType type, Blob data) {
  if (!leader.peers.contains(config_.id))
    return fail(ErrorKind::kUnavailable, "this leader was removed from the group; try another replica");
  if (leader.transfer_to != kNobody)
    return fail(ErrorKind::kUnavailable, "the lead is being handed over; try again");
  // One proposal always goes, however large it is.
  if (leader.uncommitted_bytes > 0 && leader.uncommitted_bytes + data.size() > config_.max_uncommitted_bytes)
    return fail(ErrorKind::kUnavailable, "too many bytes wait for a quorum; try again");
  if (type == EntryType::kNoop) return fail(ErrorKind::kInvalid, "only a new leader appends a noop");
  if (type == EntryType::kChange) {
    if (auto good = check_change(leader, data); !good) return tl::unexpected(good.error());
    leader.pending_change = log_.last() + 1;
  }
  return append_own(leader, type, std::move(data));
}

}  // namespace banyan::raft
