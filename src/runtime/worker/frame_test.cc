#include "runtime/worker/frame.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace banyan::runtime {
namespace {

using nlohmann::json;

constexpr std::size_t kPlenty = std::size_t{1} << 30;

/// A reader on one end of a socket pair; the test writes what it likes into the other.
struct Wire {
  Wire() : Wire(*socket_pair()) {}
  explicit Wire(std::pair<UniqueFd, UniqueFd>&& ends)
      : near(std::move(ends.first)), far(std::move(ends.second)) {}

  void put(std::string_view bytes, const std::vector<int>& fds = {}) const {
    iovec vector{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    ASSERT_EQ(sendmsg(far.get(), &message, MSG_NOSIGNAL), std::ssize(bytes));
  }
  void hang_up() { far = UniqueFd(); }
  Result<std::optional<Frame>> next(std::size_t budget = kPlenty) { return reader.next(budget); }

  UniqueFd near;
  UniqueFd far;
  FrameReader reader{near.get()};
};

std::string header(std::uint32_t json_size, std::uint64_t payload_size, std::uint32_t reserved = 0) {
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &json_size, 4);
  std::memcpy(bytes.data() + 4, &reserved, 4);
  std::memcpy(bytes.data() + 8, &payload_size, 8);
  return bytes;
}

std::string frame(const std::string& text, const std::string& payload = "") {
  return header(static_cast<std::uint32_t>(text.size()), payload.size()) + text + payload;
}

std::string bytes_of(const SealedFrame& sealed) {
  std::string all;
  for (const Blob& part : sealed.parts) all += part.view();
  return all;
}

void expect_corrupt(Wire& wire, const std::string& what) {
  const auto result = wire.next();
  ASSERT_FALSE(result) << what;
  EXPECT_EQ(result.error().kind, ErrorKind::kCorrupt) << result.error().message;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int fd = 0; fd < 256; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST(Frame, BlobsTravelInPayloadAndMemfdBySize) {
  const std::string big(3 * kMemfdBlobMin + 1, 'b');
  Outgoing outgoing;
  json blobs = json::array();
  blobs.push_back(outgoing.add(Blob(std::string("small"))));
  blobs.push_back(outgoing.add(Blob(big)));
  blobs.push_back(outgoing.add(Blob(std::string("tiny"))));
  blobs.push_back(outgoing.add(Blob(std::string(kMemfdBlobMin, 'c'))));
  blobs.push_back(outgoing.add(Blob()));
  outgoing.body = {{"type", "apply"}, {"blobs", blobs}};
  const Result<SealedFrame> sealed = seal(std::move(outgoing));
  ASSERT_TRUE(sealed);
  ASSERT_EQ(sealed->fds.size(), 1U);

  Wire wire;
  wire.put(bytes_of(*sealed), {sealed->fds[0].get()});
  const auto frame = wire.next();
  ASSERT_TRUE(frame && *frame) << frame.error().message;
  std::vector<std::string> back;
  for (const json& reference : (*frame)->body["blobs"]) {
    const Result<Blob> blob = (*frame)->blob(reference);
    ASSERT_TRUE(blob) << blob.error().message;
    back.emplace_back(blob->view());
  }
  EXPECT_THAT(back,
              testing::ElementsAre("small", big, "tiny", std::string(kMemfdBlobMin, 'c'), std::string()));
  EXPECT_EQ((*frame)->body["blobs"][3]["at"].get<std::size_t>() % kBlobAlignment, 0U);
}

TEST(Frame, ABlobOutlivesItsFrame) {
  Outgoing outgoing;
  const json reference = outgoing.add(Blob(std::string(kMemfdBlobMin, 'x')));
  const Result<SealedFrame> sealed = seal(std::move(outgoing));
  Wire wire;
  wire.put(header(14, 0) + R"({"memfd":true})", {sealed->fds[0].get()});
  Blob kept;
  {
    const auto frame = wire.next();
    ASSERT_TRUE(frame && *frame);
    kept = *(*frame)->blob(reference);
  }
  EXPECT_EQ(kept.view(), std::string(kMemfdBlobMin, 'x'));
}

TEST(Frame, ArrivesByteByByteAndInClusters) {
  const std::string two = frame(R"({"n":1})", "payload") + frame(R"({"n":2})");
  Wire wire;
  for (const char byte : two.substr(0, two.size() - 1)) {
    wire.put({&byte, 1});
    const auto next = wire.next();
    ASSERT_TRUE(next);
    if (*next) {
      EXPECT_EQ((*next)->body["n"], 1);
      EXPECT_EQ((*next)->payload.view(), "payload");
    }
  }
  wire.put(two.substr(two.size() - 1) + two);
  for (const int expected : {2, 1, 2}) {
    const auto next = wire.next();
    ASSERT_TRUE(next && *next);
    EXPECT_EQ((*next)->body["n"], expected);
  }
  EXPECT_FALSE(*wire.next());
}

TEST(Frame, ABudgetBoundsOneRead) {
  Wire wire;
  wire.put(frame("{}", std::string(1000, 'p')));
  int rounds = 0;
  while (!*wire.next(100)) ASSERT_LT(++rounds, 20);
  EXPECT_GE(rounds, 9);
}

TEST(Frame, TheEndOfTheStreamIsUnavailableAlsoInMidFrame) {
  const std::string whole = frame(R"({"n":1})", "payload");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{16}, std::size_t{20}, whole.size() - 1}) {
    Wire wire;
    if (size > 0) wire.put(whole.substr(0, size));
    wire.hang_up();
    const auto result = wire.next();
    ASSERT_FALSE(result) << size;
    EXPECT_EQ(result.error().kind, ErrorKind::kUnavailable);
  }
}

TEST(Frame, GarbageIsCorrupt) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"an enormous text", header(0xffff'ffff, 0)},
      {"an enormous payload", header(2, ~std::uint64_t{0})},
      {"a reserved field", header(2, 0, 1) + "{}"},
      {"no JSON", frame("{\"type\":")},
      {"not UTF-8", frame("{\"type\":\"\xff\xfe\"}")},
      {"a lone surrogate", frame(R"({"type":"\ud800"})")},
      {"no object", frame("[1]")},
      {"nothing", frame("")},
      {"a memfd that does not come", frame(R"({"memfd":true})")},
  };
  for (const auto& [what, bytes] : cases) {
    Wire wire;
    wire.put(bytes);
    expect_corrupt(wire, what);
  }
}

TEST(Frame, DeepNestingDoesNotExhaustTheStack) {
  const std::string deep = std::string(1'000'000, '[');
  Wire wire;
  wire.put(header(static_cast<std::uint32_t>(2 * deep.size() + 6), 0));
  std::string rest = "{\"a\":" + deep + std::string(deep.size(), ']') + "}";
  for (std::size_t at = 0; at < rest.size(); at += 50'000) {
    wire.put(std::string_view(rest).substr(at, 50'000));
    const auto next = wire.next();
    ASSERT_TRUE(next);
    if (*next) EXPECT_TRUE((*next)->body.is_object());
  }
}

TEST(Frame, FileDescriptorsThatNothingAnnouncesAreCorruptAndClosed) {
  const std::size_t before = open_descriptors();
  {
    Wire wire;
    wire.put(frame("{}"), {0});
    expect_corrupt(wire, "one too many");
  }
  {
    Wire wire;
    wire.put(frame("{}"), {0, 0, 0, 0, 0, 0});
    expect_corrupt(wire, "more than there is room for");
  }
  {
    Wire wire;
    wire.put(frame(R"({"memfd":true})"), {0});
    expect_corrupt(wire, "not a memfd");
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Frame, AMemfdThatCouldShrinkOrChangeIsRefused) {
  for (const unsigned seals : {0, F_SEAL_SHRINK, F_SEAL_WRITE | F_SEAL_GROW}) {
    const UniqueFd memfd(memfd_create("test", MFD_ALLOW_SEALING | MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(memfd.get(), 4096), 0);
    ASSERT_EQ(fcntl(memfd.get(), F_ADD_SEALS, seals), 0);
    Wire wire;
    wire.put(frame(R"({"memfd":true})"), {memfd.get()});
    expect_corrupt(wire, "seals " + std::to_string(seals));
  }
}

TEST(Frame, ABlobReferenceHasToLieInside) {
  const Frame frame{.body = {}, .payload = Blob(std::string("0123456789")), .memfd = {}};
  EXPECT_EQ(frame.blob({{"in", "payload"}, {"at", 8U}, {"size", 2U}})->view(), "89");
  EXPECT_EQ(frame.blob({{"in", "payload"}, {"at", 10U}, {"size", 0U}})->view(), "");
  for (const char* bad :
       {R"({"in":"payload","at":9,"size":2})", R"({"in":"payload","at":18446744073709551615,"size":2})",
        R"({"in":"payload","at":2,"size":18446744073709551615})", R"({"in":"payload","at":-1,"size":2})",
        R"({"in":"payload","at":"0","size":2})", R"({"in":"memfd","at":0,"size":1})",
        R"({"in":"moon","at":0,"size":0})", R"({"in":"payload","at":0})", R"([1])", R"(null)"}) {
    const auto result = frame.blob(json::parse(bad));
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().kind, ErrorKind::kCorrupt);
  }
}

}  // namespace
}  // namespace banyan::runtime
