#include "runtime/net/websocket_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdlib>
#include <optional>

#include "base/codec.h"
#include "runtime/http/message_socket.h"

namespace banyan::runtime {
namespace {

const HostId kA{"a"}, kB{"b"};
const std::string kSecret = "s3cret, with blanks and ümlauts";

node::PeerFrame frame(std::uint64_t number, std::size_t bytes = 0) {
  node::LinkFrame link;
  link.ack = number;
  if (bytes > 0)
    link.messages.push_back({1, node::ChunkPart{{"s"}, {}, bytes, 0, Blob(std::string(bytes, 'x')), {}}});
  return link;
}
std::uint64_t number_of(const node::PeerFrame& f) { return std::get<node::LinkFrame>(f).ack; }

/// One daemon's network, on the shared loop.
struct Node {
  Node(Loop& loop, NetConfig config) {
    auto started = WebSocketNetwork::start(
        loop, std::move(config),
        {.frame = [this](const HostId&, node::PeerFrame f) { frames.push_back(std::move(f)); },
         .up = [this](const HostId&) { ++ups; },
         .down = [this](const HostId&) { ++downs; },
         .refused = [this](const HostId&, const std::string& why) { refusal = why; },
         .introduced = [this](const HostId& peer, const std::string& where) { introduced[peer] = where; }});
    EXPECT_TRUE(started.has_value());
    network = std::move(*started);
  }
  Node(Loop& loop, const HostId& self) : Node(loop, {self, "127.0.0.1:0", {}, kSecret}) {}
  void connect_to(const HostId& peer, int port) {
    network->connect(peer, "127.0.0.1:" + std::to_string(port));
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers() const {
    std::vector<std::uint64_t> all;
    for (const auto& f : frames) all.push_back(number_of(f));
    return all;
  }
  std::vector<node::PeerFrame> frames;
  int ups = 0;
  int downs = 0;
  std::string refusal;
  std::map<HostId, std::string> introduced;
  std::unique_ptr<WebSocketNetwork> network;
};

class WebSocketNetworkTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done, Duration limit = 20s) {
    const Time end = loop_.now().mono + limit;
    while (!done() && loop_.now().mono < end) {
      loop_.io().restart();
      loop_.io().run_for(std::chrono::milliseconds(2));
    }
    return done();
  }
  Loop loop_;
};

TEST_F(WebSocketNetworkTest, FramesArriveInBothDirectionsAndLargeOnesToo) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  b.connect_to(kA, a.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1 && b.ups == 1; }));
  for (std::uint64_t i = 0; i < 100; ++i) a.network->send(kB, frame(i));
  b.network->send(kA, frame(7, 20 << 20));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 100 && a.frames.size() == 1; }));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(number_of(b.frames[i]), i);
  const auto& large = std::get<node::LinkFrame>(a.frames[0]);
  EXPECT_EQ(std::get<node::ChunkPart>(large.messages[0].message).bytes.size(), 20U << 20);
}

TEST_F(WebSocketNetworkTest, APeerThatComesBackIsFoundAgain) {
  Node a(loop_, kA);
  auto b = std::make_unique<Node>(loop_, kB);
  const int port = b->network->port();
  a.connect_to(kB, port);
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  b.reset();
  ASSERT_TRUE(run_until([&] { return a.downs >= 1; }));
  a.network->send(kB, frame(1));
  EXPECT_GE(a.network->dropped(), 1U) << "a frame for a peer that is away is dropped, not kept";
  Node again(loop_, {kB, "127.0.0.1:" + std::to_string(port), {}, kSecret});
  ASSERT_TRUE(run_until([&] { return a.ups >= 2; }));
  a.network->send(kB, frame(2));
  ASSERT_TRUE(run_until([&] { return !again.frames.empty(); }));
  EXPECT_EQ(again.numbers(), std::vector<std::uint64_t>{2});
}

TEST_F(WebSocketNetworkTest, WhoeverConnectsTellsWhereItListens) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return b.introduced.contains(kA); }));
  EXPECT_EQ(b.introduced.at(kA), "127.0.0.1:" + std::to_string(a.network->port()));
  EXPECT_FALSE(a.introduced.contains(kB)) << "b has connected to nobody";
}

TEST_F(WebSocketNetworkTest, AnAddressThatOthersCannotUseIsNotTold) {
  Node anywhere(loop_, {.self = kA, .listen = "0.0.0.0:0", .secret = kSecret}), b(loop_, kB);
  Node named(loop_, {.self = {"c"}, .listen = "0.0.0.0:0", .secret = kSecret, .advertise = "c.example:7"});
  anywhere.connect_to(kB, b.network->port());
  named.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return anywhere.ups == 1 && b.introduced.contains({"c"}); }));
  EXPECT_EQ(b.introduced, (std::map<HostId, std::string>{{{"c"}, "c.example:7"}}));
}

TEST_F(WebSocketNetworkTest, APeerIsSentNothingAfterItWasDisconnected) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.network->disconnect(kB);
  a.network->send(kB, frame(1));
  EXPECT_EQ(a.network->dropped(), 1U);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 2; }));
  a.network->send(kB, frame(2));
  ASSERT_TRUE(run_until([&] { return !b.frames.empty(); }));
  EXPECT_EQ(b.numbers(), std::vector<std::uint64_t>{2});
  EXPECT_EQ(a.downs, 0) << "the owner knows that it has disconnected the peer";
}

TEST_F(WebSocketNetworkTest, APeerMayMoveToAnotherAddress) {
  Node a(loop_, kA), b(loop_, kB);
  Node moved(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.connect_to(kB, moved.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 2; }));
  a.network->send(kB, frame(3));
  ASSERT_TRUE(run_until([&] { return !moved.frames.empty(); }));
  EXPECT_TRUE(b.frames.empty());
}

TEST_F(WebSocketNetworkTest, TheAddressOfItsOwnFileIsTheOneThatCounts) {
  Node b(loop_, kB), elsewhere(loop_, kB);
  const std::string own = "127.0.0.1:" + std::to_string(b.network->port());
  Node a(loop_, {.self = kA, .listen = "127.0.0.1:0", .peers = {{kB, own}}, .secret = kSecret});
  a.connect_to(kB, elsewhere.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.network->send(kB, frame(5));
  ASSERT_TRUE(run_until([&] { return !b.frames.empty(); }));
  EXPECT_TRUE(elsewhere.frames.empty());
}

TEST_F(WebSocketNetworkTest, AWrongSecretIsRefusedAndTheReasonTold) {
  Node a(loop_, {kA, "127.0.0.1:0", {}, "other"}), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !a.refusal.empty(); }));
  EXPECT_THAT(a.refusal, testing::HasSubstr("secret"));
  EXPECT_EQ(a.ups + a.downs, 0);
  a.network->send(kB, frame(1));
  EXPECT_TRUE(b.frames.empty());
}

TEST_F(WebSocketNetworkTest, AFullQueueDropsAndTheRestStillGoes) {
  Node a(loop_, {.self = kA, .listen = "127.0.0.1:0", .secret = kSecret, .queue_bytes_max = 4 << 10});
  Node b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.network->send(kB, frame(1, 8 << 20));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 1; })) << "a frame larger than the queue goes alone";
  for (std::uint64_t i = 0; i < 1000; ++i) a.network->send(kB, frame(2 + i, 1 << 10));
  EXPECT_GT(a.network->dropped(), 50U);
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 1001 - a.network->dropped(); }));
  a.network->send(kB, frame(1000));
  ASSERT_TRUE(run_until([&] { return number_of(b.frames.back()) == 1000; }));
}

/// A frame behind its length, as in a batch.
std::string behind_length(const std::string& bytes) {
  std::string all(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) all[i] = static_cast<char>(bytes.size() >> (8 * i));
  return all + bytes;
}

/// Sends WebSocket messages as they are to what listens on `port`.
boost::asio::awaitable<void> send_raw(int port, std::string secret, std::vector<std::string> messages,
                                      std::optional<ErrorKind>& declined) {
  const Endpoint where{.port = static_cast<std::uint16_t>(port), .token = percent_encode(secret)};
  auto socket = co_await MessageSocket::connect(where, "/peers/stranger", jupyter::SubProtocol::kV1);
  if (!socket) {
    declined = socket.error().kind;
    co_return;
  }
  for (auto& message : messages)
    socket->send_frame({jupyter::FrameKind::kBinary, {Blob(std::move(message))}});
  socket->close(1000, "done");
  (void)co_await socket->read();
}

TEST_F(WebSocketNetworkTest, AFrameThatDoesNotDecodeIsLostAndTheNextOneArrives) {
  Node b(loop_, kB);
  const std::string good = behind_length(encode(frame(5)));
  std::string batch;
  for (const char* garbage : {"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x01\x7f", "no frame at all"})
    batch += behind_length(garbage);
  std::optional<ErrorKind> declined;
  const std::vector<std::string> messages = {
      batch + good, "", "\xff\xff\xff", "\xff\xff\xff\xff", good.substr(0, good.size() - 1), good};
  boost::asio::co_spawn(loop_.io(), send_raw(b.network->port(), kSecret, messages, declined),
                        boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 2; }));
  EXPECT_EQ(b.numbers(), (std::vector<std::uint64_t>{5, 5}));
}

TEST_F(WebSocketNetworkTest, AStrangerIsDeclined) {
  Node b(loop_, kB);
  std::optional<ErrorKind> declined;
  boost::asio::co_spawn(loop_.io(), send_raw(b.network->port(), "guess", {}, declined),
                        boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return declined.has_value(); }));
  EXPECT_EQ(declined, ErrorKind::kDenied);
}

TEST_F(WebSocketNetworkTest, AnAddressThatIsNoneIsAnError) {
  for (const char* address : {"", "7401", "127.0.0.1:", "127.0.0.1:port", "127.0.0.1:70000", ":7401"}) {
    const auto none = WebSocketNetwork::start(loop_, {kA, address, {}, kSecret}, {});
    ASSERT_FALSE(none.has_value()) << address;
    EXPECT_EQ(none.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(none.error().message, testing::HasSubstr("HOST:PORT"));
  }
  Node a(loop_, {kA, "[::1]:0", {}, kSecret});
  a.network->connect(kB, "127.0.0.1:0");
  EXPECT_THAT(a.refusal, testing::HasSubstr("no address of b"));
}

TEST_F(WebSocketNetworkTest, AnAddressInUseIsAnError) {
  Node a(loop_, kA);
  const auto second =
      WebSocketNetwork::start(loop_, {kB, "127.0.0.1:" + std::to_string(a.network->port()), {}, kSecret}, {});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, testing::HasSubstr("in use"));
}

// Not a test: the process that APeerThatIsKilledIsNoticedAtOnce starts and kills.
TEST(PeerProcess, DISABLED_Serve) {
  const char* pipe = std::getenv("BANYAN_TEST_PIPE");
  if (pipe == nullptr) GTEST_SKIP() << "for the test below";
  Loop loop;
  Node b(loop, kB);
  const std::string port = std::to_string(b.network->port());
  ASSERT_EQ(write(std::atoi(pipe), port.c_str(), port.size()), static_cast<ssize_t>(port.size()));
  loop.run();
}

TEST_F(WebSocketNetworkTest, APeerThatIsKilledIsNoticedAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  setenv("BANYAN_TEST_PIPE", std::to_string(ends[1]).c_str(), 1);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=PeerProcess.*",
              also = "--gtest_also_run_disabled_tests", output = "--gtest_output=";
  char* arguments[] = {program.data(), filter.data(), also.data(), output.data(), nullptr};
  pid_t peer = 0;
  ASSERT_EQ(posix_spawn(&peer, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  char port[8] = {};
  ASSERT_GT(read(ends[0], port, sizeof port - 1), 0);

  Node a(loop_, kA);
  a.connect_to(kB, std::atoi(port));
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  ASSERT_EQ(kill(peer, SIGKILL), 0);
  ASSERT_EQ(waitpid(peer, nullptr, 0), peer);
  const Time killed = loop_.now().mono;
  ASSERT_TRUE(run_until([&] { return a.downs >= 1; }));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(loop_.now().mono - killed);
  RecordProperty("noticed_after_us", static_cast<int>(took.count()));
  EXPECT_LT(took, 1s) << "not by keepalive";
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace banyan::runtime
