// What is kept of sessions that hibernate, and of those that come back.

#include <gmock/gmock.h>

#include "node/host_hibernation.h"
#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const SessionId kS{"s"}, kT{"t"};
const HostId kH2{"h2"};
const Digest kUsed = digest_of("used"), kOther = digest_of("other");

class HibernatingSession : public TestHost {
 protected:
  HibernatingSession() {
    for (const Digest& digest : {kUsed, kOther}) {
      chunks_.put(digest, Blob("x"));
      EXPECT_TRUE(chunks_.landed(digest));
    }
    chunks_.use(kUsed);
    asleep_.begin(kS, {.session = kS, .replica = {1}}, {kUsed});
    (void)done<Log>();
  }

  static raft::Message said(raft::Body body) { return {.from = {2}, .to = {1}, .body = std::move(body)}; }
  bool says(raft::Body body) { return asleep_.takes(kS, kH2, said(std::move(body))); }
  bool asks(const SessionId& session = kS, const HostId& from = kGateway) {
    PeerMessage message = Interrupt{session};
    return asleep_.takes(from, message);
  }
  std::size_t loads() { return done<LoadReplica>().size(); }
  std::optional<Hibernation::Woken> load() { return asleep_.on_loaded({kS, StoredReplica{.session = kS}}); }
  /// What waited for sessions that are back.
  std::size_t back(bool caught_up) {
    return asleep_.end_waking([&](const SessionId&) { return caught_up; }).size();
  }
  /// Whether the disk still has the chunk when what nothing uses has left it.
  bool stays(const Digest& digest) {
    advance(2min);
    chunks_.drop_unused();
    return chunks_.durable(digest);
  }

  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  Hibernation asleep_{host_, chunks_};
};

TEST_F(HibernatingSession, ItsReportIsGivenOnceAndWheneverAllAreWanted) {
  ASSERT_NE(asleep_.report_of(kS), nullptr);
  EXPECT_EQ(asleep_.report_of(kS)->replica, ReplicaId{1});
  EXPECT_EQ(asleep_.report_of(kT), nullptr);
  EXPECT_THAT(asleep_.reports(false), SizeIs(1));
  EXPECT_THAT(asleep_.reports(false), IsEmpty());
  EXPECT_THAT(asleep_.reports(true), SizeIs(1));
}

TEST_F(HibernatingSession, AMemberThatIsAwakeWakesIt) {
  EXPECT_FALSE(asleep_.takes(kT, kH2, said(raft::Append{}))) << "it does not hibernate";
  EXPECT_TRUE(says(raft::VoteReply{}));
  EXPECT_TRUE(says(raft::HeartbeatReply{}));
  EXPECT_EQ(loads(), 0U) << "an answer needs nobody";
  EXPECT_TRUE(says(raft::Append{}));
  EXPECT_EQ(loads(), 1U);
  EXPECT_TRUE(says(raft::Append{}));
  EXPECT_EQ(loads(), 0U) << "it is on its way";
  const auto woken = load();
  ASSERT_TRUE(woken.has_value());
  EXPECT_FALSE(woken->awaited);
  EXPECT_EQ(woken->raft.size(), 2U);
  EXPECT_EQ(woken->raft[0].first, kH2);
  EXPECT_EQ(asleep_.report_of(kS), nullptr);
  EXPECT_TRUE(asleep_.waking(kS));
}

TEST_F(HibernatingSession, WhateverNeedsTheGroupWakesIt) {
  const std::vector<raft::Body> bodies{raft::Append{},         raft::InstallSnapshot{}, raft::VoteRequest{},
                                       raft::TimeoutNow{},     raft::Forward{},         raft::ReadRequest{},
                                       raft::TransferRequest{}};
  for (const raft::Body& body : bodies) {
    Hibernation one(host_, chunks_);
    one.begin(kS, {}, {});
    EXPECT_TRUE(one.takes(kS, kH2, said(body)));
    EXPECT_EQ(loads(), 1U) << body.index();
  }
}

TEST_F(HibernatingSession, AHeartbeatThatWasInFlightDoesNotWakeItAndALaterOneDoes) {
  advance(999ms);
  EXPECT_TRUE(says(raft::Heartbeat{}));
  EXPECT_EQ(loads(), 0U);
  advance(1ms);
  EXPECT_TRUE(says(raft::Heartbeat{}));
  EXPECT_EQ(loads(), 1U);
}

TEST_F(HibernatingSession, OnlySoMuchWaits) {
  for (int n = 0; n < 1100; ++n) {
    EXPECT_TRUE(says(raft::Append{}));
    EXPECT_TRUE(asks());
  }
  const auto woken = load();
  EXPECT_EQ(woken->raft.size(), 1024U);
  EXPECT_EQ(back(true), 1024U);
}

TEST_F(HibernatingSession, WhatIsAskedWaitsUntilItsGroupHasALeader) {
  EXPECT_FALSE(asks(kT));
  EXPECT_TRUE(asks());
  EXPECT_EQ(loads(), 1U);
  EXPECT_TRUE(load()->awaited);
  EXPECT_EQ(back(false), 0U);
  EXPECT_TRUE(asks()) << "it waits behind the first";
  EXPECT_EQ(back(true), 2U);
  EXPECT_FALSE(asleep_.waking(kS));
  EXPECT_FALSE(asks()) << "it is back";
}

TEST_F(HibernatingSession, WithoutALeaderItIsAnsweredInTimeAllTheSame) {
  EXPECT_TRUE(asks());
  ASSERT_TRUE(load());
  advance(5s - 1ms);
  EXPECT_EQ(back(false), 0U);
  EXPECT_TRUE(asks());
  advance(1ms);
  EXPECT_TRUE(asks()) << "others wait still";
  EXPECT_EQ(back(false), 3U);
  EXPECT_TRUE(asleep_.waking(kS)) << "what it used stays in use";
  EXPECT_FALSE(asks()) << "nothing waits any more";
  EXPECT_EQ(back(true), 0U);
  EXPECT_FALSE(asleep_.waking(kS));
}

TEST_F(HibernatingSession, WhatConcernsNoGroupDoesNotWakeIt) {
  for (PeerMessage message :
       {PeerMessage(OutputDelivered{.session = kS}), PeerMessage(ChunkWanted{.session = kS}),
        PeerMessage(CloseReplica{.session = kS})})
    EXPECT_FALSE(asleep_.takes(kGateway, message)) << message.index();
  EXPECT_EQ(loads(), 0U);
  for (PeerMessage message :
       {PeerMessage(Execute{.session = kS, .execution = {}, .request = {}, .lead = {}}),
        PeerMessage(ToKernel{kS, {}}), PeerMessage(Restart{kS, 1}), PeerMessage(ChangeMembers{kS, {}, 1}),
        PeerMessage(AskSession{kS, {}, {}}), PeerMessage(ImportSession{kS, {}, {}})})
    EXPECT_TRUE(asleep_.takes(kGateway, message)) << message.index();
}

TEST_F(HibernatingSession, AnotherLifeOfTheGatewayAsksItself) {
  EXPECT_TRUE(asks());
  EXPECT_TRUE(asks(kS, kH2));
  asleep_.on_gateway_restarted();
  ASSERT_TRUE(load());
  EXPECT_TRUE(asks());
  asleep_.on_gateway_restarted();
  EXPECT_EQ(back(true), 1U);
}

TEST_F(HibernatingSession, OneThatCannotBeReadIsReadAgainWhenSomebodyAsks) {
  EXPECT_TRUE(asks());
  EXPECT_EQ(loads(), 1U);
  EXPECT_FALSE(asleep_.on_loaded({kS, std::nullopt}));
  EXPECT_THAT(done<Log>(), SizeIs(1));
  EXPECT_NE(asleep_.report_of(kS), nullptr);
  EXPECT_TRUE(asks());
  EXPECT_EQ(loads(), 1U);
  EXPECT_FALSE(asleep_.on_loaded({kT, StoredReplica{.session = kT}})) << "that one does not hibernate";
}

TEST_F(HibernatingSession, ItsChunksStayInUseUntilItIsBack) {
  EXPECT_TRUE(stays(kUsed));
  EXPECT_TRUE(asks());
  ASSERT_TRUE(load());
  EXPECT_EQ(back(false), 0U);
  EXPECT_TRUE(stays(kUsed));
  EXPECT_EQ(back(true), 1U);
  EXPECT_FALSE(stays(kUsed)) << "its replica says what it uses";
}

TEST_F(HibernatingSession, ADamagedChunkWakesWhoUsesIt) {
  asleep_.wake_users(kOther);
  EXPECT_EQ(loads(), 0U);
  asleep_.wake_users(kUsed);
  EXPECT_EQ(loads(), 1U);
}

TEST_F(HibernatingSession, AChunkOfAComingCommitIsUsedAndWakesIt) {
  asleep_.hold_chunk(kT, kOther);
  EXPECT_EQ(loads(), 0U);
  asleep_.hold_chunk(kS, kOther);
  asleep_.hold_chunk(kS, kOther);
  EXPECT_EQ(loads(), 1U);
  EXPECT_TRUE(stays(kOther));
  ASSERT_TRUE(load());
  EXPECT_EQ(back(true), 0U);
  EXPECT_FALSE(stays(kOther)) << "it was used once";
}

TEST_F(HibernatingSession, OneThatLeavesThisHostLeavesNothing) {
  asleep_.forget(kT);
  EXPECT_NE(asleep_.report_of(kS), nullptr);
  asleep_.forget(kS);
  EXPECT_EQ(asleep_.report_of(kS), nullptr);
  EXPECT_THAT(done<ForgetSession>(), SizeIs(1));
  EXPECT_FALSE(stays(kUsed));
}

TEST_F(HibernatingSession, OneThatLeavesWhileItComesBackUsesNothing) {
  EXPECT_TRUE(asks());
  ASSERT_TRUE(load());
  asleep_.forget(kS);
  EXPECT_FALSE(asleep_.waking(kS));
  EXPECT_THAT(done<ForgetSession>(), IsEmpty()) << "its replica is closed by itself";
  EXPECT_FALSE(stays(kUsed));
}

}  // namespace
}  // namespace banyan::node
