#include "runtime/net/websocket_network.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "base/codec.h"
#include "runtime/http/coroutine.h"
#include "runtime/http/server_socket.h"
#include "runtime/net/handshake.h"
#include "runtime/net/outbox.h"

namespace banyan::runtime {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr Duration kBackoffMin = 50ms;
constexpr Duration kBackoffMax = 1s;
constexpr Duration kAcceptPause = 100ms;  // after a failed accept, mostly for want of file descriptors

constexpr Duration kHandshakeLimit = 5s;
constexpr int kRefusedCode = 1008;                            // RFC 6455, 7.4.1: a policy is violated
constexpr std::size_t kFrameBytesMax = std::size_t{1} << 40;  // a proven peer may send frames of any size
constexpr std::size_t kShownDigits = 16;                      // of a key, where people read of it

/// Of a peer that has proven nothing yet. Outgoing queues are bounded by Outbox.
const SocketOptions kSocket{.message_bytes_max = kHandshakeBytesMax,
                            .queue_bytes_max = std::size_t{1} << 40,
                            .handshake_timeout = kHandshakeLimit,
                            .silence_timeout = 4s,
                            .fragments = true};

/// Reads HOST:PORT, an IPv6 host in brackets.
std::optional<Endpoint> parse_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Endpoint endpoint{.host = std::string(host)};
  const std::string_view port = address.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (host.empty() || error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  return endpoint;
}

jupyter::Frame message_of(std::string bytes) {
  return {jupyter::FrameKind::kBinary, {Blob(std::move(bytes))}};
}

/// Drops a socket whose handshake takes too long, for as long as this lives.
class HandshakeLimit {
 public:
  HandshakeLimit(asio::io_context& io, const std::shared_ptr<MessageSocket>& socket) : timer_(io) {
    timer_.expires_after(kHandshakeLimit);
    timer_.async_wait([over = over_, weak = std::weak_ptr(socket)](error_code) {
      // The timer may have run out just before it was cancelled.
      if (const auto open = weak.lock(); open && !*over) open->drop();
    });
  }
  HandshakeLimit(const HandshakeLimit&) = delete;
  HandshakeLimit& operator=(const HandshakeLimit&) = delete;
  ~HandshakeLimit() { *over_ = true; }

 private:
  std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
  asio::steady_timer timer_;
};

/// A connection that somebody else has opened.
struct Incoming {
  std::shared_ptr<MessageSocket> socket;
  HostId from = {};  // what follows is set when it is proven
  std::string key = {};
  bool ended = false;  // the name belongs to another key now: what it sends does not count
};

/// The outgoing connection to one peer.
struct Peer {
  Peer(asio::io_context& io, HostId id, Endpoint where)
      : name(std::move(id)), endpoint(std::move(where)), pause(io) {}

  HostId name;
  Endpoint endpoint;
  std::shared_ptr<MessageSocket> socket;  // set from the handshake on
  std::unique_ptr<Outbox> outbox;         // set while connected
  std::string key;                        // that it has proven, while connected
  std::string reason;                     // why there can be no connection, as the owner was told
  bool ended = false;                     // this daemon does not want the peer any more
  asio::steady_timer pause;               // between two attempts
};

}  // namespace

struct WebSocketNetwork::Impl : std::enable_shared_from_this<WebSocketNetwork::Impl> {
  Impl(asio::io_context& loop, NetConfig net_config, Handlers to)
      : io(loop), config(std::move(net_config)), handlers(std::move(to)), acceptor(io), accept_pause(io) {
    for (const auto& [name, known] : config.keys)
      if (!known.key.empty()) keys[name] = known.key;
    keys[config.self] = config.identity.key();
  }

  void listen(const Endpoint& where) {
    const auto addresses = tcp::resolver(io).resolve(where.host, std::to_string(where.port));
    const tcp::endpoint address = *addresses.begin();
    acceptor.open(address.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    acceptor.bind(address);
    acceptor.listen();
  }

  void stop() {
    over = true;
    error_code ignored;
    acceptor.close(ignored);
    accept_pause.cancel();
    for (const auto& one : incoming) one->socket->drop();
    for (auto& [id, peer] : peers) {
      peer->pause.cancel();
      if (peer->socket) peer->socket->drop();
    }
  }

  // ---- whose name it is

  /// Why whoever has proven this key may not use the name; empty when it may.
  [[nodiscard]] std::string objection(const HostId& name, const std::string& key) const {
    const auto bound = keys.find(name);
    if (bound == keys.end() || bound->second == key) return {};
    const std::string who = for_log(name.value);
    const auto known = config.keys.find(name);
    const std::string remedy = known != config.keys.end()
                                   ? known->second.remedy
                                   : "if " + who + " was installed anew, `banyan hosts remove " + who +
                                         "` and then `banyan hosts add " + who +
                                         "` let it come back with its new key";
    return "the name " + who + " belongs to another key (" + bound->second.substr(0, kShownDigits) +
           "…) than the one that was shown (" + key.substr(0, kShownDigits) + "…): " + remedy;
  }

  /// The name belongs to this key from now on.
  void bind(const HostId& name, const std::string& key) {
    std::string& bound = keys[name];
    if (bound == key) return;
    bound = key;
    turned_away.erase(name);
    for (const auto& one : incoming)
      if (one->from == name && one->key != key) end(*one);
    if (const auto peer = peers.find(name);
        peer != peers.end() && peer->second->outbox && peer->second->key != key)
      peer->second->socket->drop();
  }

  /// Whoever proves the name next has it.
  void unbind(const HostId& name) {
    keys.erase(name);
    turned_away.erase(name);
    for (const auto& one : incoming)
      if (one->from == name) end(*one);
  }

  /// Somebody has named the peer, here or by connect().
  [[nodiscard]] bool is_named(const HostId& name) const {
    return name == config.self || config.keys.contains(name) || peers.contains(name);
  }

  /// Whether whoever says that this is its name has to wait: until it is named, or until its key was learned
  /// where it listens.
  [[nodiscard]] bool must_wait(const HostId& name) const {
    if (!is_named(name)) return config.strangers == Strangers::kWait;
    return config.keys.contains(name) && !keys.contains(name) && config.peers.contains(name);
  }

  /// A connection has ended. The name of a stranger is free with its last one.
  void release(const HostId& name) {
    const bool connected = std::ranges::any_of(incoming, [&](const auto& one) { return one->from == name; });
    if (!connected && !is_named(name)) unbind(name);
  }

  static void end(Incoming& one) {
    one.ended = true;
    one.socket->drop();
  }

  /// `where` says where whoever was turned away is found.
  void turn_away(const HostId& name, const std::string& why, const std::string& where) {
    if (turned_away.insert(name).second && handlers.turned_away)
      handlers.turned_away(name, why + " (" + where + ")");
  }

  // ---- from others

  asio::awaitable<void> accept_all() {
    while (!over) {
      auto [error, socket] = co_await acceptor.async_accept(kAwait);
      if (!error) {
        auto opened =
            incoming_socket(beast::tcp_stream(std::move(socket)), jupyter::SubProtocol::kLegacy, kSocket);
        spawn(io.get_executor(), shared_from_this(), &Impl::serve,
              std::make_shared<Incoming>(
                  Incoming{.socket = std::make_shared<MessageSocket>(std::move(opened))}));
      } else if (!over) {
        accept_pause.expires_after(kAcceptPause);
        co_await accept_pause.async_wait(kAwait);
      }
    }
  }

  asio::awaitable<void> serve(std::shared_ptr<Incoming> one) {
    incoming.insert(one);
    if (co_await greet(*one) && !over) co_await receive(*one);
    one->socket->drop();
    incoming.erase(one);
    if (!one->from.value.empty()) release(one->from);
  }

  /// Whether the client has proven its name.
  asio::awaitable<bool> greet(Incoming& one) {
    const HandshakeLimit limit(io, one.socket);
    MessageSocket& socket = *one.socket;
    beast::tcp_stream& stream = stream_of(socket);
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    const std::string comes_from = authority_of(stream);
    beast::flat_buffer buffer;
    UpgradeRequest request;
    const auto [unread, size] = co_await http::async_read(stream, buffer, request, kAwait);
    if (unread) co_return false;
    auto handshake = ListenerHandshake::begin(config.identity, config.secret, config.self.value,
                                              std::string_view(request.target()));
    if (!handshake || !beast::websocket::is_upgrade(request)) {
      const bool earlier = !handshake && handshake.error().kind == ErrorKind::kDenied;
      http::response<http::string_body> answer(earlier ? http::status::unauthorized : http::status::not_found,
                                               request.version());
      answer.prepare_payload();
      co_await http::async_write(stream, answer, kAwait);
      co_return false;
    }
    if (must_wait(HostId{handshake->client()})) {
      http::response<http::string_body> answer(http::status::service_unavailable, request.version());
      answer.prepare_payload();
      co_await http::async_write(stream, answer, kAwait);
      co_return false;
    }
    const std::string address = reachable(handshake->address(), stream) ? handshake->address() : "";
    if (const auto accepted = co_await accept_upgrade(socket, request); !accepted) co_return false;
    socket.send_frame(message_of(handshake->hello()));
    const auto answer = co_await socket.read_frame();
    if (!answer || over) co_return false;
    const HostId from{handshake->client()};
    if (must_wait(from)) co_return false;  // its name may have been taken from it meanwhile
    const auto client = handshake->accept(answer->pieces.front().view());
    const std::string refusal = client ? objection(from, client->key) : client.error().message;
    if (client && !client->refusal.empty()) {
      const bool told = !refusal.empty() || !unwanted_by.insert(from).second;
      if (!told && handlers.refused) handlers.refused(from, client->refusal);
      co_return false;
    }
    socket.send_frame(message_of(to_verdict(refusal)));
    if (!refusal.empty()) {
      if (client) turn_away(from, refusal, "it has connected from " + comes_from);
      co_await take_leave(socket);
      co_return false;
    }
    one.from = from;
    one.key = client->key;
    bind(from, client->key);
    unwanted_by.erase(from);
    socket.set_message_bytes_max(kFrameBytesMax);
    if (handlers.introduced) handlers.introduced(from, address, client->key);
    co_return !one.ended;
  }

  /// Lets what was sent arrive before the connection ends. What is not read by then would make the system
  /// reset the connection.
  static asio::awaitable<void> take_leave(MessageSocket& socket) {
    socket.close(kRefusedCode, "refused");
    while (co_await socket.read_frame()) continue;
  }

  static std::string authority_of(beast::tcp_stream& stream) {
    error_code unknown;
    const auto there = stream.socket().remote_endpoint(unknown);
    if (unknown) return "an unknown address";
    return Endpoint{.host = there.address().to_string(), .port = there.port()}.authority();
  }

  /// An address of the loopback means another machine to others than to the one that says it.
  static bool reachable(const std::string& address, beast::tcp_stream& stream) {
    const auto said = parse_address(address);
    error_code unknown;
    const auto comes_from = stream.socket().remote_endpoint(unknown);
    if (!said || unknown) return false;
    const auto ip = asio::ip::make_address(said->host, unknown);
    const bool local = unknown ? said->host == "localhost" : ip.is_loopback();
    return !local || comes_from.address().is_loopback();
  }

  asio::awaitable<void> receive(Incoming& one) {
    while (true) {
      const auto batch = co_await one.socket->read_frame();
      if (!batch || over || one.ended) co_return;
      each_frame(batch->pieces.front().view(), [&](std::string_view bytes) {
        // The bytes are copied, because the frame's buffers are views into them and may live long.
        auto frame = decode<node::PeerFrame>(Blob(std::string(bytes)));
        if (frame && !over && !one.ended) handlers.frame(one.from, std::move(*frame));
      });
    }
  }

  // ---- to others

  /// Where others reach this daemon; empty when that is not known.
  [[nodiscard]] std::string advertised() const {
    if (!config.advertise.empty()) return config.advertise;
    error_code none;
    const tcp::endpoint here = acceptor.local_endpoint(none);
    if (none || here.address().is_unspecified()) return {};
    const std::string host = config.listen.substr(0, config.listen.rfind(':'));
    return host + ":" + std::to_string(here.port());
  }

  /// kInvalid for an address that is none.
  Result<Done> add_peer(const HostId& peer, const std::string& address) {
    if (peer == config.self) return Done{};
    auto endpoint = parse_address(address);
    if (!endpoint || endpoint->port == 0)
      return fail(ErrorKind::kInvalid,
                  "'" + address + "' is no address of " + peer.value + ": HOST:PORT, as in 127.0.0.1:7401");
    if (const auto known = peers.find(peer); known != peers.end()) {
      const Endpoint& before = known->second->endpoint;
      if (before.host == endpoint->host && before.port == endpoint->port) return Done{};
      end_peer(peer);
    }
    const auto added = std::make_shared<Peer>(io, peer, *endpoint);
    peers.emplace(peer, added);
    spawn(io.get_executor(), shared_from_this(), &Impl::keep_connected, added);
    return Done{};
  }

  void end_peer(const HostId& peer) {
    const auto known = peers.find(peer);
    if (known == peers.end()) return;
    known->second->ended = true;
    known->second->pause.cancel();
    if (known->second->socket) known->second->socket->drop();
    peers.erase(known);
  }

  asio::awaitable<void> keep_connected(std::shared_ptr<Peer> peer) {
    Duration wait = kBackoffMin;
    const auto ended = [&] { return over || peer->ended; };
    while (!ended()) {
      if (co_await connect(*peer)) {
        wait = kBackoffMin;
        peer->outbox = std::make_unique<Outbox>(peer->socket);
        handlers.up(peer->name);
        while (co_await peer->socket->read_frame())
          continue;  // a listener sends nothing; this waits for the end
        peer->outbox.reset();
        if (!ended()) handlers.down(peer->name);
      }
      if (peer->socket) std::exchange(peer->socket, nullptr)->drop();
      if (ended()) co_return;
      peer->pause.expires_after(wait);
      co_await peer->pause.async_wait(kAwait);
      wait = std::min(wait * 2, kBackoffMax);
    }
  }

  /// There can be no connection before somebody changes something.
  void give_reason(Peer& peer, const std::string& why) {
    if (std::exchange(peer.reason, why) != why && handlers.refused) handlers.refused(peer.name, why);
  }

  asio::awaitable<bool> connect(Peer& peer) {
    ClientHandshake handshake(config.identity, config.secret, config.self.value, advertised(),
                              peer.name.value);
    auto socket = co_await MessageSocket::connect(peer.endpoint, handshake.target(),
                                                  jupyter::SubProtocol::kLegacy, kSocket);
    if (over || peer.ended) {
      if (socket) socket->drop();
      co_return false;
    }
    if (!socket) {
      if (socket.error().kind == ErrorKind::kDenied)
        give_reason(peer, "what listens at " + peer.endpoint.authority() +
                              " wants to be shown a secret, as daemons of earlier versions do; update all "
                              "daemons of the cluster together");
      co_return false;
    }
    peer.socket = std::make_shared<MessageSocket>(std::move(*socket));
    co_return co_await introduce(peer, handshake);
  }

  /// Whether both sides have proven their names.
  asio::awaitable<bool> introduce(Peer& peer, ClientHandshake& handshake) {
    const std::shared_ptr<MessageSocket> socket = peer.socket;
    const HandshakeLimit limit(io, socket);
    const auto hello = co_await socket->read_frame();
    if (!hello || over || peer.ended) co_return false;
    const auto key = handshake.accept(hello->pieces.front().view());
    if (!key) {
      give_reason(peer, key.error().message);
      co_return false;
    }
    const std::string refusal = objection(peer.name, *key);
    socket->send_frame(message_of(handshake.answer(refusal)));
    if (!refusal.empty()) {
      turn_away(peer.name, refusal, "it listens at " + peer.endpoint.authority());
      co_await take_leave(*socket);
      co_return false;
    }
    const auto verdict = co_await socket->read_frame();
    if (!verdict || over || peer.ended) co_return false;
    const auto why_not = read_verdict(verdict->pieces.front().view());
    if (!why_not || !why_not->empty()) {
      give_reason(peer, why_not ? *why_not : why_not.error().message);
      co_return false;
    }
    // Another connection may have taken the name meanwhile. If so, the next attempt says why.
    if (!objection(peer.name, *key).empty()) co_return false;
    peer.key = *key;
    peer.reason.clear();
    bind(peer.name, *key);
    if (handlers.introduced) handlers.introduced(peer.name, {}, *key);
    co_return !over && !peer.ended && objection(peer.name, *key).empty();
  }

  asio::io_context& io;
  NetConfig config;
  Handlers handlers;
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  std::set<std::shared_ptr<Incoming>> incoming;
  std::map<HostId, std::shared_ptr<Peer>> peers;
  std::map<HostId, std::string> keys;  // whose the names are
  std::set<HostId> turned_away;        // names of which the owner was told
  std::set<HostId> unwanted_by;        // peers that refused this daemon when they connected, likewise
  std::uint64_t dropped = 0;
  bool over = false;
};

WebSocketNetwork::WebSocketNetwork(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<WebSocketNetwork>> WebSocketNetwork::start(Loop& loop, NetConfig config,
                                                                  Handlers handlers) {
  const std::string listen = config.listen;
  const auto peers = config.peers;
  const auto address = parse_address(listen);
  if (!address)
    return fail(ErrorKind::kInvalid,
                "'" + listen + "' is no address to listen on: HOST:PORT, as in 127.0.0.1:7401");
  auto impl = std::make_shared<Impl>(loop.io(), std::move(config), std::move(handlers));
  try {
    impl->listen(*address);
  } catch (const boost::system::system_error& error) {
    return fail(ErrorKind::kIo,
                "cannot listen on " + listen + " for other daemons: " + error.code().message());
  }
  std::unique_ptr<WebSocketNetwork> network(new WebSocketNetwork(impl));
  spawn(impl->io.get_executor(), impl, &Impl::accept_all);
  for (const auto& [peer, where] : peers) {
    if (const auto added = impl->add_peer(peer, where); !added) return tl::unexpected(added.error());
  }
  return network;
}

WebSocketNetwork::~WebSocketNetwork() { impl_->stop(); }

/// The address in the daemon's own file is the one that works from its machine.
void WebSocketNetwork::connect(const HostId& peer, const std::string& address, const std::string& key) {
  if (!key.empty() && peer != impl_->config.self) impl_->bind(peer, key);
  const auto own = impl_->config.peers.find(peer);
  const auto added = impl_->add_peer(peer, own == impl_->config.peers.end() ? address : own->second);
  if (!added && impl_->handlers.refused) impl_->handlers.refused(peer, added.error().message);
}

void WebSocketNetwork::disconnect(const HostId& peer) {
  impl_->end_peer(peer);
  if (peer != impl_->config.self) impl_->unbind(peer);
}

void WebSocketNetwork::send(const HostId& to, node::PeerFrame frame) {
  const auto peer = impl_->peers.find(to);
  const bool taken = peer != impl_->peers.end() && peer->second->outbox &&
                     peer->second->outbox->send(encode(frame), impl_->config.queue_bytes_max);
  if (!taken) ++impl_->dropped;
}

int WebSocketNetwork::port() const { return impl_->acceptor.local_endpoint().port(); }
std::uint64_t WebSocketNetwork::dropped() const { return impl_->dropped; }

}  // namespace banyan::runtime
