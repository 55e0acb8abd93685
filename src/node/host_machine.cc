#include "node/host_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace banyan::node {

namespace {
constexpr int kTicksAtOnce = 4;  // after a pause the group must not race through many timeouts
constexpr std::size_t kStrangerMessages = 16;
constexpr std::size_t kStrangersMax = 1024;
constexpr Duration kStrangerAge = 3s;

SessionAnswer no_replica(const SessionId& session, const std::string& request) {
  return {.session = session,
          .request = request,
          .content = {},
          .refused = ErrorKind::kUnavailable,
          .reason = "this host has no replica of the session"};
}

/// Whether only a gateway says that: a host that says it claims what is not its own.
bool is_gateways(const PeerMessage& message) {
  return std::visit(
      [](const auto& said) {
        using Said = std::decay_t<decltype(said)>;
        return !std::is_same_v<Said, ChunkPart> && !std::is_same_v<Said, ChunkWanted> &&
               !std::is_same_v<Said, ChunkStored> && !std::is_same_v<Said, ChunkLacking> &&
               !std::is_same_v<Said, Hibernate>;
      },
      message);
}

/// What its worker says, for the part that it concerns.
void tell(Replica& replica, const WorkerReady& event) { replica.view().on_ready(event); }
void tell(Replica& replica, FromWorker& event) { replica.cells().on_message(std::move(event)); }
void tell(Replica& replica, const WorkerFenced& event) { replica.cells().on_fenced(event); }
void tell(Replica& replica, WorkerReport& event) { replica.cells().on_report(std::move(event)); }
void tell(Replica& replica, const WorkerApplied& event) { replica.view().on_applied(event); }
void tell(Replica& replica, const WorkerRepeated& event) {
  replica.chunks().on_made_again(event.blocks);
  replica.view().on_repeated(event);
}
void tell(Replica& replica, const WorkerReads& event) { replica.view().on_reads(event); }
void tell(Replica& replica, const WorkerRemoves& event) { replica.history().on_removes(event); }
void tell(Replica& replica, const WorkerExited& event) { replica.cells().on_exited(event); }
void tell(Replica& replica, const WorkerAsks& event) { replica.history().on_asks(event); }

}  // namespace

HostMachine::HostMachine(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : context_(config, life, seed),
      speeds_(context_),
      chunks_(context_, speeds_, !config.store.empty()),
      exchange_(context_, chunks_),
      reports_(context_, config),
      hibernation_(context_, chunks_),
      peers_(config.id),
      whole_ticks_(config.whole_ticks) {
  context_.link(kGateway);
}

std::vector<HostEffect> HostMachine::step(const Now& now, HostEvent event) {
  context_.set_now(now);
  std::visit([this](auto& e) { handle(e); }, event);
  make_way();
  report_soon();
  return context_.finish();
}

Replica* HostMachine::stirred(const SessionId& session) {
  const auto found = replicas_.find(session);
  if (found == replicas_.end()) return nullptr;
  context_.stir(session);
  return found->second.get();
}

Replica* HostMachine::stirred_of(WorkerId worker) {
  for (auto& [session, replica] : replicas_) {
    if (replica->worker() == worker) return stirred(session);
  }
  return nullptr;
}

template <class Event>
  requires requires(const Event& event) { event.worker; }
void HostMachine::handle(Event& event) {
  if constexpr (std::is_same_v<Event, WorkerExited>) context_.devices().on_exited(event.worker);
  Replica* const found = stirred_of(event.worker);
  if (found == nullptr) return;  // of an earlier worker
  tell(*found, event);
  found->settle();
}

void HostMachine::handle(HostFigures& event) {
  context_.devices().set(event.devices);
  for (auto& [session, replica] : replicas_)
    if (const auto worker = replica->worker())
      context_.devices().on_all_uses(*worker, session, event.uses[*worker]);
  reports_.set_figures(event);
}

/// Processes that use what a cell of another session has been granted. Each ends now, or is looked at again
/// until it does not use that any more; the session hears that, too.
void HostMachine::make_way() {
  std::set<SessionId> looked_at = std::exchange(in_the_way_, context_.devices().in_the_way());
  looked_at.insert(in_the_way_.begin(), in_the_way_.end());
  for (const SessionId& session : looked_at) {
    Replica* const found = stirred(session);
    if (found == nullptr) continue;  // its process is ending
    found->cells().make_way();
    found->settle();
  }
}

void HostMachine::handle(Recovered& event) {
  speeds_.recall(event.speeds);
  chunks_.found(event.chunks);
  for (StoredReplica& stored : event.replicas) {
    const SessionId session = stored.session;
    auto opened = Replica::recover({context_, chunks_, speeds_}, std::move(stored));
    if (opened) {
      replicas_.emplace(session, std::move(*opened));
      context_.stir(session);
    } else {
      context_.log(Log::Level::kError, "cannot open a replica: " + opened.error().message +
                                           "; the others of its session go on, and the gateway replaces it");
    }
  }
}

void HostMachine::handle(const Tick&) {
  const Time now = context_.now().mono;
  if (!next_raft_tick_) next_raft_tick_ = now;
  int ticks = 0;
  while (*next_raft_tick_ <= now && ticks < kTicksAtOnce) {
    ++ticks;
    *next_raft_tick_ += context_.timing().tick;
  }
  if (*next_raft_tick_ <= now) next_raft_tick_ = now + context_.timing().tick;
  // Of many replicas most are calm at any time, and a whole look at one takes a while.
  const std::set<SessionId> looked_at = context_.take_astir();
  for (auto& [session, replica] : replicas_) {
    if (!looked_at.contains(session)) {
      replica->tick_log(ticks);
      replica->settle();
      continue;
    }
    replica->tick(ticks);
    replica->settle();
    if (whole_ticks_ || !replica->is_calm()) context_.stir(session);
  }
  end_waking();
  hibernate_tired();
  if (std::ranges::all_of(replicas_, [](const auto& item) { return item.second->caught_up(); }))
    chunks_.uses_known();
  chunks_.drop_unused();
  chunks_.scrub();
  speeds_.keep();
  std::erase_if(strangers_, [&](const auto& item) { return now - item.second.since > kStrangerAge; });
  std::set<SessionId> changed = context_.astir();
  changed.insert(looked_at.begin(), looked_at.end());
  std::vector<ReplicaReport> reports = reports_of(changed);
  for (ReplicaReport& asleep : hibernation_.reports(false)) reports.push_back(std::move(asleep));
  reports_.send(std::move(reports), false);
}

void HostMachine::handle(FrameArrived& event) {
  context_.set_reachable(event.from, true);
  if (auto* raft = std::get_if<RaftFrame>(&event.frame)) {
    raft_frame(event.from, std::move(*raft));
  } else {
    link_frame(event.from, std::move(std::get<LinkFrame>(event.frame)));
  }
}

void HostMachine::raft_frame(const HostId& from, RaftFrame frame) {
  for (RaftFrame::Item& item : frame.items) {
    // A replica that this stirs says so itself.
    if (const auto found = replicas_.find(item.session); found != replicas_.end()) {
      found->second->raft_message(from, item.message);
      found->second->settle();
      continue;
    }
    if (hibernation_.takes(item.session, from, item.message)) continue;
    // The gateway's OpenReplica may be on its way: a founder's first election should not have to wait for a
    // timeout.
    if (strangers_.size() >= kStrangersMax) continue;
    Stranger& stranger =
        strangers_.try_emplace(item.session, Stranger{context_.now().mono, {}}).first->second;
    if (stranger.messages.size() < kStrangerMessages)
      stranger.messages.emplace_back(from, std::move(item.message));
  }
}

void HostMachine::link_frame(const HostId& from, LinkFrame frame) {
  Link::Received received = context_.link(from).receive(std::move(frame), context_.now().mono);
  if (received.reset) {
    exchange_.on_peer_restarted(from);
    if (from == kGateway) {
      report_all();
      hibernation_.on_gateway_restarted();
      for (auto& [session, replica] : replicas_) {
        replica->cells().on_gateway_restarted();
        replica->settle();
      }
    } else {
      for (auto& [session, replica] : replicas_) replica->chunks().on_peer_restarted(from);
    }
  }
  for (PeerMessage& message : received.messages) peer_message(from, std::move(message));
}

void HostMachine::handle(const PeerUp& event) {
  context_.set_reachable(event.peer, true);
  context_.link(event.peer).transport_changed(context_.now().mono);
}

void HostMachine::handle(const PeerDown& event) {
  context_.set_reachable(event.peer, false);
  context_.link(event.peer).transport_changed(context_.now().mono);
  for (auto& [session, replica] : replicas_) {
    replica->peer_down(event.peer);
    replica->settle();
  }
}

void HostMachine::peer_message(const HostId& from, PeerMessage message) {
  if (from != kGateway && is_gateways(message)) return;
  if (!hibernation_.takes(from, message)) deliver(from, message);
}

void HostMachine::deliver(const HostId& from, PeerMessage& message) {
  const auto to = [&](const SessionId& session, auto&& action) {
    if (Replica* found = stirred(session)) {
      action(*found);
      found->settle();
    }
  };
  std::visit(
      Overloaded{
          [&](OpenReplica& m) { open(m); },
          [&](CloseReplica& m) { close(m); },
          [&](Execute& m) {
            if (Replica* found = stirred(m.session)) {
              found->cells().execute(m);
              return found->settle();
            }
            context_.send(
                from, ExecutionDeclined{m.session, m.execution, "this host has no replica of the session"});
          },
          [&](ToKernel& m) { to(m.session, [&](Replica& r) { r.view().to_kernel(std::move(m.message)); }); },
          [&](Interrupt& m) { to(m.session, [](Replica& r) { r.cells().interrupt(); }); },
          [&](Restart& m) { to(m.session, [&](Replica& r) { r.restart(m.request); }); },
          [&](ChangeMembers& m) { to(m.session, [&](Replica& r) { r.change_members(std::move(m)); }); },
          [&](OutputDelivered& m) { to(m.session, [&](Replica& r) { r.cells().on_delivered(m); }); },
          [&](ReportAll&) { report_all(); },
          [&](ChunkPart& m) { chunk_part(from, m); },
          [&](ChunkStored& m) {
            to(m.session, [&](Replica& r) { r.chunks().on_stored_by(from, m.digest); });
          },
          [&](ChunkLacking& m) {
            to(m.session, [&](Replica& r) { r.chunks().on_lacked_by(from, m.digest); });
          },
          [&](ChunkWanted& m) { exchange_.on_wanted(from, m); },
          [&](AskSession& m) { ask(from, m); },
          [&](SessionAnswer& m) { to(m.session, [&](Replica& r) { r.history().on_gateway(m); }); },
          [&](ImportSession& m) {
            if (Replica* found = stirred(m.session)) {
              found->history().import(m);
              return found->settle();
            }
            context_.send(from, no_replica(m.session, m.request));
          },
          [&](Hibernate& m) { follow(from, m); },
          [&](PeerAddresses& m) {
            for (HostEffect& effect : peers_.take(std::move(m))) context_.emit(std::move(effect));
          },
          [](auto&) {},  // what hosts say to a gateway
      },
      message);
}

void HostMachine::ask(const HostId& from, const AskSession& asked) {
  Replica* const found = stirred(asked.session);
  if (found == nullptr) return context_.send(from, no_replica(asked.session, asked.request));
  auto question = session::read_question(asked.question);
  if (question) {
    found->disturb();
    found->history().ask({asked.request, std::move(*question)});
    return found->settle();
  }
  context_.send(from, SessionAnswer{.session = asked.session,
                                    .request = asked.request,
                                    .refused = question.error().kind,
                                    .reason = question.error().message});
}

void HostMachine::open(const OpenReplica& request) {
  if (replicas_.contains(request.session) || hibernation_.report_of(request.session) != nullptr) return;
  // What could not be read of an earlier replica must not be found beside this one after a crash.
  context_.drop_replica(request.session);
  auto opened = Replica::open({context_, chunks_, speeds_}, request);
  if (!opened) {
    context_.log(Log::Level::kError,
                 "cannot open session " + request.session.value + ": " + opened.error().message);
    return;
  }
  Replica& replica = *replicas_.emplace(request.session, std::move(*opened)).first->second;
  context_.stir(request.session);
  if (const auto stranger = strangers_.find(request.session); stranger != strangers_.end()) {
    for (const auto& [from, message] : stranger->second.messages) {
      replica.raft_message(from, message);
      replica.settle();
    }
    strangers_.erase(stranger);
  }
}

void HostMachine::close(const CloseReplica& order) {
  const SessionId& session = order.session;
  const auto other = [&](const ReplicaReport& held) {
    return order.replica.value != 0 && held.replica != order.replica;
  };
  const auto found = replicas_.find(session);
  if (found != replicas_.end() && other(found->second->report())) return;
  if (const ReplicaReport* const asleep = hibernation_.report_of(session);
      asleep != nullptr && other(*asleep))
    return;
  hibernation_.forget(session);
  if (found != replicas_.end()) {
    found->second->close();
    context_.emit(ForgetSession{session});
    replicas_.erase(found);
  }
  reports_.on_closed(session);
}

/// Those suspended sessions that this host leads, and in which nothing has happened for a while.
void HostMachine::hibernate_tired() {
  std::vector<Replica::Tired> tired;
  for (const auto& [session, replica] : replicas_) {
    if (hibernation_.waking(session)) continue;
    if (auto one = replica->tired()) tired.push_back(std::move(*one));
  }
  for (const auto& [word, hosts] : tired) {
    for (const HostId& host : hosts) context_.send(host, word);
    hibernate(word.session);
  }
}

void HostMachine::follow(const HostId& from, const Hibernate& said) {
  const auto found = replicas_.find(said.session);
  if (found != replicas_.end() && !hibernation_.waking(said.session) && found->second->follows(from, said))
    hibernate(said.session);
}

void HostMachine::hibernate(const SessionId& session) {
  const auto found = replicas_.find(session);
  ReplicaReport report = found->second->report();
  hibernation_.begin(session, std::move(report), found->second->hibernate());
  replicas_.erase(found);
}

void HostMachine::handle(ReplicaLoaded& event) {
  const auto woken = hibernation_.on_loaded(event);
  if (!woken) return;
  auto opened = Replica::wake({context_, chunks_, speeds_}, std::move(*event.stored), woken->awaited);
  CHECK(opened.has_value(), "what hibernated here does not open: " + opened.error().message);
  context_.log(Log::Level::kInfo, "session " + event.session.value + " is back from its hibernation");
  Replica& replica = *replicas_.emplace(event.session, std::move(*opened)).first->second;
  context_.stir(event.session);
  for (const auto& [from, message] : woken->raft) {
    replica.raft_message(from, message);
    replica.settle();
  }
}

void HostMachine::end_waking() {
  const auto caught_up = [this](const SessionId& session) { return replicas_.at(session)->caught_up(); };
  for (Hibernation::Waiting& one : hibernation_.end_waking(caught_up)) deliver(one.from, one.message);
}

void HostMachine::chunk_part(const HostId& from, const ChunkPart& part) {
  if (!part.execution.value.empty()) {  // for a coming commit
    if (Replica* const found = stirred(part.session)) found->chunks().hold(part.execution, part.digest);
    hibernation_.hold_chunk(part.session, part.digest);
  }
  if (Replica* const found = stirred(part.session); found != nullptr && !chunks_.durable(part.digest))
    found->chunks().on_part(part);
  if (const auto bytes = exchange_.on_part(from, part)) chunk_at_hand(part.digest, *bytes);
}

void HostMachine::chunk_at_hand(const Digest& digest, const Blob& bytes) {
  for (auto& [session, replica] : replicas_) replica->chunks().on_at_hand(digest, bytes);
}

void HostMachine::handle(const Persisted& event) {
  HostContext::Landed landed = context_.persisted(event.token);
  std::erase_if(landed.chunks, [this](const Digest& digest) { return !chunks_.landed(digest); });
  for (const Digest& digest : landed.dropped) chunks_.dropped(digest);
  for (const Durable& write : landed.writes) {
    if (const auto found = replicas_.find(write.session); found != replicas_.end()) {
      found->second->persisted(write.token);
      found->second->settle();
    }
  }
  for (const SessionId& session : landed.births) {
    if (Replica* found = stirred(session)) found->born();
  }
  for (const Digest& digest : landed.chunks) chunk_is_durable(digest);
}

void HostMachine::handle(const ChunkLanded& event) {
  if (chunks_.landed_in_background(event.digest)) chunk_is_durable(event.digest);
}

void HostMachine::chunk_is_durable(const Digest& digest) {
  exchange_.on_durable(digest);
  for (auto& [session, replica] : replicas_)
    if (context_.is_astir(session)) {  // a calm one lacks none
      replica->chunks().on_durable(digest);
      replica->settle();
    }
}

void HostMachine::handle(const ChunkRead& event) {
  const auto size = event.bytes ? std::optional<std::uint64_t>(event.bytes->size()) : std::nullopt;
  if (!chunks_.on_read(event.digest, size)) {
    hibernation_.wake_users(event.digest);
    for (const auto& [session, replica] : replicas_) context_.stir(session);  // it may lack the chunk now
    context_.log(Log::Level::kError, "chunk " + to_hex(event.digest) +
                                         " is damaged on this host's disk; it is fetched from a peer");
  }
  for (const SessionId& session : exchange_.on_read(event))
    if (Replica* const giver = stirred(session)) giver->view().on_chunk_given();
  for (auto& [session, replica] : replicas_) {
    if (replica->chunks().on_read(event.digest, event.bytes)) replica->settle();
  }
}

void HostMachine::handle(const ChunkFetched& event) {
  chunks_.on_fetched(event);
  for (auto& [session, replica] : replicas_) replica->chunks().on_fetched(event);
  if (exchange_.on_fetched(event)) chunk_at_hand(event.digest, *event.bytes);
}

void HostMachine::report_all() {
  std::vector<ReplicaReport> reports;
  for (const auto& [session, replica] : replicas_) {
    if (replica->is_born()) reports.push_back(replica->report());
  }
  for (ReplicaReport& asleep : hibernation_.reports(true)) reports.push_back(std::move(asleep));
  reports_.send(std::move(reports), true);
}

/// Of those replicas that are not to wait for a tick.
void HostMachine::report_soon() {
  const std::set<SessionId> sessions = context_.take_to_report();
  if (!sessions.empty()) reports_.send_soon(reports_of(sessions));
}

std::vector<ReplicaReport> HostMachine::reports_of(const std::set<SessionId>& sessions) const {
  std::vector<ReplicaReport> reports;
  for (const SessionId& session : sessions)
    if (const auto found = replicas_.find(session); found != replicas_.end() && found->second->is_born())
      reports.push_back(found->second->report());
  return reports;
}

HostNode::HostNode(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : machine_(std::make_unique<HostMachine>(config, life, seed)) {}
HostNode::~HostNode() = default;
std::uint64_t HostNode::captured_bytes() const { return machine_->captured_bytes(); }

std::vector<HostEffect> HostNode::step(const Now& now, HostEvent event) {
  return machine_->step(now, std::move(event));
}

}  // namespace banyan::node
