// What the gateway is told, and what it wants done. The gateway's step() maps the one to the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/jupyter/message.h"
#include "node/protocol.h"

namespace banyan::node {

// ---- events
// ---------------------------------------------------------------------------------------------------------

/// First event of a life: what the control store holds, key to value.
struct StoreLoaded {
  std::map<std::string, std::string> records;
};

/// Time passes: about every 50 ms.
struct Tick {};

/// A frame from a peer.
struct FrameArrived {
  HostId from;
  PeerFrame frame;
};

/// The transport's hint that a peer can be reached, or (its connection broke) cannot. Never a proof.
struct PeerUp {
  HostId peer;
};
struct PeerDown {
  HostId peer;
};

/// There is a connection to or from a peer. It has proven that it knows the cluster's secret, and its key.
struct PeerIntroduced {
  HostId peer;
  std::string address;   ///< where it says it listens, as HOST:PORT; empty when it does not say
  std::string key = {};  ///< its public key, in hex digits
};

/// A REST request, complete. Header names are lower case. The target is percent-encoded, with its query.
struct HttpRequest {
  RequestId id;
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A WebSocket asks to be opened.
struct ClientOpening {
  ConnectionId id;
  std::string target;
  std::map<std::string, std::string> headers;
};

/// A complete, well-formed message of a client.
struct FromClient {
  ConnectionId id;
  jupyter::Message message;
};

/// `bytes` (as Message::size() counts) of what was sent with ToClient have left for the client.
struct ClientDrained {
  ConnectionId id;
  std::uint64_t bytes = 0;
};

/// The client has received the first `messages` messages of this connection.
struct ClientConfirmed {
  ConnectionId id;
  std::uint64_t messages = 0;
};

/// The connection is gone; no event of it follows.
struct ClientClosed {
  ConnectionId id;
};

/// The record with this token is durable.
struct Stored {
  std::uint64_t token = 0;
};

using GatewayEvent =
    std::variant<StoreLoaded, Tick, FrameArrived, PeerUp, PeerDown, PeerIntroduced, HttpRequest,
                 ClientOpening, FromClient, ClientDrained, ClientConfirmed, ClientClosed, Stored>;

// ---- effects
// --------------------------------------------------------------------------------------------------------

/// Sends a frame to a peer; it may get lost.
struct SendFrame {
  HostId to;
  PeerFrame frame;
};

/// From now on the peer can be sent frames, at that address, also where it had another one before. Whoever
/// has that key is the peer, and nobody else.
struct ConnectPeer {
  HostId peer;
  std::string address;   ///< HOST:PORT
  std::string key = {};  ///< in hex digits; empty: not known, so that whoever proves the name first has it
};
/// The peer is sent nothing any more, and whoever proves its name next has it.
struct DisconnectPeer {
  HostId peer;
};

/// Answers an HttpRequest.
struct HttpReply {
  RequestId id;
  int status = 200;
  std::map<std::string, std::string> headers;  ///< Content-Type is application/json when absent
  std::string body;
  std::vector<std::string> cookies = {};  ///< values of Set-Cookie
};

/// Completes the WebSocket handshake.
struct AcceptClient {
  ConnectionId id;
};

/// Refuses the handshake with an HTTP status and a JSON body {"reason","message"}.
struct RejectClient {
  ConnectionId id;
  int status = 403;
  std::string message;
};

/// Queues a message for a client.
struct ToClient {
  ConnectionId id;
  jupyter::Message message;
};

/// Asks a client to confirm, with ClientConfirmed, that it has received the first `messages` messages of its
/// connection. The question goes after everything that was sent before it.
struct PingClient {
  ConnectionId id;
  std::uint64_t messages = 0;
};

/// Closes with a WebSocket close code. 1000 and 1001 stop JupyterLab from coming back: use 1011.
struct CloseClient {
  ConnectionId id;
  int code = 1011;
  std::string reason;
};

/// Writes a record of the control store; an empty value deletes it. Writes become durable in order.
struct Store {
  std::uint64_t token = 0;  ///< answered by Stored when not 0
  std::string key;
  std::string value;
};

/// A line for the log.
struct Log {
  enum class Level : std::uint8_t { kDebug, kInfo, kWarning, kError } level = Level::kInfo;
  std::string text;
};

using GatewayEffect = std::variant<SendFrame, ConnectPeer, DisconnectPeer, HttpReply, AcceptClient,
                                   RejectClient, ToClient, PingClient, CloseClient, Store, Log>;

}  // namespace banyan::node
