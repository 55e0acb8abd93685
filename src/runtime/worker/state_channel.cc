#include "runtime/worker/state_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadBudget = std::size_t{4} << 20;  // bytes read in one turn of the loop
constexpr std::size_t kFramesBudget = 64;
constexpr std::size_t kSealHereMax = std::size_t{1} << 20;  // copying 1 MiB takes the loop about 0.2 ms
constexpr std::size_t kVectorsOfFrame = 64;

/// Sends as much as the socket takes, from `offset` of `part` on. The descriptors ride on the frame's first
/// byte.
ssize_t send_parts(int socket, const SealedFrame& frame, std::size_t part, std::size_t offset) {
  std::array<iovec, kVectorsOfFrame> vectors{};
  std::size_t count = 0;
  for (std::size_t i = part; i < frame.parts.size() && count < vectors.size(); ++i, ++count) {
    const std::size_t skip = i == part ? offset : 0;
    const std::string_view view = frame.parts[i].view();
    vectors[count] = {const_cast<char*>(view.data()) + skip, view.size() - skip};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control{};
  if (part == 0 && offset == 0 && !frame.fds.empty()) {
    const std::size_t bytes = frame.fds.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    for (std::size_t i = 0; i < frame.fds.size(); ++i) {
      const int fd = frame.fds[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

}  // namespace

StateChannel::StateChannel(asio::io_context& loop, asio::thread_pool& pool, UniqueFd socket,
                           Handlers handlers)
    : loop_(loop),
      pool_(pool),
      socket_(loop, asio::local::stream_protocol(), socket.release()),
      reader_(socket_.native_handle()),
      handlers_(std::move(handlers)) {
  wait_readable();
}

StateChannel::~StateChannel() { *life_ = false; }

void StateChannel::resume() {
  paused_ = false;
  wait_readable();
}

void StateChannel::wait_readable() {
  if (reading_ || paused_ || closed_) return;
  reading_ = true;
  socket_.async_wait(asio::socket_base::wait_read, [this, life = life_](boost::system::error_code) {
    if (*life) on_readable();
  });
}

void StateChannel::on_readable() {
  const std::shared_ptr<bool> life = life_;
  for (std::size_t frames = 0; frames < kFramesBudget && !paused_ && !closed_; ++frames) {
    Result<std::optional<Frame>> next = reader_.next(kReadBudget);
    if (!next) return close(next.error());
    if (!*next) break;
    handlers_.frame(std::move(**next));
    if (!*life) return;
  }
  reading_ = false;
  wait_readable();
}

void StateChannel::send(Outgoing outgoing) {
  if (closed_) return;
  const std::shared_ptr<Pending> pending = outbox_.emplace_back(std::make_shared<Pending>());
  if (outgoing.memfd_bytes() <= kSealHereMax) return complete(*pending, seal(std::move(outgoing)));
  auto done = [this, pending, life = life_](Result<SealedFrame> sealed) {
    if (*life && !closed_) complete(*pending, std::move(sealed));
  };
  asio::post(pool_, [&loop = loop_, outgoing = std::move(outgoing), done = std::move(done)]() mutable {
    asio::post(loop, [sealed = seal(std::move(outgoing)), done = std::move(done)]() mutable {
      done(std::move(sealed));
    });
  });
}

void StateChannel::complete(Pending& pending, Result<SealedFrame> sealed) {
  if (!sealed) {
    // The handler is posted, because whoever calls send() does not expect handlers to run before it returns.
    asio::post(loop_, [this, error = sealed.error(), life = life_] {
      if (*life) close(error);
    });
    return;
  }
  pending.frame = std::move(*sealed);
  pending.ready = true;
  if (!writing_) write();
}

void StateChannel::write() {
  while (!outbox_.empty() && outbox_.front()->ready) {
    const Result<bool> done = write_some(*outbox_.front());
    if (!done) {
      outbox_.clear();  // the peer is gone; reading finds that out, after the last of what the peer wrote
      return;
    }
    if (*done) {
      outbox_.pop_front();
      continue;
    }
    writing_ = true;
    socket_.async_wait(asio::socket_base::wait_write, [this, life = life_](boost::system::error_code error) {
      if (!*life) return;
      writing_ = false;
      if (!error) write();
    });
    return;
  }
}

/// Writes more of a frame. True when all of it is out, false when the socket takes no more for now.
Result<bool> StateChannel::write_some(Pending& pending) {
  while (pending.part < pending.frame.parts.size()) {
    const ssize_t result = send_parts(socket_.native_handle(), pending.frame, pending.part, pending.sent);
    if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (result < 0) return tl::unexpected(system_error("cannot write to a state channel"));
    pending.sent += static_cast<std::size_t>(result);
    while (pending.part < pending.frame.parts.size() &&
           pending.sent >= pending.frame.parts[pending.part].size()) {
      pending.sent -= pending.frame.parts[pending.part].size();
      ++pending.part;
    }
  }
  return true;
}

void StateChannel::close(Error error) {
  if (closed_) return;
  closed_ = true;
  outbox_.clear();
  boost::system::error_code ignored;
  socket_.close(ignored);
  handlers_.closed(std::move(error));
}

}  // namespace banyan::runtime
