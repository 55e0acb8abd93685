#include "node/host_machine.h"

#include <algorithm>
#include <utility>

#include "base/codec.h"
#include "base/overloaded.h"

namespace banyan::node {

namespace {
constexpr int kTicksAtOnce = 4;  // after a pause the group must not race through many timeouts
constexpr std::size_t kStrangerMessages = 16;
constexpr std::size_t kStrangersMax = 1024;
constexpr Duration kStrangerAge = 3s;
}  // namespace

HostMachine::HostMachine(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : context_(config, life, seed), peers_(config.id) {
  figures_.store = config.store;
  figures_.gpus = config.gpus;
  figures_.takes_addresses = true;
  context_.link(kGateway);
}

std::vector<HostEffect> HostMachine::step(const Now& now, HostEvent event) {
  context_.set_now(now);
  std::visit([this](auto& e) { handle(e); }, event);
  send_reports();
  return context_.finish();
}

Replica* HostMachine::replica(const SessionId& session) {
  const auto found = replicas_.find(session);
  return found == replicas_.end() ? nullptr : found->second.get();
}

Replica* HostMachine::replica_of(WorkerId worker) {
  for (auto& [session, replica] : replicas_) {
    if (replica->worker() == worker) return replica.get();
  }
  return nullptr;
}

void HostMachine::handle(Recovered& event) {
  context_.recall_speeds(event.speeds);
  context_.chunks_found(event.chunks);
  for (StoredReplica& stored : event.replicas) {
    const SessionId session = stored.session;
    auto opened = Replica::recover(context_, std::move(stored));
    if (opened) {
      replicas_.emplace(session, std::move(*opened));
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
  for (auto& [session, replica] : replicas_) replica->tick(ticks);
  end_waking();
  hibernate_tired();
  if (std::ranges::all_of(replicas_, [](const auto& item) { return item.second->caught_up(); }))
    context_.uses_known();
  context_.drop_unused_chunks();
  context_.scrub();
  context_.keep_speeds();
  std::erase_if(strangers_, [&](const auto& item) { return now - item.second.since > kStrangerAge; });
  report(false);
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
    if (Replica* found = replica(item.session)) {
      found->raft_message(from, item.message);
      continue;
    }
    if (wakes(item.session, from, item.message)) continue;
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
    std::erase_if(arriving_, [&](const auto& item) { return item.first.first == from; });
    if (from == kGateway) {
      report(true);
      forget_waiting();
      for (auto& [session, replica] : replicas_) replica->gateway_restarted();
    } else {
      for (auto& [session, replica] : replicas_) replica->peer_restarted(from);
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
  for (auto& [session, replica] : replicas_) replica->peer_down(event.peer);
}

void HostMachine::peer_message(const HostId& from, PeerMessage message) {
  if (!wakes(from, message)) deliver(from, message);
}

void HostMachine::deliver(const HostId& from, PeerMessage& message) {
  const auto to = [&](const SessionId& session, auto&& action) {
    if (Replica* found = replica(session)) action(*found);
  };
  std::visit(
      Overloaded{
          [&](OpenReplica& m) { open(m); }, [&](CloseReplica& m) { close(m); },
          [&](Execute& m) {
            if (Replica* found = replica(m.session)) return found->execute(m);
            context_.send(
                from, ExecutionDeclined{m.session, m.execution, "this host has no replica of the session"});
          },
          [&](ToKernel& m) { to(m.session, [&](Replica& r) { r.to_kernel(std::move(m.message)); }); },
          [&](Interrupt& m) { to(m.session, [](Replica& r) { r.interrupt(); }); },
          [&](Restart& m) { to(m.session, [&](Replica& r) { r.restart(m.request); }); },
          [&](ChangeMembers& m) { to(m.session, [&](Replica& r) { r.change_members(std::move(m)); }); },
          [&](OutputDelivered& m) { to(m.session, [&](Replica& r) { r.output_delivered(m); }); },
          [&](ReportAll&) { report(true); }, [&](ChunkPart& m) { chunk_part(from, m); },
          [&](ChunkStored& m) { to(m.session, [&](Replica& r) { r.chunk_stored_by(from, m.digest); }); },
          [&](ChunkWanted& m) {
            asked_for_[m.digest].emplace(from, m.session);
            context_.read_chunk(m.digest);
          },
          [&](AskSession& m) {
            if (Replica* found = replica(m.session)) return found->ask(m);
            context_.send(from, SessionAnswer{.session = m.session,
                                              .request = m.request,
                                              .refused = ErrorKind::kUnavailable,
                                              .reason = "this host has no replica of the session"});
          },
          [&](SessionAnswer& m) { to(m.session, [&](Replica& r) { r.gateway_answered(m); }); },
          [&](ImportSession& m) {
            if (Replica* found = replica(m.session)) return found->import(m);
            context_.send(from, SessionAnswer{.session = m.session,
                                              .request = m.request,
                                              .refused = ErrorKind::kUnavailable,
                                              .reason = "this host has no replica of the session"});
          },
          [&](Hibernate& m) { take(from, m); },
          [&](PeerAddresses& m) {
            for (HostEffect& effect : peers_.take(std::move(m))) context_.emit(std::move(effect));
          },
          [](auto&) {},  // what hosts say to a gateway
      },
      message);
}

void HostMachine::open(const OpenReplica& request) {
  if (replica(request.session) != nullptr || hibernating_.contains(request.session)) return;
  // What could not be read of an earlier replica must not be found beside this one after a crash.
  context_.drop_replica(request.session);
  auto opened = Replica::open(context_, request);
  if (!opened) {
    context_.log(Log::Level::kError,
                 "cannot open session " + request.session.value + ": " + opened.error().message);
    return;
  }
  Replica& replica = *replicas_.emplace(request.session, std::move(*opened)).first->second;
  if (const auto stranger = strangers_.find(request.session); stranger != strangers_.end()) {
    for (const auto& [from, message] : stranger->second.messages) replica.raft_message(from, message);
    strangers_.erase(stranger);
  }
}

void HostMachine::close(const CloseReplica& order) {
  const SessionId& session = order.session;
  const auto other = [&](const ReplicaReport& held) {
    return order.replica.value != 0 && held.replica != order.replica;
  };
  if (Replica* const held = replica(session); held != nullptr && other(held->report())) return;
  if (const auto asleep = hibernating_.find(session);
      asleep != hibernating_.end() && other(asleep->second.report))
    return;
  forget_hibernating(session);
  const auto found = replicas_.find(session);
  if (found != replicas_.end()) {
    found->second->close();
    context_.emit(ForgetSession{session});
    replicas_.erase(found);
    reported_.erase(session);
  }
  closed_.push_back(session);
}

void HostMachine::chunk_part(const HostId& from, const ChunkPart& part) {
  if (Replica* const found = replica(part.session); found != nullptr && !part.execution.value.empty())
    found->hold_chunk(part.execution, part.digest);
  if (const auto asleep = hibernating_.find(part.session);
      asleep != hibernating_.end() && !part.execution.value.empty()) {
    if (asleep->second.chunks.insert(part.digest).second) context_.use_chunk(part.digest);
    wake(part.session);
  }
  if (context_.chunk_durable(part.digest)) {
    arriving_.erase({from, part.digest});
    context_.send(from, ChunkStored{part.session, part.digest});
    return;
  }
  if (Replica* const found = replica(part.session)) found->chunk_arrives(part);
  Blob bytes = part.bytes;
  if (part.bytes.size() < part.size) {
    std::string& whole = arriving_[{from, part.digest}];
    if (part.offset == 0) whole.clear();
    if (part.offset != whole.size() || part.offset + part.bytes.size() > part.size) return;
    whole.append(part.bytes.view());
    if (whole.size() < part.size) return;
    bytes = Blob(std::move(whole));
  }
  arriving_.erase({from, part.digest});
  if (digest_of(bytes.view()) != part.digest) {
    context_.log(Log::Level::kError,
                 "a chunk from " + from.value + " does not match its digest; it is not stored");
    return;
  }
  chunk_at_hand(part.digest, bytes, {from, part.session});
}

void HostMachine::chunk_at_hand(const Digest& digest, const Blob& bytes, Sender from) {
  from.bytes = bytes.size();
  to_confirm_[digest].push_back(std::move(from));
  context_.put_chunk(digest, bytes);
  for (auto& [session, replica] : replicas_) replica->chunk_at_hand(digest, bytes);
}

void HostMachine::send_chunk(const HostId& to, const SessionId& session, const Digest& digest,
                             const Blob& bytes) {
  if (Replica* const giver = replica(session)) giver->chunk_given();
  const std::uint64_t part = context_.sizes().chunk_part;
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += part) {
    context_.send(to, ChunkPart{session,
                                digest,
                                bytes.size(),
                                offset,
                                bytes.part(offset, std::min<std::uint64_t>(part, bytes.size() - offset)),
                                {}});
  }
}

/// The gateway asks the next host then, replicas ask again by themselves.
void HostMachine::lacks(const Digest& digest) {
  const auto asked = asked_for_.extract(digest);
  if (!asked) return;
  for (const auto& [host, session] : asked.mapped())
    if (host == kGateway) context_.send(host, ChunkPart{.session = session, .digest = digest});
}

void HostMachine::handle(const Persisted& event) {
  const HostContext::Landed landed = context_.persisted(event.token);
  for (const Durable& write : landed.writes) {
    if (Replica* found = replica(write.session)) found->persisted(write.token);
  }
  for (const SessionId& session : landed.births) {
    if (Replica* found = replica(session)) found->born();
  }
  for (const Digest& digest : landed.chunks) {
    std::erase_if(arriving_, [&](const auto& item) { return item.first.second == digest; });
    if (const auto waiting = to_confirm_.find(digest); waiting != to_confirm_.end()) {
      for (const auto& [host, session, bytes] : waiting->second) {
        context_.chunk_came(host, digest, bytes);
        context_.send(host, ChunkStored{session, digest});
      }
      to_confirm_.erase(waiting);
    }
    for (auto& [session, replica] : replicas_) replica->chunk_durable(digest);
    if (asked_for_.contains(digest)) context_.read_chunk(digest);
  }
}

void HostMachine::handle(const ChunkRead& event) {
  const auto size = event.bytes ? std::optional<std::uint64_t>(event.bytes->size()) : std::nullopt;
  if (!context_.chunk_read(event.digest, size)) {
    wake_users(event.digest);
    context_.log(Log::Level::kError, "chunk " + to_hex(event.digest) +
                                         " is damaged on this host's disk; it is fetched from a peer");
  }
  if (const auto asked = asked_for_.find(event.digest); asked != asked_for_.end()) {
    if (event.bytes) {
      for (const auto& [host, session] : asked->second) send_chunk(host, session, event.digest, *event.bytes);
      asked_for_.erase(asked);
    } else if (!context_.fetching(event.digest)) {  // what comes here from a data store goes on from here
      lacks(event.digest);
    }
  }
  for (auto& [session, replica] : replicas_) replica->chunk_read(event.digest, event.bytes);
}

void HostMachine::handle(const ChunkFetched& event) {
  context_.chunk_fetched(event);
  for (auto& [session, replica] : replicas_) replica->chunk_fetched(event);
  if (!event.bytes) lacks(event.digest);
  if (!event.bytes || context_.chunk_durable(event.digest)) return;
  chunk_at_hand(event.digest, *event.bytes, {kDataStore, {}});
}

void HostMachine::handle(const WorkerReady& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_ready(event);
}
void HostMachine::handle(FromWorker& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_message(std::move(event));
}
void HostMachine::handle(const WorkerFenced& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_fenced(event);
}
void HostMachine::handle(const WorkerAsks& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_asks(event);
}
void HostMachine::handle(WorkerReport& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_report(std::move(event));
}
void HostMachine::handle(const WorkerApplied& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_applied(event);
}
void HostMachine::handle(const WorkerRepeated& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_repeated(event);
}
void HostMachine::handle(const WorkerReads& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_reads(event);
}
void HostMachine::handle(const WorkerRemoves& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_removes(event);
}
void HostMachine::handle(const WorkerExited& event) {
  if (Replica* found = replica_of(event.worker)) found->worker_exited(event);
}

void HostMachine::handle(const HostFigures& event) {
  figures_.cpus = event.cpus;
  figures_.memory_bytes = event.memory_bytes;
  figures_.resident_bytes = event.resident_bytes;
}

void HostMachine::handle(HostKernels& event) { figures_.kernels = std::move(event.kernels); }

void HostMachine::report(bool whole) {
  HostReport report = figures_;
  report.whole = whole;
  for (const auto& [session, replica] : replicas_) {
    if (replica->is_born()) add_to(report, replica->report());
  }
  for (auto& [session, asleep] : hibernating_)
    if (whole || !std::exchange(asleep.reported, true)) add_to(report, asleep.report);
  report.closed = std::exchange(closed_, {});
  std::string figures = encode(figures_);
  if (!whole && report.replicas.empty() && report.closed.empty() && figures == reported_figures_) return;
  reported_figures_ = std::move(figures);
  context_.send(kGateway, std::move(report));
}

/// Of those replicas that are not to wait for a tick.
void HostMachine::send_reports() {
  const std::set<SessionId> sessions = context_.take_to_report();
  if (sessions.empty()) return;
  HostReport report = figures_;
  for (const SessionId& session : sessions)
    if (const Replica* found = replica(session); found != nullptr && found->is_born())
      add_to(report, found->report());
  // Said with the next tick, it would be taken for the end of a replica that was opened since.
  report.closed = std::exchange(closed_, {});
  if (!report.replicas.empty() || !report.closed.empty()) context_.send(kGateway, std::move(report));
}

/// In a report that is not whole only what is new.
void HostMachine::add_to(HostReport& report, ReplicaReport one) {
  std::string encoded = encode(one);
  std::string& before = reported_[one.session];
  if (!report.whole && before == encoded) return;
  before = std::move(encoded);
  report.replicas.push_back(std::move(one));
}

HostNode::HostNode(const HostConfig& config, Incarnation life, std::uint64_t seed)
    : machine_(std::make_unique<HostMachine>(config, life, seed)) {}
HostNode::~HostNode() = default;
std::vector<HostEffect> HostNode::step(const Now& now, HostEvent event) {
  return machine_->step(now, std::move(event));
}

}  // namespace banyan::node
