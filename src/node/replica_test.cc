#include "node/replica.h"

#include <gmock/gmock.h>

#include <utility>

#include "base/codec.h"
#include "node/stored_replicas.h"
#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const SessionId kS{"s"};
const HostId kH2{"h2"};

/// Replica 2 on h1, which gets the session from the leader, replica 1 on h2.
class WholeReplica : public TestHost {
 protected:
  WholeReplica() {
    auto opened = Replica::open({host_, chunks_, speeds_}, {.session = kS,
                                                            .replica = {2},
                                                            .spec = {.kernel_name = "python3"},
                                                            .members = members_,
                                                            .origin = Origin::kJoining});
    replica_ = std::move(*opened);
    settle();
  }

  void settle() {
    for (bool more = true; std::exchange(more, false);)
      for (const Persist& batch : done<Persist>()) {
        more = true;
        for (const DiskWrite& write : batch.writes) disk_.apply(write);
        const auto landed = host_.persisted(batch.token);
        for (const Durable& one : landed.writes) replica_->persisted(one.token);
        replica_->settle();
      }
  }
  void leader_says(raft::Body body) {
    replica_->raft_message(kH2, {.from = {1}, .to = {2}, .term = {5}, .body = std::move(body)});
    replica_->settle();
    settle();
  }
  /// The leader sends the session as a whole, as it is after so many entries.
  void install(std::uint64_t index) {
    last_ = index;
    leader_says(raft::InstallSnapshot{{.index = {index},
                                       .term = {5},
                                       .membership = {.voters = {{1}, {2}, {3}}},
                                       .data = state_.snapshot()}});
  }
  /// The next entry of the log, which is committed.
  void commits(const session::Command& command) {
    ++last_;
    leader_says(raft::Append{.prev_index = {last_ - 1},
                             .prev_term = {5},
                             .commit = {last_},
                             .entries = {{.term = {5}, .index = {last_}, .data = Blob(encode(command))}}});
  }
  /// A cell starts here, and its worker waits for leave. Whether it gets that.
  bool goes(const std::string& cell) {
    replica_->settle();
    replica_->view().on_ready({.worker = *replica_->worker(), .pid = 7});
    replica_->cells().execute(
        {.session = kS, .execution = {cell}, .request = {.content = Blob(R"({"code":"1"})")}, .lead = {2}});
    commits(session::Propose{.execution = {cell}, .replica = {2}, .life = host_.life()});
    EXPECT_TRUE(replica_->cells().cell() != nullptr && replica_->cells().cell()->has_started());
    replica_->cells().on_fenced({.worker = *replica_->worker(), .execution = {cell}});
    const auto fences = done<AnswerFence>();
    return !fences.empty() && !fences[0].refusal;
  }

  const session::Members members_{{{1}, kH2}, {{2}, {"h1"}}, {{3}, {"h3"}}};
  session::Session state_{kS, {.kernel_name = "python3"}, members_};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, false};
  StoredReplicas disk_;
  std::unique_ptr<Replica> replica_;
  std::uint64_t last_ = 0;
};

TEST_F(WholeReplica, ACellGoesAtOnceWhereNobodyElseCanHaveTheLease) {
  install(10);
  EXPECT_TRUE(goes("c"));
}

TEST_F(WholeReplica, WhoMissedAPartOfTheLogWaitsUntilALeaseMustBeOver) {
  install(10);
  install(20);
  EXPECT_FALSE(goes("c")) << "another replica may have begun a cell meanwhile";
}

TEST_F(WholeReplica, ALaterLifeWaitsUntilALeaseMustBeOver) {
  install(10);
  replica_ = std::move(*Replica::recover({host_, chunks_, speeds_}, *disk_.find(kS)));
  leader_says(raft::Heartbeat{.commit = {last_}});
  EXPECT_FALSE(goes("c"));
}

TEST_F(WholeReplica, OneThatHibernatedWaitsForNobody) {
  install(10);
  replica_ = std::move(*Replica::wake({host_, chunks_, speeds_}, *disk_.find(kS), false));
  leader_says(raft::Heartbeat{.commit = {last_}});
  EXPECT_TRUE(goes("c"));
}

TEST_F(WholeReplica, OneThatIsAwaitedAsksForTheLead) {
  install(10);
  const auto polls = [&](bool awaited) {
    (void)done<SendFrame>();
    replica_ = std::move(*Replica::wake({host_, chunks_, speeds_}, *disk_.find(kS), awaited));
    settle();
    std::size_t sent = 0;
    for (const SendFrame& frame : done<SendFrame>())
      sent += std::holds_alternative<RaftFrame>(frame.frame) ? 1 : 0;
    return sent;
  };
  EXPECT_EQ(polls(false), 0U);
  EXPECT_GT(polls(true), 0U);
}

TEST_F(WholeReplica, TheGatewayHearsOfAStateThatCame) {
  (void)host_.take_to_report();
  install(10);
  EXPECT_THAT(host_.take_to_report(), SizeIs(1));
  install(20);
  EXPECT_THAT(host_.take_to_report(), SizeIs(1));
}

TEST_F(WholeReplica, AnEndThatAStateHasIsTold) {
  install(10);
  replica_->cells().execute(
      {.session = kS, .execution = {"c"}, .request = {.content = Blob("{}")}, .lead = {2}});
  state_.apply(session::Propose{.execution = {"c"}, .replica = {1}});
  state_.apply(session::Commit{.execution = {"c"}, .epoch = state_.epoch(), .outputs = {}});
  install(20);
  EXPECT_EQ(replica_->cells().cell(), nullptr);
  EXPECT_THAT(told<ExecutionEnded>(kGateway), SizeIs(1));
}

TEST_F(WholeReplica, AStartThatAStateHasIsOne) {
  install(10);
  replica_->view().on_ready({.worker = *replica_->worker(), .pid = 7});
  replica_->cells().execute(
      {.session = kS, .execution = {"c"}, .request = {.content = Blob("{}")}, .lead = {2}});
  state_.apply(session::Propose{.execution = {"c"}, .replica = {2}, .life = host_.life()});
  install(20);
  ASSERT_NE(replica_->cells().cell(), nullptr);
  EXPECT_TRUE(replica_->cells().cell()->has_started());
}

TEST_F(WholeReplica, WhenItsExecutorLosesTheLeadAnotherMayStillRun) {
  install(10);
  commits(session::Propose{.execution = {"a"}, .replica = {3}, .life = {3}});
  commits(session::TakeOver{Epoch{1}, "silent"});
  EXPECT_FALSE(goes("c")) << "its lease must be over first";
}

TEST_F(WholeReplica, WhereNothingRanTheLeadGoesOnAtOnce) {
  install(10);
  commits(session::TakeOver{Epoch{0}, "silent"});
  EXPECT_TRUE(goes("c"));
}

TEST_F(WholeReplica, ARestartIsAnsweredWhenTheLogHasIt) {
  install(10);
  replica_->restart(4);
  EXPECT_THAT(told<Restarted>(kGateway), IsEmpty());
  commits(session::Clear{4});
  EXPECT_THAT(told<Restarted>(kGateway), SizeIs(1));
  replica_->restart(4);
  EXPECT_THAT(told<Restarted>(kGateway), SizeIs(1)) << "it has been done";
}

}  // namespace
}  // namespace banyan::node
