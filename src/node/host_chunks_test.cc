#include "node/host_chunks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/session/questions.h"
#include "node/test_hosts.h"

namespace banyan::node {
namespace {

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

}  // namespace
}  // namespace banyan::node
