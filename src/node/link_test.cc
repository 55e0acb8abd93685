#include "node/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/random.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

/// Another host may come under the name of one that was removed.
TEST(Link, WhatWaitsForTheFirstContactCanBeForgottenUntilThen) {
  Time now{};
  Link a({1}, kTiming, kSizes), b({2}, kTiming, kSizes);
  std::vector<std::uint64_t> at_b;
  const auto exchange = [&] {
    for (int round = 0; round < 50; ++round, now += 10ms) {
      while (auto frame = a.poll(now))
        for (const auto& message : b.receive(std::move(*frame), now).messages)
          at_b.push_back(number_of(message));
      while (auto frame = b.poll(now)) a.receive(std::move(*frame), now);
    }
  };
  a.send(numbered(1));
  a.forget_unheard();
  EXPECT_EQ(a.backlog_bytes(), 0U);
  a.send(numbered(2));
  exchange();
  EXPECT_EQ(at_b, std::vector<std::uint64_t>{2});
  a.send(numbered(3));
  a.forget_unheard();
  exchange();
  EXPECT_EQ(at_b, (std::vector<std::uint64_t>{2, 3})) << "what is said to a living peer arrives";
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

PeerMessage part_of(std::size_t bytes) { return ChunkPart{.bytes = Blob(std::string(bytes, 'x'))}; }

/// Two ends that know each other.
class LinkEnds : public ::testing::Test {
 protected:
  explicit LinkEnds(const Sizes& sizes = kSizes) : a_({1}, kTiming, sizes), b_({2}, kTiming, sizes) {
    a_.receive(*b_.poll(now_), now_);
    b_.receive(*a_.poll(now_), now_);
    a_.receive(*b_.poll(now_), now_);
  }

  static std::vector<std::uint64_t> numbers_in(const std::vector<PeerMessage>& messages) {
    std::vector<std::uint64_t> numbers;
    for (const PeerMessage& message : messages) numbers.push_back(number_of(message));
    return numbers;
  }
  /// The messages that the end wants to send now, each frame by itself.
  std::vector<std::vector<std::uint64_t>> frames_of(Link& end) {
    std::vector<std::vector<std::uint64_t>> frames;
    while (auto frame = end.poll(now_)) {
      frames.emplace_back();
      for (const Numbered& one : frame->messages) frames.back().push_back(one.seq);
    }
    return frames;
  }
  /// Another life of a's daemon is the present one for b from now on.
  void begin_life(Link& next) {
    EXPECT_FALSE(b_.receive(*next.poll(now_), now_).reset);
    next.receive(*b_.poll(now_), now_);
    EXPECT_TRUE(b_.receive(*next.poll(now_), now_).reset);
  }

  Time now_{};
  Link a_, b_;
};

TEST_F(LinkEnds, TheBacklogIsWhatWaitsAndWhatIsNotAcknowledged) {
  EXPECT_EQ(a_.backlog_bytes(), 0U);
  a_.send(part_of(1000));
  EXPECT_EQ(a_.backlog_bytes(), 1064U);
  const LinkFrame frame = *a_.poll(now_);
  EXPECT_EQ(a_.backlog_bytes(), 1064U) << "it may have to be repeated";
  b_.receive(frame, now_);
  now_ += 20ms;
  a_.receive(*b_.poll(now_), now_);
  EXPECT_EQ(a_.backlog_bytes(), 0U);
}

TEST_F(LinkEnds, WhatWasForAnEndedLifeIsNotForTheNextOne) {
  b_.send(numbered(1));
  ASSERT_TRUE(b_.poll(now_));
  now_ += 200ms;
  ASSERT_TRUE(b_.poll(now_)) << "it is repeated";
  Link next({3}, kTiming, kSizes);
  EXPECT_FALSE(b_.receive(*next.poll(now_), now_).reset);
  next.receive(*b_.poll(now_), now_);
  b_.send(numbered(2));  // it still waits when the next life begins
  EXPECT_TRUE(b_.receive(*next.poll(now_), now_).reset);
  EXPECT_EQ(b_.backlog_bytes(), 0U);
  b_.send(numbered(3));
  const LinkFrame first = *b_.poll(now_);
  EXPECT_THAT(numbers_in(next.receive(first, now_).messages), ElementsAre(3U));
  now_ += 199ms;
  EXPECT_THAT(frames_of(b_), IsEmpty()) << "repeats begin anew, too";
  now_ += 1ms;
  EXPECT_THAT(frames_of(b_), ElementsAre(ElementsAre(1U)));
  EXPECT_EQ(b_.backlog_bytes(), 64U);
}

TEST_F(LinkEnds, WhatCameEarlyOfAnEndedLifeIsNotTakenForTheNextOnes) {
  std::vector<LinkFrame> frames;
  for (std::uint64_t n = 1; n <= 3; ++n) {
    a_.send(numbered(n));
    frames.push_back(*a_.poll(now_));
  }
  EXPECT_THAT(numbers_in(b_.receive(frames[0], now_).messages), ElementsAre(1U));
  EXPECT_THAT(b_.receive(frames[2], now_).messages, IsEmpty());
  Link next({3}, kTiming, kSizes);
  begin_life(next);
  next.receive(*b_.poll(now_), now_);
  for (const std::uint64_t n : {7U, 8U, 9U}) {
    next.send(numbered(n));
    EXPECT_THAT(numbers_in(b_.receive(*next.poll(now_), now_).messages), ElementsAre(n));
  }
}

TEST_F(LinkEnds, AFrameForAnEarlierLifeIsOnlyASignOfLifeAndAnsweredAtOnce) {
  now_ += 100ms;
  const auto received = a_.receive({.from = {2}, .to = {99}, .messages = {{1, numbered(1)}}}, now_);
  EXPECT_FALSE(received.reset);
  EXPECT_THAT(received.messages, IsEmpty());
  EXPECT_EQ(a_.last_heard(), now_);
  EXPECT_TRUE(a_.poll(now_)) << "so that it hears of this life";
}

TEST_F(LinkEnds, OnlyThePresentLifeOfThePeerCountsAsHeard) {
  Link unknown({1}, kTiming, kSizes);
  EXPECT_FALSE(unknown.last_heard());
  const Time before = now_;
  now_ += 100ms;
  a_.receive({.from = {9}, .to = {1}, .messages = {}}, now_);
  EXPECT_EQ(a_.last_heard(), before);
  EXPECT_TRUE(a_.poll(now_)) << "it is asked whether it lives";
  a_.receive({.from = {2}, .to = {1}, .messages = {}}, now_);
  EXPECT_EQ(a_.last_heard(), now_);
}

TEST_F(LinkEnds, EachSaysNowAndThenThatItLives) {
  now_ += 499ms;
  EXPECT_FALSE(a_.poll(now_));
  now_ += 1ms;
  const auto frame = a_.poll(now_);
  ASSERT_TRUE(frame);
  EXPECT_FALSE(a_.poll(now_));
  b_.poll(now_);
  b_.receive(*frame, now_);
  now_ += 100ms;
  EXPECT_FALSE(b_.poll(now_)) << "that needs no answer";
}

TEST_F(LinkEnds, OneThatDoesNotKnowThePeerSaysItMoreOften) {
  Link lonely({5}, kTiming, kSizes);
  EXPECT_TRUE(lonely.poll(now_));
  now_ += 199ms;
  EXPECT_FALSE(lonely.poll(now_));
  now_ += 1ms;
  EXPECT_TRUE(lonely.poll(now_));
}

TEST_F(LinkEnds, AnAcknowledgementWaitsAMomentForAMessageToRideOn) {
  a_.send(numbered(1));
  b_.receive(*a_.poll(now_), now_);
  now_ += 10ms;
  a_.send(numbered(2));
  b_.receive(*a_.poll(now_), now_);
  now_ += 9ms;
  EXPECT_FALSE(b_.poll(now_));
  now_ += 1ms;
  const auto frame = b_.poll(now_);
  ASSERT_TRUE(frame) << "20 ms after the first";
  EXPECT_EQ(frame->ack, 2U);
  now_ += 100ms;
  EXPECT_FALSE(b_.poll(now_)) << "once";
}

TEST_F(LinkEnds, ManyBytesAreAcknowledgedAtOnce) {
  a_.send(part_of((256 << 10) - 128));
  b_.receive(*a_.poll(now_), now_);
  EXPECT_FALSE(b_.poll(now_));
  a_.send(part_of(0));
  b_.receive(*a_.poll(now_), now_);
  EXPECT_EQ(b_.poll(now_)->ack, 2U);
  a_.send(part_of(1000));
  b_.receive(*a_.poll(now_), now_);
  EXPECT_FALSE(b_.poll(now_)) << "they are counted anew";
}

TEST_F(LinkEnds, ARepeatedMessageIsAcknowledgedAgain) {
  a_.send(numbered(1));
  const LinkFrame frame = *a_.poll(now_);
  b_.receive(frame, now_);
  now_ += 20ms;
  EXPECT_TRUE(b_.poll(now_)) << "and that is lost";
  now_ += 180ms;
  EXPECT_THAT(b_.receive(frame, now_).messages, IsEmpty());
  now_ += 20ms;
  a_.receive(*b_.poll(now_), now_);
  EXPECT_EQ(a_.backlog_bytes(), 0U);
}

TEST_F(LinkEnds, AnAcknowledgementOfSomeOfThemPutsTheRepeatOfTheRestOff) {
  a_.send(numbered(1));
  b_.receive(*a_.poll(now_), now_);
  a_.send(numbered(2));
  ASSERT_TRUE(a_.poll(now_)) << "and that is lost";
  now_ += 100ms;
  a_.receive(*b_.poll(now_), now_);
  now_ += 199ms;
  EXPECT_THAT(frames_of(a_), IsEmpty());
  now_ += 1ms;
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(2U)));
}

TEST_F(LinkEnds, OnceAllIsAcknowledgedTheNextMessageIsRepeatedAfterItsOwnTime) {
  a_.send(numbered(1));
  b_.receive(*a_.poll(now_), now_);
  now_ += 100ms;
  a_.receive(*b_.poll(now_), now_);
  now_ += 150ms;
  a_.send(numbered(2));
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(2U)));
  now_ += 199ms;
  EXPECT_THAT(frames_of(a_), IsEmpty());
  now_ += 1ms;
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(2U)));
}

TEST_F(LinkEnds, AFrameIsClosedOnceItIsLargeAlsoWhenItIsARepeat) {
  for (int n = 0; n < 3; ++n) a_.send(part_of(700'000));
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U, 2U), ElementsAre(3U)));
  now_ += 200ms;
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U, 2U))) << "the rest follows their acknowledgement";
}

TEST_F(LinkEnds, OfWhatComesEarlySoManyAreKeptAndTheRestComesAgain) {
  LinkFrame frame{.from = {1}, .to = {2}, .messages = {}};
  for (std::uint64_t seq = 2; seq <= 5000; ++seq) frame.messages.push_back({seq, numbered(seq)});
  EXPECT_THAT(b_.receive(frame, now_).messages, IsEmpty());
  const auto received = b_.receive({.from = {1}, .to = {2}, .messages = {{1, numbered(1)}}}, now_);
  EXPECT_EQ(received.messages.size(), 4097U);
  EXPECT_EQ(b_.receive(frame, now_).messages.size(), 5000U - 4097U);
}

TEST_F(LinkEnds, ATransportThatIsBackGetsAllAtOnce) {
  a_.send(numbered(1));
  ASSERT_TRUE(a_.poll(now_));
  for (const Duration wait : {200ms, 400ms, 100ms}) {
    now_ += wait;
    frames_of(a_);
  }
  a_.transport_changed(now_);
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U)));
  now_ += 400ms;
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U))) << "it begins with short pauses";
}

TEST_F(LinkEnds, ATransportThatIsBackHearsOfThisLifeWhenThereIsNothingElse) {
  ASSERT_FALSE(a_.poll(now_));
  a_.transport_changed(now_);
  EXPECT_THAT(frames_of(a_), ElementsAre(IsEmpty()));
  a_.send(numbered(1));
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U)));
  now_ += 199ms;
  EXPECT_THAT(frames_of(a_), IsEmpty());
  now_ += 1ms;
  EXPECT_THAT(frames_of(a_), ElementsAre(ElementsAre(1U)));
}

class LinkWindow : public LinkEnds {
 protected:
  LinkWindow() : LinkEnds({.link_window = 640}) {}
};

TEST_F(LinkWindow, SoManyBytesAreOnTheirWay) {
  for (std::uint64_t n = 1; n <= 30; ++n) a_.send(numbered(n));
  const auto frame = a_.poll(now_);
  ASSERT_EQ(frame->messages.size(), 10U) << "64 bytes each";
  EXPECT_FALSE(a_.poll(now_));
  b_.receive(*frame, now_);
  now_ += 20ms;
  a_.receive(*b_.poll(now_), now_);
  EXPECT_EQ(a_.poll(now_)->messages.size(), 10U);
  EXPECT_FALSE(a_.poll(now_));
}

TEST(Link, AMessageWeighsWhatIsLargeInIt) {
  jupyter::Message message;
  message.content = Blob(std::string(1000, 'x'));
  const std::uint64_t bytes = message.size();
  EXPECT_EQ(weight_of(numbered(1)), 64U);
  EXPECT_EQ(weight_of(part_of(10)), 74U);
  EXPECT_EQ(weight_of(FromKernel{.message = message}), 64U + bytes);
  EXPECT_EQ(weight_of(ToKernel{.message = message}), 64U + bytes);
  EXPECT_EQ(weight_of(Execute{.request = message}), 64U + bytes);
  EXPECT_EQ(weight_of(ExecutionEnded{.reply = message}), 64U + bytes);
  EXPECT_EQ(weight_of(HostReport{.replicas = {{}, {}}}), 192U);
}

}  // namespace
}  // namespace banyan::node
