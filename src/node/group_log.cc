#include "node/group_log.h"

#include <algorithm>
#include <set>

#include "base/codec.h"

namespace banyan::node {

namespace {

constexpr std::uint64_t kEntriesKept = 64;  // for followers that are a little behind
constexpr Duration kCampaignAfter = 20ms;   // a lost leader, and up to kCampaignSpread more
constexpr std::uint64_t kCampaignSpread_ms = 100;

/// What the disk keeps of a replica beside its log.
struct Meta {
  ReplicaId id;
  session::Members members;
  Founding founding = {};
};

raft::Config raft_config(HostContext& host, const SessionId& session, ReplicaId id) {
  raft::Config config;
  config.id = id;
  config.election_ticks = host.timing().election_ticks;
  config.heartbeat_ticks = host.timing().heartbeat_ticks;
  config.commit_notice = raft::CommitNotice::kWithNext;  // nobody but the executor waits for a commit
  config.seed = host.rng().next() ^ digest_of(session.value).low;
  return config;
}

std::set<ReplicaId> ids_of(const session::Members& members) {
  std::set<ReplicaId> ids;
  for (const auto& [id, host] : members) ids.insert(id);
  return ids;
}

}  // namespace

GroupLog::GroupLog(HostContext& host, SessionId session, ReplicaId id, raft::Raft raft,
                   session::Members hosts, Founding founding)
    : host_(&host),
      session_id_(std::move(session)),
      id_(id),
      founding_(founding),
      raft_(std::move(raft)),
      hosts_(std::move(hosts)) {}

Result<GroupLog> GroupLog::open(HostContext& host, const OpenReplica& request) {
  raft::Restored restored;
  if (request.origin == Origin::kFounding) {
    restored = raft::Restored::birth(
        ids_of(request.members), session::Session(request.session, request.spec, request.members).snapshot());
  }
  auto raft = raft::Raft::open(raft_config(host, request.session, request.replica), restored);
  if (!raft) return tl::unexpected(raft.error());
  GroupLog log(host, request.session, request.replica, std::move(*raft), request.members, request.founding);
  log.keep_hosts();
  host.write(PutHardState{request.session, restored.hard_state});
  if (request.origin == Origin::kFounding) host.write(PutSnapshot{request.session, restored.snapshot});
  return log;
}

Result<GroupLog> GroupLog::recover(HostContext& host, StoredReplica stored) {
  const auto corrupt = [&](const Error& error) {
    return fail(error.kind, "session " + stored.session.value + ": " + error.message);
  };
  const auto meta = decode<Meta>(stored.meta);
  if (!meta) return corrupt({ErrorKind::kCorrupt, meta.error().message});
  raft::Restored restored;
  restored.hard_state = stored.hard_state;
  if (stored.snapshot) restored.snapshot = std::move(*stored.snapshot);
  restored.entries = std::move(stored.entries);
  if (!restored.snapshot.data.empty()) {
    if (const auto session = session::Session::restore(restored.snapshot.data); !session)
      return corrupt(session.error());
  }
  auto raft = raft::Raft::open(raft_config(host, stored.session, meta->id), restored);
  if (!raft) return corrupt(raft.error());
  GroupLog log(host, stored.session, meta->id, std::move(*raft), meta->members, meta->founding);
  log.caught_up_ = false;
  log.found_last_ = log.raft_.log().last();
  return log;
}

void GroupLog::on_message(const HostId& from, const raft::Message& message) {
  // A member may have been added since this replica heard last. No host speaks for the member of another one.
  if (hosts_.try_emplace(message.from, from).first->second != from) return;
  heard_[message.from] = host_->now().mono;
  on_beat_answered(message);
  raft_.step(message);
}

/// All members are sent the heartbeat of one round at the same time.
void GroupLog::on_beat(const raft::Message& message) {
  const auto* const beat = std::get_if<raft::Heartbeat>(&message.body);
  if (beat == nullptr) return;
  const Time now = host_->now().mono;
  beats_.try_emplace({message.term, beat->round}, now);
  while (now - beats_.begin()->second > host_->timing().executor_silent) beats_.erase(beats_.begin());
}

void GroupLog::on_beat_answered(const raft::Message& message) {
  const auto* const answer = std::get_if<raft::HeartbeatReply>(&message.body);
  if (answer == nullptr) return;
  const auto sent = beats_.find({message.term, answer->round});
  if (sent != beats_.end()) there_[message.from] = std::max(there_[message.from], sent->second);
}

void GroupLog::on_ticks(int count) {
  for (int i = 0; i < count; ++i) raft_.tick();
  if (campaign_at_ && *campaign_at_ <= host_->now().mono) {
    campaign_at_.reset();
    if (raft_.leader() == raft::kNobody) raft_.campaign();
  }
  if (raft_.leader() != raft::kNobody && applied_ >= std::min(found_last_, raft_.log().last()))
    caught_up_ = true;
}

bool GroupLog::on_peer_down(const HostId& peer) {
  for (const auto& [id, host] : hosts_) {
    if (host == peer) raft_.report_unreachable(id);
  }
  if (host_of(raft_.leader()) != peer) return false;
  // A broken connection usually is a dead host. If it is not, the others' leases and the poll keep the leader
  // in place.
  raft_.forget_leader();
  campaign_at_ =
      host_->now().mono + kCampaignAfter + std::chrono::milliseconds(host_->rng().below(kCampaignSpread_ms));
  return true;
}

std::optional<raft::Output> GroupLog::take() {
  raft::Output out = raft_.take_output();
  if (out.empty()) return std::nullopt;
  if (out.persist) host_->persist(session_id_, std::move(*out.persist));
  if (out.role)
    leading_since_ = out.role->role == raft::Role::kLeader ? std::optional(host_->now().mono) : std::nullopt;
  return out;
}

void GroupLog::send(std::vector<raft::Message> messages) {
  for (raft::Message& message : messages) {
    on_beat(message);
    const HostId to = host_of(message.to);
    if (!to.value.empty()) host_->send_raft(to, session_id_, std::move(message));
  }
}

void GroupLog::on_installed(raft::Index index) {
  applied_ = index;
  compacted_ = index;
  raft_.applied(index);
}

void GroupLog::on_applied(const raft::Entry& entry) {
  applied_ = entry.index;
  bytes_since_compaction_ += entry.data.size();
  raft_.applied(entry.index);
}

bool GroupLog::is_compaction_due() const {
  return applied_ - compacted_ >= host_->sizes().compact_entries ||
         bytes_since_compaction_ >= host_->sizes().compact_bytes;
}

void GroupLog::compact(Blob snapshot) {
  if (!raft_.compact(applied_, std::move(snapshot), kEntriesKept)) return;
  compacted_ = applied_;
  bytes_since_compaction_ = 0;
}

void GroupLog::learn_hosts(const session::Members& members) {
  for (const auto& [id, host] : members) hosts_[id] = host;
}

void GroupLog::keep_hosts() { host_->write(PutMeta{session_id_, encode(Meta{id_, hosts_, founding_})}); }

HostId GroupLog::host_of(ReplicaId id) const {
  const auto found = hosts_.find(id);
  return found == hosts_.end() ? HostId{} : found->second;
}

std::vector<HostId> GroupLog::peers() const {
  std::vector<HostId> peers;
  for (const auto& [id, host] : hosts_) {
    if (host != host_->id() && host_->reachable(host)) peers.push_back(host);
  }
  return peers;
}

std::optional<Time> GroupLog::heard_at(ReplicaId id) const {
  const auto found = heard_.find(id);
  return found == heard_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Time> GroupLog::there_at(ReplicaId id) const {
  const auto found = there_.find(id);
  return found == there_.end() ? std::nullopt : std::optional(found->second);
}

bool GroupLog::propose(const session::Command& command) {
  return raft_.propose(Blob(encode(command))).has_value();
}

bool GroupLog::propose_members(const session::SetMembers& wanted) {
  const raft::Membership& today = raft_.membership();
  if (raft::is_joint(today) || raft_.log().change_after(applied_)) return false;  // one after the other
  raft::Change change;
  for (const auto& [id, host] : wanted.members) {
    if (!today.voters.contains(id)) change.steps.push_back({raft::ChangeKind::kAddVoter, id});
  }
  for (const ReplicaId id : today.voters) {
    if (!wanted.members.contains(id)) change.steps.push_back({raft::ChangeKind::kRemove, id});
  }
  if (change.steps.empty()) return propose(wanted);
  change.context = Blob(encode(wanted));
  return raft_.propose_change(change).has_value();
}

void GroupLog::campaign_if_lost() {
  if (raft_.role() == raft::Role::kFollower && raft_.leader() == raft::kNobody) raft_.campaign();
}

bool GroupLog::agrees(const HostId& from, const Hibernate& said) const {
  return raft_.term() == said.term && raft_.log().last() == said.last &&
         raft_.role() == raft::Role::kFollower && host_of(raft_.leader()) == from;
}

}  // namespace banyan::node
