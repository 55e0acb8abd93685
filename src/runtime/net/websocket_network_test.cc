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
#include "runtime/net/handshake.h"

namespace banyan::runtime {
namespace {

using ::testing::HasSubstr;

const HostId kA{"a"}, kB{"b"}, kGate{"gateway"};
const std::string kSecret = "s3cret, with blanks and ümlauts";

/// The identity of the daemon to which the name belongs in these tests.
const Identity& identity_of(const HostId& name) {
  static std::map<HostId, Identity> all;
  return all.try_emplace(name, Identity::fresh()).first->second;
}

NetConfig config_of(const HostId& self, std::string listen = "127.0.0.1:0") {
  return {.self = self,
          .identity = identity_of(self),
          .listen = std::move(listen),
          .peers = {},
          .secret = kSecret};
}
/// A daemon that knows the secret and uses the name, with a key of its own.
NetConfig impostor_of(const HostId& self, std::string listen = "127.0.0.1:0") {
  NetConfig config = config_of(self, std::move(listen));
  config.identity = Identity::fresh();
  return config;
}
std::string at(int port) { return "127.0.0.1:" + std::to_string(port); }

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
         .turned_away = [this](const HostId& peer,
                               const std::string& why) { turned_away.emplace_back(peer, why); },
         .introduced =
             [this](const HostId& peer, const std::string& where, const std::string& key) {
               if (!where.empty()) introduced[peer] = where;
               keys[peer] = key;
             }});
    EXPECT_TRUE(started.has_value());
    network = std::move(*started);
  }
  Node(Loop& loop, const HostId& self) : Node(loop, config_of(self)) {}
  void connect_to(const HostId& peer, int port, const std::string& key = {}) {
    network->connect(peer, at(port), key);
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
  std::vector<std::pair<HostId, std::string>> turned_away;
  std::map<HostId, std::string> introduced;  ///< where peers say that they listen
  std::map<HostId, std::string> keys;        ///< that peers have proven
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
  /// Long enough for several attempts to connect.
  void run_for(Duration time) {
    run_until([] { return false; }, time);
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
  Node again(loop_, config_of(kB, at(port)));
  ASSERT_TRUE(run_until([&] { return a.ups >= 2; }));
  a.network->send(kB, frame(2));
  ASSERT_TRUE(run_until([&] { return !again.frames.empty(); }));
  EXPECT_EQ(again.numbers(), std::vector<std::uint64_t>{2});
}

TEST_F(WebSocketNetworkTest, WhoeverConnectsTellsWhereItListens) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return b.introduced.contains(kA); }));
  EXPECT_EQ(b.introduced.at(kA), at(a.network->port()));
  EXPECT_FALSE(a.introduced.contains(kB)) << "b has connected to nobody";
}

TEST_F(WebSocketNetworkTest, BothSidesOfAConnectionLearnTheOthersKey) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  EXPECT_EQ(b.keys, (std::map<HostId, std::string>{{kA, identity_of(kA).key()}}));
  EXPECT_EQ(a.keys, (std::map<HostId, std::string>{{kB, identity_of(kB).key()}}));
}

TEST_F(WebSocketNetworkTest, AnAddressThatOthersCannotUseIsNotTold) {
  NetConfig advertised = config_of({"c"}, "0.0.0.0:0");
  advertised.advertise = "c.example:7";
  Node anywhere(loop_, config_of(kA, "0.0.0.0:0")), b(loop_, kB);
  Node named(loop_, advertised);
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
  NetConfig names_b = config_of(kA);
  names_b.peers = {{kB, at(b.network->port())}};
  Node a(loop_, names_b);
  a.connect_to(kB, elsewhere.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.network->send(kB, frame(5));
  ASSERT_TRUE(run_until([&] { return !b.frames.empty(); }));
  EXPECT_TRUE(elsewhere.frames.empty());
}

TEST_F(WebSocketNetworkTest, AWrongSecretIsRefusedAndTheReasonTold) {
  NetConfig other = config_of(kA);
  other.secret = "other";
  Node a(loop_, other), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !a.refusal.empty(); }));
  EXPECT_THAT(a.refusal, HasSubstr("secret"));
  EXPECT_TRUE(b.keys.empty());
  EXPECT_EQ(a.ups + a.downs, 0);
  a.network->send(kB, frame(1));
  EXPECT_TRUE(b.frames.empty());
}

TEST_F(WebSocketNetworkTest, AFullQueueDropsAndTheRestStillGoes) {
  NetConfig narrow = config_of(kA);
  narrow.queue_bytes_max = 4 << 10;
  Node a(loop_, narrow);
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

/// What a daemon that is written for these tests does to the one that listens on `port`.
struct Stranger {
  int port = 0;
  HostId listener = kB;
  HostId name = {"stranger"};
  Identity identity = Identity::fresh();
  bool proves = true;                       ///< it answers the listener's hello as it should
  std::vector<std::string> messages;        ///< that it sends then, whatever it is told
  std::function<void()> meanwhile = [] {};  ///< runs between the listener's hello and its answer
};
struct Heard {
  std::optional<ErrorKind> declined;   ///< the upgrade
  std::optional<std::string> verdict;  ///< why it was refused; empty: it was welcome
  bool ended = false;                  ///< the connection
};

boost::asio::awaitable<void> visit(Stranger stranger, Heard& heard) {
  ClientHandshake handshake(stranger.identity, kSecret, stranger.name.value, {}, stranger.listener.value);
  const Endpoint where{.port = static_cast<std::uint16_t>(stranger.port)};
  auto socket = co_await MessageSocket::connect(where, handshake.target(), jupyter::SubProtocol::kV1);
  if (!socket) {
    heard.declined = socket.error().kind;
    co_return;
  }
  const auto hello = co_await socket->read_frame();
  stranger.meanwhile();
  if (hello && stranger.proves) {
    EXPECT_TRUE(handshake.accept(hello->pieces.front().view()).has_value());
    socket->send_frame({jupyter::FrameKind::kBinary, {Blob(handshake.answer())}});
  }
  for (auto& message : stranger.messages)
    socket->send_frame({jupyter::FrameKind::kBinary, {Blob(std::move(message))}});
  while (const auto said = co_await socket->read_frame())
    if (const auto verdict = read_verdict(said->pieces.front().view()); verdict) heard.verdict = *verdict;
  heard.ended = true;
}

TEST_F(WebSocketNetworkTest, AFrameThatDoesNotDecodeIsLostAndTheNextOneArrives) {
  Node b(loop_, kB);
  const std::string good = behind_length(encode(frame(5)));
  std::string batch;
  for (const char* garbage : {"", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x01\x7f", "no frame at all"})
    batch += behind_length(garbage);
  Stranger stranger{.port = b.network->port()};
  stranger.messages = {batch + good, "", "\xff\xff\xff", "\xff\xff\xff\xff", good.substr(0, good.size() - 1),
                       good};
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit(stranger, heard), boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 2; }));
  EXPECT_EQ(heard.verdict, "");
  EXPECT_EQ(b.numbers(), (std::vector<std::uint64_t>{5, 5}));
}

TEST_F(WebSocketNetworkTest, ADaemonOfAnEarlierVersionIsDeclined) {
  Node b(loop_, kB);
  std::optional<ErrorKind> declined;
  const Endpoint where{.port = static_cast<std::uint16_t>(b.network->port()),
                       .token = percent_encode(kSecret)};
  boost::asio::co_spawn(
      loop_.io(),
      [&]() -> boost::asio::awaitable<void> {
        const auto socket =
            co_await MessageSocket::connect(where, "/peers/stranger", jupyter::SubProtocol::kV1);
        if (!socket) declined = socket.error().kind;
      },
      boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return declined.has_value(); }));
  EXPECT_EQ(declined, ErrorKind::kDenied);
}

TEST_F(WebSocketNetworkTest, WhatComesBeforeTheProofIsNoFrame) {
  Node b(loop_, kB);
  Stranger stranger{.port = b.network->port(), .proves = false};
  stranger.messages = {behind_length(encode(frame(5))), behind_length(encode(frame(6)))};
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit(stranger, heard), boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return heard.ended; }));
  EXPECT_TRUE(heard.verdict && !heard.verdict->empty()) << "it is told that it is refused";
  EXPECT_TRUE(b.frames.empty());
  EXPECT_TRUE(b.keys.empty());
}

TEST_F(WebSocketNetworkTest, AStrangerMayNotSendMuch) {
  Node b(loop_, kB);
  Stranger stranger{.port = b.network->port(), .proves = false};
  stranger.messages = {std::string(1 << 20, 'x')};
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit(stranger, heard), boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return heard.ended; }, 3s)) << "before the time for the handshake is over";
  EXPECT_FALSE(heard.verdict.has_value());
}

TEST_F(WebSocketNetworkTest, AStrangerThatSaysNothingIsDroppedAfterAWhile) {
  Node b(loop_, kB);
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit({.port = b.network->port(), .proves = false}, heard),
                        boost::asio::detached);
  EXPECT_TRUE(run_until([&] { return heard.ended; }, 10s));
}

TEST_F(WebSocketNetworkTest, AnImpostorIsRefusedToldWhatToDoAndNotHeard) {
  Node b(loop_, kB);
  {
    Node a(loop_, kA);
    a.connect_to(kB, b.network->port());
    b.connect_to(kA, a.network->port());
    ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  }
  Node impostor(loop_, impostor_of(kA));
  impostor.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !impostor.refusal.empty(); }));
  EXPECT_THAT(impostor.refusal, HasSubstr("the name a belongs to another key"));
  EXPECT_THAT(impostor.refusal, HasSubstr("`banyan hosts remove a`"));
  Heard heard;
  Stranger rude{.port = b.network->port(), .name = kA, .messages = {behind_length(encode(frame(5)))}};
  boost::asio::co_spawn(loop_.io(), visit(rude, heard), boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return heard.ended; }));
  EXPECT_THAT(heard.verdict.value_or(""), HasSubstr("another key"));
  run_for(500ms);
  EXPECT_EQ(impostor.ups, 0);
  EXPECT_TRUE(b.frames.empty());
  ASSERT_EQ(b.turned_away.size(), 1U) << "told once, however often they come back";
  EXPECT_EQ(b.turned_away[0].first, kA);
  EXPECT_THAT(b.turned_away[0].second, HasSubstr("connected from 127.0.0.1:"));
  EXPECT_EQ(b.keys.at(kA), identity_of(kA).key());
  Node a(loop_, kA);
  a.connect_to(kB, b.network->port());
  EXPECT_TRUE(run_until([&] { return a.ups == 1; })) << "the real one comes back";
}

TEST_F(WebSocketNetworkTest, AnImpostorThatListensInThePlaceOfAPeerIsRefused) {
  Node a(loop_, kA);
  auto b = std::make_unique<Node>(loop_, kB);
  const int port = b->network->port();
  a.connect_to(kB, port);
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  b.reset();
  {
    Node impostor(loop_, impostor_of(kB, at(port)));
    ASSERT_TRUE(run_until([&] { return !a.turned_away.empty() && !impostor.refusal.empty(); }));
    EXPECT_THAT(a.turned_away[0].second, HasSubstr("it listens at " + at(port)));
    EXPECT_THAT(impostor.refusal, HasSubstr("the name b belongs to another key"));
    a.network->send(kB, frame(1));
    run_for(500ms);
    EXPECT_EQ(a.ups, 1);
    EXPECT_TRUE(impostor.frames.empty());
    EXPECT_TRUE(impostor.keys.empty());
  }
  Node again(loop_, config_of(kB, at(port)));
  EXPECT_TRUE(run_until([&] { return a.ups == 2; }));
}

TEST_F(WebSocketNetworkTest, AnImpostorOfTheGatewayIsRefusedWithWhatTheHostWants) {
  NetConfig pins = config_of(kA);
  pins.keys = {{kGate, {.key = identity_of(kGate).key(), .remedy = "delete the file gateway.key"}}};
  Node a(loop_, pins), gateway(loop_, kGate), impostor(loop_, impostor_of(kGate));
  impostor.connect_to(kA, a.network->port());
  ASSERT_TRUE(run_until([&] { return !impostor.refusal.empty(); }));
  EXPECT_THAT(impostor.refusal, HasSubstr("the name gateway belongs to another key"));
  EXPECT_THAT(impostor.refusal, HasSubstr("delete the file gateway.key"));
  a.connect_to(kGate, impostor.network->port());
  run_for(500ms);
  EXPECT_EQ(a.ups + impostor.ups, 0);
  a.connect_to(kGate, gateway.network->port());
  gateway.connect_to(kA, a.network->port());
  EXPECT_TRUE(run_until([&] { return a.ups == 1 && gateway.ups == 1; }));
}

TEST_F(WebSocketNetworkTest, AStrangersNameIsFreeWhenItsLastConnectionEnds) {
  Node b(loop_, kB);
  {
    Node a(loop_, kA);
    a.connect_to(kB, b.network->port());
    ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
    Node other(loop_, impostor_of(kA));
    other.connect_to(kB, b.network->port());
    ASSERT_TRUE(run_until([&] { return !other.refusal.empty(); }))
        << "while it is connected the name is its own";
  }
  Node later(loop_, impostor_of(kA));
  later.connect_to(kB, b.network->port());
  EXPECT_TRUE(run_until([&] { return later.ups == 1; }));
}

TEST_F(WebSocketNetworkTest, WhoeverNobodyHasNamedWaits) {
  NetConfig waits = config_of(kB);
  waits.strangers = Strangers::kWait;
  Node b(loop_, waits), a(loop_, kA);
  a.connect_to(kB, b.network->port());
  run_for(500ms);
  EXPECT_EQ(a.ups, 0);
  EXPECT_EQ(a.refusal, "") << "it is soon named, mostly";
  EXPECT_TRUE(b.keys.empty());
  b.connect_to(kA, a.network->port());
  EXPECT_TRUE(run_until([&] { return a.ups == 1 && b.ups == 1; }));
}

TEST_F(WebSocketNetworkTest, ANameThatIsTakenAwayDuringTheHandshakeIsNotHeard) {
  NetConfig waits = config_of(kB);
  waits.strangers = Strangers::kWait;
  Node b(loop_, waits), a(loop_, kA);
  b.connect_to(kA, a.network->port());
  Stranger leaving{.port = b.network->port(), .name = kA, .messages = {behind_length(encode(frame(5)))}};
  leaving.meanwhile = [&] { b.network->disconnect(kA); };
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit(leaving, heard), boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return heard.ended; }));
  EXPECT_TRUE(b.frames.empty());
}

TEST_F(WebSocketNetworkTest, TheKeyOfAPinnedNameIsLearnedWhereItListens) {
  NetConfig pins = config_of(kA);
  int port = 0;
  {
    Node free(loop_, kB);  // nothing listens there yet
    port = free.network->port();
  }
  pins.peers = {{kGate, at(port)}};
  pins.keys = {{kGate, {.key = {}, .remedy = {}}}};
  Node a(loop_, pins), impostor(loop_, impostor_of(kGate));
  impostor.connect_to(kA, a.network->port());
  run_for(500ms);
  EXPECT_EQ(impostor.ups, 0) << "it is not what listens there";
  Node real(loop_, config_of(kGate, at(port)));
  real.connect_to(kA, a.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1 && real.ups == 1; }));
  EXPECT_EQ(a.keys.at(kGate), identity_of(kGate).key());
}

TEST_F(WebSocketNetworkTest, ANameThatWasDisconnectedBelongsToWhoeverProvesItNext) {
  Node b(loop_, kB), a(loop_, kA);
  a.connect_to(kB, b.network->port());
  b.connect_to(kA, a.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  a.network->disconnect(kB);
  Node anew(loop_, impostor_of(kA));  // installed anew: it has no key but its own
  anew.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !anew.refusal.empty(); }));
  b.network->disconnect(kA);
  ASSERT_TRUE(run_until([&] { return anew.ups == 1; }));
  EXPECT_NE(b.keys.at(kA), identity_of(kA).key());
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !a.refusal.empty(); })) << "and to nobody else";
}

TEST_F(WebSocketNetworkTest, WhatTheOwnerSaysCountsMoreThanWhoCameFirst) {
  Node b(loop_, kB), first(loop_, impostor_of(kA)), a(loop_, kA);
  first.connect_to(kB, b.network->port());
  b.connect_to(kA, first.network->port());
  ASSERT_TRUE(run_until([&] { return first.ups == 1 && b.ups == 1; }));
  first.network->send(kB, frame(1));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 1; }));
  b.connect_to(kA, first.network->port(), identity_of(kA).key());
  first.network->send(kB, frame(2));
  ASSERT_TRUE(run_until([&] { return first.downs == 1 && b.downs == 1 && !first.refusal.empty(); }));
  EXPECT_EQ(b.frames.size(), 1U) << "the name was not its own any more";
  b.connect_to(kA, a.network->port(), identity_of(kA).key());
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1 && b.ups == 2; }));
  a.network->send(kB, frame(3));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 2; }));
  EXPECT_EQ(b.numbers(), (std::vector<std::uint64_t>{1, 3}));
}

TEST_F(WebSocketNetworkTest, ADaemonThatRestartsKnowsTheKeysThatItsOwnerSays) {
  Node b(loop_, kB);
  b.network->connect(kA, "127.0.0.1:1", identity_of(kA).key());  // as its records say
  Node impostor(loop_, impostor_of(kA)), a(loop_, kA);
  impostor.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return !impostor.refusal.empty(); })) << "though it comes first";
  a.connect_to(kB, b.network->port());
  EXPECT_TRUE(run_until([&] { return a.ups == 1; }));
}

TEST_F(WebSocketNetworkTest, NobodyElseUsesADaemonsOwnName) {
  Node b(loop_, kB), impostor(loop_, impostor_of(kB));
  impostor.connect_to({"x"}, b.network->port());
  ASSERT_TRUE(run_until([&] { return !impostor.refusal.empty(); }));
  EXPECT_THAT(impostor.refusal, HasSubstr("is b, not x"));
  Heard heard;
  boost::asio::co_spawn(loop_.io(), visit({.port = b.network->port(), .name = kB}, heard),
                        boost::asio::detached);
  ASSERT_TRUE(run_until([&] { return heard.ended; }));
  EXPECT_THAT(heard.verdict.value_or(""), HasSubstr("another key"));
}

TEST_F(WebSocketNetworkTest, AnAddressThatIsNoneIsAnError) {
  for (const char* address : {"", "7401", "127.0.0.1:", "127.0.0.1:port", "127.0.0.1:70000", ":7401"}) {
    const auto none = WebSocketNetwork::start(loop_, config_of(kA, address), {});
    ASSERT_FALSE(none.has_value()) << address;
    EXPECT_EQ(none.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(none.error().message, HasSubstr("HOST:PORT"));
  }
  Node a(loop_, config_of(kA, "[::1]:0"));
  a.network->connect(kB, "127.0.0.1:0", {});
  EXPECT_THAT(a.refusal, HasSubstr("no address of b"));
}

TEST_F(WebSocketNetworkTest, AnAddressInUseIsAnError) {
  Node a(loop_, kA);
  const auto second = WebSocketNetwork::start(loop_, config_of(kB, at(a.network->port())), {});
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().message, HasSubstr("in use"));
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
