#include "runtime/worker/zmq_link.h"

#include <boost/asio/post.hpp>
#include <cstring>

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using jupyter::Channel;
using namespace std::chrono_literals;

constexpr int kReceiveBudget = 64;  // messages of one socket in one turn of the loop
constexpr int kOutputQueueMax =
    32;  // outputs that wait here (one may have 1 MB or more); others wait in the worker
constexpr int kReplyQueueMax = 1000;
constexpr int kRequestQueueMax = 65'536;  // messages that wait for the worker
constexpr std::size_t kCopyMax = 1024;
constexpr auto kNudgeInterval = 20ms;
constexpr auto kDrainInterval = 4ms;
constexpr int kDrainQuietRounds = 2;
constexpr int kDrainRoundsMax = 500;

zmq::message_t message_of(const Blob& blob) {
  if (blob.size() <= kCopyMax) return {blob.view().data(), blob.size()};
  auto owner = std::make_unique<Blob>(blob);
  void* bytes = const_cast<char*>(blob.view().data());
  return {bytes, blob.size(), [](void*, void* hint) { delete static_cast<Blob*>(hint); }, owner.release()};
}

Blob blob_of(zmq::message_t message) {
  auto owner = std::make_shared<zmq::message_t>(std::move(message));
  const std::string_view view(static_cast<const char*>(owner->data()), owner->size());
  return {std::move(owner), view};
}

}  // namespace

int Endpoints::port(Channel channel) {
  switch (channel) {
    case Channel::kShell:
      return 1;
    case Channel::kIopub:
      return 2;
    case Channel::kStdin:
      return 3;
    case Channel::kControl:
      return 4;
  }
  return 0;
}

/// One ZMQ socket on the loop. Its file descriptor becomes readable only when ZMQ_EVENTS changes, so after
/// each send and each wait messages are received until ZMQ_EVENTS has none.
class ZmqLink::Socket {
 public:
  struct Handlers {
    std::function<void(std::vector<Blob>)> frames;
    std::function<void(Error)> broken;
  };

  /// Throws zmq::error_t when the socket cannot be made or connected.
  Socket(asio::io_context& loop, zmq::context_t& context, Channel channel, const std::string& endpoint,
         Handlers handlers)
      : loop_(loop),
        socket_(context, channel == Channel::kIopub ? zmq::socket_type::sub : zmq::socket_type::dealer),
        handlers_(std::move(handlers)),
        edge_(loop) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::reconnect_ivl, 2);
    socket_.set(zmq::sockopt::sndhwm, kRequestQueueMax);
    if (channel == Channel::kIopub) {
      socket_.set(zmq::sockopt::rcvhwm, kOutputQueueMax);
      socket_.set(zmq::sockopt::subscribe, "");
    } else {
      // ipykernel sends an input_request on stdin to the identity that its execute_request had on shell.
      socket_.set(zmq::sockopt::routing_id, "banyan");
      socket_.set(zmq::sockopt::rcvhwm, kReplyQueueMax);
    }
    socket_.connect(endpoint);
    edge_.assign(socket_.get(zmq::sockopt::fd));
    wait();
    pump_later();
  }
  Socket(const Socket&) = delete;
  ~Socket() {
    *life_ = false;
    edge_.release();  // the descriptor belongs to the ZMQ socket
  }

  /// Queues a message. False when too many wait already.
  bool send(const std::vector<Blob>& frames) {
    try {
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto more = i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
        if (!socket_.send(message_of(frames[i]), more | zmq::send_flags::dontwait)) return false;
      }
    } catch (const zmq::error_t&) {
      return false;
    }
    pump_later();
    return true;
  }

  /// Delivers what has arrived. The socket may be gone afterwards.
  void pump() {
    const std::shared_ptr<bool> life = life_;
    for (int i = 0; i < kReceiveBudget; ++i) {
      std::optional<std::vector<Blob>> frames = receive();
      if (!frames) return;
      handlers_.frames(std::move(*frames));
      if (!*life) return;
    }
    pump_later();
  }

 private:
  /// All parts of the next message; nothing when none has arrived.
  std::optional<std::vector<Blob>> receive() {
    try {
      if ((socket_.get(zmq::sockopt::events) & ZMQ_POLLIN) == 0) return std::nullopt;
      std::vector<Blob> frames;
      bool more = true;
      while (more) {
        zmq::message_t part;
        if (!socket_.recv(part, zmq::recv_flags::dontwait)) return std::nullopt;
        more = part.more();
        frames.push_back(blob_of(std::move(part)));
      }
      return frames;
    } catch (const zmq::error_t& error) {
      handlers_.broken({ErrorKind::kIo, std::string("a ZMQ socket fails: ") + error.what()});
      return std::nullopt;
    }
  }

  void wait() {
    edge_.async_wait(asio::posix::descriptor_base::wait_read,
                     [this, life = life_](boost::system::error_code error) {
                       if (!*life || error) return;
                       pump();
                       if (*life) wait();
                     });
  }

  void pump_later() {
    if (pump_posted_) return;
    pump_posted_ = true;
    asio::post(loop_, [this, life = life_] {
      if (!*life) return;
      pump_posted_ = false;
      pump();
    });
  }

  asio::io_context& loop_;
  zmq::socket_t socket_;
  Handlers handlers_;
  asio::posix::stream_descriptor edge_;
  bool pump_posted_ = false;
  std::shared_ptr<bool> life_ = std::make_shared<bool>(true);
};

ZmqLink::ZmqLink(asio::io_context& loop, const std::string& key, Handlers handlers)
    : loop_(loop),
      signer_(key),
      handlers_(std::move(handlers)),
      timer_(loop),
      nudge_prefix_("nudge-" + key.substr(0, 16) + "-") {}

Result<std::unique_ptr<ZmqLink>> ZmqLink::open(asio::io_context& loop, zmq::context_t& context,
                                               const Endpoints& endpoints, const std::string& key,
                                               Handlers handlers) {
  std::unique_ptr<ZmqLink> link(new ZmqLink(loop, key, std::move(handlers)));
  try {
    link->connect(context, endpoints);
  } catch (const zmq::error_t& error) {
    return fail(ErrorKind::kIo, std::string("cannot connect to its sockets: ") + error.what());
  }
  link->nudge();
  return link;
}

void ZmqLink::connect(zmq::context_t& context, const Endpoints& endpoints) {
  for (const Channel channel : {Channel::kIopub, Channel::kShell, Channel::kControl, Channel::kStdin}) {
    Socket::Handlers handlers{
        .frames = [this, channel](std::vector<Blob> frames) { received(channel, std::move(frames)); },
        .broken = [this](Error error) { handlers_.problem(std::move(error)); }};
    const std::string endpoint = "ipc://" + endpoints.path(Endpoints::port(channel));
    sockets_.emplace(channel,
                     std::make_unique<Socket>(loop_, context, channel, endpoint, std::move(handlers)));
  }
}

ZmqLink::~ZmqLink() { *life_ = false; }

void ZmqLink::send(const jupyter::Message& message) {
  const auto socket = sockets_.find(message.channel);
  if (socket == sockets_.end() || message.channel == Channel::kIopub) return;
  if (socket->second->send(jupyter::to_wire({}, message, signer_))) return;
  asio::post(loop_, [this, life = life_] {
    if (*life)
      handlers_.problem({ErrorKind::kTooLarge, "it has not read " + std::to_string(kRequestQueueMax) +
                                                   " messages that were sent to it"});
  });
}

void ZmqLink::received(Channel channel, std::vector<Blob> frames) {
  ++received_;
  Result<jupyter::WireMessage> wire = jupyter::from_wire(channel, frames, signer_);
  if (!wire) return handlers_.problem(wire.error());
  if (!ready_ || is_nudge(wire->message)) {
    // Any message on iopub proves the subscription; ipykernel's welcome message does, too.
    subscribed_ = subscribed_ || channel == Channel::kIopub;
    answered_ = answered_ || channel == Channel::kShell;
    return check_ready();
  }
  handlers_.message(std::move(wire->message));
}

/// Whether a message only comes from finding out that the worker serves: an answer to nudge(), or ipykernel's
/// welcome to a subscriber, which may come late.
bool ZmqLink::is_nudge(const jupyter::Message& message) const {
  return message.parent_header.find(nudge_prefix_) != std::string::npos ||
         (message.channel == Channel::kIopub &&
          message.header.find("\"iopub_welcome\"") != std::string::npos);
}

/// Asks the worker again and again until something is seen on iopub: what a PUB socket sends before it knows
/// of a subscription is lost.
void ZmqLink::nudge() {
  jupyter::Message request;
  request.channel = Channel::kShell;
  request.header = R"({"msg_id":")" + nudge_prefix_ + std::to_string(++nudges_) +
                   R"(","msg_type":"kernel_info_request","session":"banyan","username":"","date":)" +
                   R"("1970-01-01T00:00:00.000000Z","version":"5.4"})";
  request.content = Blob("{}");
  send(request);
  timer_.expires_after(kNudgeInterval);
  timer_.async_wait([this, life = life_](boost::system::error_code error) {
    if (!*life || error || ready_) return;
    nudge();
  });
}

void ZmqLink::check_ready() {
  if (ready_ || !answered_ || !subscribed_) return;
  ready_ = true;
  timer_.cancel();
  handlers_.ready();
}

void ZmqLink::drain(std::function<void()> done) { drain_step(0, kDrainRoundsMax, std::move(done)); }

void ZmqLink::drain_step(int quiet_rounds, int rounds_left, std::function<void()> done) {
  if (quiet_rounds == kDrainQuietRounds || rounds_left == 0) return done();
  const std::uint64_t before = received_;
  timer_.expires_after(kDrainInterval);
  timer_.async_wait([this, life = life_, before, quiet_rounds, rounds_left,
                     done = std::move(done)](boost::system::error_code) mutable {
    if (!*life) return;
    for (auto& [channel, socket] : sockets_) {
      socket->pump();
      if (!*life) return;
    }
    drain_step(received_ == before ? quiet_rounds + 1 : 0, rounds_left - 1, std::move(done));
  });
}

}  // namespace banyan::runtime
