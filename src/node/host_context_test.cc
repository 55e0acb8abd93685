#include "node/host_context.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

const HostId kH2{"h2"}, kH3{"h3"};
const SessionId kS{"s"}, kT{"t"};

class HostContexts : public TestHost {
 protected:
  static raft::Persist write(std::uint64_t token, raft::Sync sync = raft::Sync::kRequired) {
    return {.token = {token}, .sync = sync, .entries = {}};
  }
  /// The sessions whose writes landed, with their tokens.
  static std::vector<std::pair<std::string, std::uint64_t>> writes_of(const HostContext::Landed& landed) {
    std::vector<std::pair<std::string, std::uint64_t>> writes;
    for (const Durable& one : landed.writes) writes.emplace_back(one.session.value, one.token.value);
    return writes;
  }
  std::uint64_t token() {
    const auto batches = done<Persist>();
    EXPECT_EQ(batches.size(), 1U);
    return batches.empty() ? 0 : batches[0].token;
  }
};

TEST_F(HostContexts, WritesOfAStepAreOneBatch) {
  host_.persist(kS, write(1));
  host_.persist(kT, write(1));
  host_.write_chunk(digest_of("a"), Blob("a"));
  host_.birth(kS);
  const auto batches = done<Persist>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].writes.size(), 3U);
  const auto landed = host_.persisted(batches[0].token);
  EXPECT_THAT(writes_of(landed), ElementsAre(Pair("s", 1U), Pair("t", 1U)));
  EXPECT_THAT(landed.chunks, ElementsAre(digest_of("a")));
  EXPECT_THAT(landed.births, ElementsAre(kS));
  EXPECT_THAT(done<Persist>(), IsEmpty());
}

TEST_F(HostContexts, AWriteIsReportedOnceAndNotBeforeItLanded) {
  host_.persist(kS, write(1));
  const std::uint64_t first = token();
  host_.persist(kS, write(2));
  const std::uint64_t second = token();
  EXPECT_EQ(second, first + 1);
  EXPECT_THAT(writes_of(host_.persisted(first)), ElementsAre(Pair("s", 1U)));
  EXPECT_THAT(writes_of(host_.persisted(first)), IsEmpty());
  EXPECT_THAT(writes_of(host_.persisted(second)), ElementsAre(Pair("s", 2U)));
}

TEST_F(HostContexts, ATokenMeansAllBatchesUpToIt) {
  for (const std::uint64_t n : {1U, 2U}) {
    host_.persist(kS, write(n));
    host_.write_chunk(digest_of(std::to_string(n)), Blob("a"));
    host_.birth(n == 1 ? kS : kT);
    if (n == 1) (void)token();
  }
  const auto landed = host_.persisted(token());
  EXPECT_THAT(writes_of(landed), ElementsAre(Pair("s", 1U), Pair("s", 2U)));
  EXPECT_THAT(landed.chunks, SizeIs(2));
  EXPECT_THAT(landed.births, ElementsAre(kS, kT));
}

TEST_F(HostContexts, OnlyWhatAWriteHasGoesToTheDisk) {
  host_.persist(kS, write(1));
  auto batches = done<Persist>();
  ASSERT_EQ(batches.at(0).writes.size(), 1U) << "the hard state";
  EXPECT_TRUE(std::holds_alternative<PutHardState>(batches[0].writes[0]));
  raft::Persist entries = write(2);
  entries.entries = {{.term = {1}, .index = {1}}};
  host_.persist(kS, std::move(entries));
  batches = done<Persist>();
  ASSERT_EQ(batches.at(0).writes.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<PutEntries>(batches[0].writes[1]));
  raft::Persist snapshot = write(3);
  snapshot.snapshot.emplace();
  host_.persist(kS, std::move(snapshot));
  batches = done<Persist>();
  ASSERT_EQ(batches.at(0).writes.size(), 3U) << "a snapshot ends entries, too";
  EXPECT_TRUE(std::holds_alternative<PutSnapshot>(batches[0].writes[1]));
  EXPECT_TRUE(std::holds_alternative<PutEntries>(batches[0].writes[2]));
}

TEST_F(HostContexts, AWriteThatNobodyWaitsForWaitsForCompany) {
  host_.persist(kS, write(1, raft::Sync::kLazy));
  EXPECT_THAT(done<Persist>(), IsEmpty());
  advance(400ms);
  host_.persist(kS, write(2, raft::Sync::kLazy));
  advance(99ms);
  EXPECT_THAT(done<Persist>(), IsEmpty());
  advance(1ms);
  EXPECT_THAT(done<Persist>(), SizeIs(1)) << "half a second after the first";
  host_.persist(kS, write(3, raft::Sync::kLazy));
  EXPECT_THAT(done<Persist>(), IsEmpty()) << "the time begins anew";
  host_.write(DropChunk{digest_of("a")});
  const auto batches = done<Persist>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].writes.size(), 2U);
  host_.persist(kS, write(4, raft::Sync::kLazy));
  EXPECT_THAT(done<Persist>(), IsEmpty()) << "company is for one batch";
}

TEST_F(HostContexts, OfADroppedReplicaNoWriteIsReportedToALaterOne) {
  host_.persist(kS, write(1));
  host_.persist(kT, write(1));
  host_.birth(kS);
  const std::uint64_t first = token();
  host_.persist(kS, write(2));
  host_.birth(kS);
  host_.birth(kT);
  host_.drop_replica(kS);
  const auto batches = done<Persist>();
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<DropReplica>(batches[0].writes.back()));
  auto landed = host_.persisted(first);
  EXPECT_THAT(writes_of(landed), ElementsAre(Pair("t", 1U)));
  EXPECT_THAT(landed.births, IsEmpty());
  landed = host_.persisted(batches[0].token);
  EXPECT_THAT(writes_of(landed), IsEmpty());
  EXPECT_THAT(landed.births, ElementsAre(kT));
}

TEST_F(HostContexts, NothingIsSentToThisHostOrAsAMessageToADataStore) {
  host_.send({"h1"}, ReportAll{});
  host_.send(kDataStore, ReportAll{});
  EXPECT_TRUE(host_.links().empty());
  host_.send(kH2, ReportAll{});
  EXPECT_THAT(told<ReportAll>(kH2), SizeIs(1));
}

TEST_F(HostContexts, RaftMessagesForOnePeerAreOneFrame) {
  host_.send_raft(kH2, kS, {});
  host_.send_raft(kH3, kS, {});
  host_.send_raft(kH2, kT, {});
  auto frames = done<SendFrame>();
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].to, kH2);
  EXPECT_EQ(std::get<RaftFrame>(frames[0].frame).items.size(), 2U);
  EXPECT_EQ(std::get<RaftFrame>(frames[1].frame).items.size(), 1U);
  EXPECT_THAT(done<SendFrame>(), IsEmpty());
}

TEST_F(HostContexts, TheGatewayIsServedFirst) {
  host_.send_raft(kH2, kS, {});
  host_.send(kH3, ReportAll{});
  host_.send(kGateway, ReportAll{});
  std::vector<HostId> order;
  for (const HostEffect& effect : host_.finish()) order.push_back(std::get<SendFrame>(effect).to);
  EXPECT_THAT(order, ElementsAre(kGateway, kH2, kH3));
}

TEST_F(HostContexts, APeerIsBackloggedWhenSoManyBytesWaitForIt) {
  EXPECT_FALSE(host_.backlogged(kH2));
  host_.send(kH2, ChunkPart{.bytes = Blob(std::string(host_.sizes().session_buffer - 65, 'x'))});
  EXPECT_FALSE(host_.backlogged(kH2));
  EXPECT_TRUE(host_.links().contains(kH2));
  host_.send(kH3, ChunkPart{.bytes = Blob(std::string(host_.sizes().session_buffer - 64, 'x'))});
  EXPECT_TRUE(host_.backlogged(kH3));
}

TEST_F(HostContexts, APeerIsReachableUntilItIsSaidNotToBe) {
  EXPECT_TRUE(host_.reachable(kH2));
  host_.set_reachable(kH2, false);
  EXPECT_FALSE(host_.reachable(kH2));
  EXPECT_TRUE(host_.reachable(kH3));
  host_.set_reachable(kH2, true);
  EXPECT_TRUE(host_.reachable(kH2));
}

TEST_F(HostContexts, EachWorkerHasItsOwnNumber) {
  const WorkerId first = host_.fresh_worker();
  EXPECT_NE(first, WorkerId{});
  EXPECT_NE(host_.fresh_worker(), first);
}

TEST_F(HostContexts, WhatIsNoticedIsTakenOnce) {
  host_.stir(kS);
  EXPECT_TRUE(host_.is_astir(kS));
  EXPECT_THAT(host_.take_astir(), ElementsAre(kS));
  EXPECT_FALSE(host_.is_astir(kS));
  host_.report_soon(kT);
  EXPECT_THAT(host_.take_to_report(), ElementsAre(kT));
  EXPECT_THAT(host_.take_to_report(), IsEmpty());
}

}  // namespace
}  // namespace banyan::node
