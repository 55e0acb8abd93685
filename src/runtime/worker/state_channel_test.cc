#include "runtime/worker/state_channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

namespace banyan::runtime {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Two channels that talk to each other, and what each heard.
struct Pair {
  Pair() {
    auto ends = socket_pair();
    raw = ends->second.get();
    left.emplace(loop, pool, std::move(ends->first), handlers(heard_left, left_error));
    right.emplace(loop, pool, std::move(ends->second), handlers(heard_right, right_error));
  }
  static StateChannel::Handlers handlers(std::vector<Frame>& heard, std::optional<Error>& error) {
    return {.frame = [&heard](Frame frame) { heard.push_back(std::move(frame)); },
            .closed = [&error](Error why) { error = std::move(why); }};
  }
  template <class Condition>
  bool until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!condition() && std::chrono::steady_clock::now() < end) loop.run_for(1ms);
    return condition();
  }

  asio::io_context loop;
  asio::thread_pool pool{1};
  std::vector<Frame> heard_left;
  std::vector<Frame> heard_right;
  std::optional<Error> left_error;
  std::optional<Error> right_error;
  int raw = -1;
  std::optional<StateChannel> left;
  std::optional<StateChannel> right;
};

Outgoing numbered(int number, std::size_t blob_bytes = 0) {
  Outgoing outgoing;
  outgoing.body = {{"n", number}};
  if (blob_bytes > 0) outgoing.body["blob"] = outgoing.add(Blob(std::string(blob_bytes, 'z')));
  return outgoing;
}

TEST(StateChannel, KeepsOrderAlsoWhileThePoolWritesAMemfd) {
  Pair pair;
  pair.left->send(numbered(0, 64 << 20));
  for (int n = 1; n < 200; ++n) pair.left->send(numbered(n, n % 50 == 0 ? 200'000 : 60'000));
  ASSERT_TRUE(pair.until([&] { return pair.heard_right.size() == 200; }));
  for (int n = 0; n < 200; ++n) EXPECT_EQ(pair.heard_right[static_cast<std::size_t>(n)].body["n"], n);
  EXPECT_EQ(pair.heard_right[0].memfd.size(), std::size_t{64} << 20);
}

TEST(StateChannel, WhilePausedThePeerWaits) {
  Pair pair;
  pair.right->pause();
  for (int n = 0; n < 100; ++n) pair.left->send(numbered(n, 60'000));
  pair.loop.run_for(20ms);
  EXPECT_LE(pair.heard_right.size(), 1U);
  pair.right->resume();
  EXPECT_TRUE(pair.until([&] { return pair.heard_right.size() == 100; }));
}

TEST(StateChannel, WhatAPeerWroteBeforeItsEndIsDelivered) {
  Pair pair;
  pair.left->send(numbered(1));
  pair.left->send(numbered(2));
  pair.left.reset();
  ASSERT_TRUE(pair.until([&] { return pair.right_error.has_value(); }));
  EXPECT_EQ(pair.heard_right.size(), 2U);
  EXPECT_EQ(pair.right_error->kind, ErrorKind::kUnavailable);
  EXPECT_TRUE(pair.right->closed());
  pair.right->send(numbered(3));  // no effect, no signal
}

TEST(StateChannel, GarbageEndsItOnce) {
  Pair pair;
  ASSERT_EQ(write(pair.raw, "garbage garbage garbage", 23), 23);
  ASSERT_TRUE(pair.until([&] { return pair.left_error.has_value(); }));
  EXPECT_EQ(pair.left_error->kind, ErrorKind::kCorrupt);
  EXPECT_TRUE(pair.heard_left.empty());
}

TEST(StateChannel, MayBeDestroyedByItsOwnHandler) {
  asio::io_context loop;
  asio::thread_pool pool(1);
  auto ends = socket_pair();
  std::optional<StateChannel> far(
      std::in_place, loop, pool, std::move(ends->first),
      StateChannel::Handlers{.frame = [](const Frame&) {}, .closed = [](const Error&) {}});
  int heard = 0;
  std::unique_ptr<StateChannel> near;
  near = std::make_unique<StateChannel>(loop, pool, std::move(ends->second),
                                        StateChannel::Handlers{.frame =
                                                                   [&](const Frame&) {
                                                                     ++heard;
                                                                     near.reset();
                                                                   },
                                                               .closed = [](const Error&) {}});
  far->send(numbered(1));
  far->send(numbered(2));
  loop.run_for(50ms);
  EXPECT_EQ(heard, 1);
}

}  // namespace
}  // namespace banyan::runtime
