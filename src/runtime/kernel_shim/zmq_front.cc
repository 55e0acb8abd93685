#include "runtime/kernel_shim/zmq_front.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "core/jupyter/json_text.h"

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using jupyter::Channel;
using namespace std::chrono_literals;

constexpr auto kPatience = 10s;
constexpr auto kRetry = 2ms;
constexpr std::size_t kMessageMax = 255 << 20;  // the gateway takes 256 MiB

Result<jupyter::Header> check(const jupyter::Message& message) {
  if (message.size() > kMessageMax) return fail(ErrorKind::kTooLarge, "a message exceeds 255 MiB");
  auto header = jupyter::parse_header(message.header);
  if (!header) return header;
  if (header->msg_id.empty()) return fail(ErrorKind::kInvalid, "a header has no msg_id");
  for (const std::string_view part :
       {std::string_view(message.header), std::string_view(message.parent_header),
        std::string_view(message.metadata), message.content.view()}) {
    if (auto object = jupyter::check_object(part); !object) return tl::unexpected<Error>(object.error());
  }
  return header;
}

}  // namespace

ZmqFront::ZmqFront(asio::io_context& loop, const ConnectionFile& file, Requests requests, LogLine log)
    : loop_(loop), signer_(file.key), requests_(std::move(requests)), log_(std::move(log)) {}

Result<std::unique_ptr<ZmqFront>> ZmqFront::bind(asio::io_context& loop, zmq::context_t& context,
                                                 const ConnectionFile& file, Requests requests, LogLine log) {
  std::unique_ptr<ZmqFront> front(new ZmqFront(loop, file, std::move(requests), std::move(log)));
  const auto open = [&](zmq::socket_type type, std::uint32_t port) {
    return ZmqSocket::bind(loop, context, type, file.address(port));
  };
  for (const auto& [channel, port] : {std::pair(Channel::kShell, file.shell_port),
                                      {Channel::kControl, file.control_port},
                                      {Channel::kStdin, file.stdin_port},
                                      {Channel::kIopub, file.iopub_port}}) {
    const auto type = channel == Channel::kIopub ? zmq::socket_type::pub : zmq::socket_type::router;
    auto socket = open(type, port);
    if (!socket) return tl::unexpected<Error>(socket.error());
    front->sockets_[channel] = std::move(*socket);
  }
  auto heartbeat = open(zmq::socket_type::rep, file.hb_port);
  if (!heartbeat) return tl::unexpected<Error>(heartbeat.error());
  front->heartbeat_ = std::move(*heartbeat);

  asio::co_spawn(loop, front->echo(), asio::detached);
  for (const Channel channel : {Channel::kShell, Channel::kControl, Channel::kStdin}) {
    asio::co_spawn(loop, front->serve(channel), asio::detached);
  }
  return front;
}

asio::awaitable<void> ZmqFront::echo() {
  for (;;) {
    const auto frames = co_await heartbeat_->receive();
    if (!frames) co_return log_(frames.error().message);
    heartbeat_->send(*frames);
  }
}

asio::awaitable<void> ZmqFront::serve(Channel channel) {
  for (;;) {
    const auto frames = co_await sockets_.at(channel)->receive();
    if (!frames) co_return log_(frames.error().message);
    take(channel, *frames);
  }
}

void ZmqFront::take(Channel channel, const std::vector<Blob>& frames) {
  const auto dropped = [&](const Error& error) {
    log_("a message on " + std::string(jupyter::name_of(channel)) + " is dropped: " + error.message);
  };
  auto wire = jupyter::from_wire(channel, frames, signer_);
  if (!wire) return dropped(wire.error());
  const auto header = check(wire->message);
  if (!header) return dropped(header.error());
  requests_(*header, std::move(*wire));
}

void ZmqFront::reply(std::span<const std::string> identities, const jupyter::Message& message) {
  sockets_.at(message.channel)->send(jupyter::to_wire(identities, message, signer_));
}

asio::awaitable<void> ZmqFront::publish(jupyter::Message message) {
  const auto header = jupyter::parse_header(message.header);
  const std::vector<std::string> topic = {header ? header->msg_type : std::string()};
  const std::vector<Blob> frames = jupyter::to_wire(topic, message, signer_);
  ZmqSocket& iopub = *sockets_.at(Channel::kIopub);
  asio::steady_timer timer(loop_);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!iopub.send(frames)) {
    if (losing_ || std::chrono::steady_clock::now() > deadline) {
      if (!std::exchange(losing_, true)) log_("a client does not read its output and loses some from now on");
      iopub.wait_for_slow_subscribers(false);
      iopub.send(frames);
      iopub.wait_for_slow_subscribers(true);
      co_return;
    }
    timer.expires_after(kRetry);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  losing_ = false;
}

}  // namespace banyan::runtime
