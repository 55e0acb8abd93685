#include "core/raft/batch.h"

#include <gtest/gtest.h>

#include "base/codec.h"

namespace banyan::raft {
namespace {

const SessionId kA{"a"};
const SessionId kB{"b"};

Message beat(std::uint64_t term, std::uint64_t round) {
  return {{1}, {2}, {term}, Heartbeat{{round}, round}};
}

TEST(Batch, OnlyTheNewestHeartbeatOfAGroupTravels) {
  FrameBuilder builder;
  builder.add(kA, beat(3, 7));
  builder.add(kB, beat(1, 1));
  builder.add(kA, beat(3, 9));
  builder.add(kA, beat(3, 8));
  builder.add(kA, beat(2, 50));
  const PeerFrame frame = builder.take();
  ASSERT_EQ(frame.beats.size(), 2U);
  EXPECT_EQ(frame.beats[0].group, kA);
  EXPECT_EQ(frame.beats[0].round, 9U);
  EXPECT_EQ(frame.beats[1].group, kB);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(builder.bytes(), 0U);
}

TEST(Batch, ARequestAndAReplyAreDifferentBeats) {
  FrameBuilder builder;
  builder.add(kA, beat(3, 7));
  builder.add(kA, {{1}, {2}, {3}, HeartbeatReply{5}});
  EXPECT_EQ(builder.take().beats.size(), 2U);
}

TEST(Batch, IsEmptyOnlyWithoutBeatsAndWithoutMessages) {
  FrameBuilder beats;
  EXPECT_TRUE(beats.empty());
  beats.add(kA, beat(3, 7));
  EXPECT_FALSE(beats.empty());
  FrameBuilder messages;
  messages.add(kA, {{1}, {2}, {3}, TimeoutNow{}});
  EXPECT_FALSE(messages.empty());
}

TEST(Batch, CountsEachMessageAndWhatItCarries) {
  const auto bytes = [](std::vector<Body> bodies) {
    FrameBuilder builder;
    for (Body& body : bodies) builder.add(kA, {{1}, {2}, {3}, std::move(body)});
    return builder.bytes();
  };
  const Entry entry{{3}, {2}, EntryType::kCommand, Blob("xyz")};
  Snapshot snapshot;
  snapshot.data = Blob("12345");
  const std::uint64_t alone = bytes({TimeoutNow{}});
  EXPECT_GT(alone, 0U);
  EXPECT_EQ(bytes({TimeoutNow{}, TimeoutNow{}}), 2 * alone);
  EXPECT_EQ(bytes({Append{}}), alone);
  EXPECT_EQ(bytes({Append{{1}, {1}, {1}, {entry, entry}}}), alone + 2 * cost(entry));
  EXPECT_EQ(bytes({InstallSnapshot{snapshot}}), alone + 5);
  EXPECT_EQ(bytes({Forward{EntryType::kCommand, Blob("ab")}}), alone + 2);
  EXPECT_EQ(bytes({Forward{}}), alone);
  EXPECT_EQ(bytes({Heartbeat{{1}, 1}, Heartbeat{{1}, 2}}), alone) << "the older one does not travel";
}

TEST(Batch, WhatWasAddedComesOutOfTheEncodedFrame) {
  const Message append{{1}, {2}, {4}, Append{{9}, {3}, {8}, {{{4}, {10}, EntryType::kCommand, Blob("x")}}}};
  const Message reply{{3}, {2}, {4}, HeartbeatReply{6}};
  FrameBuilder builder;
  builder.add(kA, append);
  builder.add(kB, beat(4, 6));
  builder.add(kB, reply);
  EXPECT_GT(builder.bytes(), 0U);
  const auto frame = decode<PeerFrame>(Blob(encode(builder.take())));
  ASSERT_TRUE(frame.has_value());
  const auto messages = unpack(*frame);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0], (GroupMessage{kA, append}));
  EXPECT_EQ(messages[1], (GroupMessage{kB, beat(4, 6)}));
  EXPECT_EQ(messages[2], (GroupMessage{kB, reply}));
}

}  // namespace
}  // namespace banyan::raft
