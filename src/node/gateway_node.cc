#include "node/gateway_node.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "node/gateway_machine.h"

namespace banyan::node {

namespace {
constexpr Duration kAnonymousFor = 500ms;  // every client says something at once

std::string unnamed_client(ConnectionId connection) {
  return "connection-" + std::to_string(connection.value);
}
}  // namespace

GatewayMachine::GatewayMachine(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : context_(std::move(config), life, seed), directory_(context_), founded_(context_) {}

std::vector<GatewayEffect> GatewayMachine::step(const Now& now, GatewayEvent event) {
  CHECK(loaded_ || std::holds_alternative<StoreLoaded>(event), "a life begins with what the store holds");
  context_.set_now(now);
  std::visit([this](auto& e) { handle(e); }, event);
  while (auto decision = context_.take_decision()) carry_out(*decision);
  return context_.finish();
}

void GatewayMachine::carry_out(schedule::Decision& decision) {
  const auto in = [&](const SessionId& id, auto&& action) {
    if (GatewaySession* const found = session(id)) action(*found);
  };
  std::visit(
      Overloaded{
          [&](schedule::PlaceSession& d) { carry_out(d); },
          [&](schedule::RefuseSession& d) { carry_out(d); },
          [&](schedule::PlaceReplica& d) { in(d.session, [&](GatewaySession& s) { s.place(d.host); }); },
          [&](schedule::NoHost& d) { in(d.session, [](GatewaySession& s) { s.no_host(); }); },
          [&](schedule::MoveReplica& d) {
            in(d.session, [&](GatewaySession& s) { s.operations().on_move(d); });
          },
          [&](schedule::StartCell& d) { in(d.session, [&](GatewaySession& s) { s.start(d); }); },
          [&](schedule::SuspendSession& d) {
            in(d.session, [](GatewaySession& s) { s.operations().on_rest(); });
          },
      },
      decision);
}

GatewaySession* GatewayMachine::session(const SessionId& id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

GatewaySession* GatewayMachine::existing(const SessionId& id) {
  GatewaySession* const found = session(id);
  return found != nullptr && found->exists() ? found : nullptr;
}

GatewaySession* GatewayMachine::session_of(ConnectionId connection) {
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : session(found->second);
}

void GatewayMachine::end_session(const SessionId& id) {
  const auto found = sessions_.find(id);
  found->second->close();
  std::erase_if(connections_, [&](const auto& item) { return item.second == id; });
  for (auto it = anonymous_.begin(); it != anonymous_.end();) {
    const auto current = it++;
    if (current->second.session != id) continue;
    context_.emit(CloseClient{current->first, 1000, "the kernel was shut down"});
    anonymous_.erase(current);
  }
  sessions_.erase(found);  // last: `id` may be its own
}

void GatewayMachine::handle(StoreLoaded& event) {
  loaded_ = true;
  started_ = context_.now().wall;
  StoredSessions stored = read_records(event.records);
  for (const std::string& key : stored.unreadable)
    context_.log(Log::Level::kError,
                 "the control store's record " + key + " cannot be read; it is left alone");
  for (const std::string& key : stored.orphans) context_.store(key, {});
  directory_.recover(std::move(stored.hosts));
  founded_.recover(stored);
  for (auto& [id, one] : stored.sessions) {
    auto& session =
        *sessions_.emplace(id, std::make_unique<GatewaySession>(context_, one.session)).first->second;
    session.recover(std::move(one));
  }
}

void GatewayMachine::handle(const Tick&) {
  watch_hosts();
  watch_anonymous();
  for (auto& [id, session] : sessions_) {
    session->tick();
    for (const RequestId request : session->take_restarted())
      context_.emit(HttpReply{request, 200, {}, kernel_model(*session)});
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
  for (auto& [id, session] : sessions_) session->host_restarted(from);
}

void GatewayMachine::set_up(const HostId& id, PeerHost& host, bool up) {
  if (host.up == up) return;
  host.up = up;
  note_state(id, host);
  context_.log(up ? Log::Level::kInfo : Log::Level::kWarning,
               "host " + id.value + (up ? " is up" : " does not answer"));
  if (!host.reported) return;
  for (auto& [session_id, session] : sessions_) {
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

void GatewayMachine::handle(const PeerIntroduced& event) {
  directory_.on_introduced(event.peer, event.address);
}

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
    if (GatewaySession* const found = existing(id)) action(*found);
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
    host.replicas.clear();
    host.damaged.clear();
  }
  std::set<SessionId> strays;
  if (!report.whole) strays = host.strays;
  for (const SessionId& closed : report.closed) {
    host.replicas.erase(closed);
    strays.erase(closed);
  }
  host.resident_bytes = report.resident_bytes;
  host.store = std::move(report.store);
  if (report.takes_addresses && !std::exchange(host.takes_addresses, true)) directory_.tell_peers_of(from);
  context_.tell(schedule::HostReported{.host = from,
                                       .capacity = {report.cpus, report.gpus, report.memory_bytes},
                                       .kernels = std::move(report.kernels)});
  std::erase_if(replicas, [&](const ReplicaReport& replica) {
    if (session(replica.session) != nullptr) return false;
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
  for (const SessionId& stray : strays) refuse_strayed(stray);
  founded_.note_strays(from, std::move(strays));
  if (first) {
    host.reported = true;
    note_state(from, host);
    for (auto& [id, session] : sessions_) session->host_up(from, true);
  }
  for (const ReplicaReport& replica : replicas) {
    if (GatewaySession* const found = existing(replica.session)) found->reported(from, replica);
  }
}

// ---- clients

void GatewayMachine::handle(const ClientOpening& event) {
  const HttpTarget target = parse_target(event.target);
  if (!shows_token("GET", target, event.headers, context_.config().token)) {
    context_.emit(RejectClient{event.id, 403, "Forbidden: the token is missing or wrong."});
    return;
  }
  const bool channels = target.path.size() == 4 && target.word(0) == "api" && target.word(1) == "kernels" &&
                        target.word(3) == "channels";
  const SessionId id{target.word(2)};
  GatewaySession* const found = channels ? existing(id) : nullptr;
  if (found == nullptr) {
    context_.emit(RejectClient{event.id, 404,
                               channels ? "There is no kernel " + id.value + "; GET /api/kernels lists them."
                                        : "WebSockets are served at /api/kernels/{id}/channels only."});
    return;
  }
  context_.emit(AcceptClient{event.id});
  connections_[event.id] = id;
  const auto named = target.query.find("session_id");
  if (named == target.query.end() || named->second.empty()) {
    anonymous_[event.id] = {id, context_.now().mono, manner_of(target)};
  } else {
    found->channels().open_client(event.id, {named->second}, manner_of(target));
  }
}

/// A client that named no session_id is known by header.session of its first message.
void GatewayMachine::handle(FromClient& event) {
  GatewaySession* const found = session_of(event.id);
  if (found == nullptr) return;
  if (const auto unnamed = anonymous_.extract(event.id)) {
    const auto header = jupyter::parse_header(event.message.header);
    const bool named = header && !header->session.empty() && !found->clients().connected({header->session});
    found->channels().open_client(event.id, {named ? header->session : unnamed_client(event.id)},
                                  unnamed.mapped().manner);
  }
  found->channels().from_client(event.id, std::move(event.message));
  if (found->channels().wants_end()) end_session(found->id());
}

void GatewayMachine::watch_anonymous() {
  for (auto it = anonymous_.begin(); it != anonymous_.end();) {
    const auto current = it++;
    if (context_.now().mono - current->second.since < kAnonymousFor) continue;
    if (GatewaySession* const found = session(current->second.session))
      found->channels().open_client(current->first, {unnamed_client(current->first)}, current->second.manner);
    anonymous_.erase(current);
  }
}

void GatewayMachine::handle(const ClientDrained& event) {
  if (GatewaySession* const found = session_of(event.id)) found->drained(event.id, event.bytes);
}

void GatewayMachine::handle(const ClientConfirmed& event) {
  if (GatewaySession* const found = session_of(event.id)) found->confirmed(event.id, event.messages);
}

void GatewayMachine::handle(const ClientClosed& event) {
  if (GatewaySession* const found = session_of(event.id)) found->close_client(event.id);
  connections_.erase(event.id);
  anonymous_.erase(event.id);
}

void GatewayMachine::handle(const Stored& event) {
  const auto noted = context_.noted(event.token);
  if (!noted) return;
  if (const auto* const waits = std::get_if<RequestNoted>(&*noted))
    return context_.emit(HttpReply{waits->request, 204, {}, {}});
  const auto& [id, what] = std::get<std::pair<SessionId, Noted>>(*noted);
  GatewaySession* const found = session(id);
  if (found == nullptr) return;
  found->noted(what);
  if (std::holds_alternative<SessionNoted>(what)) created(*found);
}

GatewayNode::GatewayNode(GatewayConfig config, Incarnation life, std::uint64_t seed)
    : machine_(std::make_unique<GatewayMachine>(std::move(config), life, seed)) {}
GatewayNode::~GatewayNode() = default;
std::vector<GatewayEffect> GatewayNode::step(const Now& now, GatewayEvent event) {
  return machine_->step(now, std::move(event));
}

}  // namespace banyan::node
