#include "node/host_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const HostId kH1{"h1"}, kH3{"h3"};
const SessionId kS{"s"}, kT{"t"};
const session::Members kMembers{{{1}, kH1}, {{2}, {"h2"}}, {{3}, kH3}};

/// The host h2, whose disk works unless a test says that it is slow; peers hear it, and say what a test has
/// them say.
class OneHost : public ::testing::Test {
 protected:
  OneHost() {
    now_.mono += 1h;
    give(Recovered{});
    for (const HostId& peer : {kGateway, kH1, kH3}) say(peer, ChunkStored{});  // they know each other
    forget();
  }

  void give(HostEvent event) {
    for (HostEffect& effect : machine_.step(now_, std::move(event))) {
      if (auto* const frame = std::get_if<SendFrame>(&effect)) {
        if (auto* const link = std::get_if<LinkFrame>(&frame->frame)) {
          for (PeerMessage& message : link_to(frame->to).receive(std::move(*link), now_.mono).messages)
            heard_[frame->to].push_back(std::move(message));
          frames_.push_back(frame->to);
        } else {
          for (RaftFrame::Item& item : std::get<RaftFrame>(frame->frame).items)
            raft_[frame->to].push_back(std::move(item.message));
        }
        continue;
      }
      if (const auto* const write = std::get_if<Persist>(&effect)) {
        tokens_.push_back(write->token);
        writes_.insert(writes_.end(), write->writes.begin(), write->writes.end());
      }
      if (const auto* const store = std::get_if<StoreChunk>(&effect)) stored_.push_back(store->digest);
      done_.push_back(std::move(effect));
    }
    if (!disk_is_slow_) finish_writes();
    exchange();
  }
  void finish_writes() {
    for (const std::uint64_t token : std::exchange(tokens_, {})) give(Persisted{token});
    for (const Digest& digest : std::exchange(stored_, {})) give(ChunkLanded{digest});
  }
  /// The peer says this.
  void say(const HostId& from, PeerMessage message) {
    link_to(from).send(std::move(message));
    exchange();
  }
  void raft(const HostId& from, const SessionId& session, raft::Message message) {
    give(FrameArrived{from, RaftFrame{{{session, std::move(message)}}}});
  }
  void tick(Duration time = 50ms) {
    now_.mono += time;
    give(Tick{});
  }
  void open(const SessionId& session = kS) {
    say(kGateway,
        OpenReplica{
            .session = session, .replica = {2}, .spec = {.kernel_name = "python3"}, .members = kMembers});
  }
  template <class Message>
  std::vector<Message> heard(const HostId& peer) {
    return take<Message>(heard_[peer]);
  }
  template <class Effect>
  std::vector<Effect> done() {
    return take<Effect>(done_);
  }
  template <class Write>
  std::vector<Write> wrote() {
    return take<Write>(writes_);
  }
  template <class Body>
  std::size_t raft_to(const HostId& peer) {
    return static_cast<std::size_t>(std::ranges::count_if(
        raft_[peer], [](const raft::Message& one) { return std::holds_alternative<Body>(one.body); }));
  }
  /// The term of the last vote that the peer was given; 0 for none.
  std::uint64_t voted(const HostId& peer) {
    std::uint64_t term = 0;
    for (const raft::Message& one : raft_[peer])
      if (std::holds_alternative<raft::VoteReply>(one.body)) term = std::max(term, one.term.value);
    return term;
  }
  void forget() {
    heard_.clear();
    done_.clear();
    writes_.clear();
    raft_.clear();
    frames_.clear();
  }
  /// A candidate asks for this replica's vote.
  static raft::Message candidate(std::uint64_t term) {
    return {.from = {1},
            .to = {2},
            .term = {term},
            .body = raft::VoteRequest{.last_index = {100}, .last_term = {100}}};
  }

  Now now_{};
  bool disk_is_slow_ = false;
  std::vector<HostId> frames_;  ///< to whom link frames went, in order

 private:
  Link& link_to(const HostId& peer) {
    return links_.try_emplace(peer, Incarnation{900 + peer.value.size()}, Timing{}, Sizes{}).first->second;
  }
  void exchange() {
    for (auto& [peer, link] : links_)
      while (auto frame = link.poll(now_.mono)) give(FrameArrived{peer, std::move(*frame)});
  }
  template <class One, class Any>
  static std::vector<One> take(std::vector<Any>& all) {
    std::vector<One> found;
    std::erase_if(all, [&](Any& each) {
      auto* const one = std::get_if<One>(&each);
      if (one != nullptr) found.push_back(std::move(*one));
      return one != nullptr;
    });
    return found;
  }

  HostMachine machine_{{.id = {"h2"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  std::map<HostId, Link> links_;
  std::map<HostId, std::vector<PeerMessage>> heard_;
  std::map<HostId, std::vector<raft::Message>> raft_;
  std::vector<HostEffect> done_;
  std::vector<DiskWrite> writes_;
  std::vector<std::uint64_t> tokens_;
  std::vector<Digest> stored_;
};

TEST_F(OneHost, AHostIsNoGateway) {
  say(kH1,
      OpenReplica{.session = kS, .replica = {2}, .spec = {.kernel_name = "python3"}, .members = kMembers});
  EXPECT_THAT(wrote<PutMeta>(), IsEmpty());
  open();
  EXPECT_THAT(wrote<PutMeta>(), SizeIs(1));
  say(kH1, CloseReplica{kS});
  EXPECT_THAT(wrote<DropReplica>(), SizeIs(1)) << "that of the opening";
}

TEST_F(OneHost, WithoutAReplicaWhoAsksIsToldSo) {
  say(kGateway, Execute{.session = kS, .execution = {"c"}, .request = {}, .lead = {2}});
  const auto declined = heard<ExecutionDeclined>(kGateway);
  ASSERT_EQ(declined.size(), 1U);
  EXPECT_EQ(declined[0].execution, ExecutionId{"c"});
  say(kGateway, AskSession{kS, "q", R"({"do":"log"})"});
  say(kGateway, ImportSession{kS, "r", {}});
  const auto answers = heard<SessionAnswer>(kGateway);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].request, "q");
  EXPECT_EQ(answers[0].refused, ErrorKind::kUnavailable);
  EXPECT_EQ(answers[1].request, "r");
  EXPECT_EQ(answers[1].refused, ErrorKind::kUnavailable);
}

TEST_F(OneHost, AQuestionThatIsNoneIsRefused) {
  open();
  say(kGateway, AskSession{kS, "q", "nonsense"});
  const auto answers = heard<SessionAnswer>(kGateway);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].refused, ErrorKind::kInvalid);
}

TEST_F(OneHost, AReplicaIsOpenedOnce) {
  open();
  EXPECT_THAT(wrote<PutMeta>(), SizeIs(1));
  open();
  EXPECT_THAT(wrote<PutMeta>(), IsEmpty());
}

TEST_F(OneHost, AReplicaIsReportedWhenItsBeginningIsDurable) {
  tick();
  (void)heard<HostReport>(kGateway);
  disk_is_slow_ = true;
  open();
  tick();
  say(kGateway, ReportAll{});
  for (const HostReport& report : heard<HostReport>(kGateway)) EXPECT_THAT(report.replicas, IsEmpty());
  finish_writes();
  const auto reports = heard<HostReport>(kGateway);
  ASSERT_FALSE(reports.empty()) << "at once";
  EXPECT_THAT(reports.back().replicas, SizeIs(1));
}

TEST_F(OneHost, OnlyTheReplicaThatIsMeantIsClosed) {
  open();
  (void)wrote<DropReplica>();
  say(kGateway, CloseReplica{kS, {9}});
  EXPECT_THAT(wrote<DropReplica>(), IsEmpty());
  say(kGateway, CloseReplica{kS, {2}});
  EXPECT_THAT(wrote<DropReplica>(), SizeIs(1));
  EXPECT_THAT(done<ForgetSession>(), SizeIs(1));
  open();
  (void)wrote<DropReplica>();
  say(kGateway, CloseReplica{kS});
  EXPECT_THAT(wrote<DropReplica>(), SizeIs(1));
}

TEST_F(OneHost, WhatIsNotHereIsSaidToBeClosed) {
  tick();
  (void)heard<HostReport>(kGateway);
  say(kGateway, CloseReplica{kS});
  tick();
  const auto reports = heard<HostReport>(kGateway);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_THAT(reports[0].closed, ElementsAre(kS));
  EXPECT_THAT(done<ForgetSession>(), IsEmpty());
}

TEST_F(OneHost, AnElectionThatComesBeforeTheReplicaWaitsForIt) {
  raft(kH1, kS, candidate(5));
  EXPECT_EQ(voted(kH1), 0U);
  open();
  EXPECT_EQ(voted(kH1), 5U);
}

TEST_F(OneHost, AnElectionThatCameLongBeforeTheReplicaIsForgotten) {
  raft(kH1, kS, candidate(5));
  raft(kH1, kT, candidate(5));
  tick(3s);
  open(kT);
  EXPECT_EQ(voted(kH1), 5U);
  forget();
  tick(1ms);
  open(kS);
  EXPECT_EQ(voted(kH1), 0U);
}

TEST_F(OneHost, OfOneGroupThatIsNotOpenSoManyMessagesAreKept) {
  for (std::uint64_t term = 1; term <= 20; ++term) raft(kH1, kS, candidate(term));
  open();
  EXPECT_EQ(voted(kH1), 16U);
}

TEST_F(OneHost, OfSoManyGroupsThatAreNotOpenMessagesAreKept) {
  for (int n = 0; n < 1024; ++n) raft(kH1, {"s" + std::to_string(n)}, candidate(5));
  raft(kH1, kS, candidate(5));
  open();
  EXPECT_EQ(voted(kH1), 0U);
  open({"s1023"});
  EXPECT_EQ(voted(kH1), 5U);
}

TEST_F(OneHost, AfterAPauseAGroupDoesNotRaceThroughItsTimeouts) {
  open();
  raft(kH1, kS, {.from = {1}, .to = {2}, .term = {5}, .body = raft::Heartbeat{}});
  tick();
  forget();
  tick(1h);
  tick();
  EXPECT_EQ(raft_to<raft::VoteRequest>(kH1), 0U);
  for (int n = 0; n < 30; ++n) tick();
  EXPECT_GT(raft_to<raft::VoteRequest>(kH1), 0U) << "its leader is silent";
}

TEST_F(OneHost, SomeTicksThatWereMissedAreMadeUpFor) {
  open();
  raft(kH1, kS, {.from = {1}, .to = {2}, .term = {5}, .body = raft::Heartbeat{}});
  tick();
  forget();
  for (int n = 0; n < 8; ++n) tick(200ms);
  EXPECT_GT(raft_to<raft::VoteRequest>(kH1), 0U) << "after 1.6 s";
}

TEST_F(OneHost, APeerWhoseConnectionIsBackHearsThisHostAtOnce) {
  forget();
  give(PeerUp{kH1});
  EXPECT_THAT(frames_, ElementsAre(kH1));
  forget();
  give(PeerDown{kH3});
  EXPECT_THAT(frames_, ElementsAre(kH3));
}

TEST_F(OneHost, WhatAWorkerThatIsNobodysSaysIsNothing) {
  open();
  forget();
  give(WorkerExited{.worker = {99}, .reason = "ended"});
  give(WorkerReady{.worker = {99}, .pid = 1});
  EXPECT_THAT(done<LaunchWorker>(), IsEmpty());
}

TEST_F(OneHost, AReplicaThatCannotBeReadIsNamedAndTheOthersAreOpened) {
  HostMachine next({.id = {"h2"}, .timing = {}, .sizes = {}}, Incarnation{2}, 7);
  std::vector<std::string> logs;
  for (HostEffect& effect : next.step(
           now_, Recovered{.replicas = {{.session = kS, .meta = "nonsense"}}, .chunks = {}, .speeds = {}}))
    if (const auto* const log = std::get_if<Log>(&effect)) logs.push_back(log->text);
  EXPECT_THAT(logs, ElementsAre(HasSubstr("cannot open a replica")));
}

TEST_F(OneHost, OtherHostsAreThoseThatTheGatewayNames) {
  say(kH1, PeerAddresses{.peers = {{kH3, "a:3"}}});
  EXPECT_THAT(done<ConnectPeer>(), IsEmpty());
  say(kGateway, PeerAddresses{.peers = {{kH3, "a:3"}}});
  EXPECT_THAT(done<ConnectPeer>(), SizeIs(1));
}

TEST_F(OneHost, ItsFiguresAndKernelsAreReported) {
  give(HostFigures{.cpus = 8, .memory_bytes = 1, .resident_bytes = 2, .devices = {}});
  give(HostKernels{{{"torch", KernelState::kChecking, {}, {}}}});
  tick();
  const auto reports = heard<HostReport>(kGateway);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].cpus, 8U);
  EXPECT_EQ(reports[0].kernels.size(), 1U);
}

TEST_F(OneHost, AChunkThatWasThereAndIsNotIsSaidToBeDamaged) {
  const Digest digest = digest_of("x");
  say(kH1, ChunkPart{.session = kS, .digest = digest, .size = 1, .bytes = Blob("x")});
  EXPECT_THAT(heard<ChunkStored>(kH1), SizeIs(1));
  forget();
  give(ChunkRead{digest, std::nullopt});
  const auto logs = done<Log>();
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_THAT(logs[0].text, HasSubstr("is damaged"));
  give(ChunkRead{digest, std::nullopt});
  EXPECT_THAT(done<Log>(), IsEmpty());
}

TEST_F(OneHost, WhoWantsAChunkIsSentIt) {
  const Digest digest = digest_of("x");
  say(kH1, ChunkPart{.session = kS, .digest = digest, .size = 1, .bytes = Blob("x")});
  say(kH3, ChunkWanted{kS, digest});
  ASSERT_THAT(done<ReadChunk>(), SizeIs(1));
  give(ChunkRead{digest, Blob("x")});
  EXPECT_THAT(heard<ChunkPart>(kH3), SizeIs(1));
}

TEST_F(OneHost, OnlyWhoLeadsAGroupSendsItToSleep) {
  open();
  tick();
  say(kH3, Hibernate{kS, {9}, {}});
  forget();
  raft(kH1, kS, candidate(2));
  EXPECT_THAT(done<LoadReplica>(), IsEmpty()) << "it is awake";
  EXPECT_EQ(voted(kH1), 2U);
}

}  // namespace
}  // namespace banyan::node
