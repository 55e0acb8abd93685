#include "node/gateway_node.h"

#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "node/gateway_machine.h"
#include "node/gateway_models.h"

namespace banyan::node {

GatewayMachine::GatewayMachine(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : context_(std::move(config), life, seed),
      directory_(context_),
      founded_(context_),
      sessions_(context_),
      creations_(context_, founded_, sessions_),
      rest_(context_, directory_, founded_, sessions_, creations_) {}

std::vector<GatewayEffect> GatewayMachine::step(const Now& now, GatewayEvent event) {
  CHECK(loaded_ || std::holds_alternative<StoreLoaded>(event), "a life begins with what the store holds");
  context_.set_now(now);
  std::visit([this](auto& e) { handle(e); }, event);
  while (auto decision = context_.take_decision()) carry_out(*decision);
  return context_.finish();
}

void GatewayMachine::carry_out(const schedule::Decision& decision) {
  const auto in = [&](const SessionId& id, auto&& action) {
    if (GatewaySession* const found = sessions_.find(id)) action(*found);
  };
  using Session = GatewaySession;
  std::visit(
      Overloaded{
          [&](const schedule::PlaceSession& d) { creations_.on_place(d); },
          [&](const schedule::RefuseSession& d) { creations_.on_refuse(d); },
          [&](const schedule::PlaceReplica& d) { in(d.session, [&](Session& s) { s.place(d.host); }); },
          [&](const schedule::NoHost& d) { in(d.session, [](Session& s) { s.no_host(); }); },
          [&](const schedule::MoveReplica& d) {
            in(d.session, [&](Session& s) { s.operations().on_move(d); });
          },
          [&](const schedule::CellDecision& d) { in(d.session, [&](Session& s) { s.decide(d); }); },
          [&](const schedule::SuspendSession& d) {
            in(d.session, [](Session& s) { s.operations().on_rest(); });
          },
      },
      decision);
}

void GatewayMachine::handle(StoreLoaded& event) {
  loaded_ = true;
  StoredSessions stored = read_records(event.records);
  for (const std::string& key : stored.unreadable)
    context_.log(Log::Level::kError,
                 "the control store's record " + key + " cannot be read; it is left alone");
  for (const std::string& key : stored.orphans) context_.store(key, {});
  directory_.recover(std::move(stored.hosts));
  founded_.recover(stored);
  for (auto& [id, one] : stored.sessions) {
    GatewaySession& session = sessions_.add(one.session);
    session.recover(std::move(one));
  }
}

void GatewayMachine::handle(const Tick&) {
  watch_hosts();
  sessions_.watch_anonymous();
  for (const auto& [id, session] : sessions_.all()) {
    for (const RequestId request : session->tick())
      context_.emit(HttpReply{request, 200, {}, api::to_text(kernel_model(*session))});
  }
  context_.tell(schedule::TimePassed{});
}

// ---- hosts

void GatewayMachine::handle(FrameArrived& event) {
  const auto peer = context_.hosts().find(event.from);
  if (peer == context_.hosts().end()) return directory_.on_stranger(event.from);
  auto* const frame = std::get_if<LinkFrame>(&event.frame);
  if (frame == nullptr) return;  // the gateway is in no Raft group
  PeerHost& host = peer->second;
  Link& link = context_.link(event.from);
  const auto heard_before = link.last_heard();
  Link::Received received = link.receive(std::move(*frame), context_.now().mono);
  if (received.reset) host_reset(event.from);
  if (received.reset || link.last_heard() != heard_before) {
    host.heard_or_start = context_.now().mono;
    set_up(event.from, host, true);
  }
  for (PeerMessage& message : received.messages) peer_message(event.from, std::move(message));
}

/// Another life of the host: what it was asked is forgotten, what it holds it will tell.
void GatewayMachine::host_reset(const HostId& from) {
  PeerHost& host = context_.hosts().at(from);
  host.reported = false;
  host.takes_addresses = false;
  note_state(from, host);
  host.replicas.clear();
  host.swept.clear();
  context_.send(from, ReportAll{});
  for (const auto& [id, session] : sessions_.all()) session->host_restarted(from);
}

void GatewayMachine::set_up(const HostId& id, PeerHost& host, bool up) {
  if (host.up == up) return;
  host.up = up;
  note_state(id, host);
  context_.log(up ? Log::Level::kInfo : Log::Level::kWarning,
               "host " + id.value + (up ? " is up" : " does not answer"));
  if (!host.reported) return;
  for (const auto& [session_id, session] : sessions_.all()) {
    if (up) {
      session->host_up(id, false);
    } else {
      session->host_down(id);
    }
  }
}

void GatewayMachine::note_state(const HostId& id, const PeerHost& host) {
  using cluster::HostState;
  const HostState reported = host.up ? HostState::kUp : HostState::kSilent;
  context_.tell(schedule::HostChanged{id, host.reported ? reported : HostState::kUnheard});
}

void GatewayMachine::watch_hosts() {
  for (auto& [id, host] : context_.hosts()) {
    if (host.up && context_.silence(id) >= context_.config().timing.host_silent) set_up(id, host, false);
  }
}

void GatewayMachine::handle(const PeerUp& event) {
  const auto peer = context_.hosts().find(event.peer);
  if (peer != context_.hosts().end()) context_.link(event.peer).transport_changed(context_.now().mono);
}

void GatewayMachine::handle(const PeerIntroduced& event) { directory_.on_introduced(event); }

/// A broken connection is a hint that costs nothing to follow: whoever is asked instead of a living executor
/// finds in the log that the cell runs.
void GatewayMachine::handle(const PeerDown& event) {
  const auto peer = context_.hosts().find(event.peer);
  if (peer == context_.hosts().end()) return;
  context_.link(event.peer).transport_changed(context_.now().mono);
  set_up(event.peer, peer->second, false);
}

void GatewayMachine::peer_message(const HostId& from, PeerMessage message) {
  const auto to = [&](const SessionId& id, auto&& action) {
    if (GatewaySession* const found = sessions_.existing(id)) action(*found);
  };
  std::visit(
      Overloaded{
          [&](HostReport& m) { host_report(from, std::move(m)); },
          [&](FromKernel& m) {
            to(m.session, [&](GatewaySession& s) { s.from_kernel(from, std::move(m)); });
          },
          [&](ExecutionEnded& m) { to(m.session, [&](GatewaySession& s) { s.ended(from, m); }); },
          [&](ExecutionDeclined& m) { to(m.session, [&](GatewaySession& s) { s.declined(from, m); }); },
          [&](ChunkPart& m) { to(m.session, [&](GatewaySession& s) { s.transfers().arrives(from, m); }); },
          [&](ChunkStored& m) {
            to(m.session, [&](GatewaySession& s) { s.transfers().stored(from, m.digest); });
          },
          [&](AskSession& m) { to(m.session, [&](GatewaySession& s) { s.operations().on_asked(from, m); }); },
          [&](SessionAnswer& m) { to(m.session, [&](GatewaySession& s) { s.answered(m); }); },
          [&](Restarted& m) { to(m.session, [&](GatewaySession& s) { s.restarted(m); }); },
          [](auto&) {},  // what is said to hosts
      },
      message);
}

void GatewayMachine::host_report(const HostId& from, HostReport report) {
  PeerHost& host = context_.hosts().at(from);
  const bool first = report.whole && !host.reported;
  std::vector<ReplicaReport> replicas = std::exchange(report.replicas, {});
  if (report.whole) {
    for (const auto& [id, replica] : host.replicas) context_.tell(schedule::DevicesBound{from, id, {}});
    host.replicas.clear();
    host.damaged.clear();
  }
  std::set<SessionId> strays;
  if (!report.whole) strays = host.strays;
  for (const SessionId& closed : report.closed) {
    host.replicas.erase(closed);
    context_.tell(schedule::DevicesBound{from, closed, {}});
    strays.erase(closed);
  }
  host.resident_bytes = report.resident_bytes;
  host.store = std::move(report.store);
  if (report.takes_addresses && !std::exchange(host.takes_addresses, true)) directory_.tell_peers_of(from);
  context_.tell(schedule::HostReported{.host = from,
                                       .capacity = {.cpus = report.cpus,
                                                    .gpus = report.gpus,
                                                    .memory_bytes = report.memory_bytes,
                                                    .devices = std::move(report.devices)},
                                       .kernels = std::move(report.kernels)});
  for (const ReplicaReport& replica : replicas)
    context_.tell(schedule::DevicesBound{from, replica.session, replica.devices});
  std::erase_if(replicas, [&](const ReplicaReport& replica) {
    if (sessions_.find(replica.session) != nullptr) return false;
    if (sessions_.is_ending(replica.session, from)) return true;
    if (founded_.damaged(replica.session)) {
      host.damaged.insert(replica.session);
      return true;
    }
    if (!founded_.has_ended(replica.founding)) {
      strays.insert(replica.session);
    } else if (host.swept.insert(replica.session).second) {
      context_.send(from, CloseReplica{replica.session});
    }
    return true;
  });
  for (const ReplicaReport& replica : replicas) host.replicas[replica.session] = replica;
  for (const SessionId& stray : strays) creations_.on_stray(stray);
  founded_.note_strays(from, std::move(strays));
  if (first) {
    host.reported = true;
    note_state(from, host);
    for (const auto& [id, session] : sessions_.all()) session->host_up(from, true);
  }
  for (const ReplicaReport& replica : replicas) {
    if (GatewaySession* const found = sessions_.existing(replica.session)) found->reported(from, replica);
  }
}

void GatewayMachine::handle(const Stored& event) {
  const auto noted = context_.noted(event.token);
  if (!noted) return;
  if (const auto* const waits = std::get_if<RequestNoted>(&*noted))
    return context_.emit(HttpReply{waits->request, 204, {}, {}});
  if (const auto* const ended = std::get_if<EndNoted>(&*noted)) return sessions_.on_end_noted(ended->session);
  const auto& [id, what] = std::get<std::pair<SessionId, Noted>>(*noted);
  GatewaySession* const found = sessions_.find(id);
  if (found == nullptr) return;
  found->noted(what);
  if (std::holds_alternative<SessionNoted>(what)) creations_.on_founded(*found);
}

GatewayNode::GatewayNode(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : machine_(std::make_unique<GatewayMachine>(std::move(config), life, seed)) {}
GatewayNode::~GatewayNode() = default;
std::vector<GatewayEffect> GatewayNode::step(const Now& now, GatewayEvent event) {
  return machine_->step(now, std::move(event));
}

}  // namespace banyan::node
