#include "runtime/net/grpc_network.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

namespace banyan::runtime {
namespace {

const HostId kA{"a"}, kB{"b"};

node::PeerFrame frame(std::uint64_t number, std::size_t bytes = 0) {
  node::LinkFrame link;
  link.ack = number;
  if (bytes > 0)
    link.messages.push_back({1, node::ChunkPart{{"s"}, {}, bytes, 0, Blob(std::string(bytes, 'x'))}});
  return link;
}
std::uint64_t number_of(const node::PeerFrame& f) { return std::get<node::LinkFrame>(f).ack; }

/// One daemon's network, on the shared loop.
struct Node {
  Node(Loop& loop, const HostId& self, const std::string& secret = "s3cret",
       const std::string& listen = "127.0.0.1:0") {
    auto started =
        GrpcNetwork::start(loop, {self, listen, {}, secret},
                           {[this](const HostId&, node::PeerFrame f) { frames.push_back(std::move(f)); },
                            [this](const HostId&) { ++ups; }, [this](const HostId&) { ++downs; }});
    EXPECT_TRUE(started.has_value());
    network = std::move(*started);
  }
  void connect_to(const HostId& peer, int port) {
    network->add_peer(peer, "127.0.0.1:" + std::to_string(port));
  }
  std::vector<node::PeerFrame> frames;
  int ups = 0;
  int downs = 0;
  std::unique_ptr<GrpcNetwork> network;
};

class GrpcNetworkTest : public testing::Test {
 protected:
  bool run_until(const std::function<bool()>& done, Duration limit = 10s) {
    const Time end = loop_.now().mono + limit;
    while (!done() && loop_.now().mono < end) {
      loop_.io().restart();
      loop_.io().run_for(std::chrono::milliseconds(2));
    }
    return done();
  }
  Loop loop_;
};

TEST_F(GrpcNetworkTest, FramesArriveInBothDirectionsAndLargeOnesToo) {
  Node a(loop_, kA), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  b.connect_to(kA, a.network->port());
  ASSERT_TRUE(run_until([&] { return a.ups == 1 && b.ups == 1; }));
  for (std::uint64_t i = 0; i < 100; ++i) a.network->send(kB, frame(i));
  b.network->send(kA, frame(7, 20 << 20));
  ASSERT_TRUE(run_until([&] { return b.frames.size() == 100 && a.frames.size() == 1; }));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(number_of(b.frames[i]), i);
}

TEST_F(GrpcNetworkTest, APeerThatComesBackIsFoundAgain) {
  Node a(loop_, kA);
  auto b = std::make_unique<Node>(loop_, kB);
  const int port = b->network->port();
  a.connect_to(kB, port);
  ASSERT_TRUE(run_until([&] { return a.ups == 1; }));
  b.reset();
  ASSERT_TRUE(run_until([&] { return a.downs >= 1; }));
  a.network->send(kB, frame(1));
  EXPECT_GE(a.network->dropped(), 1U) << "a frame for a peer that is away is dropped, not kept";
  Node again(loop_, kB, "s3cret", "127.0.0.1:" + std::to_string(port));
  ASSERT_TRUE(run_until([&] { return a.ups >= 2; }));
  a.network->send(kB, frame(2));
  ASSERT_TRUE(run_until([&] { return again.frames.size() == 1; }));
}

TEST_F(GrpcNetworkTest, AWrongSecretIsRefused) {
  Node a(loop_, kA, "other"), b(loop_, kB);
  a.connect_to(kB, b.network->port());
  ASSERT_TRUE(run_until([&] { return a.downs >= 1; }));
  EXPECT_EQ(a.ups, 0);
  EXPECT_TRUE(b.frames.empty());
}

}  // namespace
}  // namespace banyan::runtime
