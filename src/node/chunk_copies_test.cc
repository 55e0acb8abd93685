#include "node/chunk_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ReplicaId kSelf{1}, kTwo{2}, kThree{3}, kFour{4};
const session::Members kMembers{{kSelf, {"h1"}}, {kTwo, {"h2"}}, {kThree, {"h3"}}};
constexpr std::uint64_t kInlineMax = 100;
const ChunkCopies::Purpose kPurpose{.session = {"s"}, .cell = {"c"}};

Blob bytes_of(char letter) { return Blob(std::string(1000, letter)); }
Digest digest(char letter) { return digest_of(bytes_of(letter).view()); }

/// The chunks 'a' and 'b' of a cell on the first of three members.
class ChunkCopiesTest : public ::testing::Test {
 protected:
  ChunkCopiesTest() {
    session::CoVariable value{.names = {"x"}};
    for (const char letter : {'a', 'b'})
      value.blocks.push_back({.digest = digest(letter), .size = 1000, .bytes = bytes_of(letter)});
    value.blocks.push_back({.digest = digest_of("small"), .size = 5, .bytes = Blob("small")});
    delta_.changed = {value};
    copies_.take(delta_, {.inline_max = kInlineMax});
  }
  /// This host's disk has the chunk.
  void land(char letter) {
    chunks_.use(digest(letter));
    chunks_.put(digest(letter), bytes_of(letter));
    ASSERT_TRUE(chunks_.landed(digest(letter)));
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  session::Delta delta_;
  ChunkCopies copies_;
};

TEST_F(ChunkCopiesTest, TakesTheBytesOfLargeChunksOnly) {
  const auto& blocks = delta_.changed.front().blocks;
  EXPECT_FALSE(blocks[0].bytes || blocks[1].bytes);
  EXPECT_TRUE(blocks[2].bytes.has_value());
  EXPECT_TRUE(copies_.has(digest('a')));
  EXPECT_FALSE(copies_.has(digest_of("small")));
  EXPECT_EQ(copies_.bytes().size(), 2U);
}

TEST_F(ChunkCopiesTest, AChunkOfTheLargestSizeThatTravelsInTheLogKeepsItsBytes) {
  session::Delta delta;
  const Blob bytes(std::string(kInlineMax, 'i'));
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of(bytes.view()), kInlineMax, bytes}}}};
  copies_.take(delta, {.inline_max = kInlineMax});
  EXPECT_TRUE(delta.changed.front().blocks.front().bytes.has_value());
}

TEST_F(ChunkCopiesTest, AChunkThatTheWorkerLeftOutHasNoCopyHere) {
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest('c'), 1000, std::nullopt}}}};
  copies_.take(delta, {.inline_max = kInlineMax});
  EXPECT_FALSE(copies_.has(digest('c')));
}

TEST(ChunkCopies, WhatALargeValueSharesWithASmallOneIsWaitedFor) {
  const auto chunk = [](char letter) {
    return session::Chunk{.digest = digest(letter), .size = 1000, .bytes = bytes_of(letter)};
  };
  session::Delta delta;
  delta.changed = {{.names = {"large"}, .blocks = {chunk('a'), chunk('b')}, .parts = {2}},
                   {.names = {"small"}, .blocks = {chunk('b')}, .parts = {1}}};
  ChunkCopies copies;
  copies.take(delta, {.inline_max = kInlineMax, .awaited_max = 1500});
  EXPECT_TRUE(copies.captured().contains(digest('a')));
  EXPECT_FALSE(copies.captured().contains(digest('b')));
  EXPECT_TRUE(copies.bytes().contains(digest('b')));
  EXPECT_TRUE(copies.has(digest('a')) && copies.has(digest('b')));
  for (const session::CoVariable& value : delta.changed)
    for (const session::Chunk& block : value.blocks) EXPECT_FALSE(block.bytes.has_value());
  copies.clear();
  EXPECT_FALSE(copies.has(digest('a')));
}

TEST_F(ChunkCopiesTest, AreSafeWhenAMajorityHasEach) {
  EXPECT_FALSE(copies_.are_safe(2, chunks_));
  land('a');
  land('b');
  EXPECT_FALSE(copies_.are_safe(2, chunks_)) << "this host alone is no majority";
  copies_.on_stored(kTwo, digest('a'));
  EXPECT_FALSE(copies_.are_safe(2, chunks_));
  copies_.on_stored(kThree, digest('b'));
  EXPECT_TRUE(copies_.are_safe(2, chunks_));
}

TEST_F(ChunkCopiesTest, OtherMembersAreAMajorityWithoutThisHost) {
  for (const ReplicaId member : {kTwo, kThree})
    for (const char letter : {'a', 'b'}) copies_.on_stored(member, digest(letter));
  EXPECT_TRUE(copies_.are_safe(2, chunks_));
}

TEST_F(ChunkCopiesTest, OneMemberThatSaysItTwiceCountsOnce) {
  for (const char letter : {'a', 'b'})
    for (int times = 0; times < 2; ++times) copies_.on_stored(kTwo, digest(letter));
  EXPECT_FALSE(copies_.are_safe(2, chunks_));
}

TEST_F(ChunkCopiesTest, AnEarlierChunkThatIsNotSafeAnyMoreIsNoticed) {
  const Digest first = std::min(digest('a'), digest('b')), second = std::max(digest('a'), digest('b'));
  copies_.on_stored(kTwo, first);
  copies_.on_stored(kThree, first);
  EXPECT_FALSE(copies_.are_safe(2, chunks_)) << "the second one is not";
  copies_.on_stored(kTwo, second);
  copies_.on_stored(kThree, second);
  EXPECT_TRUE(copies_.are_safe(2, chunks_));
  copies_.on_members({{kSelf, {"h1"}}, {kTwo, {"h2"}}, {kFour, {"h4"}}}, kSelf);
  EXPECT_FALSE(copies_.are_safe(2, chunks_)) << "the third has left";
}

TEST_F(ChunkCopiesTest, AChunkThatThisDiskHasLostIsNoticed) {
  const char first = digest('a') < digest('b') ? 'a' : 'b', second = first == 'a' ? 'b' : 'a';
  land(first);
  copies_.on_stored(kTwo, digest(first));
  EXPECT_FALSE(copies_.are_safe(2, chunks_)) << "the second one is not";
  chunks_.on_read(digest(first), std::nullopt);  // it failed its checksum
  copies_.on_stored(kTwo, digest(second));
  copies_.on_stored(kThree, digest(second));
  EXPECT_FALSE(copies_.are_safe(2, chunks_));
}

TEST_F(ChunkCopiesTest, NewMembersLackThem) {
  for (const char letter : {'a', 'b'}) copies_.on_stored(kTwo, digest(letter));
  copies_.on_stored(kThree, digest('a'));
  EXPECT_THAT(copies_.on_members(kMembers, kSelf), ElementsAre(kThree));
  session::Members more = kMembers;
  more[kFour] = {"h4"};
  EXPECT_THAT(copies_.on_members(more, kSelf), ElementsAre(kThree, kFour));
}

TEST_F(ChunkCopiesTest, ChunksOfOthersAreNotCounted) {
  copies_.on_stored(kTwo, digest('z'));
  EXPECT_FALSE(copies_.has(digest('z')));
  copies_.clear();
  copies_.on_stored(kTwo, digest('a'));
  EXPECT_FALSE(copies_.has(digest('a')));
  EXPECT_TRUE(copies_.are_safe(2, chunks_)) << "there is none";
}

TEST_F(ChunkCopiesTest, TheyAreSentInParts) {
  HostContext host({.id = {"h1"}, .timing = {}, .sizes = {.chunk_part = 400}}, Incarnation{1}, 7);
  Link other(Incarnation{2}, host.timing(), host.sizes());
  copies_.send(host, {"h2"}, kPurpose);
  std::map<Digest, std::string> got;
  std::size_t parts = 0;
  for (auto effects = host.finish(); !effects.empty(); effects = host.finish()) {
    for (HostEffect& effect : effects) {
      auto* const sent = std::get_if<SendFrame>(&effect);
      if (sent == nullptr || sent->to != HostId{"h2"}) continue;
      for (const PeerMessage& message : other.receive(std::get<LinkFrame>(sent->frame), {}).messages) {
        const auto& part = std::get<ChunkPart>(message);
        EXPECT_EQ(part.offset, got[part.digest].size());
        got[part.digest] += part.bytes.view();
        ++parts;
      }
      while (auto answer = other.poll({})) host.link({"h2"}).receive(*answer, {});
    }
  }
  EXPECT_EQ(parts, 6U);
  EXPECT_EQ(got[digest('a')], bytes_of('a').view());
  EXPECT_EQ(got[digest('b')], bytes_of('b').view());
}

TEST_F(ChunkCopiesTest, WholePartsAreFollowedByNothing) {
  HostContext host({.id = {"h1"}, .timing = {}, .sizes = {.chunk_part = 500}}, Incarnation{1}, 7);
  copies_.send(host, {"h2"}, kPurpose);
  EXPECT_EQ(host.link({"h2"}).backlog_bytes(), 4 * weight_of(ChunkPart{.bytes = Blob(std::string(500, 'x'))}))
      << "two parts of each";
}

/// A gigabyte on the way makes no other message of the link wait long.
TEST_F(ChunkCopiesTest, LargeValuesLeaveRoomOnTheLink) {
  HostContext host({.id = {"h1"}, .timing = {}, .sizes = {.durable_inline = 1, .link_window = 1000}},
                   Incarnation{1}, 7);
  Link other(Incarnation{2}, host.timing(), host.sizes());
  session::Delta delta;
  session::CoVariable value{.names = {"x"}};
  for (char letter = 'a'; letter <= 'z'; ++letter)
    value.blocks.push_back({.digest = digest(letter), .size = 1000, .bytes = bytes_of(letter)});
  delta.changed = {value};
  ChunkCopies copies;
  copies.take(delta, {.inline_max = kInlineMax});
  copies.send(host, {"h2"}, kPurpose);
  std::set<Digest> got;
  std::uint64_t most = 0;
  Time now;
  for (int rounds = 0; rounds < 100 && got.size() < 26; ++rounds, now += 100ms) {
    most = std::max(most, host.link({"h2"}).backlog_bytes());
    for (HostEffect& effect : host.finish()) {
      auto* const sent = std::get_if<SendFrame>(&effect);
      if (sent == nullptr) continue;
      for (const PeerMessage& message : other.receive(std::get<LinkFrame>(sent->frame), now).messages)
        got.insert(std::get<ChunkPart>(message).digest);
    }
    while (auto answer = other.poll(now)) host.link({"h2"}).receive(*answer, now);
    copies.send_more(host, kPurpose);
  }
  EXPECT_EQ(got.size(), 26U) << "the others follow as the link has room";
  EXPECT_LT(most, 4000U) << "of 26,000 bytes no more than twice the window, and the chunk that passed it";
}

TEST_F(ChunkCopiesTest, AHostThatLeavesGetsNoMore) {
  HostContext host({.id = {"h1"}, .timing = {}, .sizes = {.durable_inline = 1, .link_window = 1}},
                   Incarnation{1}, 7);
  copies_.send(host, {"h3"}, kPurpose);
  const std::uint64_t before = host.link({"h3"}).backlog_bytes();
  copies_.on_members({{kSelf, {"h1"}}, {kTwo, {"h2"}}}, kSelf);
  host.link({"h3"}).forget_unheard();
  copies_.send_more(host, kPurpose);
  EXPECT_GT(before, 0U);
  EXPECT_EQ(host.link({"h3"}).backlog_bytes(), 0U);
}

}  // namespace
}  // namespace banyan::node
