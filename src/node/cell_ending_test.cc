#include "node/cell_ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "node/gateway_messages.h"
#include "node/test_group.h"

namespace banyan::node {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ExecutionId kCell{"c"};

Blob bytes_of(char letter) { return Blob(std::string(100'000, letter)); }
Digest digest(char letter) { return digest_of(bytes_of(letter).view()); }

/// A cell that runs on the first of five members, which leads.
class CellEndings : public ::testing::Test {
 protected:
  CellEndings() {
    group_.tends = false;
    group_.begin_cell(1, kCell.value, here().context.life());
  }

  TestGroup::Member& here() { return group_.at(1); }
  const session::Session& session() { return *here().session; }
  jupyter::Message reply(const std::string& content) {
    return jupyter::make_message(jupyter::Channel::kShell, "execute_reply", R"({"msg_id":"c"})", content,
                                 here().context.author({"s"}));
  }
  /// The worker says all that belongs to the end of a cell.
  void end(session::Delta delta = {}, const std::string& content = R"({"status":"ok"})") {
    ending_.on_report({.execution = kCell, .execution_count = 1, .delta = std::move(delta)}, session());
    ending_.on_reply(reply(content));
    ending_.on_idle();
    make();
  }
  void make() {
    ending_.make_commit_if_complete(session(), session().running() ? session().running()->epoch : Epoch{},
                                    true, here().context.now().mono - 3s);
  }
  /// x, of one large chunk.
  static session::Delta large(char letter = 'x') {
    session::Delta delta;
    delta.changed = {{.names = {"x"}, .blocks = {{digest(letter), 100'000, bytes_of(letter)}}, .parts = {1}}};
    return delta;
  }
  /// The end, as the log of this host has it.
  const session::Ended* ended() {
    group_.settle();
    return session().find(kCell);
  }
  /// The disk of this host has the chunk.
  void land(char letter) { ASSERT_TRUE(chunks_.landed(digest(letter))); }
  void stored(const char* host, char letter = 'x') {
    ending_.on_chunk_stored({host}, digest(letter), session());
  }
  /// The digests of which parts went to the host since the last call.
  std::vector<Digest> parts(const HostId& host) {
    std::vector<Digest> digests;
    for (const PeerMessage& message : group_.take_sent(1, host))
      if (const auto* const part = std::get_if<ChunkPart>(&message)) digests.push_back(part->digest);
    return digests;
  }
  /// The contents of what went to the gateway since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> contents;
    for (const PeerMessage& message : group_.take_sent(1, kGateway))
      if (const auto* const output = std::get_if<FromKernel>(&message))
        contents.emplace_back(output->message.content.view());
    return contents;
  }
  /// Time passes here, and nothing else happens.
  void pass(Duration time) {
    const Now now = here().context.now();
    here().context.set_now({now.mono + time, now.wall});
  }
  raft::Index last() { return here().log->rest().last; }
  /// Nobody else is there any more, so that nothing is committed.
  void be_alone() {
    for (const std::uint64_t member : {2U, 3U, 4U, 5U}) group_.lose(member);
  }

  TestGroup group_{5};
  HostSpeeds speeds_{here().context};
  HostChunks chunks_{here().context, speeds_, false};
  ChunkSync sync_{here().context, chunks_, speeds_, {"s"}};
  PendingChunks pending_{here().context, chunks_};
  Execute order_{.session = {"s"}, .execution = kCell, .request = {}, .lead = {1}};
  CellOutputs outputs_{here().context, order_};
  CellEnding ending_{{here().context, *here().log, chunks_, sync_, pending_, outputs_}, order_, false};
};

TEST_F(CellEndings, TwoOfFiveDisksAreNotEnoughForItsChunks) {
  end(large());
  EXPECT_TRUE(ending_.has_commit());
  stored("h2");
  stored("h3");
  group_.advance(2s);
  ending_.repeat_if_due(session());
  EXPECT_EQ(ended(), nullptr);
  land('x');
  ending_.propose_if_safe(session());
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellEndings, EachOfItsChunksIsOnAMajorityBeforeItsCommit) {
  session::Delta delta = large('x');
  delta.changed.push_back({.names = {"y"}, .blocks = {{digest('y'), 100'000, bytes_of('y')}}, .parts = {1}});
  end(std::move(delta));
  for (const char* host : {"h2", "h3", "h4", "h5"}) stored(host, 'x');
  EXPECT_EQ(ended(), nullptr);
  for (const char* host : {"h2", "h3"}) stored(host, 'y');
  EXPECT_EQ(ended(), nullptr);
  stored("h4", 'y');
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellEndings, ASmallChunkTravelsInTheCommit) {
  session::Delta delta;
  const Blob bytes(std::string("small"));
  delta.changed = {{.names = {"x"}, .blocks = {{digest_of("small"), 5, bytes}}, .parts = {1}}};
  end(std::move(delta));
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(session().co_variable(session().view().at("x")).blocks.front().bytes, bytes);
  EXPECT_THAT(parts({"h2"}), IsEmpty());
}

TEST_F(CellEndings, ItsLargeChunksGoToAllOtherMembersAndToThisDisk) {
  end(large());
  for (const char* host : {"h2", "h3", "h4", "h5"}) EXPECT_THAT(parts({host}), ElementsAre(digest('x')));
  land('x');
  EXPECT_FALSE(sync_.at_rest()) << "they are held until the end is known";
  sync_.held().release(kCell);
  EXPECT_TRUE(sync_.at_rest());
}

TEST_F(CellEndings, ABlockThatTheSessionHasNeedsNoBytes) {
  end(large());
  for (const char* host : {"h2", "h3", "h4"}) stored(host);
  ASSERT_NE(ended(), nullptr);
  group_.begin_cell(1, "d", here().context.life());
  CellEnding next({here().context, *here().log, chunks_, sync_, pending_, outputs_},
                  {.session = {"s"}, .execution = {"d"}, .request = {}, .lead = {1}}, false);
  session::Delta delta;
  delta.changed = {{.names = {"y"}, .blocks = {{digest('x'), 100'000, std::nullopt}}, .parts = {1}}};
  next.on_report({.execution = {"d"}, .delta = std::move(delta)}, session());
  next.on_reply(reply(R"({"status":"ok"})"));
  next.on_idle();
  next.make_commit_if_complete(session(), session().running()->epoch, true, std::nullopt);
  group_.settle();
  ASSERT_NE(session().find({"d"}), nullptr);
  EXPECT_TRUE(session().co_variable(session().view().at("y")).serialised());
}

TEST_F(CellEndings, TwoValuesMayNameABlockWhoseBytesCameOnce) {
  session::Delta delta = large();
  delta.changed.push_back({.names = {"y"}, .blocks = {{digest('x'), 100'000, std::nullopt}}, .parts = {1}});
  end(std::move(delta));
  for (const char* host : {"h2", "h3", "h4"}) stored(host);
  ASSERT_NE(ended(), nullptr);
  EXPECT_TRUE(session().co_variable(session().view().at("y")).serialised());
}

TEST_F(CellEndings, ACopyOnAHostThatLeftDoesNotCount) {
  end(large());
  stored("h2");
  stored("h3");
  for (const char* host : {"h2", "h3", "h4", "h5"}) (void)parts({host});
  session::Members members = session().members();
  members.erase(ReplicaId{3});
  ASSERT_TRUE(here().log->propose_members({members, 1}));
  group_.settle();
  ASSERT_EQ(session().members(), members);
  ending_.on_members_changed(session());
  EXPECT_THAT(parts({"h2"}), IsEmpty()) << "it has it";
  EXPECT_THAT(parts({"h4"}), ElementsAre(digest('x'))) << "it may be new";
  stored("h3");
  stored("h4");
  EXPECT_EQ(ended(), nullptr) << "two of four";
  stored("h5");
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellEndings, BeforeItsCommitNobodyIsSentAnything) {
  ending_.on_report({.execution = kCell, .delta = large()}, session());
  ending_.on_members_changed(session());
  ending_.on_peer_restarted({"h2"}, session());
  ending_.propose_if_safe(session());
  EXPECT_THAT(parts({"h2"}), IsEmpty());
  EXPECT_EQ(ended(), nullptr);
}

TEST_F(CellEndings, ItsCommitSaysHowItEnded) {
  ending_.on_report({.execution = kCell,
                     .execution_count = 7,
                     .delta = {},
                     .reply = WorkerReport::Reply{R"({"status":"error"})", R"({"engine":"e"})"}},
                    session());
  outputs_.add(note("hello", "{}", here().context.author({"s"})));
  ending_.on_idle();
  make();
  const session::Ended* const end = ended();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, session::Status::kError);
  EXPECT_EQ(end->reply, R"({"status":"error"})");
  EXPECT_EQ(end->reply_metadata, R"({"engine":"e"})");
  EXPECT_EQ(end->execution_count, 7U);
  EXPECT_EQ(end->runtime_us, 3'000'000);
  EXPECT_EQ(end->outputs.size(), 1U);
  EXPECT_EQ(end->outputs_total, 1U);
  EXPECT_FALSE(end->asked_history);
}

TEST_F(CellEndings, ItsCommitSaysWhenItEnded) {
  here().context.set_now({here().context.now().mono, {1'234'567}});
  end();
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ended()->ended_at_us, 1'234'567);
}

TEST_F(CellEndings, AReplyThatSaysAbortedIsOne) {
  end({}, R"({"status":"aborted"})");
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ended()->status, session::Status::kAborted);
}

TEST_F(CellEndings, AReplyThatSaysAnythingElseIsAnError) {
  end({}, R"({"status":"fine"})");
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ended()->status, session::Status::kError);
}

TEST_F(CellEndings, ARequestWithoutCodeHasTheCountOfItsReplyAndLeavesTheBackgroundWork) {
  session::Delta delta;
  delta.footprint.work = {"thread T runs work"};
  end(std::move(delta));
  ASSERT_NE(ended(), nullptr);
  ASSERT_EQ(session().work().size(), 1U);
  group_.begin_cell(1, "d", here().context.life());
  CellEnding next({here().context, *here().log, chunks_, sync_, pending_, outputs_},
                  {.session = {"s"}, .execution = {"d"}, .request = {}, .lead = {1}}, false);
  next.on_reply(reply(R"({"status":"ok","execution_count":4})"));
  next.on_idle();
  next.make_commit_if_complete(session(), session().running()->epoch, false, std::nullopt);
  group_.settle();
  const session::Ended* const end = session().find({"d"});
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->execution_count, 4U);
  EXPECT_EQ(end->runtime_us, 0);
  EXPECT_EQ(session().work().size(), 1U);
}

TEST_F(CellEndings, AReplyWithoutACountCountsNothing) {
  for (const char* content : {"[]", "{}", R"({"execution_count":-4})", R"({"execution_count":"4"})", "x"}) {
    TestGroup group(1);
    group.begin_cell(1, kCell.value, group.at(1).context.life());
    HostSpeeds speeds(group.at(1).context);
    HostChunks chunks(group.at(1).context, speeds, false);
    ChunkSync sync(group.at(1).context, chunks, speeds, {"s"});
    PendingChunks pending(group.at(1).context, chunks);
    CellEnding ending({group.at(1).context, *group.at(1).log, chunks, sync, pending, outputs_}, order_,
                      false);
    ending.on_reply(reply(content));
    ending.on_idle();
    ending.make_commit_if_complete(*group.at(1).session, group.at(1).session->running()->epoch, false, {});
    group.settle();
    ASSERT_NE(group.at(1).session->find(kCell), nullptr) << content;
    EXPECT_EQ(group.at(1).session->find(kCell)->execution_count, 0U) << content;
  }
}

TEST_F(CellEndings, WhatAWorkerSaidOfItsEndIsForgotten) {
  ending_.on_reply(reply(R"({"status":"ok"})"));
  ending_.on_idle();
  ending_.forget();
  ending_.on_idle();
  ending_.make_commit_if_complete(session(), session().running()->epoch, false, std::nullopt);
  EXPECT_FALSE(ending_.has_commit()) << "it has no reply";
  ending_.forget();
  ending_.on_reply(reply(R"({"status":"ok"})"));
  ending_.make_commit_if_complete(session(), session().running()->epoch, false, std::nullopt);
  EXPECT_FALSE(ending_.has_commit()) << "outputs may still come";
}

TEST_F(CellEndings, ADeathIsAnErrorThatChangesNothing) {
  ending_.on_history({checkpoint::Suspend{.suspended = true}}, true);
  ending_.on_report({.execution = kCell, .execution_count = 7, .delta = large()}, session());
  EXPECT_TRUE(ending_.has_reported());
  ending_.on_death("killed by signal 9", session());
  EXPECT_THAT(ending_.actions(), IsEmpty());
  make();
  const session::Ended* const end = ended();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->status, session::Status::kError);
  EXPECT_EQ(end->execution_count, 1U);
  EXPECT_THAT(end->reply, AllOf(HasSubstr(R"("status":"error")"), HasSubstr(R"("execution_count":1)"),
                                HasSubstr("KernelDied")));
  EXPECT_THAT(parts({"h2"}), IsEmpty());
  EXPECT_FALSE(session().view().contains("x"));
  EXPECT_THAT(told(), ElementsAre(HasSubstr("Variables are as they were")));
}

TEST_F(CellEndings, OneThatLookedAtTheHistoryIsMarked) {
  ending_.on_history({}, false);
  session::Delta delta;
  delta.failed = {"x"};
  end(std::move(delta));
  ASSERT_NE(ended(), nullptr);
  EXPECT_TRUE(ended()->asked_history);
}

TEST_F(CellEndings, ASessionThatItResumesIsResumedWhateverItMade) {
  ending_.on_history({checkpoint::HandOver{ReplicaId{1}}, checkpoint::Suspend{.suspended = false}}, false);
  session::Delta delta;
  delta.failed = {"gen"};
  end(std::move(delta));
  ASSERT_NE(ended(), nullptr);
  EXPECT_EQ(ending_.actions().size(), 2U);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(CellEndings, ACommitIsProposedAgainOnceASecond) {
  be_alone();
  const raft::Index before = last();
  end();
  EXPECT_EQ(last().value, before.value + 1);
  pass(999ms);
  ending_.repeat_if_due(session());
  ending_.propose_if_safe(session());
  EXPECT_EQ(last().value, before.value + 1);
  pass(1ms);
  ending_.repeat_if_due(session());
  EXPECT_EQ(last().value, before.value + 2);
  ending_.on_new_leader(session());
  EXPECT_EQ(last().value, before.value + 3) << "at once";
}

TEST_F(CellEndings, OneThatIsSafeByThisDiskIsProposedWhenItIsLookedAtAgain) {
  end(large());
  for (const char* host : {"h2", "h3"}) stored(host);
  land('x');
  pass(49ms);
  ending_.repeat_if_due(session());
  EXPECT_EQ(ended(), nullptr);
  pass(1ms);
  ending_.repeat_if_due(session());
  EXPECT_NE(ended(), nullptr);
}

TEST_F(CellEndings, AMemberThatIsAnotherLifeGetsTheChunksAgain) {
  end(large());
  for (const char* host : {"h2", "h3"}) (void)parts({host});
  ending_.on_peer_restarted({"h3"}, session());
  ending_.on_peer_restarted({"h9"}, session());
  EXPECT_THAT(parts({"h2"}), IsEmpty());
  EXPECT_THAT(parts({"h3"}), ElementsAre(digest('x')));
  EXPECT_THAT(parts({"h9"}), IsEmpty());
}

}  // namespace
}  // namespace banyan::node
