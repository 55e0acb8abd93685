#include "sim/front.h"

#include <algorithm>
#include <utility>

#include "core/session/session.h"
#include "sim/json_field.h"

namespace banyan::sim {

TrueTime Front::arrival(TrueTime& last) {
  last = std::max(last,
                  scheduler_.now() + 100us + Duration(rng_.below(rng_.chance(0.03) ? 5'000'000 : 300'000)));
  return last - scheduler_.now();
}

void Front::enter(node::GatewayEvent event) {
  if (!process_.alive()) return;
  process_.enter(process_.life(), [this, event = std::move(event)]() mutable { deliver_(std::move(event)); });
}

/// Damages exports and imports, where such a bug is planted.
void Front::damage_transfer(const std::string& target, std::string& body, Answer& answer) {
  const std::string path = target.substr(0, target.find('?'));
  if (plant_ == Plant::kImportMixedUp && path.ends_with("/import"))
    body = old_states_.try_emplace("any", body).first->second;
  const bool damages = plant_ == Plant::kExportIsOld || plant_ == Plant::kExportLacksValues;
  if (!damages || !path.ends_with("/export")) return;
  answer = [this, path, answer = std::move(answer)](int status, const std::string& state) {
    if (status != 200) return answer(status, state);
    if (plant_ == Plant::kExportIsOld)
      return answer(status, old_states_.try_emplace(path, state).first->second);
    const auto session = session::Session::restore(Blob(state));
    answer(status, session ? std::string(session->snapshot_with({}).view()) : state);
  };
}

void Front::request(std::string method, std::string target, std::string body, Answer answer) {
  trace_.note("client", method, 0, [&] {
    const bool text = body.empty() || body.starts_with('{');
    return target + " " + (text ? body : std::to_string(body.size()) + " bytes");
  });
  TrueTime any{};
  if (!process_.alive()) {
    scheduler_.after(arrival(any), [answer = std::move(answer)] { answer(0, ""); });
    return;
  }
  damage_transfer(target, body, answer);
  const RequestId id{++last_id_};
  requests_[id] = std::move(answer);
  scheduler_.after(arrival(any), [this, id, method = std::move(method), target = std::move(target),
                                  body = std::move(body)]() mutable {
    if (!requests_.contains(id)) return;
    enter(node::HttpRequest{id,
                            std::move(method),
                            std::move(target),
                            {{"authorization", "token " + token_}, {"content-type", "application/json"}},
                            std::move(body)});
  });
}

ConnectionId Front::open(std::string target, SocketListener& listener) {
  const ConnectionId id{++last_id_};
  Socket& socket = sockets_[id];
  socket.listener = &listener;
  if (!process_.alive()) {
    scheduler_.after(arrival(socket.down), [this, id] { end(id, 0); });
    return id;
  }
  scheduler_.after(arrival(socket.up), [this, id, target = std::move(target)]() mutable {
    if (sockets_.contains(id))
      enter(node::ClientOpening{id, std::move(target), {{"authorization", "token " + token_}}});
  });
  return id;
}

void Front::send(ConnectionId id, jupyter::Message message) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return;
  scheduler_.after(arrival(found->second.up), [this, id, message = std::move(message)]() mutable {
    if (sockets_.contains(id)) enter(node::FromClient{id, std::move(message)});
  });
}

void Front::close(ConnectionId id) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return;
  TrueTime last = found->second.up;
  sockets_.erase(found);
  scheduler_.after(arrival(last), [this, id] { enter(node::ClientClosed{id}); });
}

void Front::stall(ConnectionId id, Duration duration) {
  const auto found = sockets_.find(id);
  if (found != sockets_.end()) found->second.down = std::max(found->second.down, scheduler_.now() + duration);
}

void Front::end(ConnectionId id, int status) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return;
  SocketListener* listener = found->second.listener;
  sockets_.erase(found);
  trace_.note("client", "closed", static_cast<std::uint64_t>(status));
  listener->closed(id, status);
}

Duration Front::gateway_ran_since(TrueTime then) const {
  Duration ran = scheduler_.now() - then;
  for (const auto& [from, to] : stops_)
    ran -= std::max(Duration(), to.value_or(scheduler_.now()) - std::max(from, then));
  return ran;
}

void Front::gateway_started(Deliver deliver) {
  gateway_goes_on();  // one that was killed while it was stopped did nothing until now
  deliver_ = std::move(deliver);
}

void Front::gateway_goes_on() {
  if (!stops_.empty() && !stops_.back().second) stops_.back().second = scheduler_.now();
}

void Front::gateway_died() {
  const auto requests = std::exchange(requests_, {});
  for (const auto& [request, answer] : requests) scheduler_.after(1ms, [call = answer] { call(0, ""); });
  for (const auto& [id, socket] : sockets_)
    scheduler_.after(Duration(rng_.below(3'000'000)), [this, gone = id] { end(gone, 0); });
}

/// Sends a message to the client, behind those before it. A message counts as drained when it arrives: when
/// the gateway dies, what has not arrived has not left it.
void Front::to_client(ConnectionId id, jupyter::Message message) {
  const auto found = sockets_.find(id);
  if (found == sockets_.end()) return;
  const TrueTime delay = arrival(found->second.down);
  scheduler_.after(delay, [this, id, life = process_.life(), message = std::move(message)] {
    const auto socket = sockets_.find(id);
    if (socket == sockets_.end() || !process_.alive() || process_.life() != life) return;
    enter(node::ClientDrained{id, message.size()});
    deliver(id, message);
  });
}

void Front::deliver(ConnectionId id, const jupyter::Message& message) {
  SocketListener* listener = sockets_.at(id).listener;
  const std::string type = text_of(message.header, "msg_type");
  const bool output = message.channel == jupyter::Channel::kIopub && type == "stream";
  const bool reply = type == "execute_reply";
  trace_.note("client", type, id.value, [&] {
    return text_of(message.parent_header, "msg_id") + " " + text_of(message.header, "msg_id") + " " +
           std::string(message.content.view().substr(0, 120));
  });
  if (plant_ == Plant::kOutputDropped && output && rng_.chance(0.05)) return;
  if (plant_ == Plant::kReplyDropped && reply && rng_.chance(0.05)) return;
  if (plant_ == Plant::kReplySentTwice && reply && rng_.chance(0.05)) listener->received(id, message);
  if (plant_ == Plant::kOutputsSwapped && output && !held_back_ && rng_.chance(0.2)) {
    held_back_.emplace(id, message);
    return;
  }
  listener->received(id, message);
  if (const auto held = std::exchange(held_back_, std::nullopt); held && sockets_.contains(held->first))
    sockets_.at(held->first).listener->received(held->first, held->second);
}

void FrontPort::reply(node::HttpReply reply) {
  const auto found = front_.requests_.find(reply.id);
  if (found == front_.requests_.end() || !front_.process_.lets_out()) return;
  TrueTime any{};
  front_.scheduler_.after(front_.arrival(any), [answer = std::move(found->second), reply = std::move(reply)] {
    answer(reply.status, reply.body);
  });
  front_.requests_.erase(found);
}

void FrontPort::accept(ConnectionId id) {
  const auto found = front_.sockets_.find(id);
  if (found == front_.sockets_.end() || !front_.process_.lets_out()) return;
  front_.scheduler_.after(
      front_.arrival(found->second.down), [&front = front_, id, life = front_.process_.life()] {
        const auto socket = front.sockets_.find(id);
        if (socket == front.sockets_.end() || !front.process_.alive() || front.process_.life() != life)
          return;
        socket->second.open = true;
        socket->second.listener->opened(id);
      });
}

void FrontPort::reject(node::RejectClient rejection) {
  const auto found = front_.sockets_.find(rejection.id);
  if (found == front_.sockets_.end() || !front_.process_.lets_out()) return;
  front_.scheduler_.after(front_.arrival(found->second.down),
                          [&front = front_, rejection] { front.end(rejection.id, rejection.status); });
}

void FrontPort::send(ConnectionId id, jupyter::Message message) {
  if (front_.process_.lets_out()) front_.to_client(id, std::move(message));
}

/// The ping travels behind the messages that were sent before it, and the client's answer ahead of requests
/// that the client sends later.
void FrontPort::ping(node::PingClient ping) {
  const auto found = front_.sockets_.find(ping.id);
  if (found == front_.sockets_.end() || !front_.process_.lets_out()) return;
  front_.scheduler_.after(front_.arrival(found->second.down), [&front = front_, ping] {
    const auto socket = front.sockets_.find(ping.id);
    if (socket == front.sockets_.end()) return;
    front.scheduler_.after(front.arrival(socket->second.up), [&front, ping] {
      if (front.sockets_.contains(ping.id)) front.enter(node::ClientConfirmed{ping.id, ping.messages});
    });
  });
}

void FrontPort::close(node::CloseClient close) {
  const auto found = front_.sockets_.find(close.id);
  if (found == front_.sockets_.end() || !front_.process_.lets_out()) return;
  front_.scheduler_.after(front_.arrival(found->second.down),
                          [&front = front_, close] { front.end(close.id, close.code); });
}

}  // namespace banyan::sim
