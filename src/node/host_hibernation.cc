#include "node/host_hibernation.h"

#include <type_traits>
#include <utility>

namespace banyan::node {

namespace {
constexpr std::size_t kWaitingMax = 1024;  // messages for a session that comes back
constexpr Duration kLeaderWithin = 5s;     // what waits is answered then, if only by an error
constexpr Duration kInFlight = 1s;         // a heartbeat that comes so late is of a leader that is awake

/// What a member says that is awake: the others have to be, too.
bool needs_all(const raft::Body& body) {
  return std::holds_alternative<raft::Append>(body) || std::holds_alternative<raft::InstallSnapshot>(body) ||
         std::holds_alternative<raft::VoteRequest>(body) || std::holds_alternative<raft::TimeoutNow>(body) ||
         std::holds_alternative<raft::Forward>(body) || std::holds_alternative<raft::ReadRequest>(body) ||
         std::holds_alternative<raft::TransferRequest>(body);
}

template <typename M>
constexpr bool kForSession =
    std::is_same_v<M, Execute> || std::is_same_v<M, ToKernel> || std::is_same_v<M, Interrupt> ||
    std::is_same_v<M, Restart> || std::is_same_v<M, ChangeMembers> || std::is_same_v<M, AskSession> ||
    std::is_same_v<M, ImportSession>;

/// The session that has to be awake for a message.
const SessionId* wanted_by(const PeerMessage& message) {
  return std::visit(
      [](const auto& m) -> const SessionId* {
        if constexpr (kForSession<std::remove_cvref_t<decltype(m)>>) return &m.session;
        return nullptr;
      },
      message);
}

}  // namespace

void Hibernation::begin(const SessionId& session, ReplicaReport report, std::set<Digest> chunks) {
  asleep_.emplace(session, Asleep{.since = host_.now().mono,
                                  .report = std::move(report),
                                  .chunks = std::move(chunks),
                                  .raft = {},
                                  .waiting = {}});
  host_.log(Log::Level::kInfo, "session " + session.value + " hibernates");
}

bool Hibernation::takes(const SessionId& session, const HostId& from, const raft::Message& message) {
  const auto found = asleep_.find(session);
  if (found == asleep_.end()) return false;
  const bool beats = std::holds_alternative<raft::Heartbeat>(message.body) &&
                     host_.now().mono - found->second.since >= kInFlight;
  if (!(beats || needs_all(message.body)) || found->second.raft.size() >= kWaitingMax) return true;
  found->second.raft.emplace_back(from, message);
  wake(session);
  return true;
}

bool Hibernation::takes(const HostId& from, PeerMessage& message) {
  const SessionId* const session = wanted_by(message);
  if (session == nullptr) return false;
  const auto found = asleep_.find(*session);
  const auto waking = waking_.find(*session);
  const bool soon = waking != waking_.end() && (host_.now().mono - waking->second.since < kLeaderWithin ||
                                                !waking->second.waiting.empty());
  if (found == asleep_.end() && !soon) return false;
  auto& waiting = found != asleep_.end() ? found->second.waiting : waking->second.waiting;
  if (found != asleep_.end()) wake(*session);
  if (waiting.size() < kWaitingMax) waiting.push_back({from, std::move(message)});
  return true;
}

void Hibernation::wake_users(const Digest& digest) {
  for (const auto& [session, asleep] : asleep_)
    if (asleep.chunks.contains(digest)) wake(session);
}

void Hibernation::hold_chunk(const SessionId& session, const Digest& digest) {
  const auto found = asleep_.find(session);
  if (found == asleep_.end()) return;
  if (found->second.chunks.insert(digest).second) chunks_.use(digest);
  wake(session);
}

void Hibernation::wake(const SessionId& session) {
  if (!std::exchange(asleep_.at(session).loading, true)) host_.emit(LoadReplica{session});
}

std::optional<Hibernation::Woken> Hibernation::on_loaded(const ReplicaLoaded& event) {
  const auto found = asleep_.find(event.session);
  if (found == asleep_.end()) return std::nullopt;
  if (!event.stored) {  // it may be readable the next time somebody asks
    host_.log(Log::Level::kError, "session " + event.session.value + " hibernates and cannot be read");
    found->second.loading = false;
    return std::nullopt;
  }
  Asleep was = std::move(found->second);
  asleep_.erase(found);
  Woken woken{.awaited = !was.waiting.empty(), .raft = std::move(was.raft)};
  waking_.emplace(event.session, Waking{host_.now().mono, std::move(was.chunks), std::move(was.waiting)});
  return woken;
}

std::vector<Hibernation::Waiting> Hibernation::end_waking(
    const std::function<bool(const SessionId&)>& caught_up) {
  std::vector<Waiting> ready;
  for (auto it = waking_.begin(); it != waking_.end();) {
    const auto waking = it++;
    const bool back = caught_up(waking->first);
    if (!back && host_.now().mono - waking->second.since < kLeaderWithin) continue;
    for (Waiting& one : std::exchange(waking->second.waiting, {})) ready.push_back(std::move(one));
    if (!back) continue;
    release(waking->second.chunks);
    waking_.erase(waking);
  }
  return ready;
}

void Hibernation::on_gateway_restarted() {
  const auto forget = [](std::vector<Waiting>& waiting) {
    std::erase_if(waiting, [](const Waiting& one) { return one.from == kGateway; });
  };
  for (auto& [session, asleep] : asleep_) forget(asleep.waiting);
  for (auto& [session, waking] : waking_) forget(waking.waiting);
}

void Hibernation::forget(const SessionId& session) {
  if (const auto asleep = asleep_.extract(session)) {
    release(asleep.mapped().chunks);
    host_.drop_replica(session);
    host_.emit(ForgetSession{session});
  }
  if (const auto waking = waking_.extract(session)) release(waking.mapped().chunks);
}

void Hibernation::release(const std::set<Digest>& chunks) {
  for (const Digest& digest : chunks) chunks_.unuse(digest);
}

const ReplicaReport* Hibernation::report_of(const SessionId& session) const {
  const auto found = asleep_.find(session);
  return found == asleep_.end() ? nullptr : &found->second.report;
}

std::vector<ReplicaReport> Hibernation::reports(bool all) {
  std::vector<ReplicaReport> reports;
  for (auto& [session, asleep] : asleep_)
    if (all || !std::exchange(asleep.reported, true)) reports.push_back(asleep.report);
  return reports;
}

}  // namespace banyan::node
