#include "runtime/worker/frame.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

namespace banyan::runtime {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "frame headers are written as they lie in memory");

struct Header {
  std::uint32_t json_size = 0;
  std::uint32_t reserved = 0;
  std::uint64_t payload_size = 0;
};
static_assert(sizeof(Header) == 16);

constexpr std::size_t kFdsMax = 4;
// Memory grows by so much at a time: with what has arrived, and not with what a header claims.
constexpr std::size_t kReadStep = std::size_t{1} << 20;

Error corrupt(std::string what) { return {ErrorKind::kCorrupt, std::move(what)}; }

std::optional<std::uint64_t> unsigned_at(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_unsigned()) return std::nullopt;
  return it->get<std::uint64_t>();
}

/// The file descriptors of a received message. They belong to the caller.
std::vector<UniqueFd> descriptors_of(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* it = CMSG_FIRSTHDR(&message); it != nullptr; it = CMSG_NXTHDR(&message, it)) {
    if (it->cmsg_level != SOL_SOCKET || it->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (it->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(it) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

Result<Blob> Frame::blob(const json& reference) const {
  if (!reference.is_object()) return tl::unexpected(corrupt("a blob reference is no JSON object"));
  const auto at = unsigned_at(reference, "at");
  const auto size = unsigned_at(reference, "size");
  const auto in = reference.find("in");
  if (!at || !size || in == reference.end()) return tl::unexpected(corrupt("a blob reference lacks a field"));
  const Blob& whole = *in == "memfd" ? memfd : payload;
  if (*in != "memfd" && *in != "payload")
    return tl::unexpected(corrupt("a blob reference names neither payload nor memfd"));
  if (*at > whole.size() || *size > whole.size() - *at)
    return tl::unexpected(corrupt("a blob lies outside its frame"));
  return whole.part(*at, *size);
}

json Outgoing::add(const Blob& blob) {
  if (blob.size() < kMemfdBlobMin) {
    payload.push_back(blob);
    const std::size_t at = payload_end_;
    payload_end_ += blob.size();
    return {{"in", "payload"}, {"at", at}, {"size", blob.size()}};
  }
  memfd.push_back(blob);
  const std::size_t at = memfd_end_;
  memfd_end_ += (blob.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
  return {{"in", "memfd"}, {"at", at}, {"size", blob.size()}};
}

Result<SealedFrame> seal(Outgoing outgoing) {
  SealedFrame frame;
  if (!outgoing.memfd.empty()) {
    Result<UniqueFd> memfd = write_sealed_memfd(outgoing.memfd);
    if (!memfd) return tl::unexpected(memfd.error());
    outgoing.body["memfd"] = true;
    frame.fds.push_back(std::move(*memfd));
  }
  std::ranges::move(outgoing.fds, std::back_inserter(frame.fds));
  const std::string text = outgoing.body.dump(-1, ' ', false, json::error_handler_t::replace);
  Header header{.json_size = static_cast<std::uint32_t>(text.size())};
  for (const Blob& part : outgoing.payload) header.payload_size += part.size();
  if (text.size() > kFrameJsonMax || header.payload_size > kFramePayloadMax)
    return fail(ErrorKind::kTooLarge, "a frame for a worker is too large: " + std::to_string(text.size()) +
                                          " bytes of JSON, " + std::to_string(header.payload_size) +
                                          " bytes of payload");
  std::string head(sizeof(header), '\0');
  std::memcpy(head.data(), &header, sizeof(header));
  frame.parts.emplace_back(head + text);
  std::ranges::copy_if(outgoing.payload, std::back_inserter(frame.parts),
                       [](const Blob& part) { return !part.empty(); });
  return frame;
}

Result<std::optional<Frame>> FrameReader::next(std::size_t budget) {
  for (;;) {
    if (got_ < wanted_) {
      if (budget == 0) return std::optional<Frame>();
      const Result<std::size_t> count = part_ == Part::kHeader ? receive_header() : receive_body(budget);
      if (!count) return tl::unexpected(count.error());
      if (*count == 0) return std::optional<Frame>();
      got_ += *count;
      budget -= std::min(budget, *count);
      continue;
    }
    if (part_ == Part::kPayload) {
      Result<Frame> frame = finish();
      if (!frame) return tl::unexpected(frame.error());
      return std::optional(std::move(*frame));
    }
    if (const Result<Done> started = start_body(); !started) return tl::unexpected(started.error());
  }
}

/// Reads the header and nothing beyond it, so that descriptors which come with it belong to this frame.
Result<std::size_t> FrameReader::receive_header() {
  bytes_.resize(sizeof(Header));
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFdsMax * sizeof(int))> control{};
  iovec vector{bytes_.data() + got_, bytes_.size() - got_};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = -1;
  do {
    count = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::size_t{0};
  if (count <= 0) return fail(ErrorKind::kUnavailable, "the state channel is closed");
  std::ranges::move(descriptors_of(message), std::back_inserter(fds_));
  if ((message.msg_flags & MSG_CTRUNC) != 0 || fds_.size() > kFdsMax)
    return tl::unexpected(corrupt("a frame brings too many file descriptors"));
  return static_cast<std::size_t>(count);
}

Result<std::size_t> FrameReader::receive_body(std::size_t budget) {
  const std::size_t step = std::min({wanted_ - got_, kReadStep, budget});
  if (bytes_.size() < got_ + step) bytes_.resize(std::min(wanted_, std::max(got_ + step, 2 * bytes_.size())));
  ssize_t count = -1;
  do {
    count = recv(socket_, bytes_.data() + got_, step, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::size_t{0};
  if (count <= 0) return fail(ErrorKind::kUnavailable, "the state channel closed in the middle of a frame");
  return static_cast<std::size_t>(count);
}

/// Goes on from a complete header to its JSON, or from complete JSON to its payload.
Result<Done> FrameReader::start_body() {
  got_ = 0;
  if (part_ == Part::kHeader) {
    Header header;
    std::memcpy(&header, bytes_.data(), sizeof(header));
    if (header.reserved != 0 || header.json_size > kFrameJsonMax || header.payload_size > kFramePayloadMax)
      return tl::unexpected(corrupt("a frame header claims " + std::to_string(header.json_size) +
                                    " bytes of JSON and " + std::to_string(header.payload_size) +
                                    " bytes of payload"));
    payload_size_ = header.payload_size;
    part_ = Part::kJson;
    wanted_ = header.json_size;
  } else {
    body_ = json::parse(bytes_, nullptr, false);
    if (!body_.is_object()) return tl::unexpected(corrupt("the text of a frame is no JSON object"));
    part_ = Part::kPayload;
    wanted_ = payload_size_;
  }
  bytes_.clear();
  return Done{};
}

Result<Frame> FrameReader::finish() {
  Frame frame{.body = std::move(body_), .payload = Blob(std::move(bytes_)), .memfd = {}};
  part_ = Part::kHeader;
  wanted_ = sizeof(Header);
  got_ = 0;
  bytes_ = {};
  const std::vector<UniqueFd> fds = std::exchange(fds_, {});
  const auto memfd = frame.body.find("memfd");
  const bool expects_memfd = memfd != frame.body.end() && *memfd == true;
  if (fds.size() != (expects_memfd ? 1U : 0U))
    return tl::unexpected(corrupt("a frame brings " + std::to_string(fds.size()) +
                                  " file descriptors and announces another number"));
  if (!expects_memfd) return frame;
  Result<Blob> mapped = map_sealed_memfd(fds.front().get());
  if (!mapped) return tl::unexpected(corrupt(mapped.error().message));
  frame.memfd = std::move(*mapped);
  return frame;
}

}  // namespace banyan::runtime
