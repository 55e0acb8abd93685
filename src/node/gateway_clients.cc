#include "node/gateway_clients.h"

#include <algorithm>
#include <utility>

#include "node/gateway_messages.h"

namespace banyan::node {

namespace {
constexpr std::size_t kEntriesMax = 200'000;  // messages, of whatever size, kept for absent clients
constexpr std::size_t kAbsentMax = 16;        // clients that are away and not forgotten
constexpr Duration kAbsentFor = 10min;        // a laptop that sleeps, a page that reloads slowly
// RFC 6455, 5.5.3: of several pings a client may answer the newest only, which may be one of the transport.
constexpr Duration kPingAgain = 10s;

/// What a client shows, and would show twice.
bool is_shown(const jupyter::Message& message) {
  if (message.channel != jupyter::Channel::kIopub) return false;
  const std::string type = text_member(message.header, "msg_type");
  return type != "status" && type != "execute_input";
}

}  // namespace

ClientManner manner_of(const HttpTarget& target) {
  const auto says = [&](const std::string& name, std::string_view value) {
    const auto found = target.query.find(name);
    return found != target.query.end() && found->second == value;
  };
  return {.drops_repeats = says("repeats", "dropped"), .confirms_unasked = says("confirmations", "unasked")};
}

GatewayClients::GatewayClients(GatewayContext& gateway, SessionId session)
    : gateway_(gateway), session_(std::move(session)) {}

std::uint64_t GatewayClients::publish(jupyter::Message message, CellTag tag) {
  const bool output = is_shown(message) && !tag.end;
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
  while (client.next < end() && client.sent_bytes - client.left_bytes < window) {
    const Entry& entry = ring_[client.next - first_];
    const std::uint64_t place = client.next++;
    if (!entry.audience.value.empty() && entry.audience != id) continue;
    if (!entry.message) {
      ++client.missed;
      client.missed_bytes += entry.bytes;
      delivered_.push_back({id, entry.tag});
      continue;
    }
    if (place < client.doubt_until && entry.output && !client.manner.drops_repeats) {
      delivered_.push_back({id, entry.tag});  // mark_doubt() has told
      continue;
    }
    if (client.missed > 0) mark_cut(client, *entry.message);
    emit(client, place, *entry.message, entry.tag);
  }
}

void GatewayClients::emit(Client& client, std::uint64_t place, jupyter::Message message, CellTag tag) {
  const std::uint64_t bytes = message.size();
  client.sent_bytes += bytes;
  ++client.sent;
  client.unconfirmed.push_back({place, bytes, client.sent_bytes, tag});
  gateway_.emit(ToClient{*client.connection, std::move(message)});
  if (client.unconfirmed.size() == kEntriesMax)
    gateway_.emit(CloseClient{*client.connection, 1011, "the client answers no pings"});
}

/// One question at a time. It is asked once messages have left, so that no message waits for it.
void GatewayClients::ask(Client& client) {
  if (client.unconfirmed.empty() || client.manner.confirms_unasked) return;
  if (client.asked != 0 && gateway_.now().mono - client.asked_at < kPingAgain) return;
  client.asked = client.sent;
  client.asked_at = gateway_.now().mono;
  gateway_.emit(PingClient{*client.connection, client.sent});
}

/// Tells the client, in the cell whose output goes on, that something is missing. If the mark is lost, it is
/// made anew.
void GatewayClients::mark_cut(Client& client, const jupyter::Message& next) {
  emit(client, client.next - 1,
       cut_mark(client.missed, client.missed_bytes, next.parent_header, gateway_.author(session_)), {});
  client.unconfirmed.back().missed = std::exchange(client.missed, 0);
  client.unconfirmed.back().missed_bytes = std::exchange(client.missed_bytes, 0);
}

/// Tells the client, in each cell concerned, of the outputs that left before its connection broke and that it
/// has not confirmed. They are not sent again. A mark has the place of the first of them: if it is lost as
/// well, it is made anew.
void GatewayClients::mark_doubt(const ClientId& id, Client& client) {
  struct Doubtful {
    std::string cell;
    std::string parent;
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<Doubtful> cells;
  for (std::uint64_t place = client.next; place < std::min(client.doubt_until, end()); ++place) {
    const Entry& entry = ring_[place - first_];
    if (!entry.output || !entry.message || (!entry.audience.value.empty() && entry.audience != id)) continue;
    const std::string& parent = entry.message->parent_header;
    // One cell's parent header has two texts: its outputs' is the worker's, the gateway's own another one.
    std::string cell = text_member(parent, "msg_id");
    // A thread of an earlier cell may print among the outputs of a later one.
    auto found = std::ranges::find(cells, cell, &Doubtful::cell);
    if (found == cells.end()) found = cells.insert(found, {std::move(cell), parent});
    ++found->messages;
    found->bytes += entry.bytes;
  }
  for (const Doubtful& doubtful : cells)
    emit(client, client.next,
         doubt_mark(doubtful.messages, doubtful.bytes, doubtful.parent, gateway_.author(session_)), {});
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

bool GatewayClients::attach(ConnectionId connection, const ClientId& id, ClientManner manner) {
  expect(id);
  Client& client = clients_.at(id);
  if (client.connection) {
    const ConnectionId older = *client.connection;
    detach(older);
    gateway_.emit(CloseClient{older, 1000, "the same client has opened a newer connection"});
  }
  const bool waiting = client.next < end() || client.missed > 0;
  client.connection = connection;
  client.manner = manner;
  client.away_since.reset();
  by_connection_[connection] = id;
  if (!manner.drops_repeats) mark_doubt(id, client);
  pump(id, client);
  trim();
  return waiting;
}

void GatewayClients::drained(ConnectionId connection, std::uint64_t bytes) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  Client& client = clients_.at(found->second);
  client.left_bytes = std::min(client.left_bytes + bytes, client.sent_bytes);
  if (!client.manner.drops_repeats) note_shown(found->second, client);
  pump(found->second, client);
  ask(client);
  trim();
}

/// A later life of the gateway is not to send again what this client may have shown. What is no output is
/// sent again.
void GatewayClients::note_shown(const ClientId& id, Client& client) {
  for (Unconfirmed& item : client.unconfirmed) {
    if (item.sent_bytes > client.left_bytes) break;
    if (item.tag.cell == 0 || item.tag.seq == 0 || item.tag.end) continue;
    delivered_.push_back({id, item.tag});
    item.tag = {};
  }
}

void GatewayClients::confirmed(ConnectionId connection, std::uint64_t messages) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  Client& client = clients_.at(found->second);
  if (messages > client.sent) return;  // nobody has been sent that many
  while (!client.unconfirmed.empty() && client.sent - client.unconfirmed.size() < messages) {
    if (client.unconfirmed.front().tag.cell != 0)
      delivered_.push_back({found->second, client.unconfirmed.front().tag});
    client.unconfirmed.pop_front();
  }
  if (messages >= client.asked) client.asked = 0;
  ask(client);
  trim();
}

void GatewayClients::detach(ConnectionId connection) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  Client& client = clients_.at(found->second);
  for (const Unconfirmed& item : client.unconfirmed) {
    if (item.missed > 0) {
      client.missed += item.missed;
      client.missed_bytes += item.missed_bytes;
      continue;
    }
    // What had left may have arrived; the rest has not.
    if (item.sent_bytes <= client.left_bytes)
      client.doubt_until = std::max(client.doubt_until, item.place + 1);
    if (item.place >= first_) continue;
    ++client.missed;  // it was dropped meanwhile, and cannot be sent again
    client.missed_bytes += item.bytes;
    if (item.tag.cell != 0) delivered_.push_back({found->second, item.tag});
  }
  client.next = std::max(first_, place_of(client));
  client.unconfirmed.clear();
  client.sent = client.sent_bytes = client.left_bytes = client.asked = 0;
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
