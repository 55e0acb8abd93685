#include "node/pending_chunks.h"

#include <gtest/gtest.h>

#include <string>

namespace banyan::node {
namespace {

const HostId kOwn{"h1"}, kSecond{"h2"}, kOutsider{"h9"};
const ExecutionId kMaker{"maker"};
constexpr std::uint64_t kMuch = 5'000'000;  // two of these are more than replies wait for

Digest chunk_of(char letter) { return digest_of(std::string(1, letter)); }

/// What a cell has made on h1, of a session that has members on h1, h2 and h3.
class PendingChunksTest : public ::testing::Test {
 protected:
  PendingChunksTest() { advance(1h); }
  void advance(Duration time) {
    now_.mono += time;
    now_.wall.us += microseconds(time);
    host_.set_now(now_);
  }
  /// The cell runs.
  void begin() { session_.apply(session::Propose{.execution = kMaker, .replica = {1}}); }
  /// And ends with a value of these chunks.
  void commit(const std::string& letters, std::uint64_t size = 100) {
    begin();
    session::Commit ending{.execution = kMaker, .epoch = session_.epoch()};
    session::CoVariable value{.names = {"x"}, .parts = {static_cast<std::uint32_t>(letters.size())}};
    for (const char letter : letters) value.blocks.push_back({.digest = chunk_of(letter), .size = size});
    if (!letters.empty()) ending.delta.changed = {std::move(value)};
    session_.apply(std::move(ending));
  }
  /// Another cell has made a value that replies do not wait for.
  void commit_large(const std::string& letters) {
    const ExecutionId later{"later"};
    session_.apply(session::Propose{.execution = later, .replica = {1}});
    session::Commit ending{.execution = later, .epoch = session_.epoch()};
    session::CoVariable value{.names = {"y"}, .parts = {static_cast<std::uint32_t>(letters.size())}};
    for (const char letter : letters) value.blocks.push_back({.digest = chunk_of(letter), .size = kMuch});
    ending.delta.changed = {std::move(value)};
    session_.apply(std::move(ending));
  }
  /// This host has it on its disk.
  void land(char letter) {
    chunks_.use(chunk_of(letter));
    chunks_.put(chunk_of(letter), Blob("bytes"));
    ASSERT_TRUE(chunks_.landed(chunk_of(letter)));
    pending_.look_at(chunk_of(letter), session_);
  }

  HostContext host_{{.id = kOwn, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  session::Session session_{{"s"}, {.kernel_name = "python3"}, {{{1}, kOwn}, {{2}, kSecond}, {{3}, {"h3"}}}};
  PendingChunks pending_{host_, chunks_};
  Now now_{};
};

TEST_F(PendingChunksTest, OneIsPendingUntilAMajorityHasStoredIt) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  pending_.on_stored(session_, kSecond, chunk_of('a'));
  EXPECT_TRUE(pending_.contains(chunk_of('a')));
  land('a');
  EXPECT_FALSE(pending_.contains(chunk_of('a')));
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(pending_.bytes(), 0U);
}

TEST_F(PendingChunksTest, OthersMayBeAMajorityWithoutThisHost) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  pending_.on_stored(session_, kSecond, chunk_of('a'));
  pending_.on_stored(session_, {"h3"}, chunk_of('a'));
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingChunksTest, AHostWithoutAReplicaDoesNotCount) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  land('a');
  pending_.on_stored(session_, kOutsider, chunk_of('a'));
  EXPECT_FALSE(pending_.empty());
}

TEST_F(PendingChunksTest, WhatTheCommitDoesNotReferToIsOver) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  pending_.add(kMaker, chunk_of('b'), 100);
  pending_.look_at_all(session_);
  EXPECT_EQ(pending_.bytes(), 200U) << "the log does not have the commit yet";
  commit("b");
  pending_.look_at_all(session_);
  EXPECT_FALSE(pending_.contains(chunk_of('a')));
  EXPECT_TRUE(pending_.contains(chunk_of('b')));
  EXPECT_EQ(pending_.bytes(), 100U);
}

TEST_F(PendingChunksTest, WhoeverStoresOneBeforeTheCommitIsKnownHereCounts) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  pending_.on_stored(session_, kSecond, chunk_of('a'));
  commit("a");
  land('a');
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingChunksTest, FewerMembersMakeASmallerMajority) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  land('a');
  EXPECT_FALSE(pending_.empty());
  session_.apply(session::SetMembers{.members = {{{1}, kOwn}}});
  pending_.look_at_all(session_);
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingChunksTest, WhoHasNotSaidItIsAskedAfterAWhile) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  pending_.on_stored(session_, kSecond, chunk_of('a'));
  EXPECT_TRUE(pending_.to_ask(session_).empty());
  advance(2s);
  const auto asked = pending_.to_ask(session_);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked.front(), std::pair(HostId{"h3"}, chunk_of('a')));
  EXPECT_TRUE(pending_.to_ask(session_).empty()) << "just now";
  advance(2s);
  EXPECT_EQ(pending_.to_ask(session_).size(), 1U);
}

TEST_F(PendingChunksTest, FewAreAskedForAtATime) {
  begin();
  for (int n = 0; n < 100; ++n) pending_.add(kMaker, digest_of(std::to_string(n)), 1);
  advance(2s);
  EXPECT_EQ(pending_.to_ask(session_).size(), 2U * 64);
  EXPECT_EQ(pending_.to_ask(session_).size(), 2U * 36);
}

TEST_F(PendingChunksTest, SaysSinceWhenAndHowMuchIsOnlyInMemory) {
  begin();
  EXPECT_FALSE(pending_.since().has_value());
  pending_.add(kMaker, chunk_of('a'), 100);
  const WallTime first = now_.wall;
  advance(1s);
  pending_.add(kMaker, chunk_of('b'), 50);
  EXPECT_EQ(pending_.since().value().us, first.us);
  chunks_.use(chunk_of('a'));
  chunks_.capture(chunk_of('a'), Blob("bytes"));
  EXPECT_EQ(pending_.captured_bytes(), 100U);
  ASSERT_TRUE(chunks_.landed_in_background(chunk_of('a')));
  EXPECT_EQ(pending_.captured_bytes(), 0U);
  EXPECT_EQ(pending_.bytes(), 150U);
}

TEST_F(PendingChunksTest, WhatIsForgottenWithItsCommitIsOver) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  session_.apply(session::Clear{.request = 1});
  session_.apply(session::Amend{.request = "prune",
                                .actions = {checkpoint::Prune{.keep = 1}},
                                .seen = session_.last(),
                                .amended = session_.amended()});
  ASSERT_FALSE(session_.chunks().contains(chunk_of('a')));
  pending_.look_at(chunk_of('a'), session_);
  EXPECT_TRUE(pending_.empty());
}

TEST_F(PendingChunksTest, OneThatIsLostIsPendingNoMore) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  pending_.add(kMaker, chunk_of('b'), 50);
  commit("ab");
  pending_.forget(chunk_of('a'));
  pending_.forget(chunk_of('c'));
  EXPECT_EQ(pending_.bytes(), 50U);
  pending_.clear();
  EXPECT_TRUE(pending_.empty());
  EXPECT_EQ(pending_.bytes(), 0U);
}

TEST_F(PendingChunksTest, WhoeverRunsCellsFromNowOnAsksForTheChunksOfLargeValues) {
  commit("a");
  pending_.add_all(session_);
  EXPECT_TRUE(pending_.empty()) << "of a small value they are on a majority's disks";
  commit_large("bc");
  pending_.add_all(session_);
  EXPECT_EQ(pending_.bytes(), 2 * kMuch);
  const auto asked = pending_.to_ask(session_);
  ASSERT_EQ(asked.size(), 4U) << "at once, and each of the others";
  pending_.on_stored(session_, kSecond, chunk_of('b'));
  land('b');
  EXPECT_EQ(pending_.bytes(), kMuch);
}

/// It comes back as another member, without what it had.
TEST_F(PendingChunksTest, WhatAFormerMemberHadDoesNotCountForALaterOneOfThatHost) {
  begin();
  pending_.add(kMaker, chunk_of('a'), 100);
  commit("a");
  pending_.on_stored(session_, kSecond, chunk_of('a'));
  session_.apply(session::SetMembers{.members = {{{1}, kOwn}, {{4}, kSecond}, {{3}, {"h3"}}}});
  land('a');
  EXPECT_FALSE(pending_.empty());
}

}  // namespace
}  // namespace banyan::node
