// The clients of one session: what each has still to get, in one bounded buffer for all of them.
//
// Messages lie in one ring; each client has a place in it, so that a slow client costs the others nothing. A
// client is known by its session_id: when its connection breaks, its place stays. What was written into a
// socket may never arrive, so a message stays in the ring until its client has confirmed it. Where the buffer
// had to be cut, and where nobody can tell what arrived, a client gets a mark.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/gateway_context.h"
#include "node/http_target.h"

namespace banyan::node {

/// A client across its connections: the session_id of its WebSocket, which is header.session of its requests.
using ClientId = Id<struct ClientTag, std::string>;

/// What a message means for the cell it belongs to.
struct CellTag {
  std::uint64_t cell = 0;  ///< the cell's number; 0: of no cell
  std::uint64_t seq = 0;   ///< output number, 0 for a message that is none
  bool end = false;        ///< the last message of the cell
};

/// How a client deals with messages that may have been lost with a connection. Clients say it in the query of
/// the address where they open their WebSocket; manner_of() reads it.
struct ClientManner {
  /// It drops a message whose msg_id it has. All that it has not confirmed is sent again. To other clients,
  /// outputs that may have arrived are not sent again: they would be shown twice.
  bool drops_repeats = false;
  /// It confirms without being asked. A ping would be answered by something in between that has passed
  /// nothing on.
  bool confirms_unasked = false;
};
/// `repeats=dropped` and `confirmations=unasked`.
ClientManner manner_of(const HttpTarget& target);

class GatewayClients {
 public:
  GatewayClients(GatewayContext& gateway, SessionId session);

  // Both return the message's place for has_yet_to_get().
  /// For every client.
  std::uint64_t publish(jupyter::Message message, CellTag tag = {});
  /// For one client; it is buffered when the client is away, also one that never was here.
  std::uint64_t send(const ClientId& client, jupyter::Message message, CellTag tag = {});
  /// Keeps a place for a client that is expected back.
  void expect(const ClientId& client);

  /// A connection that has named its client. An older connection of the same client is closed. True when
  /// something was waiting for the client.
  bool attach(ConnectionId connection, const ClientId& client, ClientManner manner = {});
  /// Bytes have left: more may be sent, and the client is asked what it has.
  void drained(ConnectionId connection, std::uint64_t bytes);
  /// The client has the first `messages` messages of its connection.
  void confirmed(ConnectionId connection, std::uint64_t messages);
  void detach(ConnectionId connection);
  /// Closes all connections.
  void close_all(int code, const std::string& reason);
  /// Forgets clients that are away for long while others are here. Returns them.
  std::vector<ClientId> forget_absent();

  /// What clients have confirmed (or was cut for them, or may be lost) since the last call. Outputs count for
  /// a client that does not drop repeats once they have left.
  struct Delivered {
    ClientId client;
    CellTag tag;
  };
  std::vector<Delivered> take_delivered() { return std::exchange(delivered_, {}); }

  [[nodiscard]] std::size_t connections() const { return by_connection_.size(); }
  [[nodiscard]] const ClientId* client_of(ConnectionId connection) const;
  [[nodiscard]] bool knows(const ClientId& client) const { return clients_.contains(client); }
  [[nodiscard]] bool connected(const ClientId& client) const;
  [[nodiscard]] bool has_yet_to_get(const ClientId& client, std::uint64_t place) const;
  /// Bytes in the buffer.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::shared_ptr<const jupyter::Message> message;  ///< null once it was cut
    std::uint64_t bytes = 0;
    ClientId audience;  ///< empty: all
    CellTag tag;
    bool output = false;  ///< may be cut; replies and states may not
  };
  struct Unconfirmed {
    std::uint64_t place = 0;
    std::uint64_t bytes = 0;
    std::uint64_t sent_bytes = 0;  ///< on this connection, up to and with this message
    CellTag tag;
    std::uint64_t missed = 0;        ///< a mark stands for so many messages
    std::uint64_t missed_bytes = 0;  ///< of theirs
  };
  struct Client {
    std::optional<ConnectionId> connection;
    std::optional<Time> away_since;
    ClientManner manner;
    std::uint64_t next = 0;         ///< place of the next message to send
    std::uint64_t doubt_until = 0;  ///< what is sent again from before this place may have arrived
    std::deque<Unconfirmed> unconfirmed;
    // Of this connection:
    std::uint64_t sent = 0;  ///< messages
    std::uint64_t sent_bytes = 0;
    std::uint64_t left_bytes = 0;  ///< of them
    std::uint64_t asked = 0;       ///< messages that the ping on its way asks about; 0: none is
    Time asked_at;
    // Since the last mark:
    std::uint64_t missed = 0;
    std::uint64_t missed_bytes = 0;
  };

  std::uint64_t append(Entry entry);
  void pump(const ClientId& id, Client& client);
  void pump_all();
  void emit(Client& client, std::uint64_t place, jupyter::Message message, CellTag tag);
  void ask(Client& client);
  void note_shown(const ClientId& id, Client& client);
  void mark_cut(Client& client, const jupyter::Message& next);
  void mark_doubt(const ClientId& id, Client& client);
  void cut();
  void drop_front();
  void trim();
  [[nodiscard]] std::uint64_t end() const { return first_ + ring_.size(); }
  [[nodiscard]] static std::uint64_t place_of(const Client& client) {
    return client.unconfirmed.empty() ? client.next : client.unconfirmed.front().place;
  }

  GatewayContext& gateway_;
  SessionId session_;
  std::deque<Entry> ring_;
  std::uint64_t first_ = 0;      ///< place of ring_.front()
  std::uint64_t cut_until_ = 0;  ///< no output before this place is whole
  std::uint64_t bytes_ = 0;
  std::map<ClientId, Client> clients_;
  std::map<ConnectionId, ClientId> by_connection_;
  std::vector<Delivered> delivered_;
};

}  // namespace banyan::node
