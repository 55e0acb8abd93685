// Hibernation: a suspended session that nobody asks is on the disks of its hosts, and nowhere else.
//
// Its leader says when (all members have all of it), and stops with its word; who is not at rest then does
// not follow, calls an election after a while, and wakes the others. To stop and to start again from the disk
// is what a crash and a recovery are to Raft, without the crash: nothing is lost, and nobody promised
// anything.

#include <type_traits>
#include <utility>

#include "base/check.h"
#include "node/host_machine.h"

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

void HostMachine::hibernate_tired() {
  std::vector<std::pair<Hibernate, std::vector<HostId>>> tired;
  for (const auto& [session, replica] : replicas_) {
    if (waking_.contains(session)) continue;
    if (auto words = replica->tired()) tired.emplace_back(std::move(*words), replica->others());
  }
  for (const auto& [words, hosts] : tired) {
    for (const HostId& host : hosts) context_.send(host, words);
    hibernate(words.session);
  }
}

void HostMachine::hibernate(const SessionId& session) {
  const auto found = replicas_.find(session);
  hibernating_.emplace(session, Hibernating{.since = context_.now().mono,
                                            .report = found->second->report(),
                                            .chunks = found->second->hibernate(),
                                            .loading = false,
                                            .raft = {},
                                            .waiting = {}});
  replicas_.erase(found);
  context_.log(Log::Level::kInfo, "session " + session.value + " hibernates");
}

void HostMachine::take(const HostId& from, const Hibernate& said) {
  const Replica* const found = replica(said.session);
  if (found != nullptr && !waking_.contains(said.session) && found->follows(from, said))
    hibernate(said.session);
}

/// False when the message is not for a session that hibernates.
bool HostMachine::wakes(const SessionId& session, const HostId& from, const raft::Message& message) {
  const auto found = hibernating_.find(session);
  if (found == hibernating_.end()) return false;
  const bool beats = std::holds_alternative<raft::Heartbeat>(message.body) &&
                     context_.now().mono - found->second.since >= kInFlight;
  if (!(beats || needs_all(message.body)) || found->second.raft.size() >= kWaitingMax) return true;
  found->second.raft.emplace_back(from, message);
  wake(session);
  return true;
}

/// Whether the message waits for its session.
bool HostMachine::wakes(const HostId& from, PeerMessage& message) {
  const SessionId* const session = wanted_by(message);
  if (session == nullptr) return false;
  const auto found = hibernating_.find(*session);
  const auto waking = waking_.find(*session);
  const bool soon = waking != waking_.end() && (context_.now().mono - waking->second.since < kLeaderWithin ||
                                                !waking->second.waiting.empty());
  if (found == hibernating_.end() && !soon) return false;
  auto& waiting = found != hibernating_.end() ? found->second.waiting : waking->second.waiting;
  if (found != hibernating_.end()) wake(*session);
  if (waiting.size() < kWaitingMax) waiting.push_back({from, std::move(message)});
  return true;
}

/// Somebody has to fetch the chunk that is damaged here.
void HostMachine::wake_users(const Digest& digest) {
  for (const auto& [session, asleep] : hibernating_)
    if (asleep.chunks.contains(digest)) wake(session);
}

void HostMachine::wake(const SessionId& session) {
  if (!std::exchange(hibernating_.at(session).loading, true)) context_.emit(LoadReplica{session});
}

void HostMachine::handle(ReplicaLoaded& event) {
  const auto found = hibernating_.find(event.session);
  if (found == hibernating_.end()) return;
  if (!event.stored) {  // it may be readable the next time somebody asks
    context_.log(Log::Level::kError, "session " + event.session.value + " hibernates and cannot be read");
    found->second.loading = false;
    return;
  }
  Hibernating was = std::move(found->second);
  hibernating_.erase(found);
  auto woken = Replica::wake(context_, std::move(*event.stored), !was.waiting.empty());
  CHECK(woken.has_value(), "what hibernated here does not open: " + woken.error().message);
  context_.log(Log::Level::kInfo, "session " + event.session.value + " is back from its hibernation");
  Replica& replica = *replicas_.emplace(event.session, std::move(*woken)).first->second;
  waking_.emplace(event.session, Waking{context_.now().mono, std::move(was.chunks), std::move(was.waiting)});
  for (const auto& [from, message] : was.raft) replica.raft_message(from, message);
}

void HostMachine::end_waking() {
  for (auto it = waking_.begin(); it != waking_.end();) {
    const auto waking = it++;
    const bool back = replicas_.at(waking->first)->caught_up();
    if (!back && context_.now().mono - waking->second.since < kLeaderWithin) continue;
    std::vector<Waiting> waiting = std::exchange(waking->second.waiting, {});
    if (back) {
      for (const Digest& digest : waking->second.chunks) context_.unuse_chunk(digest);
      waking_.erase(waking);
    }
    for (Waiting& one : waiting) deliver(one.from, one.message);
  }
}

/// What an earlier life of the gateway wanted is void: the next one asks for what it wants.
void HostMachine::forget_waiting() {
  const auto forget = [](std::vector<Waiting>& waiting) {
    std::erase_if(waiting, [](const Waiting& one) { return one.from == kGateway; });
  };
  for (auto& [session, asleep] : hibernating_) forget(asleep.waiting);
  for (auto& [session, waking] : waking_) forget(waking.waiting);
}

/// The session leaves this host.
void HostMachine::forget_hibernating(const SessionId& session) {
  const auto release = [this](const std::set<Digest>& chunks) {
    for (const Digest& digest : chunks) context_.unuse_chunk(digest);
  };
  if (const auto found = hibernating_.find(session); found != hibernating_.end()) {
    release(found->second.chunks);
    context_.drop_replica(session);
    context_.emit(ForgetSession{session});
    hibernating_.erase(found);
    reported_.erase(session);
  }
  if (const auto found = waking_.find(session); found != waking_.end()) {
    release(found->second.chunks);
    waking_.erase(found);
  }
}

}  // namespace banyan::node
