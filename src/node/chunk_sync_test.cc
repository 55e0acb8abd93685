#include "node/chunk_sync.h"

#include <gtest/gtest.h>

#include <numeric>

#include "node/test_chunks.h"

namespace banyan::node {
namespace {

TEST_F(ChunkSyncs, TheDiskIsAskedFirstAndThenOnePeerAfterTheOther) {
  commit({1});
  EXPECT_NE(sync_.lacking(), 0U);
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_EQ(fetch(), Asked{});  // it may be on its way
  advance(100ms);
  EXPECT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
  advance(500ms);
  EXPECT_EQ(fetch(), Asked{});
  advance(500ms);
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
  EXPECT_TRUE(come(1));
  EXPECT_EQ(sync_.lacking(), 0U);
  advance(10s);
  EXPECT_EQ(fetch(), Asked{});
}

TEST_F(ChunkSyncs, WhatComesForACommitIsWaitedFor) {
  want({1});
  sync_.on_part({.execution = {"c9"}});
  advance(500ms);
  EXPECT_EQ(fetch(), Asked{});
  advance(500ms);
  EXPECT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
}

TEST_F(ChunkSyncs, FewAreAskedForAtATimeWhereTheWayIsSlow) {
  slow_down();
  want({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(all_of(fetch()).size(), 2);
  EXPECT_FALSE(sync_.has_room(standing()));
  for (int number = 1; number <= 9; ++number) come(number);
  EXPECT_TRUE(sync_.has_room(standing()));
}

TEST_F(ChunkSyncs, WhatAViewNeedsComesBeforeTheRest) {
  slow_down();
  want({1, 2, 3, 4, 5});
  builds_ = true;
  sync_.want_first({{.digest = digest(3), .size = 1}, {.digest = digest(4), .size = 1}});
  EXPECT_EQ(all_of(fetch()), (std::set{digest(3), digest(4)}));
  come(3);
  come(4);
  EXPECT_EQ(all_of(fetch()).size(), 2);
}

TEST_F(ChunkSyncs, OthersStandBackWhileAViewIsAwaited) {
  want({1, 2, 3, 4, 5, 6, 7, 8, 9});
  builds_ = true;
  const std::set<Digest> asked = all_of(fetch());
  EXPECT_EQ(asked.size(), 4) << "on a fast way, where all would go at once";
  for (int number = 1; number <= 9; ++number)
    if (asked.contains(digest(number))) come(number);
  advance(50ms);
  EXPECT_FALSE(sync_.has_room(standing()));
  EXPECT_EQ(fetch(), Asked{});
  advance(50ms);
  EXPECT_TRUE(sync_.has_room(standing()));
  EXPECT_NE(fetch(), Asked{});
}

TEST_F(ChunkSyncs, ALeaderAsksTheDataStoreAndOthersAskTheLeader) {
  commit({1});
  restore_from_store({1});
  sync_.fetch(standing());
  disk_has_nothing();
  advance(100ms);
  peers_ = {kH3, kH2};
  EXPECT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
  leader_ = kHere;
  commit({2});
  restore_from_store({1, 2});
  sync_.fetch(standing());
  disk_has_nothing();
  advance(100ms);
  EXPECT_EQ(fetch()[kDataStore], std::set{digest(2)});
}

TEST_F(ChunkSyncs, AHostWhoseCellWaitsGoesToTheDataStoreByItself) {
  commit({1});
  restore_from_store({1});
  has_lead_ = true;
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_EQ(fetch(), (Asked{{kDataStore, {digest(1)}}}));
}

TEST_F(ChunkSyncs, APeerIsAskedAsSoonAsTheDataStoreFails) {
  commit({1});
  restore_from_store({1});
  has_lead_ = true;
  sync_.fetch(standing());
  disk_has_nothing();
  EXPECT_EQ(fetch(), (Asked{{kDataStore, {digest(1)}}}));
  sync_.on_fetched({.digest = digest(1), .key = "p/" + to_hex(digest(1))}, standing());
  EXPECT_EQ(sent(), (Asked{{kH3, {digest(1)}}}));
}

TEST_F(ChunkSyncs, WhatNobodyHasIsGivenUpAndStillAskedFor) {
  commit({1});
  sync_.fetch(standing());
  disk_has_nothing();
  session::CoVariable whole;
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet);
  for (int second = 0; second < 32; ++second) {
    advance(1s);
    fetch();
  }
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kLost);
  EXPECT_EQ(sync_.gather(value, {digest(1)}, standing(), whole), ChunkSync::Gathered::kWhole);
  advance(8s);
  EXPECT_EQ(fetch(), Asked{});
  advance(2s);
  EXPECT_EQ(fetch().size(), 1);
  EXPECT_NE(sync_.lacking(), 0U);
}

TEST_F(ChunkSyncs, WhileNoLeaderIsKnownNothingIsGivenUp) {
  commit({1});
  sync_.fetch(standing());
  disk_has_nothing();
  leader_ = raft::kNobody;
  for (int second = 0; second < 60; ++second) {
    advance(1s);
    fetch();
  }
  session::CoVariable whole;
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kNotYet);
}

TEST_F(ChunkSyncs, WhatTheDataStoreAndAllMembersLackIsLost) {
  commit({1});
  restore_from_store({1});
  sync_.fetch(standing());
  disk_has_nothing();
  advance(100ms);
  fetch();
  sync_.on_fetched({.digest = digest(1), .key = "of another session", .denied = true}, standing());
  for (int minute = 0; minute < 4; ++minute, advance(1min)) fetch();
  EXPECT_EQ(sync_.lost().size(), 0U);
  sync_.on_fetched({.digest = digest(1), .key = "p/" + to_hex(digest(1)), .denied = true}, standing());
  host_.set_reachable(kH3, false);
  for (int minute = 0; minute < 4; ++minute, advance(1min)) fetch();
  EXPECT_EQ(sync_.lost().size(), 0U);  // h3 may have it
  host_.set_reachable(kH3, true);
  fetch();
  EXPECT_EQ(sync_.lost().size(), 1U);
  EXPECT_EQ(sync_.lacking(), 0U);
  EXPECT_EQ(sync_.lacking(), 0);
  come(1);
  EXPECT_EQ(sync_.lost().size(), 0U);
}

TEST_F(ChunkSyncs, GatheringReadsFromTheDiskAndTakesWhatIsLoaded) {
  commit({1, 2});
  come(1);
  come(2);
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  session::CoVariable whole;
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kReading);
  EXPECT_TRUE(sync_.is_reading());
  EXPECT_FALSE(sync_.at_rest());
  for (const int number : {1, 2}) {
    EXPECT_TRUE(sync_.on_read(digest(number)));
    EXPECT_FALSE(sync_.on_read(digest(number)));
    sync_.load(digest(number), Blob("bytes of " + std::to_string(number)));
  }
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kWhole);
  EXPECT_EQ(whole.blocks[1].bytes, Blob("bytes of 2"));
  sync_.unload(value.blocks);
  EXPECT_FALSE(sync_.is_loaded(digest(1)));
  EXPECT_TRUE(sync_.at_rest());
}

/// While it was a standby nobody waited for the chunk.
TEST_F(ChunkSyncs, AnExecutorDoesNotWaitForReadsOfAStandby) {
  commit({1});
  come(1);
  const session::CoVariable value = session_.co_variable(session_.view().at("x1"));
  const auto asked = [this] {
    std::vector<bool> in_background;
    for (const HostEffect& effect : host_.finish())
      if (const auto* const read = std::get_if<ReadChunk>(&effect))
        in_background.push_back(read->in_background);
    return in_background;
  };
  session::CoVariable whole;
  (void)asked();
  runs_cells_ = false;
  for (int i = 0; i < 2; ++i) (void)sync_.gather(value, {}, standing(), whole);
  EXPECT_EQ(asked(), std::vector<bool>{true});
  runs_cells_ = true;
  for (int i = 0; i < 2; ++i) (void)sync_.gather(value, {}, standing(), whole);
  EXPECT_EQ(asked(), std::vector<bool>{false});
}

TEST_F(ChunkSyncs, OnlyWhatTheViewWaitsForIsLoadedAsItComes) {
  commit({1, 2});
  sync_.want_first({{.digest = digest(1), .size = 1}});
  sync_.load_if_first(digest(1), Blob("one"));
  sync_.load_if_first(digest(2), Blob("two"));
  EXPECT_TRUE(sync_.is_loaded(digest(1)));
  EXPECT_FALSE(sync_.is_loaded(digest(2)));
  sync_.worker_is_gone();
  EXPECT_FALSE(sync_.is_loaded(digest(1)));
}

TEST_F(ChunkSyncs, AHeldChunkStaysUntilTheCellsEndIsKnown) {
  chunks_.put(digest(5), Blob("value"));
  ASSERT_TRUE(chunks_.landed(digest(5)));
  const ExecutionId cell{"c1"};
  sync_.held().add(cell, digest(5));
  sync_.held().add(cell, digest(5));
  sync_.held().release_ended(session_);
  EXPECT_FALSE(sync_.at_rest());
  EXPECT_TRUE(stays(5));
  commit({5});  // that cell
  sync_.held().release_ended(session_);
  EXPECT_TRUE(sync_.at_rest());
  EXPECT_TRUE(stays(5)) << "the commit uses it";
  sync_.close();
  EXPECT_FALSE(stays(5));
}

TEST_F(ChunkSyncs, CloseEndsWhatIsHeldToo) {
  chunks_.put(digest(5), Blob("value"));
  ASSERT_TRUE(chunks_.landed(digest(5)));
  sync_.held().add({"c1"}, digest(5));
  sync_.held().add({"c2"}, digest(5));
  sync_.close();
  EXPECT_FALSE(stays(5));
}

TEST_F(ChunkSyncs, AnAnswerOfTheDiskAboutWhatIsNotUsedAnyMoreIsForgotten) {
  const Blob before = session_.snapshot();
  commit({1});
  sync_.fetch(standing());
  session_ = *session::Session::restore(before);
  sync_.adopt(session_);
  disk_has_nothing();
  advance(1s);
  commit({1});
  EXPECT_EQ(fetch(), Asked()) << "the disk is asked first again";
}

TEST_F(ChunkSyncs, AnotherSessionUsesItsOwnChunksOnly) {
  commit({1});
  come(1);
  session_ = session::Session({"s"}, {}, session_.members());
  commit({2});
  sync_.adopt(session_);
  EXPECT_TRUE(sync_.is_missing(digest(2)));
  EXPECT_FALSE(stays(1));
}

TEST_F(ChunkSyncs, WhatWasAskedForBeforeAViewIsAwaitedHoldsNothingBack) {
  slow_down();
  want({1, 2, 3, 4, 5});
  const std::set<Digest> asked = all_of(fetch());
  EXPECT_EQ(asked.size(), 2);
  for (int number = 1; number <= 5; ++number)
    if (asked.contains(digest(number))) come(number);
  builds_ = true;
  EXPECT_TRUE(sync_.has_room(standing()));
  EXPECT_EQ(all_of(fetch()).size(), 2);
}

TEST_F(ChunkSyncs, TheExecutorIsAskedFirstForWhatItsCellMade) {
  executors_host_ = kH3;
  want({1, 2});
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1), digest(2)}}}));
}

TEST_F(ChunkSyncs, WhenOnePeerLacksItTheOtherIsAskedAtOnce) {
  want({1});
  ASSERT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
  sync_.on_lacked(kH2, digest(1), standing());
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
  EXPECT_NE(sync_.lacking(), 0U);
}

TEST_F(ChunkSyncs, WhatAllMembersLackIsLostWithoutAWait) {
  want({1, 2});
  fetch();
  session::CoVariable complete;
  const auto& value = session_.co_variable(session_.view().at("x1"));
  sync_.on_lacked(kH2, digest(1), standing());
  EXPECT_EQ(sync_.lost().size(), 0U);
  EXPECT_EQ(sync_.gather(value, {}, standing(), complete), ChunkSync::Gathered::kNotYet);
  sync_.on_lacked(kH3, digest(1), standing());
  EXPECT_EQ(sync_.lost().size(), 1U);
  EXPECT_EQ(sync_.gather(value, {}, standing(), complete), ChunkSync::Gathered::kLost);
  EXPECT_NE(sync_.lacking(), 0U) << "the other one may come";
  come(2);
  EXPECT_EQ(sync_.lacking(), 0U);
}

/// Of two peers one does not answer: each chunk comes to the other one, though both are asked for in step.
TEST_F(ChunkSyncs, EachChunkIsAskedForOfEveryPeer) {
  want({1, 2});
  std::map<Digest, std::set<HostId>> asked;
  for (int i = 0; i < 4; ++i) {
    for (const auto& [peer, digests] : fetch())
      for (const Digest& digest : digests) asked[digest].insert(peer);
    advance(1s);
  }
  for (const int number : {1, 2}) EXPECT_EQ(asked[digest(number)], (std::set<HostId>{kH2, kH3}));
}

TEST_F(ChunkSyncs, WhatWasLostIsAskedForAtOnceOfWhoeverHasItAgain) {
  want({1});
  fetch();
  sync_.on_lacked(kH2, digest(1), standing());
  sync_.on_lacked(kH3, digest(1), standing());
  ASSERT_EQ(sync_.lost().size(), 1U);
  advance(1s);
  fetch();
  advance(2s);
  EXPECT_EQ(fetch(), Asked{}) << "it is asked for now and then";
  sync_.on_stored(kH3, digest(2));  // it needs none of that
  sync_.on_stored(kH3, digest(1));
  EXPECT_TRUE(sync_.lost().empty());
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
}

TEST_F(ChunkSyncs, AMemberThatIsAwayMayHaveIt) {
  host_.set_reachable(kH3, false);
  peers_ = {kH2};
  want({1});
  fetch();
  EXPECT_EQ(sync_.left_to_wait(digest(1), standing()), Duration()) << "h2 has not answered";
  sync_.on_lacked(kH2, digest(1), standing());
  EXPECT_EQ(sync_.lost().size(), 0U);
  EXPECT_EQ(sync_.left_to_wait(digest(1), standing()), 30s);
  EXPECT_EQ(fetch(), Asked{}) << "h2 has just said so";
  advance(10s);
  EXPECT_EQ(sync_.left_to_wait(digest(1), standing()), 20s);
  EXPECT_EQ(fetch(), (Asked{{kH2, {digest(1)}}})) << "it may have it by now";
  host_.set_reachable(kH3, true);
  peers_ = {kH2, kH3};
  advance(1s);
  EXPECT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
}

TEST_F(ChunkSyncs, AHostThatWasAMemberIsWaitedForThreeSeconds) {
  const HostId h9{"h9"};
  peers_ = {kH2, kH3, h9};
  want({1});
  fetch();
  sync_.on_lacked(kH2, digest(1), standing());
  sync_.on_lacked(kH3, digest(1), standing());
  EXPECT_EQ(sync_.lost().size(), 0U);
  EXPECT_EQ(fetch(), (Asked{{h9, {digest(1)}}}));
  advance(2999ms);
  fetch();
  EXPECT_EQ(sync_.lost().size(), 0U);
  advance(1ms);
  fetch();
  EXPECT_EQ(sync_.lost().size(), 1U);
}

TEST_F(ChunkSyncs, WhatPassesBetweenTwoTimesWithoutALeaderCounts) {
  peers_ = {kH2, kH3, {"h9"}};
  want({1});
  fetch();
  sync_.want_first({{.digest = digest(1), .size = 1}});  // what is needed at once counts no other way
  for (const HostId& peer : {kH2, kH3}) sync_.on_lacked(peer, digest(1), standing());
  const auto pass = [&](ReplicaId leader, Duration time) {
    leader_ = leader;
    advance(time);
    fetch();
  };
  const ReplicaId leader = leader_;
  for (int time = 0; time < 3; ++time) {
    EXPECT_EQ(sync_.lost().size(), 0U);
    pass(raft::kNobody, 1s);
    pass(leader, 1s);
  }
  EXPECT_EQ(sync_.lost().size(), 1U);
}

TEST_F(ChunkSyncs, OneThatSaysThatItLacksItIsNotWaitedFor) {
  const HostId h9{"h9"};
  peers_ = {kH2, kH3, h9};
  want({1});
  fetch();
  for (const HostId& peer : peers_) sync_.on_lacked(peer, digest(1), standing());
  EXPECT_EQ(sync_.lost().size(), 1U);
}

TEST_F(ChunkSyncs, WhatWasLostIsWelcomeWhenItComes) {
  want({1});
  fetch();
  sync_.on_lacked(kH2, digest(1), standing());
  sync_.on_lacked(kH3, digest(1), standing());
  advance(10s);
  EXPECT_EQ(all_of(fetch()), (std::set{digest(1)})) << "it is still asked for";
  EXPECT_TRUE(come(1));
  EXPECT_EQ(sync_.lost().size(), 0U);
  EXPECT_TRUE(sync_.at_rest());
}

TEST_F(ChunkSyncs, WhatIsInMemoryIsNeitherReadNorAskedFor) {
  sync_.held().add({"c1"}, digest_of("captured"));
  chunks_.capture(digest_of("captured"), Blob("captured"));
  session_.apply(session::Propose{.execution = {"c1"}, .replica = kHere});
  session::Commit ending{.execution = {"c1"}, .epoch = session_.epoch()};
  ending.delta.changed = {
      {.names = {"x"}, .blocks = {{.digest = digest_of("captured"), .size = 100'000}}, .parts = {1}}};
  for (const session::Event& event : session_.apply(std::move(ending)))
    if (const auto* moved = std::get_if<session::ValuesMoved>(&event)) sync_.follow(*moved, session_);
  (void)host_.finish();
  sync_.fetch(standing());
  for (const HostEffect& effect : host_.finish()) EXPECT_FALSE(std::holds_alternative<ReadChunk>(effect));
  EXPECT_NE(sync_.lacking(), 0U) << "it is not on the disk yet";
  session::CoVariable complete;
  EXPECT_EQ(sync_.gather(session_.co_variable(session_.view().at("x")), {}, standing(), complete),
            ChunkSync::Gathered::kWhole);
  EXPECT_EQ(complete.blocks.front().bytes, Blob("captured"));
}

/// Of many that were only on a host which is away nobody waits for one that a peer has.
TEST_F(ChunkSyncs, WhatAllLackHoldsUpNothing) {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1);
  peers_ = {kH2};
  host_.set_reachable(kH3, false);
  commit(numbers);
  for (int turn = 0; turn < 4; ++turn) {
    sync_.fetch(standing());
    disk_has_nothing();
  }
  std::set<Digest> lacking;
  for (int turn = 0; turn < 200; ++turn) {  // 10 s
    advance(50ms);
    for (const Digest& one : all_of(fetch())) {
      sync_.on_lacked(kH2, one, standing());
      lacking.insert(one);
    }
  }
  EXPECT_EQ(lacking.size(), 100U);
  want({200});
  EXPECT_TRUE(all_of(fetch()).contains(digest(200)));
}

/// Others come all the time, and say nothing of these.
TEST_F(ChunkSyncs, WhatAllLackIsGivenUpThoughOthersCome) {
  peers_ = {kH2};
  host_.set_reachable(kH3, false);
  want({1});
  fetch();
  sync_.on_lacked(kH2, digest(1), standing());
  const auto& value = session_.co_variable(session_.view().at("x1"));
  session::CoVariable whole;
  for (int second = 0; second < 31; ++second) {
    sync_.on_part({.session = {"s"}, .digest = digest(2), .size = 1, .bytes = Blob("b")});
    advance(1s);
  }
  EXPECT_EQ(sync_.gather(value, {}, standing(), whole), ChunkSync::Gathered::kLost);
}

TEST_F(ChunkSyncs, WhenAPeerStartsAgainAllAreAskedOnceMore) {
  want({1});
  ASSERT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
  sync_.on_lacked(kH2, digest(1), standing());
  ASSERT_EQ(fetch(), (Asked{{kH3, {digest(1)}}}));
  sync_.on_peer_restarted();  // h3 had it in its memory, and h2 may have it from there
  sync_.on_lacked(kH3, digest(1), standing());
  EXPECT_TRUE(sync_.lost().empty());
  EXPECT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
}

TEST_F(ChunkSyncs, WhatAPeerLacksIsNotOnItsWay) {
  want({1});
  ASSERT_EQ(fetch(), (Asked{{kH2, {digest(1)}}}));
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  sync_.on_lacked(kH2, digest(1), standing());
  EXPECT_EQ(chunks_.on_their_way(), 0U);
}

}  // namespace
}  // namespace banyan::node
