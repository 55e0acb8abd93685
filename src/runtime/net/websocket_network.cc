#include "runtime/net/websocket_network.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/endian/conversion.hpp>
#include <charconv>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "base/codec.h"
#include "node/http_target.h"
#include "runtime/http/coroutine.h"
#include "runtime/http/server_socket.h"

namespace banyan::runtime {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr char kPath[] = "peers";     // the upgrade request's target is /peers/NAME?listen=ADDRESS
constexpr char kListen[] = "listen";  // the address is where whoever asks listens itself
constexpr std::size_t kBatchBytes = 1 << 20;
constexpr Duration kBackoffMin = 50ms;
constexpr Duration kBackoffMax = 1s;
constexpr Duration kAcceptPause = 100ms;  // after a failed accept, mostly for want of file descriptors

/// A peer that knows the secret may send frames of any size. Outgoing queues are bounded by Outbox.
const SocketOptions kSocket{.message_bytes_max = std::size_t{1} << 40,
                            .queue_bytes_max = std::size_t{1} << 40,
                            .handshake_timeout = 5s,
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

/// A binary message is a batch of frames, each behind its length.
constexpr std::size_t kLengthBytes = 4;

Blob length_of(std::string_view frame) {
  std::string length(kLengthBytes, '\0');
  boost::endian::store_little_u32(reinterpret_cast<unsigned char*>(length.data()),
                                  static_cast<std::uint32_t>(frame.size()));
  return Blob(std::move(length));
}

/// Calls `take` with each frame of a batch. A batch that is cut short ends before the cut.
template <class Take>
void each_frame(std::string_view batch, Take take) {
  while (batch.size() >= kLengthBytes) {
    const std::size_t size =
        boost::endian::load_little_u32(reinterpret_cast<const unsigned char*>(batch.data()));
    batch.remove_prefix(kLengthBytes);
    if (size > batch.size()) return;
    take(batch.substr(0, size));
    batch.remove_prefix(size);
  }
}

/// The frames that wait to be sent on one connection, and those on their way.
class Outbox {
 public:
  explicit Outbox(MessageSocket socket) : socket_(std::move(socket)) {
    socket_.on_drained([this](std::uint64_t) {
      queued_bytes_ -= on_way_;
      on_way_ = 0;
      if (!queue_.empty()) send_batch();
    });
  }

  MessageSocket& socket() { return socket_; }

  /// Queues a frame; false when the queue is full. An empty queue takes a frame of any size.
  bool send(std::string frame, std::uint64_t queue_bytes_max) {
    if (!queue_.empty() && queued_bytes_ + frame.size() > queue_bytes_max) return false;
    queued_bytes_ += frame.size();
    queue_.push_back(std::move(frame));
    if (on_way_ == 0) send_batch();
    return true;
  }

 private:
  void send_batch() {
    jupyter::Frame batch{jupyter::FrameKind::kBinary, {}};
    for (; !queue_.empty() && on_way_ < kBatchBytes; queue_.pop_front()) {
      on_way_ += queue_.front().size();
      batch.pieces.push_back(length_of(queue_.front()));
      batch.pieces.emplace_back(std::move(queue_.front()));
    }
    socket_.send_frame(std::move(batch));
  }

  MessageSocket socket_;
  std::deque<std::string> queue_;
  std::uint64_t queued_bytes_ = 0;  // waiting or on their way
  std::uint64_t on_way_ = 0;
};

/// The outgoing connection to one peer.
struct Peer {
  Peer(asio::io_context& io, HostId id, Endpoint where)
      : name(std::move(id)), endpoint(std::move(where)), pause(io) {}

  HostId name;
  Endpoint endpoint;
  std::unique_ptr<Outbox> outbox;  // set while connected
  bool refused = false;            // the peer does not want this daemon, and the owner was told
  bool ended = false;              // this daemon does not want the peer any more
  asio::steady_timer pause;        // between two attempts
};

}  // namespace

struct WebSocketNetwork::Impl : std::enable_shared_from_this<WebSocketNetwork::Impl> {
  Impl(asio::io_context& loop, NetConfig net_config, Handlers to)
      : io(loop), config(std::move(net_config)), handlers(std::move(to)), acceptor(io), accept_pause(io) {}

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
    for (const auto& socket : incoming) socket->drop();
    for (auto& [id, peer] : peers) {
      peer->pause.cancel();
      if (peer->outbox) peer->outbox->socket().drop();
    }
  }

  // ---- from others

  asio::awaitable<void> accept_all() {
    while (!over) {
      auto [error, socket] = co_await acceptor.async_accept(kAwait);
      if (!error) {
        spawn(io.get_executor(), shared_from_this(), &Impl::serve,
              std::make_shared<MessageSocket>(incoming_socket(beast::tcp_stream(std::move(socket)),
                                                              jupyter::SubProtocol::kLegacy, kSocket)));
      } else if (!over) {
        accept_pause.expires_after(kAcceptPause);
        co_await accept_pause.async_wait(kAwait);
      }
    }
  }

  asio::awaitable<void> serve(std::shared_ptr<MessageSocket> socket) {
    incoming.insert(socket);
    if (const auto from = co_await greet(*socket); !over && from) co_await receive(*socket, *from);
    socket->drop();
    incoming.erase(socket);
  }

  /// Who opens the connection; nothing when it does not know the secret.
  asio::awaitable<std::optional<HostId>> greet(MessageSocket& socket) {
    beast::tcp_stream& stream = stream_of(socket);
    error_code ignored;
    stream.socket().set_option(tcp::no_delay(true), ignored);
    stream.expires_after(kSocket.handshake_timeout);
    beast::flat_buffer buffer;
    UpgradeRequest request;
    const auto [unread, size] = co_await http::async_read(stream, buffer, request, kAwait);
    if (unread) co_return std::nullopt;
    const node::HttpTarget target = node::parse_target(std::string_view(request.target()));
    const std::string shown =
        node::credential(target, {{"authorization", std::string(request[http::field::authorization])}});
    const bool known = node::same_secret(shown, percent_encode(config.secret));
    const bool right =
        beast::websocket::is_upgrade(request) && target.path.size() == 2 && target.path[0] == kPath;
    if (!known || !right) {
      http::response<http::string_body> answer(known ? http::status::not_found : http::status::unauthorized,
                                               request.version());
      answer.prepare_payload();
      co_await http::async_write(stream, answer, kAwait);
      co_return std::nullopt;
    }
    if (const auto accepted = co_await accept_upgrade(socket, request); !accepted) co_return std::nullopt;
    const HostId from{target.path[1]};
    if (const auto listens = target.query.find(kListen);
        listens != target.query.end() && !over && handlers.introduced && reachable(listens->second, stream))
      handlers.introduced(from, listens->second);
    co_return from;
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

  asio::awaitable<void> receive(MessageSocket& socket, HostId from) {
    while (true) {
      const auto batch = co_await socket.read_frame();
      if (!batch || over) co_return;
      each_frame(batch->pieces.front().view(), [&](std::string_view bytes) {
        // The bytes are copied, because the frame's buffers are views into them and may live long.
        auto frame = decode<node::PeerFrame>(Blob(std::string(bytes)));
        if (frame && !over) handlers.frame(from, std::move(*frame));
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
    endpoint->token = percent_encode(config.secret);
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
    if (known->second->outbox) known->second->outbox->socket().drop();
    peers.erase(known);
  }

  asio::awaitable<void> keep_connected(std::shared_ptr<Peer> peer) {
    Duration wait = kBackoffMin;
    const auto ended = [&] { return over || peer->ended; };
    while (!ended()) {
      if (co_await connect(*peer)) {
        wait = kBackoffMin;
        handlers.up(peer->name);
        while (co_await peer->outbox->socket().read_frame())
          continue;  // a listener sends nothing; this waits for the end
        peer->outbox.reset();
        if (ended()) co_return;
        handlers.down(peer->name);
      }
      if (ended()) co_return;
      peer->pause.expires_after(wait);
      co_await peer->pause.async_wait(kAwait);
      wait = std::min(wait * 2, kBackoffMax);
    }
  }

  asio::awaitable<bool> connect(Peer& peer) {
    std::string target = std::string("/") + kPath + "/" + percent_encode(config.self.value);
    if (const std::string address = advertised(); !address.empty())
      target += std::string("?") + kListen + "=" + percent_encode(address);
    auto socket =
        co_await MessageSocket::connect(peer.endpoint, target, jupyter::SubProtocol::kLegacy, kSocket);
    if (over || peer.ended) {
      if (socket) socket->drop();
      co_return false;
    }
    const bool denied = !socket && socket.error().kind == ErrorKind::kDenied;
    if (denied && !std::exchange(peer.refused, true) && handlers.refused)
      handlers.refused(peer.name, "this daemon belongs to another cluster, or its secret is wrong");
    if (!socket) co_return false;
    peer.refused = false;
    peer.outbox = std::make_unique<Outbox>(std::move(*socket));
    co_return true;
  }

  asio::io_context& io;
  NetConfig config;
  Handlers handlers;
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  std::set<std::shared_ptr<MessageSocket>> incoming;
  std::map<HostId, std::shared_ptr<Peer>> peers;
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
void WebSocketNetwork::connect(const HostId& peer, const std::string& address) {
  const auto own = impl_->config.peers.find(peer);
  const auto added = impl_->add_peer(peer, own == impl_->config.peers.end() ? address : own->second);
  if (!added && impl_->handlers.refused) impl_->handlers.refused(peer, added.error().message);
}

void WebSocketNetwork::disconnect(const HostId& peer) { impl_->end_peer(peer); }

void WebSocketNetwork::send(const HostId& to, node::PeerFrame frame) {
  const auto peer = impl_->peers.find(to);
  const bool taken = peer != impl_->peers.end() && peer->second->outbox &&
                     peer->second->outbox->send(encode(frame), impl_->config.queue_bytes_max);
  if (!taken) ++impl_->dropped;
}

int WebSocketNetwork::port() const { return impl_->acceptor.local_endpoint().port(); }
std::uint64_t WebSocketNetwork::dropped() const { return impl_->dropped; }

}  // namespace banyan::runtime
