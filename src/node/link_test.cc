#include "node/link.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace banyan::node {
namespace {

const Timing kTiming;
const Sizes kSizes;

PeerMessage numbered(std::uint64_t n) { return Restart{.session = {"s"}, .request = n}; }
std::uint64_t number_of(const PeerMessage& message) { return std::get<Restart>(message).request; }

TEST(Link, DeliversOnceAndInOrderThroughLossRepetitionAndReordering) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Rng rng(seed);
    Link a({1}, kTiming, kSizes), b({2}, kTiming, kSizes);
    std::vector<std::pair<bool, LinkFrame>> wire;  // true: to b
    std::vector<std::uint64_t> at_b, at_a;
    Time now{};
    std::uint64_t sent = 0;
    for (int round = 0; round < 4000 && (at_b.size() < 200 || at_a.size() < 200); ++round, now += 10ms) {
      if (sent < 200 && rng.chance(0.5)) {
        a.send(numbered(++sent));
        b.send(numbered(sent));
      }
      while (auto frame = a.poll(now)) wire.emplace_back(true, std::move(*frame));
      while (auto frame = b.poll(now)) wire.emplace_back(false, std::move(*frame));
      for (int moves = 0; moves < 4 && !wire.empty(); ++moves) {
        const std::size_t pick = rng.below(wire.size());
        auto [to_b, frame] = wire[pick];
        if (!rng.chance(0.1))
          wire.erase(wire.begin() + static_cast<std::ptrdiff_t>(pick));  // else it comes twice
        if (rng.chance(0.2)) continue;                                   // lost
        auto received = (to_b ? b : a).receive(std::move(frame), now);
        for (const auto& message : received.messages) (to_b ? at_b : at_a).push_back(number_of(message));
      }
    }
    ASSERT_EQ(at_b.size(), 200U) << "seed " << seed;
    for (std::uint64_t i = 0; i < 200; ++i) {
      ASSERT_EQ(at_b[i], i + 1) << "seed " << seed;
      ASSERT_EQ(at_a[i], i + 1) << "seed " << seed;
    }
  }
}

TEST(Link, TwoNewLivesThatEachHeardTheOthersOldOneFirstFindEachOther) {
  Time now{};
  Link old_a({1}, kTiming, kSizes), old_b({2}, kTiming, kSizes);
  const LinkFrame late_a = *old_a.poll(now), late_b = *old_b.poll(now);
  Link a({3}, kTiming, kSizes), b({4}, kTiming, kSizes);
  EXPECT_TRUE(a.receive(late_b, now).reset);
  EXPECT_TRUE(b.receive(late_a, now).reset);
  a.send(numbered(1));  // for the life that has ended
  std::vector<std::uint64_t> at_b;
  bool asked_anew = false;
  int frames = 0;
  for (int round = 0; round < 100; ++round, now += 10ms) {
    if (round == 50) a.send(numbered(2));
    for (int turn = 0; turn < 20; ++turn) {
      auto from_a = a.poll(now), from_b = b.poll(now);
      if (!from_a && !from_b) break;
      frames += (from_a ? 1 : 0) + (from_b ? 1 : 0);
      if (from_b) asked_anew = a.receive(*from_b, now).reset || asked_anew;
      if (!from_a) continue;
      for (const auto& message : b.receive(*from_a, now).messages) at_b.push_back(number_of(message));
    }
  }
  EXPECT_TRUE(asked_anew);
  EXPECT_EQ(at_b, std::vector<std::uint64_t>{2});
  EXPECT_LT(frames, 40) << "they answer one another without end";
}

TEST(Link, ANewLifeStartsAnewAndLateFramesOfTheOldOneAreNoNews) {
  Time now{};
  Link a({1}, kTiming, kSizes), old({2}, kTiming, kSizes), young({3}, kTiming, kSizes);
  EXPECT_TRUE(a.receive(*old.poll(now), now).reset);
  old.receive(*a.poll(now), now);
  old.send(numbered(1));
  const LinkFrame late = *old.poll(now);
  EXPECT_FALSE(a.receive(*young.poll(now), now).reset) << "it has to prove that it lives";
  young.receive(*a.poll(now), now);
  EXPECT_TRUE(a.receive(*young.poll(now), now).reset);
  const auto received = a.receive(late, now);
  EXPECT_FALSE(received.reset);
  EXPECT_TRUE(received.messages.empty());
  EXPECT_EQ(a.peer_life(), Incarnation{3});
}

TEST(Link, AFrameOfAnEarlierLifeThatWasNeverHeardOfDoesNotCutOffTheLivingOne) {
  Time now{};
  Link a({1}, kTiming, kSizes), dead({2}, kTiming, kSizes), living({3}, kTiming, kSizes);
  dead.receive(*a.poll(now), now);
  const LinkFrame late = *dead.poll(now);
  EXPECT_TRUE(a.receive(*living.poll(now), now).reset);
  EXPECT_FALSE(a.receive(late, now).reset);
  living.receive(*a.poll(now), now);
  living.send(numbered(7));
  EXPECT_EQ(a.receive(*living.poll(now), now).messages.size(), 1U);
  EXPECT_EQ(a.peer_life(), Incarnation{3});
}

TEST(Link, MessagesBeforeTheFirstContactWaitForIt) {
  Time now{};
  Link a({1}, kTiming, kSizes), b({2}, kTiming, kSizes);
  a.send(numbered(7));
  EXPECT_TRUE(a.poll(now)->messages.empty());
  a.receive(*b.poll(now), now);
  const auto received = b.receive(*a.poll(now), now);
  ASSERT_EQ(received.messages.size(), 1U);
  EXPECT_EQ(number_of(received.messages[0]), 7U);
}

TEST(Link, AFullWindowHoldsBackUntilAcknowledged) {
  Sizes sizes;
  sizes.link_window = 1000;
  Time now{};
  Link a({1}, kTiming, sizes), b({2}, kTiming, sizes);
  a.receive(*b.poll(now), now);
  b.receive(*a.poll(now), now);
  for (int i = 0; i < 100; ++i) a.send(numbered(static_cast<std::uint64_t>(i)));
  std::vector<LinkFrame> frames;
  while (auto frame = a.poll(now)) frames.push_back(std::move(*frame));
  std::size_t arrived = 0;
  for (auto& frame : frames) arrived += b.receive(std::move(frame), now).messages.size();
  EXPECT_LT(arrived, 20U);
  now += 30ms;
  a.receive(*b.poll(now), now);
  EXPECT_TRUE(a.poll(now).has_value());
}

TEST(Link, WhatIsNotAcknowledgedIsRepeatedLessOftenAndSoonAgainOnceSomethingArrives) {
  Time now{};
  Link a({1}, kTiming, kSizes), b({2}, kTiming, kSizes);
  a.receive(*b.poll(now), now);
  b.receive(*a.poll(now), now);
  std::optional<LinkFrame> last;
  const auto repeated_after = [&](std::size_t times) {
    std::vector<Duration> after;
    for (const Time start = now; after.size() < times; now += 10ms) {
      while (auto frame = a.poll(now)) {
        if (frame->messages.empty()) continue;
        if (now > start) after.push_back(now - start);
        last = std::move(frame);
      }
    }
    return after;
  };
  a.send(numbered(1));
  EXPECT_EQ(repeated_after(6), (std::vector<Duration>{200ms, 600ms, 1400ms, 3s, 5s, 7s}));
  EXPECT_EQ(b.receive(*last, now).messages.size(), 1U);
  now += 30ms;
  a.receive(*b.poll(now), now);
  a.send(numbered(2));
  EXPECT_EQ(repeated_after(2), (std::vector<Duration>{200ms, 600ms}));
}

}  // namespace
}  // namespace banyan::node
