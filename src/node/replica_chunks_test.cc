#include "node/replica_chunks.h"

#include <gmock/gmock.h>

#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ChunksOfReplica : public TestReplica {
 protected:
  static Digest digest(const std::string& name) { return digest_of(name); }
  /// A value of one large chunk, whose bytes are not in the log.
  static session::Delta large(const std::string& name) {
    session::Delta delta;
    delta.changed = {{.names = {name}, .blocks = {{digest(name), 100'000, std::nullopt}}, .parts = {1}}};
    return delta;
  }
  /// A cell elsewhere ends with it.
  void commit(const std::string& name) {
    starts("of " + name, kOther);
    ends("of " + name, large(name));
  }
  void land(const std::string& name) {
    chunks_.put(digest(name), Blob(name));
    ASSERT_TRUE(chunks_.landed(digest(name)));
    of_chunks_.on_durable(digest(name));
  }
};

TEST_F(ChunksOfReplica, AChunkOfACellThatHasEndedIsNotHeld) {
  starts("c", kOther);
  of_chunks_.hold({"c"}, digest("x"));
  EXPECT_FALSE(sync_.at_rest());
  sync_.held().release({"c"});
  ends("c");
  of_chunks_.hold({"c"}, digest("x"));
  EXPECT_TRUE(sync_.at_rest());
}

TEST_F(ChunksOfReplica, BeforeTheSessionIsHereEveryChunkIsHeld) {
  core_.session.reset();
  of_chunks_.hold({"c"}, digest("x"));
  EXPECT_FALSE(sync_.at_rest());
  of_chunks_.on_fetched({.digest = digest("x"), .key = "", .bytes = {}});
  of_chunks_.on_stored_by({"h2"}, digest("x"));
  of_chunks_.on_peer_restarted({"h2"});
  of_chunks_.on_durable(digest("x"));
  EXPECT_FALSE(of_chunks_.on_read(digest("x"), std::nullopt));
}

TEST_F(ChunksOfReplica, ACommitThatWaitsForThisDiskGoesOn) {
  ready();
  run("c");
  const std::string bytes(200'000, 'x');
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of(bytes), bytes.size(), Blob(bytes)}}, .parts = {1}}};
  report("c", std::move(delta));
  idle("c");
  of_chunks_.on_stored_by({"h2"}, digest_of(bytes));
  EXPECT_THAT(proposed<session::Commit>(), IsEmpty());
  ASSERT_TRUE(chunks_.landed(digest_of(bytes)));
  of_chunks_.on_durable(digest_of(bytes));
  EXPECT_THAT(proposed<session::Commit>(), SizeIs(1));
}

TEST_F(ChunksOfReplica, ACommitThatWaitsForAnotherMemberGoesOn) {
  ready();
  run("c");
  const std::string bytes(200'000, 'x');
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of(bytes), bytes.size(), Blob(bytes)}}, .parts = {1}}};
  report("c", std::move(delta));
  idle("c");
  of_chunks_.on_stored_by({"h2"}, digest_of(bytes));
  of_chunks_.on_stored_by({"h3"}, digest_of(bytes));
  EXPECT_THAT(proposed<session::Commit>(), SizeIs(1));
}

TEST_F(ChunksOfReplica, TheGatewayHearsWhenAllAreHere) {
  commit("x");
  commit("y");
  (void)host_.take_to_report();
  land("x");
  EXPECT_THAT(host_.take_to_report(), IsEmpty());
  land("y");
  EXPECT_THAT(host_.take_to_report(), SizeIs(1));
  of_chunks_.on_durable(digest("y"));
  EXPECT_THAT(host_.take_to_report(), IsEmpty()) << "that is no news";
}

TEST_F(ChunksOfReplica, AChunkThatComesMakesRoomForTheNext) {
  commit("x");
  commit("y");
  (void)done<ReadChunk>();
  land("x");
  EXPECT_THAT(done<ReadChunk>(), SizeIs(1)) << "the disk is asked first";
}

TEST_F(ChunksOfReplica, WhatTheDiskHasNotIsAskedOfPeers) {
  commit("x");
  sync_.fetch(view_.of_chunks());
  EXPECT_FALSE(of_chunks_.on_read(digest("z"), std::nullopt)) << "nobody waits for that";
  EXPECT_TRUE(of_chunks_.on_read(digest("x"), std::nullopt));
  advance(100ms);
  sync_.fetch(view_.of_chunks());
  EXPECT_EQ(chunks_.on_their_way(), 1U);
}

TEST_F(ChunksOfReplica, WhatAViewWaitsForIsGivenToTheWorkerWithoutTheDisk) {
  cells_.prepare();
  ready();
  commit("x");
  view_.sync();
  ASSERT_TRUE(worker_.build().under_way());
  of_chunks_.on_at_hand(digest("x"), Blob("x"));
  EXPECT_TRUE(sync_.is_loaded(digest("x")));
  land("x");
  const auto applied = done<ApplyToWorker>();
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].changed[0].blocks[0].bytes, Blob("x"));
}

TEST_F(ChunksOfReplica, AStandbyKeepsNoBytesInMemory) {
  cells_.prepare();
  ready();
  commit("x");
  view_.sync();
  advance(5s);
  ASSERT_FALSE(cells_.runs_cells());
  of_chunks_.on_at_hand(digest("x"), Blob("x"));
  EXPECT_FALSE(sync_.is_loaded(digest("x")));
}

TEST_F(ChunksOfReplica, WhereNoViewIsBuiltNoBytesAreKept) {
  cells_.prepare();
  ready();
  commit("x");
  sync_.want_first({{.digest = digest("x"), .size = 1}});
  worker_.build().stop();
  of_chunks_.on_at_hand(digest("x"), Blob("x"));
  EXPECT_FALSE(sync_.is_loaded(digest("x")));
}

TEST_F(ChunksOfReplica, BytesThatWereReadAreForAWorkerThatIsBehind) {
  cells_.prepare();
  ready();
  commit("x");
  land("x");
  ASSERT_TRUE(sync_.is_reading());
  (void)done<ApplyToWorker>();
  EXPECT_TRUE(of_chunks_.on_read(digest("x"), Blob("x")));
  EXPECT_THAT(done<ApplyToWorker>(), SizeIs(1));
}

TEST_F(ChunksOfReplica, AMemberThatIsAnotherLifeGetsTheChunksOfACommitAgain) {
  ready();
  run("c");
  const std::string bytes(200'000, 'x');
  session::Delta delta;
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of(bytes), bytes.size(), Blob(bytes)}}, .parts = {1}}};
  report("c", std::move(delta));
  idle("c");
  const auto backlog = [&] { return host_.link({"h2"}).backlog_bytes(); };
  settle();
  const std::uint64_t before = backlog();
  of_chunks_.on_peer_restarted({"h2"});
  EXPECT_GT(backlog(), before);
}

TEST_F(ChunksOfReplica, WhatComesForACommitPutsOffWhatIsAskedOfPeers) {
  commit("x");
  sync_.fetch(view_.of_chunks());
  EXPECT_TRUE(of_chunks_.on_read(digest("x"), std::nullopt));
  advance(100ms);
  of_chunks_.on_part({.execution = {"c9"}});
  sync_.fetch(view_.of_chunks());
  EXPECT_EQ(chunks_.on_their_way(), 0U) << "it may come behind that";
  advance(1s);
  sync_.fetch(view_.of_chunks());
  EXPECT_EQ(chunks_.on_their_way(), 1U);
}

TEST_F(ChunksOfReplica, BytesThatWereReadAreNotKeptWhereNoWorkerIsBehind) {
  commit("x");
  sync_.fetch(view_.of_chunks());
  EXPECT_TRUE(of_chunks_.on_read(digest("x"), Blob("x")));
  EXPECT_FALSE(sync_.is_loaded(digest("x")));
}

TEST_F(ChunksOfReplica, WhatTheSessionDoesNotReferToAnyMoreIsNotPending) {
  pending_.add({"c"}, digest("x"), 100);
  of_chunks_.on_values_moved({.spilled = {}, .wanted = {}, .dropped = {digest("x")}});
  EXPECT_TRUE(pending_.empty());
}

/// The disk has not got x, which a cell elsewhere has made, and h2 lacks it.
class LackedChunkOfReplica : public ChunksOfReplica {
 protected:
  LackedChunkOfReplica() {
    commit("x");
    sync_.fetch(view_.of_chunks());
    EXPECT_TRUE(of_chunks_.on_read(digest("x"), std::nullopt));
    advance(1s);
    sync_.fetch(view_.of_chunks());
    of_chunks_.on_lacked_by({"h2"}, digest("x"));
    EXPECT_TRUE(sync_.lost().empty());
  }
};

TEST_F(LackedChunkOfReplica, WhatIsNowhereIsNotPending) {
  pending_.add({"c"}, digest("x"), 100);
  of_chunks_.on_lacked_by({"h3"}, digest("x"));
  EXPECT_EQ(sync_.lost().size(), 1U);
  of_chunks_.tick();
  EXPECT_TRUE(pending_.empty());
}

/// The only copy is in this host's memory then: whoever suspends the session waits for it.
TEST_F(LackedChunkOfReplica, WhatIsMadeAgainIsStoredAndPendingAgain) {
  const session::Session before = *core_.session;
  core_.session.emplace(core_.session_id,
                        session::Spec{.kernel_name = "python3", .durability = session::Durability::kAsync},
                        before.members());
  commit("x");
  starts("c");
  of_chunks_.look_at_executor();
  of_chunks_.on_lacked_by({"h3"}, digest("x"));
  ASSERT_EQ(sync_.lost().size(), 1U);
  of_chunks_.on_made_again({{.digest = digest("x"), .size = 1, .bytes = Blob("x")},
                            {.digest = digest("y"), .size = 1, .bytes = Blob("y")}});
  ASSERT_NE(chunks_.captured(digest("x")), nullptr);
  EXPECT_EQ(chunks_.captured(digest("y")), nullptr) << "nothing refers to it";
  of_chunks_.tick();
  EXPECT_TRUE(pending_.contains(digest("x")));
  ASSERT_TRUE(chunks_.landed_in_background(digest("x")));
  settle();
  (void)told<ChunkStored>({"h2"});
  of_chunks_.on_durable(digest("x"));
  EXPECT_TRUE(sync_.lost().empty());
  settle();
  EXPECT_THAT(told<ChunkStored>({"h2"}), SizeIs(1)) << "who counts it as lost asks for it now";
  EXPECT_THAT(told<ChunkStored>({"h3"}), SizeIs(1));
  EXPECT_TRUE(pending_.contains(digest("x"))) << "it is on one disk";
  of_chunks_.on_stored_by({"h2"}, digest("x"));
  EXPECT_FALSE(pending_.contains(digest("x")));
}

TEST_F(LackedChunkOfReplica, WhatAnotherOneHasAgainIsNotLost) {
  of_chunks_.on_lacked_by({"h3"}, digest("x"));
  ASSERT_EQ(sync_.lost().size(), 1U);
  of_chunks_.on_stored_by({"h2"}, digest("x"));
  EXPECT_TRUE(sync_.lost().empty());
}

TEST_F(LackedChunkOfReplica, WhatWasSaidBeforeAPeerStartedAgainDoesNotCount) {
  of_chunks_.on_peer_restarted({"h3"});
  of_chunks_.on_lacked_by({"h3"}, digest("x"));
  EXPECT_TRUE(sync_.lost().empty()) << "h2 may have got it from h3";
}

}  // namespace
}  // namespace banyan::node
