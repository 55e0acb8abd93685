#include "node/gateway_clients.h"

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {
constexpr std::size_t kEntriesMax = 200'000;  // messages, of whatever size, kept for absent clients
constexpr std::size_t kAbsentMax = 16;        // clients that are away and not forgotten
constexpr Duration kAbsentFor = 10min;        // a laptop that sleeps, a page that reloads slowly
}  // namespace

GatewayClients::GatewayClients(GatewayContext& gateway, SessionId session)
    : gateway_(gateway), session_(std::move(session)) {}

std::uint64_t GatewayClients::publish(jupyter::Message message, CellTag tag) {
  const bool output = message.channel == jupyter::Channel::kIopub && !is_status(message) && !tag.end;
  const std::uint64_t bytes = message.size();
  return append({std::make_shared<const jupyter::Message>(std::move(message)), bytes, {}, tag, output});
}

std::uint64_t GatewayClients::send(const ClientId& client, jupyter::Message message, CellTag tag) {
  expect(client);
  const std::uint64_t bytes = message.size();
  return append({std::make_shared<const jupyter::Message>(std::move(message)), bytes, client, tag, false});
}

void GatewayClients::expect(const ClientId& client) {
  if (clients_.contains(client)) return;
  clients_.emplace(client, Client{.away_since = gateway_.now().mono, .next = end()});
}

std::uint64_t GatewayClients::append(Entry entry) {
  const std::uint64_t place = end();
  bytes_ += entry.bytes;
  ring_.push_back(std::move(entry));
  pump_all();
  cut();
  trim();
  return place;
}

void GatewayClients::pump_all() {
  for (auto& [id, client] : clients_) pump(id, client);
}

void GatewayClients::pump(const ClientId& id, Client& client) {
  if (!client.connection) return;
  const std::uint64_t window = gateway_.config().sizes.client_window;
  while (client.next < end() && client.in_flight_bytes < window) {
    const Entry& entry = ring_[client.next - first_];
    const std::uint64_t place = client.next++;
    if (!entry.audience.value.empty() && entry.audience != id) continue;
    if (!entry.message) {
      ++client.missed;
      client.missed_bytes += entry.bytes;
      delivered_.push_back({id, entry.tag});
      continue;
    }
    if (client.missed > 0) mark_cut(client, *entry.message);
    client.in_flight.push_back({place, entry.bytes, entry.tag});
    client.in_flight_bytes += entry.bytes;
    gateway_.emit(ToClient{*client.connection, *entry.message});
  }
}

/// Tells the client, in the cell whose output goes on, that something is missing.
void GatewayClients::mark_cut(Client& client, const jupyter::Message& next) {
  jupyter::Message mark =
      cut_mark(client.missed, client.missed_bytes, next.parent_header, gateway_.author(session_));
  client.missed = client.missed_bytes = 0;
  client.in_flight.push_back({client.next - 1, mark.size(), {}});
  client.in_flight_bytes += mark.size();
  gateway_.emit(ToClient{*client.connection, std::move(mark)});
}

/// Outputs go first, oldest first; replies and states stay as long as they can.
void GatewayClients::cut() {
  const std::uint64_t limit = gateway_.config().sizes.session_buffer;
  trim();
  cut_until_ = std::max(cut_until_, first_);
  while (bytes_ > limit && cut_until_ + 1 < end()) {
    Entry& entry = ring_[cut_until_++ - first_];
    if (!entry.output || !entry.message) continue;
    entry.message.reset();
    bytes_ -= entry.bytes;
  }
  while ((bytes_ > limit && ring_.size() > 1) || ring_.size() > kEntriesMax) drop_front();
}

void GatewayClients::drop_front() {
  const Entry& entry = ring_.front();
  for (auto& [id, client] : clients_) {
    if (client.next > first_) continue;
    client.next = first_ + 1;
    if (!entry.audience.value.empty() && entry.audience != id) continue;
    ++client.missed;
    client.missed_bytes += entry.bytes;
    delivered_.push_back({id, entry.tag});
  }
  if (entry.message) bytes_ -= entry.bytes;
  ring_.pop_front();
  ++first_;
}

void GatewayClients::trim() {
  std::uint64_t needed = end();
  for (const auto& [id, client] : clients_) needed = std::min(needed, place_of(client));
  while (first_ < needed) {
    if (ring_.front().message) bytes_ -= ring_.front().bytes;
    ring_.pop_front();
    ++first_;
  }
}

bool GatewayClients::attach(ConnectionId connection, const ClientId& id) {
  expect(id);
  Client& client = clients_.at(id);
  if (client.connection) {
    const ConnectionId older = *client.connection;
    detach(older);
    gateway_.emit(CloseClient{older, 1000, "the same client has opened a newer connection"});
  }
  const bool waiting = client.next < end() || client.missed > 0;
  client.connection = connection;
  client.away_since.reset();
  by_connection_[connection] = id;
  pump(id, client);
  trim();
  return waiting;
}

void GatewayClients::let_go(const ClientId& id, Client& client, std::uint64_t bytes) {
  while (!client.in_flight.empty() && client.in_flight.front().bytes <= bytes) {
    const InFlight& front = client.in_flight.front();
    bytes -= front.bytes;
    client.in_flight_bytes -= front.bytes;
    if (front.tag.cell != 0) delivered_.push_back({id, front.tag});
    client.in_flight.pop_front();
  }
  if (bytes == 0 || client.in_flight.empty()) return;
  client.in_flight.front().bytes -= bytes;
  client.in_flight_bytes -= bytes;
}

void GatewayClients::drained(ConnectionId connection, std::uint64_t bytes) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  Client& client = clients_.at(found->second);
  let_go(found->second, client, bytes);
  pump(found->second, client);
  trim();
}

void GatewayClients::detach(ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  Client& client = clients_.at(found->second);
  // What had not left goes again; what was dropped meanwhile is missing.
  for (const InFlight& item : client.in_flight) {
    if (item.place >= first_) continue;
    ++client.missed;
    client.missed_bytes += item.bytes;
    if (item.tag.cell != 0) delivered_.push_back({found->second, item.tag});
  }
  client.next = std::max(first_, place_of(client));
  client.in_flight.clear();
  client.in_flight_bytes = 0;
  client.connection.reset();
  client.away_since = gateway_.now().mono;
  by_connection_.erase(found);
}

void GatewayClients::close_all(int code, const std::string& reason) {
  for (const auto& [connection, client] : by_connection_)
    gateway_.emit(CloseClient{connection, code, reason});
  by_connection_.clear();
  clients_.clear();
  trim();
}

std::vector<ClientId> GatewayClients::forget_absent() {
  std::vector<std::pair<Time, ClientId>> absent;
  for (const auto& [id, client] : clients_) {
    if (client.away_since) absent.emplace_back(*client.away_since, id);
  }
  std::sort(absent.begin(), absent.end());
  std::vector<ClientId> forgotten;
  for (std::size_t i = 0; i < absent.size(); ++i) {
    const bool too_many = absent.size() - i > kAbsentMax;
    const bool too_long = !by_connection_.empty() && gateway_.now().mono - absent[i].first > kAbsentFor;
    if (!too_many && !too_long) continue;
    clients_.erase(absent[i].second);
    forgotten.push_back(absent[i].second);
  }
  trim();
  return forgotten;
}

const ClientId* GatewayClients::client_of(ConnectionId connection) const {
  const auto found = by_connection_.find(connection);
  return found == by_connection_.end() ? nullptr : &found->second;
}

bool GatewayClients::connected(const ClientId& client) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && found->second.connection.has_value();
}

bool GatewayClients::has_yet_to_get(const ClientId& client, std::uint64_t place) const {
  const auto found = clients_.find(client);
  return found != clients_.end() && place_of(found->second) <= place && place < end();
}

}  // namespace banyan::node
