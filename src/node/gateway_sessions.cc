#include "node/gateway_sessions.h"

#include <string>
#include <utility>

namespace banyan::node {

namespace {

constexpr Duration kAnonymousFor = 500ms;  // every client says something at once

std::string unnamed_client(ConnectionId connection) {
  return "connection-" + std::to_string(connection.value);
}

}  // namespace

GatewaySession& GatewaySessions::add(SessionRecord record) {
  const SessionId id = record.id;
  return *sessions_.emplace(id, std::make_unique<GatewaySession>(gateway_, std::move(record))).first->second;
}

void GatewaySessions::end(const SessionId& id, std::optional<RequestId> request) {
  const auto found = sessions_.find(id);
  ending_[id] = {.hosts = found->second->close(), .request = request};
  std::erase_if(connections_, [&](const auto& item) { return item.second == id; });
  for (auto it = anonymous_.begin(); it != anonymous_.end();) {
    const auto current = it++;
    if (current->second.session != id) continue;
    gateway_.emit(CloseClient{current->first, 1000, "the kernel was shut down"});
    anonymous_.erase(current);
  }
  sessions_.erase(found);  // last: `id` may be its own
}

void GatewaySessions::on_end_noted(const SessionId& id) {
  const auto ended = ending_.extract(id);
  if (ended.empty()) return;
  for (const HostId& host : ended.mapped().hosts) gateway_.send(host, CloseReplica{id});
  if (ended.mapped().request) gateway_.emit(HttpReply{*ended.mapped().request, 204, {}, {}});
}

bool GatewaySessions::is_ending(const SessionId& id, const HostId& host) {
  const auto found = ending_.find(id);
  if (found == ending_.end()) return false;
  found->second.hosts.insert(host);
  return true;
}

GatewaySession* GatewaySessions::find(const SessionId& id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

GatewaySession* GatewaySessions::existing(const SessionId& id) const {
  GatewaySession* const found = find(id);
  return found != nullptr && found->exists() ? found : nullptr;
}

GatewaySession* GatewaySessions::of(ConnectionId connection) const {
  const auto found = connections_.find(connection);
  return found == connections_.end() ? nullptr : find(found->second);
}

void GatewaySessions::on_opening(const ClientOpening& event) {
  const HttpTarget target = parse_target(event.target);
  if (!shows_token("GET", target, event.headers, gateway_.config().token)) {
    gateway_.emit(RejectClient{event.id, 403, "Forbidden: the token is missing or wrong."});
    return;
  }
  const bool channels = target.path.size() == 4 && target.word(0) == "api" && target.word(1) == "kernels" &&
                        target.word(3) == "channels";
  const SessionId id{target.word(2)};
  GatewaySession* const found = channels ? existing(id) : nullptr;
  if (found == nullptr) {
    gateway_.emit(RejectClient{event.id, 404,
                               channels ? "There is no kernel " + id.value + "; GET /api/kernels lists them."
                                        : "WebSockets are served at /api/kernels/{id}/channels only."});
    return;
  }
  gateway_.emit(AcceptClient{event.id});
  connections_[event.id] = id;
  const auto named = target.query.find("session_id");
  if (named == target.query.end() || named->second.empty()) {
    anonymous_[event.id] = {id, gateway_.now().mono, manner_of(target)};
  } else {
    found->channels().open_client(event.id, {named->second}, manner_of(target));
  }
}

void GatewaySessions::on_message(FromClient event) {
  GatewaySession* const found = of(event.id);
  if (found == nullptr) return;
  if (const auto unnamed = anonymous_.extract(event.id)) {
    const auto header = jupyter::parse_header(event.message.header);
    const bool named = header && !header->session.empty() && !found->clients().connected({header->session});
    found->channels().open_client(event.id, {named ? header->session : unnamed_client(event.id)},
                                  unnamed.mapped().manner);
  }
  found->channels().from_client(event.id, std::move(event.message));
  if (found->channels().wants_end()) end(found->id());
}

void GatewaySessions::watch_anonymous() {
  for (auto it = anonymous_.begin(); it != anonymous_.end();) {
    const auto current = it++;
    if (gateway_.now().mono - current->second.since < kAnonymousFor) continue;
    if (GatewaySession* const found = find(current->second.session))
      found->channels().open_client(current->first, {unnamed_client(current->first)}, current->second.manner);
    anonymous_.erase(current);
  }
}

void GatewaySessions::on_drained(const ClientDrained& event) {
  if (GatewaySession* const found = of(event.id)) found->drained(event.id, event.bytes);
}

void GatewaySessions::on_confirmed(const ClientConfirmed& event) {
  if (GatewaySession* const found = of(event.id)) found->confirmed(event.id, event.messages);
}

void GatewaySessions::on_closed(const ClientClosed& event) {
  if (GatewaySession* const found = of(event.id)) found->close_client(event.id);
  connections_.erase(event.id);
  anonymous_.erase(event.id);
}

}  // namespace banyan::node
