// Chunks that hosts read from a data store: those of a session that was restored from a backup there.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "core/session/session.h"
#include "node/test_hosts.h"

namespace banyan::node {
namespace {

const std::string kValue(100'000, '7');
constexpr std::size_t kBlocks = 80;
const std::string kImport = "5a3b6a0e-30d8-4f6c-9a53-2f2b1e7c9d10";

/// In which x=kValue and live=2 were said, as an import: live is its cell's to make.
Blob state_of(session::Elsewhere chunks, std::size_t blocks) {
  TestHosts from;
  from.blocks_ = blocks;
  from.open();
  from.execute("c1", "x=" + kValue, {1}, {"h1"});
  EXPECT_TRUE(from.run_until([&] { return from.ended("c1"); }));
  from.execute("c2", "live=2", {1}, {"h1"});
  EXPECT_TRUE(from.run_until([&] { return from.ended("c2"); }));
  from.send({"h1"}, AskSession{kSession, "r", R"({"do":"export","values":"all"})"});
  EXPECT_TRUE(from.run_until([&] { return from.session_answers_.contains("r"); }));
  const auto session = session::Session::restore(Blob(from.session_answers_["r"].content));
  EXPECT_TRUE(session);
  return session ? session->snapshot_from(std::move(chunks)) : Blob();
}

session::Elsewhere in_store() {
  return {.prefix = "chunks-of/s/", .sha256 = {{digest_of(kValue), std::string(64, 'a')}}};
}

std::string key() { return "chunks-of/s/" + to_hex(digest_of(kValue)); }

/// Whether the session took the state.
bool import(TestHosts& cluster, session::Elsewhere chunks, std::size_t blocks = 1) {
  cluster.open();
  EXPECT_TRUE(cluster.run_until([&] { return cluster.reports_[{"h1"}][kSession].leader != ReplicaId{}; }));
  cluster.send({"h1"}, ImportSession{kSession, kImport, state_of(std::move(chunks), blocks)});
  EXPECT_TRUE(cluster.run_until([&] { return cluster.session_answers_.contains(kImport); }));
  const SessionAnswer& answer = cluster.session_answers_[kImport];
  return !answer.refused;
}

bool complete(TestHosts& cluster) {
  return std::ranges::all_of(std::array{"h1", "h2", "h3"}, [&](const char* host) {
    const ReplicaReport& report = cluster.reports_[{host}][kSession];
    return report.last.value > 0 && report.complete && report.lacking == 0;
  });
}

std::map<std::string, std::string>& variables(TestHosts& cluster, const HostId& host) {
  return cluster.hosts_[host].workers.begin()->second.variables;
}

TEST(Store, OneHostReadsWhatNoneHasAndTheOthersHaveItFromThere) {
  TestHosts cluster;
  cluster.store_[key()] = Blob(kValue);
  ASSERT_TRUE(import(cluster, in_store()));
  ASSERT_TRUE(cluster.run_until([&] { return complete(cluster); }));
  EXPECT_EQ(cluster.fetched_, std::vector{key()});
  cluster.execute("c3", "y=6", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
  EXPECT_EQ(variables(cluster, {"h1"})["x"], kValue);
}

TEST(Store, CellsRunAgainWhileItIsAsked) {
  TestHosts cluster;
  cluster.store_answers_ = false;
  ASSERT_TRUE(import(cluster, in_store()));
  cluster.execute("c3", "y=6", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.repeats_[{2}] == 1 && !cluster.fetched_.empty(); }));
  EXPECT_FALSE(cluster.ended("c3"));
  cluster.store_answers_ = true;
  cluster.store_[key()] = Blob(kValue);
  cluster.answer_fetches();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }));
  const auto& shown = variables(cluster, {"h1"});
  EXPECT_EQ(shown.at("x"), kValue);
  EXPECT_EQ(shown.at("live"), "2");
}

TEST(Store, AHostThatRestartsStillKnowsWhereItsChunksAre) {
  TestHosts cluster;
  cluster.store_answers_ = false;
  ASSERT_TRUE(import(cluster, in_store()));
  for (const char* host : {"h1", "h2", "h3"}) {
    cluster.kill({host});
    Recovered found;
    for (const auto& [session, replica] : cluster.hosts_[{host}].replicas.all())
      found.replicas.push_back(replica);
    cluster.start({host}, found);
  }
  cluster.store_answers_ = true;
  cluster.store_[key()] = Blob(kValue);
  EXPECT_TRUE(cluster.run_until([&] { return complete(cluster); }, 30s));
}

TEST(Store, WhatItHasNotIsMadeAgainByItsCellAndIsWaitedForByNobody) {
  TestHosts cluster;
  ASSERT_TRUE(import(cluster, in_store()));
  cluster.execute("c3", "y=6", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }, 60s));
  EXPECT_EQ(variables(cluster, {"h1"})["x"], kValue);
  const auto lost = [&] {
    const ReplicaReport& report = cluster.reports_[{"h2"}][kSession];
    return report.lost == 1 && report.lacking == 0 && report.complete;
  };
  EXPECT_TRUE(cluster.run_until(lost, 60s)) << "the session could not move any more";
  EXPECT_LE(cluster.fetched_.size(), 3U) << "each host asks it once for what it has not";
}

TEST(Store, WhatItHadNotItMayHaveWhenTheSessionIsImportedAnew) {
  TestHosts cluster;
  ASSERT_TRUE(import(cluster, in_store()));
  const auto denied = [&] { return cluster.reports_[{"h1"}][kSession].lost == 1; };
  ASSERT_TRUE(cluster.run_until(denied, 90s));
  for (const char* host : {"h1", "h2", "h3"}) cluster.send({host}, CloseReplica{kSession});
  cluster.run_until([] { return false; }, 1s);
  cluster.reports_.clear();
  cluster.session_answers_.clear();
  cluster.store_[key()] = Blob(kValue);
  ASSERT_TRUE(import(cluster, in_store()));
  EXPECT_TRUE(cluster.run_until([&] { return complete(cluster); }));
}

TEST(Store, WhatAnotherBackupLacksThisOneMayHave) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;
  cluster.store_is_down_ = true;
  ASSERT_TRUE(import(cluster, in_store()));
  cluster.run_until([] { return false; }, 1s);
  const Digest chunk = digest_of(kValue);
  for (const char* host : {"h1", "h2", "h3"})
    cluster.deliver({host}, ChunkFetched{chunk, "chunks-of/another/" + to_hex(chunk), std::nullopt, true});
  cluster.store_is_down_ = false;
  cluster.store_[key()] = Blob(kValue);
  EXPECT_TRUE(cluster.run_until([&] { return cluster.hosts_[{"h2"}].chunks.contains(chunk); }, 60s));
}

TEST(Store, AHostWithoutPeersDoesNotAskOnEnd) {
  TestHosts cluster;
  cluster.store_answers_ = false;
  ASSERT_TRUE(import(cluster, in_store()));
  for (const char* host : {"h2", "h3"}) cluster.kill({host});
  cluster.run_until([] { return false; }, 5s);
  cluster.store_answers_ = true;
  cluster.answer_fetches();
  cluster.run_until([] { return false; }, 20s);
  EXPECT_LE(cluster.fetched_.size(), 5U);
}

TEST(Store, ASilentStoreIsAskedAgainAndNothingIsGivenUpForAWhile) {
  TestHosts cluster;
  cluster.cells_have_effects_ = true;
  cluster.store_is_down_ = true;
  ASSERT_TRUE(import(cluster, in_store()));
  cluster.execute("c3", "y=6", {1}, {"h1"});
  cluster.run_until([] { return false; }, 60s);
  EXPECT_FALSE(cluster.ended("c3")) << "what the store has is not lost because it is away";
  EXPECT_LE(cluster.fetched_.size(), 30U);
  cluster.store_is_down_ = false;
  cluster.store_[key()] = Blob(kValue);
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c3"); }, 60s));
  EXPECT_EQ(variables(cluster, {"h1"})["x"], kValue);
}

TEST(Store, EachOfManyChunksIsReadOnce) {
  TestHosts cluster;
  session::Elsewhere there{.prefix = "chunks-of/s/", .sha256 = {}};
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const std::string block = i == 0 ? kValue : kValue + std::to_string(i);
    there.sha256[digest_of(block)] = std::string(64, 'a');
    cluster.store_["chunks-of/s/" + to_hex(digest_of(block))] = Blob(block);
  }
  ASSERT_TRUE(import(cluster, there, kBlocks));
  ASSERT_TRUE(cluster.run_until([&] { return complete(cluster); }));
  EXPECT_EQ(cluster.fetched_.size(), kBlocks);
}

TEST(Store, AStateWhoseChunksAreNowhereIsRefused) {
  TestHosts cluster;
  EXPECT_FALSE(import(cluster, {}));
  EXPECT_NE(cluster.session_answers_[kImport].reason.find("was not sent"), std::string::npos);
}

}  // namespace
}  // namespace banyan::node
