#include "runtime/net/grpc_network.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/codec.h"
#include "runtime/net/peers.grpc.pb.h"

namespace banyan::runtime {

namespace {

// "-bin": any bytes may follow.
constexpr char kHostKey[] = "banyan-host-bin";
constexpr char kSecretKey[] = "banyan-secret-bin";
constexpr std::size_t kBatchBytes = 1 << 20;
constexpr int kWindowBytes = 4 << 20;  // of a stream; gRPC's 64 KiB makes large frames wait for round trips
constexpr Duration kBackoffMin = 50ms;
constexpr Duration kBackoffMax = 1s;

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < b.size(); ++i)
    difference |= static_cast<unsigned>(a.empty() ? 1 : a[i % a.size()] ^ b[i]);
  return difference == 0;
}

/// Counts what must be over before the network may go.
class Pending {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

/// How an outgoing stream ended.
struct Broken {
  bool was_up = false;
  std::string refusal;  // the peer's words when it does not want us
};

/// What streams report; safe from any thread.
struct Events {
  std::function<void(const HostId&, std::string)> frame;
  std::function<void(const HostId&)> up;
  std::function<void(const HostId&, Broken)> broken;
};

/// The incoming side of one stream.
class Receiver final : public grpc::ServerBidiReactor<net::Batch, net::Nothing> {
 public:
  Receiver(HostId from, const Events& events, Pending& pending)
      : from_(std::move(from)), events_(events), pending_(pending) {
    pending_.begin();
    StartSendInitialMetadata();
    StartRead(&batch_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      if (!finished_.exchange(true)) Finish(grpc::Status::OK);
      return;
    }
    for (std::string& frame : *batch_.mutable_frames()) events_.frame(from_, std::move(frame));
    batch_.Clear();
    StartRead(&batch_);
  }
  void OnDone() override {
    pending_.end();
    delete this;
  }

 private:
  HostId from_;
  const Events& events_;
  Pending& pending_;
  net::Batch batch_;
  std::atomic<bool> finished_ = false;
};

class Refusal final : public grpc::ServerBidiReactor<net::Batch, net::Nothing> {
 public:
  explicit Refusal(const std::string& why) { Finish({grpc::StatusCode::UNAUTHENTICATED, why}); }
  void OnDone() override { delete this; }
};

class Service final : public net::Peers::CallbackService {
 public:
  Service(std::string secret, const Events& events, Pending& pending)
      : secret_(std::move(secret)), events_(events), pending_(pending) {}

  grpc::ServerBidiReactor<net::Batch, net::Nothing>* Send(grpc::CallbackServerContext* context) override {
    const auto& metadata = context->client_metadata();
    const auto host = metadata.find(kHostKey);
    const auto secret = metadata.find(kSecretKey);
    if (host == metadata.end() || secret == metadata.end() ||
        !equal_in_constant_time({secret->second.data(), secret->second.size()}, secret_))
      return new Refusal("this daemon belongs to another cluster, or its secret is wrong");
    return new Receiver({std::string(host->second.data(), host->second.size())}, events_, pending_);
  }

 private:
  std::string secret_;
  const Events& events_;
  Pending& pending_;
};

/// The outgoing side: a queue, and the stream that empties it.
class Sender : public std::enable_shared_from_this<Sender> {
 public:
  Sender(HostId peer, const std::string& address, const NetConfig& config, const Events& events,
         Pending& pending)
      : peer_(std::move(peer)), config_(config), events_(events), pending_(pending) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
    channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = net::Peers::NewStub(channel_);
  }

  void connect() {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    pending_.begin();
    stream_ = new Stream(shared_from_this());
  }

  /// False when there is no stream or the queue is full. An empty queue takes a frame of any size.
  bool send(std::string frame) {
    const std::lock_guard lock(mutex_);
    if (!up_ || (!queue_.empty() && queued_bytes_ + frame.size() > config_.queue_bytes_max)) return false;
    queued_bytes_ += frame.size();
    queue_.push_back(std::move(frame));
    write_next();
    return true;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (stream_ != nullptr) stream_->context.TryCancel();
  }
  [[nodiscard]] bool stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  /// How long to wait before the next attempt.
  Duration next_backoff() {
    const std::lock_guard lock(mutex_);
    const Duration wait = backoff_;
    backoff_ = std::min(backoff_ * 2, kBackoffMax);
    return wait;
  }

 private:
  struct Stream final : grpc::ClientBidiReactor<net::Batch, net::Nothing> {
    explicit Stream(std::shared_ptr<Sender> sender) : owner(std::move(sender)) {
      context.AddMetadata(kHostKey, owner->config_.self.value);
      context.AddMetadata(kSecretKey, owner->config_.secret);
      context.set_wait_for_ready(true);
      owner->stub_->async()->Send(&context, this);
      // Writes start from outside any callback of the stream, so it must not end between two of them.
      AddHold();
      StartRead(&nothing);
      StartCall();
    }
    void OnReadInitialMetadataDone(bool ok) override {
      if (ok) owner->opened();
    }
    void OnReadDone(bool) override { owner->broke(); }
    void OnWriteDone(bool ok) override { owner->written(ok); }
    void OnDone(const grpc::Status& status) override {
      const std::shared_ptr<Sender> keep = owner;
      keep->closed(status);
      delete this;
    }
    std::shared_ptr<Sender> owner;
    grpc::ClientContext context;
    net::Nothing nothing;
    net::Batch batch;
  };

  void opened() {
    {
      const std::lock_guard lock(mutex_);
      if (broken_) return;
      up_ = was_up_ = true;
      backoff_ = kBackoffMin;
    }
    events_.up(peer_);
  }

  void written(bool ok) {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (ok && !broken_) {
      write_next();
    } else {
      release();
    }
  }

  void broke() {
    const std::lock_guard lock(mutex_);
    broken_ = true;
    up_ = false;
    if (!writing_) release();
  }

  /// With the lock held.
  void write_next() {
    if (writing_ || queue_.empty() || !up_ || released_) return;
    stream_->batch.Clear();
    for (std::size_t bytes = 0; !queue_.empty() && bytes < kBatchBytes;) {
      bytes += queue_.front().size();
      queued_bytes_ -= queue_.front().size();
      *stream_->batch.add_frames() = std::move(queue_.front());
      queue_.pop_front();
    }
    writing_ = true;
    stream_->StartWrite(&stream_->batch);
  }

  /// Lets a broken stream end, once. With the lock held.
  void release() {
    up_ = false;
    queue_.clear();
    queued_bytes_ = 0;
    if (!std::exchange(released_, true)) stream_->RemoveHold();
  }

  void closed(const grpc::Status& status) {
    Broken how;
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) how.refusal = status.error_message();
    {
      const std::lock_guard lock(mutex_);
      how.was_up = std::exchange(was_up_, false);
      up_ = writing_ = released_ = broken_ = false;
      queue_.clear();
      queued_bytes_ = 0;
      stream_ = nullptr;
    }
    events_.broken(peer_, std::move(how));
    pending_.end();
  }

  HostId peer_;
  const NetConfig& config_;
  const Events& events_;
  Pending& pending_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<net::Peers::Stub> stub_;
  mutable std::mutex mutex_;
  Stream* stream_ = nullptr;
  std::deque<std::string> queue_;
  std::uint64_t queued_bytes_ = 0;
  bool up_ = false;
  bool was_up_ = false;
  bool writing_ = false;
  bool released_ = false;
  bool broken_ = false;
  bool stopped_ = false;
  Duration backoff_ = kBackoffMin;
};

}  // namespace

struct GrpcNetwork::Impl {
  Impl(Loop& owner, NetConfig net_config, Handlers to)
      : loop(owner), config(std::move(net_config)), handlers(std::make_shared<Handlers>(std::move(to))) {
    events.frame = [this](const HostId& from, std::string bytes) { received(from, std::move(bytes)); };
    events.up = [this](const HostId& peer) {
      loop.post([this, alive = living, peer] {
        const auto h = alive.lock();
        if (!h) return;
        refusals.erase(peer);
        h->up(peer);
      });
    };
    events.broken = [this](const HostId& peer, const Broken& how) { broken(peer, how); };
  }

  void received(const HostId& from, std::string bytes) {
    auto frame = decode<node::PeerFrame>(Blob(std::move(bytes)));
    if (!frame) return;  // of a later version, or damaged: as if it had been lost
    loop.post([alive = living, from, moved = std::make_shared<node::PeerFrame>(std::move(*frame))] {
      if (const auto h = alive.lock()) h->frame(from, std::move(*moved));
    });
  }

  void broken(const HostId& peer, const Broken& how) {
    loop.post([this, alive = living, peer, how] {
      const auto h = alive.lock();
      if (!h) return;
      if (!how.refusal.empty() && std::exchange(refusals[peer], how.refusal) != how.refusal && h->refused)
        h->refused(peer, how.refusal);
      if (how.was_up) h->down(peer);
      const auto sender = senders.find(peer);
      if (sender == senders.end()) return;
      loop.after(sender->second->next_backoff(), [alive, again = sender->second] {
        if (alive.lock()) again->connect();
      });
    });
  }

  Loop& loop;
  NetConfig config;
  std::shared_ptr<Handlers> handlers;              // gone once the network goes
  const std::weak_ptr<Handlers> living{handlers};  // for gRPC's threads, and what is under way on the loop
  Events events;
  Pending pending;
  std::unique_ptr<Service> service;
  std::unique_ptr<grpc::Server> server;
  std::map<HostId, std::shared_ptr<Sender>> senders;
  std::map<HostId, std::string> refusals;  // that the owner was told of
  int port = 0;
  std::uint64_t dropped = 0;
};

GrpcNetwork::GrpcNetwork(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<GrpcNetwork>> GrpcNetwork::start(Loop& loop, NetConfig config, Handlers handlers) {
  auto impl = std::make_unique<Impl>(loop, std::move(config), std::move(handlers));
  impl->service = std::make_unique<Service>(impl->config.secret, impl->events, impl->pending);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(impl->config.listen, grpc::InsecureServerCredentials(), &impl->port);
  builder.RegisterService(impl->service.get());
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kWindowBytes);
  impl->server = builder.BuildAndStart();
  if (!impl->server || impl->port == 0)
    return fail(ErrorKind::kIo,
                "cannot listen on " + impl->config.listen + " for other daemons; is the port in use?");
  std::unique_ptr<GrpcNetwork> network(new GrpcNetwork(std::move(impl)));
  const auto peers = network->impl_->config.peers;
  for (const auto& [peer, address] : peers) network->add_peer(peer, address);
  return network;
}

GrpcNetwork::~GrpcNetwork() {
  impl_->handlers.reset();
  for (auto& [peer, sender] : impl_->senders) sender->stop();
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  impl_->pending.wait_for_none();
  impl_->server->Wait();
}

void GrpcNetwork::add_peer(const HostId& peer, const std::string& address) {
  if (peer == impl_->config.self || impl_->senders.contains(peer)) return;
  auto sender = std::make_shared<Sender>(peer, address, impl_->config, impl_->events, impl_->pending);
  impl_->senders.emplace(peer, sender);
  sender->connect();
}

void GrpcNetwork::send(const HostId& to, node::PeerFrame frame) {
  const auto sender = impl_->senders.find(to);
  if (sender == impl_->senders.end() || !sender->second->send(encode(frame))) ++impl_->dropped;
}

int GrpcNetwork::port() const { return impl_->port; }
std::uint64_t GrpcNetwork::dropped() const { return impl_->dropped; }

}  // namespace banyan::runtime
