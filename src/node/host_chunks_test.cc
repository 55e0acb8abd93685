#include "node/host_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/session/questions.h"
#include "node/test_host.h"
#include "node/test_hosts.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// x, on the disks of its three replicas.
void store_large_value(TestHosts& cluster) {
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 1s);
}

TEST(LargeValues, AReplicaThatMissesAValueIsNotCompleteUntilAPeerSendsIt) {
  TestHosts cluster;
  store_large_value(cluster);
  EXPECT_TRUE(cluster.reports_[{"h3"}][kSession].complete);
  const auto kept = cluster.hosts_[{"h1"}].chunks;
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == more; }));
  EXPECT_FALSE(cluster.reports_[{"h4"}][kSession].complete);
  cluster.hosts_[{"h1"}].chunks = kept;
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }));
}

TEST(LargeValues, AHostSaysToTheGatewayWhatItLacks) {
  TestHosts cluster;
  store_large_value(cluster);
  const Digest digest = cluster.hosts_[{"h2"}].chunks.begin()->first;
  cluster.hosts_[{"h3"}].chunks.clear();
  for (const char* host : {"h2", "h3"}) cluster.send({host}, ChunkWanted{kSession, digest});
  cluster.run_until([] { return false; }, 100ms);
  ASSERT_EQ(cluster.chunk_parts_[{"h3"}].size(), 1);
  EXPECT_EQ(cluster.chunk_parts_[{"h3"}][0].size, 0);
  ASSERT_FALSE(cluster.chunk_parts_[{"h2"}].empty());
  EXPECT_GT(cluster.chunk_parts_[{"h2"}][0].size, 0);
}

TEST(LargeValues, AValueThatOnlyAReplicaThatLeftHasIsFetchedFromThere) {
  TestHosts cluster;
  store_large_value(cluster);
  for (const char* host : {"h1", "h3"}) cluster.hosts_[{host}].chunks.clear();
  const session::Members next = {{{1}, {"h1"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, next, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, next, 1});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].members == next; }));
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }));
}

TEST(LargeValues, AValueThatNoHostHasAnyMoreIsNamedAndTheCellRunsWithoutIt) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.lose_worker({"h2"});
  cluster.outputs_.clear();
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 60s));
  EXPECT_EQ(cluster.ended_[{"c2"}].status, session::Status::kOk);
  EXPECT_TRUE(cluster.said("'x' could not be restored"));
}

TEST(LargeValues, ACommitOfManyChunksIsProposedOnce) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.blocks_ = 300;
  const std::size_t before = cluster.hosts_[{"h1"}].entries;
  cluster.execute("c2", "y=" + std::string(70'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  cluster.run_until([] { return false; }, 500ms);
  EXPECT_LE(cluster.hosts_[{"h1"}].entries - before, 4U) << "each chunk that arrived had the commit proposed";
}

TEST(LargeValues, DamageOnADiskIsFoundAndRepairedFromAPeer) {
  TestHosts cluster;
  store_large_value(cluster);
  const auto kept = cluster.hosts_[{"h2"}].chunks;
  ASSERT_EQ(kept.size(), 1U);
  cluster.run_until([] { return false; });  // until nothing is under way any more
  cluster.hosts_[{"h2"}].chunks.clear();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.hosts_[{"h2"}].chunks == kept; }, 10s));
}

TEST(LargeValues, AValueThatNoHostHasAnyMoreIsMadeAgainByItsCell) {
  TestHosts cluster;
  cluster.open();
  const std::string value(100'000, '7');
  cluster.execute("c1", "x=" + value, {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.lose_worker({"h2"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 60s));
  EXPECT_EQ(cluster.hosts_[{"h2"}].workers.begin()->second.variables["x"], value);
}

TEST(LargeValues, AnOlderValueDoesNotStandForOneThatIsGivenUp) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;
  cluster.open();
  cluster.execute("c1", "x=1", {1}, {"h1"});
  const auto shown = [&] { return cluster.hosts_[{"h2"}].workers.begin()->second.variables; };
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1") && shown().contains("x"); }));
  cluster.loses_chunks_ = HostId{"h2"};
  cluster.execute("c2", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }));
  for (const char* host : {"h1", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.outputs_.clear();
  cluster.execute("c3", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }, 60s));
  EXPECT_FALSE(shown().contains("x"));
  EXPECT_TRUE(cluster.said("waiting for x"));
  EXPECT_TRUE(cluster.said("'x' could not be restored"));
}

TEST(LargeValues, OneThatComesAfterItWasGivenUpIsShownFromThenOn) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;
  cluster.open();
  const std::string value(100'000, '7');
  cluster.execute("c1", "x=" + value, {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  const auto kept = cluster.hosts_[{"h1"}].chunks;
  for (const char* host : {"h1", "h2", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.lose_worker({"h2"});
  cluster.execute("c2", "y=6", {2}, {"h2"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c2"); }, 60s));
  EXPECT_FALSE(cluster.hosts_[{"h2"}].workers.begin()->second.variables.contains("x"));
  cluster.hosts_[{"h1"}].chunks = kept;
  EXPECT_TRUE(cluster.run_until(
      [&] { return cluster.hosts_[{"h2"}].workers.begin()->second.variables["x"] == value; }, 60s));
}

TEST(LargeValues, AReplicaWithoutAWorkerFetchesThemToo) {
  TestHosts cluster;
  cluster.open();
  cluster.execute("c1", "x=" + std::string(100'000, '7'), {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.workers_start_ = false;
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }));
  EXPECT_EQ(cluster.hosts_[{"h4"}].chunks.size(), 1U);
}

TEST(LargeValues, ManyAreFetchedOneAfterTheOtherWithoutPauses) {
  TestHosts cluster;
  cluster.open();
  for (int i = 0; i < 20; ++i) {
    const std::string cell = "c" + std::to_string(i);
    cluster.execute(cell, "x" + std::to_string(i) + "=" + std::string(100'000 + i, '7'), {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  }
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h4"}][kSession].complete; }, 2s));
  EXPECT_EQ(cluster.hosts_[{"h4"}].chunks.size(), 20U);
}

TEST(LargeValues, WhatAViewDoesNotNeedComesSlowlyUntilItStands) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;  // they do not run again
  cluster.open();
  constexpr std::size_t kCells = 100;
  for (std::size_t i = 0; i < kCells; ++i) {
    const std::string cell = "c" + std::to_string(i);
    cluster.execute(cell, "x=" + cell + std::string(70'000, '7'), {1}, {"h1"});
    ASSERT_TRUE(cluster.run_until([&] { return cluster.ended(cell); }));
  }
  const std::string needed(80'000, '8');
  cluster.execute("last", "y=" + needed, {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("last"); }));
  cluster.run_until([] { return false; }, 1s);
  for (const char* host : {"h1", "h3"}) cluster.hosts_[{host}].chunks.erase(digest_of(needed));
  cluster.cut_ = {{"h2"}};
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  const auto prepare = [&] {
    cluster.send({"h4"}, AskSession{.session = kSession,
                                    .request = "p",
                                    .question = session::text_of(session::question::Prepare{})});
  };
  prepare();
  cluster.run_until([] { return false; }, 2s);
  prepare();
  const std::size_t came = cluster.hosts_[{"h4"}].chunks.size();
  EXPECT_GT(came, 10U);
  EXPECT_LT(came, kCells);
  cluster.cut_.clear();
  const auto shows = [&] {
    const auto& workers = cluster.hosts_[{"h4"}].workers;
    return !workers.empty() && workers.begin()->second.variables.contains("y");
  };
  EXPECT_TRUE(cluster.run_until(shows, 4s));
  EXPECT_TRUE(cluster.run_until([&] { return cluster.hosts_[{"h4"}].chunks.size() == kCells + 1; }, 1s));
}

TEST(LargeValues, OneThatAViewWaitsForIsNotReadBackFromTheDisk) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;  // they do not run again
  cluster.open();
  const std::string value(100'000, '7');
  cluster.execute("c1", "x=" + value, {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.run_until([] { return false; }, 1s);
  for (const char* host : {"h1", "h3"}) cluster.hosts_[{host}].chunks.clear();
  cluster.cut_ = {{"h2"}};
  const session::Members more = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}, {{4}, {"h4"}}};
  cluster.send({"h4"}, OpenReplica{kSession, {4}, {.kernel_name = "python3"}, more, Origin::kJoining});
  cluster.send({"h1"}, ChangeMembers{kSession, more, 1});
  for (int second = 0; second < 2; ++second) {
    cluster.send({"h4"}, AskSession{.session = kSession,
                                    .request = "p",
                                    .question = session::text_of(session::question::Prepare{})});
    cluster.run_until([] { return false; }, 1s);
  }
  cluster.cut_.clear();
  const auto shows = [&] {
    const auto& workers = cluster.hosts_[{"h4"}].workers;
    return !workers.empty() && workers.begin()->second.variables.contains("x");
  };
  EXPECT_TRUE(cluster.run_until(shows, 4s));
  EXPECT_EQ(cluster.chunk_reads_.count({{"h4"}, digest_of(value)}), 0U);
  EXPECT_TRUE(cluster.hosts_[{"h4"}].chunks.contains(digest_of(value)));
}

TEST(LargeValues, AHostThatIsHeardIsAskedAlsoWhenItsConnectionBroke) {
  TestHosts cluster;
  cluster.open();
  cluster.loses_chunks_ = HostId{"h2"};
  cluster.lose_connections({"h2"});
  const std::string value(100'000, '7');
  cluster.execute("c1", "x=" + value, {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.loses_chunks_.reset();
  EXPECT_TRUE(cluster.run_until(
      [&] { return cluster.hosts_[{"h2"}].workers.begin()->second.variables["x"] == value; }));
}

TEST(LargeValues, OneThatNothingUsesAfterACrashLeavesTheDisk) {
  TestHosts cluster;
  const Digest left = digest_of("left");
  cluster.hosts_[{"h1"}].chunks[left] = Blob("left");
  cluster.kill({"h1"});
  cluster.start({"h1"}, {.replicas = {}, .chunks = {left}, .speeds = {}});
  cluster.run_until([] { return false; }, 30s);
  EXPECT_EQ(cluster.hosts_[{"h1"}].chunks.size(), 1U);
  cluster.run_until([] { return false; }, 40s);
  EXPECT_TRUE(cluster.hosts_[{"h1"}].chunks.empty());
}

TEST(LargeValues, AValueThatIsNotUsedAnyMoreLeavesTheDiskAMinuteLaterUnlessItIsUsedAgain) {
  TestHosts cluster;
  cluster.open({{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}, {.values = 90'000});  // no commit but head
  const auto run = [&](const std::string& cell, const std::string& code) {
    cluster.execute(cell, code, {1}, {"h1"});
    return cluster.run_until([&] { return cluster.ended(cell); });
  };
  const auto copies = [&](const std::string& value) {
    return std::ranges::count_if(
        cluster.hosts_, [&](const auto& item) { return item.second.chunks.contains(digest_of(value)); });
  };
  const std::string first(100'000, '1');
  const std::string second(100'000, '2');
  ASSERT_TRUE(run("c1", "x=" + first) && run("c2", "y=" + second));
  ASSERT_TRUE(run("c3", "x=0") && run("c4", "y=0"));
  cluster.run_until([] { return false; }, 30s);
  EXPECT_EQ(copies(first), 3);
  ASSERT_TRUE(run("c5", "z=" + first));
  cluster.run_until([] { return false; }, 60s);
  EXPECT_EQ(copies(first), 3);
  EXPECT_EQ(copies(second), 0);
}

const HostId kH2{"h2"}, kH3{"h3"};
const Digest kA = digest_of("a"), kB = digest_of("b");

/// The chunks of one host that has a data store.
class ChunksOnDisk : public TestHost {
 protected:
  template <class Write>
  std::vector<Digest> wrote() {
    std::vector<Digest> digests;
    for (const Persist& batch : done<Persist>())
      for (const DiskWrite& write : batch.writes)
        if (const auto* const one = std::get_if<Write>(&write)) digests.push_back(one->digest);
    return digests;
  }
  std::vector<Digest> reads() {
    std::vector<Digest> digests;
    for (const ReadChunk& one : done<ReadChunk>()) digests.push_back(one.digest);
    return digests;
  }
  void store(const Digest& digest) {
    chunks_.put(digest, Blob("x"));
    ASSERT_TRUE(chunks_.landed(digest));
  }

  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, true};
};

TEST_F(ChunksOnDisk, AChunkIsWrittenOnce) {
  chunks_.put(kA, Blob("a"));
  chunks_.put(kA, Blob("a"));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(kA));
  EXPECT_FALSE(chunks_.durable(kA));
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_FALSE(chunks_.landed(kA));
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.put(kA, Blob("a"));
  EXPECT_THAT(wrote<PutChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatNothingUsesLeavesTheDiskAMinuteLater) {
  store(kA);
  chunks_.use(kB);
  store(kB);
  advance(60s - 1ms);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  advance(1ms);
  chunks_.drop_unused();
  EXPECT_FALSE(chunks_.durable(kA));
  EXPECT_TRUE(chunks_.durable(kB));
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA));
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatTwoUseStaysUntilNeitherDoes) {
  chunks_.use(kA);
  chunks_.use(kA);
  store(kA);
  chunks_.unuse(kB);  // nobody does
  chunks_.unuse(kA);
  advance(2min);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.unuse(kA);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA)) << "its minute begins now";
  advance(30s);
  chunks_.use(kA);
  advance(2min);
  chunks_.drop_unused();
  EXPECT_TRUE(chunks_.durable(kA));
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
}

TEST_F(ChunksOnDisk, WhatIsDroppedBeforeItIsWrittenDoesNotLand) {
  chunks_.put(kA, Blob("a"));
  advance(60s);
  chunks_.drop_unused();
  EXPECT_FALSE(chunks_.landed(kA));
}

TEST_F(ChunksOnDisk, WhatAnEarlierLifeLeftIsThereOnceItWasRead) {
  chunks_.found({kA, kB});
  EXPECT_FALSE(chunks_.durable(kA));
  chunks_.read(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_TRUE(chunks_.durable(kA));
  chunks_.use(kB);
  chunks_.uses_known();
  advance(60s);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA)) << "nothing uses it";
}

TEST_F(ChunksOnDisk, WhatAnEarlierLifeLeftStaysUntilItsUsesAreKnown) {
  chunks_.found({kA});
  advance(1h);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), IsEmpty());
  chunks_.put(kA, Blob("a"));
  chunks_.uses_known();
  advance(1min);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<DropChunk>(), ElementsAre(kA));
}

TEST_F(ChunksOnDisk, AnAnswerAboutAChunkThatHasLeftDoesNotBringItBack) {
  chunks_.read(kA);
  EXPECT_TRUE(chunks_.on_read(kA, 1));
  EXPECT_FALSE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, AChunkThatIsThereAndCannotBeReadIsDamaged) {
  EXPECT_TRUE(chunks_.on_read(kA, std::nullopt)) << "it was never here";
  chunks_.put(kA, Blob("a"));
  EXPECT_TRUE(chunks_.on_read(kA, std::nullopt)) << "it is on its way to the disk";
  EXPECT_TRUE(chunks_.landed(kA));
  EXPECT_FALSE(chunks_.on_read(kA, std::nullopt));
  EXPECT_FALSE(chunks_.durable(kA));
}

TEST_F(ChunksOnDisk, TheDiskIsAskedOnceAtATimeForAChunk) {
  chunks_.read(kA);
  chunks_.read(kA);
  chunks_.read(kB);
  EXPECT_THAT(reads(), ElementsAre(kA, kB));
  (void)chunks_.on_read(kA, std::nullopt);
  chunks_.read(kA);
  EXPECT_THAT(reads(), ElementsAre(kA));
}

TEST_F(ChunksOnDisk, HowFastItIsIsLearnedFromManyBytesOrAllThatWereAskedFor) {
  chunks_.use(kA);
  chunks_.read(kA);
  chunks_.read(kB);
  advance(1s);
  EXPECT_TRUE(chunks_.on_read(kA, 1'000'000));
  EXPECT_EQ(speeds_.now().samples(), 0U);
  EXPECT_TRUE(chunks_.on_read(kB, 1'000'000));
  EXPECT_EQ(speeds_.now().samples(), 1U) << "no other one is awaited";
  chunks_.read(kA);
  chunks_.read(kB);
  EXPECT_TRUE(chunks_.on_read(kA, 2 << 20));
  EXPECT_EQ(speeds_.now().samples(), 2U) << "many bytes";
  EXPECT_TRUE(chunks_.on_read(kB, std::nullopt));
  EXPECT_EQ(speeds_.now().samples(), 2U) << "none came";
}

TEST_F(ChunksOnDisk, AreReadOneAfterTheOtherToFindWhatIsDamaged) {
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty()) << "there is none";
  store(kA);
  store(kB);
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::min(kA, kB)));
  advance(1s);
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty()) << "the disk has not answered";
  EXPECT_TRUE(chunks_.on_read(std::min(kA, kB), 1));
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::max(kA, kB)));
  EXPECT_TRUE(chunks_.on_read(std::max(kA, kB), 1));
  advance(249ms);
  chunks_.scrub();
  EXPECT_THAT(reads(), IsEmpty());
  advance(1ms);
  chunks_.scrub();
  EXPECT_THAT(reads(), ElementsAre(std::min(kA, kB))) << "again and again";
}

TEST_F(ChunksOnDisk, ADataStoreIsAskedOnceAtATimeForWhatItMayHave) {
  const session::Elsewhere there{.prefix = "p/", .sha256 = {{kA, "sha"}}};
  chunks_.fetch(kB, there);
  EXPECT_FALSE(chunks_.fetching(kB));
  chunks_.fetch(kA, there);
  chunks_.fetch(kA, there);
  EXPECT_TRUE(chunks_.fetching(kA));
  const auto fetches = done<FetchChunk>();
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].key, "p/" + to_hex(kA));
  EXPECT_EQ(fetches[0].sha256, "sha");
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = Blob("a")});
  EXPECT_FALSE(chunks_.fetching(kA));
}

TEST_F(ChunksOnDisk, ADataStoreThatIsSilentIsLeftAloneForAWhile) {
  EXPECT_TRUE(chunks_.store_answers());
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}, .denied = true});
  EXPECT_TRUE(chunks_.store_answers()) << "it said that it has it not";
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  EXPECT_FALSE(chunks_.store_answers());
  advance(10s - 1ms);
  EXPECT_FALSE(chunks_.store_answers());
  advance(1ms);
  EXPECT_TRUE(chunks_.store_answers());
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = Blob("a")});
  EXPECT_TRUE(chunks_.store_answers());
}

TEST_F(ChunksOnDisk, WithoutADataStoreNothingIsFetched) {
  HostChunks alone(host_, speeds_, false);
  EXPECT_FALSE(alone.has_store());
  EXPECT_FALSE(alone.store_answers());
  alone.fetch(kA, {.prefix = "p/", .sha256 = {{kA, "sha"}}});
  EXPECT_FALSE(alone.fetching(kA));
}

TEST_F(ChunksOnDisk, OnTheirWayIsWhatPeersWereAskedForJustNow) {
  chunks_.on_asked(kH2, kA);
  chunks_.on_asked(kH2, kB);
  chunks_.on_asked(kDataStore, digest_of("c"));
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "a data store is another way";
  chunks_.on_asked(kH3, kB);
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "the first one did not send it";
  chunks_.on_come(kH2, kB, 10);
  EXPECT_EQ(chunks_.on_their_way(), 2U) << "it comes from there late";
  chunks_.on_come(kH3, kB, 10);
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  advance(2s - 1ms);
  EXPECT_EQ(chunks_.on_their_way(), 1U);
  advance(1ms);
  EXPECT_EQ(chunks_.on_their_way(), 0U);
  chunks_.on_asked(kH2, kB);
  EXPECT_EQ(chunks_.on_their_way(), 1U) << "what was not sent for so long is not counted any more";
}

TEST_F(ChunksOnDisk, HowFastAPeerSendsIsLearnedFromManyBytesOrAllThatWereAskedFor) {
  chunks_.on_asked(kH2, kA);
  chunks_.on_asked(kH2, kB);
  advance(100ms);
  chunks_.on_come(kH2, kA, 1000);
  EXPECT_EQ(speeds_.now().samples(), 0U);
  chunks_.on_come(kH2, kB, 1000);
  EXPECT_EQ(speeds_.now().samples(), 1U);
  for (const Digest& digest : {kA, kB, digest_of("c")}) chunks_.on_asked(kH2, digest);
  chunks_.on_come(kH2, kA, 2 << 20);
  EXPECT_EQ(speeds_.now().samples(), 1U) << "no time has passed";
  advance(100ms);
  chunks_.on_come(kH2, kB, 1);
  EXPECT_EQ(speeds_.now().samples(), 2U);
  chunks_.on_come(kH3, digest_of("c"), 1);
  EXPECT_EQ(speeds_.now().samples(), 2U) << "that one was not asked";
}

TEST_F(ChunksOnDisk, WhatADataStoreStillFetchesCountsForItsSpeedAlsoWhenAPeerIsAskedToo) {
  chunks_.fetch(kA, {.prefix = "p/", .sha256 = {{kA, "sha"}}});
  chunks_.on_asked(kDataStore, kA);
  chunks_.on_asked(kH2, kA);
  chunks_.on_come(kDataStore, kA, 100);
  EXPECT_EQ(speeds_.now().samples(), 1U);
  chunks_.on_fetched({.digest = kA, .key = "", .bytes = {}});
  chunks_.on_asked(kDataStore, kB);
  chunks_.on_fetched({.digest = kB, .key = "", .bytes = {}});
  chunks_.on_come(kDataStore, kB, 100);
  EXPECT_EQ(speeds_.now().samples(), 1U) << "it has not given it";
}

/// They were being read from the disk when they were captured: an earlier life has left them there.
TEST_F(ChunksOnDisk, WhatIsThereAlreadyIsNotWrittenAndHoldsUpNothing) {
  const Blob half(std::string(2 << 20, 'h')), other(std::string(2 << 20, 'o')),
      third(std::string(2 << 20, 't'));
  for (const Blob& one : {half, other, third}) chunks_.use(digest_of(one.view()));
  const Blob first(std::string(4 << 20, 'f'));
  chunks_.use(digest_of(first.view()));
  chunks_.capture(digest_of(first.view()), first);
  for (const Blob& one : {half, other, third}) chunks_.capture(digest_of(one.view()), one);
  for (const Blob& one : {half, other}) EXPECT_TRUE(chunks_.on_read(digest_of(one.view()), one.size()));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(digest_of(first.view())));
  EXPECT_TRUE(chunks_.landed(digest_of(first.view())));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(digest_of(third.view())));
  EXPECT_EQ(chunks_.captured_bytes(), third.size());
}

TEST_F(ChunksOnDisk, OneThatWasCapturedAndIsNotUsedAnyMoreIsNeverWritten) {
  const Blob first(std::string(4 << 20, 'f'));
  for (const Digest& digest : {digest_of(first.view()), kA}) chunks_.use(digest);
  chunks_.capture(digest_of(first.view()), first);
  chunks_.capture(kA, Blob("a"));
  chunks_.unuse(kA);
  EXPECT_EQ(chunks_.captured_bytes(), first.size());
  EXPECT_TRUE(chunks_.landed(digest_of(first.view())));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(digest_of(first.view())));
}

TEST_F(ChunksOnDisk, OneThatIsDroppedWhileItIsWrittenHoldsUpNothing) {
  const Blob first(std::string(4 << 20, 'f'));
  for (const Digest& digest : {digest_of(first.view()), kA}) chunks_.use(digest);
  chunks_.capture(digest_of(first.view()), first);
  chunks_.capture(kA, Blob("a"));
  chunks_.unuse(digest_of(first.view()));
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(digest_of(first.view())));
  advance(1min);
  chunks_.drop_unused();
  EXPECT_THAT(wrote<PutChunk>(), ElementsAre(kA));
}

}  // namespace
}  // namespace banyan::node
