// From whom a replica asks its chunks, how many at a time, and when it gives one up.

#include <gtest/gtest.h>

#include <numeric>

#include "node/test_chunks.h"

namespace banyan::node {
namespace {

TEST_F(ChunkSyncs, TheDiskIsAskedForSoManyAtATime) {
  std::vector<int> many(40);
  std::iota(many.begin(), many.end(), 1);
  commit(many);
  sync_.fetch(standing());
  std::size_t reads = 0;
  for (const HostEffect& effect : host_.finish()) reads += std::holds_alternative<ReadChunk>(effect) ? 1 : 0;
  EXPECT_EQ(reads, 32U);
}

TEST_F(ChunkSyncs, AViewIsLookedAtForEachChunkOnlyOnceFewAreMissing) {
  std::vector<int> many(33);
  std::iota(many.begin(), many.end(), 1);
  commit(many);
  EXPECT_FALSE(sync_.lacks_few());
  come(1);
  EXPECT_TRUE(sync_.lacks_few());
}

TEST_F(ChunkSyncs, WhatIsMissingIsCounted) {
  commit({1, 2});
  EXPECT_EQ(sync_.lacking(), 2U);
  EXPECT_TRUE(sync_.is_missing(digest(1)));
  EXPECT_TRUE(come(1));
  EXPECT_FALSE(sync_.on_durable(digest(1))) << "it is here already";
  EXPECT_FALSE(sync_.is_missing(digest(1)));
  EXPECT_EQ(sync_.lacking(), 1U);
  EXPECT_NE(sync_.lacking(), 0U);
  EXPECT_FALSE(sync_.at_rest());
  come(2);
  EXPECT_EQ(sync_.lacking(), 0U);
  EXPECT_TRUE(sync_.at_rest());
}

TEST_F(ChunkSyncs, AChunkThatTheDiskHasLostIsMissingAgain) {
  commit({1});
  come(1);
  EXPECT_FALSE(chunks_.on_read(digest(1), std::nullopt));
  EXPECT_FALSE(sync_.on_read(digest(1))) << "nobody here has asked";
  EXPECT_TRUE(sync_.is_missing(digest(1)));
}

TEST_F(ChunkSyncs, BytesThatLeaveTheLogAreOnTheDiskBefore) {
  commit({1});
  sync_.follow({.spilled = {Blob("value 1"), Blob("of another session")}, .wanted = {}, .dropped = {}},
               session_);
  EXPECT_TRUE(chunks_.landed(digest(1)));
  EXPECT_TRUE(sync_.on_durable(digest(1)));
  EXPECT_FALSE(chunks_.landed(digest_of("of another session")));
}

TEST_F(ChunkSyncs, OnlyWhatTheSessionRefersToIsUsed) {
  commit({1});
  come(1);
  come(9);
  sync_.follow({.spilled = {}, .wanted = {digest(9)}, .dropped = {digest(1)}}, session_);
  EXPECT_FALSE(sync_.is_missing(digest(9)));
  EXPECT_TRUE(stays(1)) << "it still refers to it";
  EXPECT_FALSE(stays(9));
}

TEST_F(ChunkSyncs, BytesThatLeaveTheLogAreUsed) {
  commit({1});
  ChunkSync later(host_, chunks_, speeds_, {"s"});
  later.follow({.spilled = {Blob("value 1")}, .wanted = {}, .dropped = {}}, session_);
  EXPECT_TRUE(later.is_missing(digest(1)));
  EXPECT_TRUE(chunks_.landed(digest(1)));
  EXPECT_TRUE(later.on_durable(digest(1)));
}

TEST_F(ChunkSyncs, AStateThatIsTakenOverUsesItsChunks) {
  commit({1});
  ChunkSync later(host_, chunks_, speeds_, {"s"});
  later.adopt(session_);
  EXPECT_TRUE(later.is_missing(digest(1)));
}

TEST_F(ChunkSyncs, WhatIsNotUsedAnyMoreIsNotMissing) {
  commit({1});
  session_ = session::Session({"s"}, {}, session_.members());
  sync_.adopt(session_);
  EXPECT_FALSE(sync_.is_missing(digest(1)));
  EXPECT_EQ(sync_.lacking(), 0U);
}

TEST_F(ChunkSyncs, UsesThatAreHandedOverStayCounted) {
  commit({1});
  come(1);
  EXPECT_EQ(sync_.hand_over(), std::set{digest(1)});
  sync_.close();
  EXPECT_TRUE(stays(1));
}

TEST_F(ChunkSyncs, WithoutPeersNobodyIsAsked) {
  commit({1});
  sync_.fetch(standing());
  disk_has_nothing();
  peers_.clear();
  advance(1s);
  EXPECT_EQ(fetch(), Asked{});
  peers_ = {kH3};
  advance(1s);
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
}

TEST_F(ChunkSyncs, AReplicaWithoutPeersGoesToTheDataStoreByItself) {
  commit({1});
  restore_from_store({1});
  peers_.clear();
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_EQ(fetch(), (Asked{{kDataStore, {digest(1)}}}));
}

TEST_F(ChunkSyncs, ADataStoreThatIsSilentIsNotAskedFirst) {
  commit({1});
  restore_from_store({1});
  leader_ = kHere;
  chunks_.on_fetched({.digest = digest(9), .key = "", .bytes = {}});
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_FALSE(sync_.asks_store_first(digest(1), standing()));
  EXPECT_EQ(fetch(), Asked{});
  advance(100ms);
  EXPECT_EQ(fetch().count(kDataStore), 0U);
}

TEST_F(ChunkSyncs, TheDataStoreIsOneOfThePlacesThatAreAskedLater) {
  commit({1});
  restore_from_store({1});
  sync_.fetch(standing());
  disk_has_nothing();
  std::set<HostId> asked;
  for (int second = 0; second < 8; ++second) {
    advance(1s);
    for (const auto& [place, digests] : fetch()) asked.insert(place);
  }
  EXPECT_EQ(asked, (std::set<HostId>{kDataStore, kH2, kH3}));
}

TEST_F(ChunkSyncs, WhatADataStoreMayHaveIsGivenUpLater) {
  commit({1});
  restore_from_store({1});
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  session::CoVariable whole;
  sync_.fetch(standing());
  disk_has_nothing();
  advance(100ms);
  fetch();
  advance(3min - 1ms);
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet);
  advance(1ms);
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kLost);
}

TEST_F(ChunkSyncs, WhatNobodyHasIsGivenUpAfterHalfAMinuteInWhichNothingCame) {
  commit({1, 2});
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  session::CoVariable whole;
  sync_.fetch(standing());
  disk_has_nothing();
  advance(100ms);
  fetch();
  advance(20s);
  sync_.on_part({});
  advance(30s - 1ms);
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet);
  advance(1ms);
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kLost);
  sync_.on_part({.execution = {"c9"}});
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet) << "also for a commit";
}

TEST_F(ChunkSyncs, WhatComesAfterAnotherWasAskedForIsWaitedFor) {
  want({1});
  EXPECT_NE(fetch(), Asked{});
  advance(900ms);
  sync_.on_part({});
  advance(999ms);
  EXPECT_EQ(fetch(), Asked{}) << "it may come behind that";
  advance(1ms);
  EXPECT_NE(fetch(), Asked{});
}

TEST_F(ChunkSyncs, TheWaysOfAHostAreSharedByItsSessions) {
  slow_down();
  for (const int number : {11, 12}) chunks_.on_asked(kH2, digest(number));
  want({1, 2, 3, 4});
  EXPECT_EQ(all_of(fetch()).size(), 2U) << "two at least";
  chunks_.on_asked(kH2, digest(13));
  EXPECT_EQ(all_of(fetch()).size(), 0U);
}

TEST_F(ChunkSyncs, SomeOfAValueIsReadWhileOtherBytesAreOnTheirWay) {
  commit({1, 2});
  sync_.fetch(standing());
  disk_has_nothing();
  come(1);
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  session::CoVariable whole;
  (void)host_.finish();
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet);
  std::vector<Digest> reads;
  for (const HostEffect& effect : host_.finish())
    if (const auto* const read = std::get_if<ReadChunk>(&effect)) reads.push_back(read->digest);
  EXPECT_EQ(reads, std::vector{digest(1)});
  EXPECT_EQ(sync_.gather(value, {digest(2)}, standing(), whole), ChunkSync::Gathered::kReading)
      << "the worker has the other one";
}

TEST_F(ChunkSyncs, BytesThatAreInTheLogAreNotGathered) {
  session::CoVariable value{.names = {"x"}, .blocks = {{digest(1), 7, Blob("value 1")}}, .parts = {1}};
  session::CoVariable whole;
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kWhole);
  EXPECT_EQ(whole.blocks[0].bytes, Blob("value 1"));
  EXPECT_FALSE(sync_.is_reading());
}

TEST_F(ChunkSyncs, WhatAViewDoesNotNeedAnyMoreIsNotAskedForFirst) {
  slow_down();
  commit({1, 2, 3, 4, 5});
  sync_.want_first({{.digest = digest(4), .size = 1}, {.digest = digest(9), .size = 1}});
  sync_.load_if_first(digest(9), Blob("x"));
  EXPECT_FALSE(sync_.is_loaded(digest(9))) << "the session has no such chunk";
  sync_.want_none_first();
  sync_.load_if_first(digest(4), Blob("x"));
  EXPECT_FALSE(sync_.is_loaded(digest(4)));
}

TEST_F(ChunkSyncs, AnAnswerOfADataStoreAboutWhatIsNotWantedIsNothing) {
  sync_.on_fetched({.digest = digest(1), .key = "", .bytes = {}}, standing());
  EXPECT_EQ(sent(), Asked{});
  commit({1});
  restore_from_store({1});
  sync_.fetch(standing());
  disk_has_nothing();
  peers_.clear();
  sync_.on_fetched({.digest = digest(1), .key = "", .bytes = {}}, standing());
  EXPECT_EQ(sent(), Asked{}) << "there is no peer";
  peers_ = {kH2, kH3};
  sync_.on_fetched({.digest = digest(1), .key = "", .bytes = Blob("value 1")}, standing());
  EXPECT_EQ(sent(), Asked{}) << "it has come";
}

TEST_F(ChunkSyncs, APeerThatIsAskedInsteadOfTheDataStoreHasItsTime) {
  commit({1});
  restore_from_store({1});
  has_lead_ = true;
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_EQ(fetch(), (Asked{{kDataStore, {digest(1)}}}));
  advance(900ms);
  chunks_.on_fetched({.digest = digest(1), .key = "", .bytes = {}});
  sync_.on_fetched({.digest = digest(1), .key = "", .bytes = {}}, standing());
  EXPECT_NE(sent(), Asked{});
  advance(999ms);
  EXPECT_EQ(fetch(), Asked{});
  advance(1ms);
  EXPECT_NE(fetch(), Asked{});
}

TEST_F(ChunkSyncs, AReleaseOfWhatIsNotHeldIsNothing) {
  chunks_.use(digest(5));
  chunks_.put(digest(5), Blob("value"));
  ASSERT_TRUE(chunks_.landed(digest(5)));
  sync_.held().add({"c1"}, digest(5));
  sync_.held().release({"c2"});
  EXPECT_FALSE(sync_.at_rest());
  sync_.held().release({"c1"});
  sync_.held().release({"c1"});
  EXPECT_TRUE(sync_.at_rest());
  EXPECT_TRUE(stays(5)) << "its other use goes on";
}

}  // namespace
}  // namespace banyan::node
