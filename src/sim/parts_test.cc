// The models one by one: time, disks, the network, the tiny Python, the log oracle.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/codec.h"
#include "core/session/session.h"
#include "sim/data_store.h"
#include "sim/disk.h"
#include "sim/front.h"
#include "sim/log_oracle.h"
#include "sim/model_python.h"
#include "sim/network.h"
#include "sim/process.h"

namespace banyan::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const SessionId kSession{"s"};

TEST(Scheduler, RunsEventsOfOneMomentInTheOrderTheyWereMade) {
  Scheduler scheduler;
  std::vector<int> order;
  scheduler.after(2ms, [&] { order.push_back(3); });
  scheduler.after(1ms, [&] { order.push_back(1); });
  scheduler.after(1ms, [&] { order.push_back(2); });
  scheduler.run_until(1ms);
  EXPECT_THAT(order, ElementsAre(1, 2));
  scheduler.run_until(5ms);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(scheduler.now(), 5ms);
}

TEST(Process, DropsWhatWasMeantForAnEarlierLifeAndKeepsWhatComesWhileItIsStopped) {
  Process process;
  std::vector<int> seen;
  const Process::Life first = process.begin();
  process.stop();
  process.enter(first, [&] { seen.push_back(1); });
  EXPECT_THAT(seen, IsEmpty());
  process.resume();
  EXPECT_THAT(seen, ElementsAre(1));
  process.end();
  const Process::Life second = process.begin();
  process.enter(first, [&] { seen.push_back(2); });
  process.enter(second, [&] { seen.push_back(3); });
  EXPECT_THAT(seen, ElementsAre(1, 3));
}

TEST(Process, ThatBreaksInTheMidstOfAStepLetsNoMoreOut) {
  Process process;
  EXPECT_FALSE(process.lets_out()) << "it does not live yet";
  process.begin();
  EXPECT_TRUE(process.lets_out());
  EXPECT_FALSE(process.broken());
  process.break_after(2);
  EXPECT_TRUE(process.lets_out());
  EXPECT_FALSE(process.broken());
  EXPECT_TRUE(process.lets_out());
  EXPECT_TRUE(process.broken());
  EXPECT_FALSE(process.lets_out());
  process.end();
  process.begin();
  EXPECT_TRUE(process.lets_out()) << "the next life is whole";
}

TEST(SyncQueue, ACrashKeepsSomeOfTheOldestWritesAndAcknowledgesNone) {
  std::set<std::size_t> kept_counts;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Scheduler scheduler;
    SyncQueue queue(scheduler, Rng(seed));
    std::vector<int> durable;
    int acknowledged = 0;
    for (int i = 0; i < 3; ++i) queue.push({[&, i] { durable.push_back(i); }, [&] { ++acknowledged; }});
    queue.crash();
    scheduler.run_until(1s);
    EXPECT_EQ(acknowledged, 0);
    for (std::size_t i = 0; i < durable.size(); ++i) EXPECT_EQ(durable[i], static_cast<int>(i));
    kept_counts.insert(durable.size());
  }
  EXPECT_THAT(kept_counts, ElementsAre(0, 1, 2, 3));
}

TEST(SyncQueue, WhatComesDuringASyncWaitsForTheNext) {
  Scheduler scheduler;
  SyncQueue queue(scheduler, Rng(1));
  queue.set_speed({10ms, 0ms});
  std::vector<TrueTime> at;
  queue.push({[] {}, [&] { at.push_back(scheduler.now()); }});
  scheduler.run_until(1ms);
  queue.push({[] {}, [&] { at.push_back(scheduler.now()); }});
  queue.push({[] {}, [&] { at.push_back(scheduler.now()); }});
  scheduler.run_until(1s);
  EXPECT_THAT(at, ElementsAre(10ms, 20ms, 20ms));
}

class Ear final : public Receiver {
 public:
  void frame_arrived(const HostId& from, node::PeerFrame) override { heard.push_back(from.value); }
  void peer_up(const HostId&) override {}
  void peer_down(const HostId&) override {}
  std::vector<std::string> heard;
};

TEST(Network, ACutHasADirection) {
  Scheduler scheduler;
  Trace trace(scheduler, {});
  Network network(scheduler, Rng(1), trace, 1);
  Ear a;
  Ear b;
  network.attach({"a"}, a);
  network.attach({"b"}, b);
  network.cut({"a"}, {"b"});
  network.send({"a"}, {"b"}, node::LinkFrame{});
  network.send({"b"}, {"a"}, node::LinkFrame{});
  scheduler.run_until(1s);
  EXPECT_THAT(a.heard, ElementsAre("b"));
  EXPECT_THAT(b.heard, IsEmpty());
  network.mend({"a"}, {"b"});
  network.send({"a"}, {"b"}, node::RaftFrame{});
  scheduler.run_until(2s);
  EXPECT_THAT(b.heard, ElementsAre("a"));
  EXPECT_THAT(network.codec_failures(), IsEmpty());
}

void run_code(Namespace& names, const std::string& code) {
  const std::vector<Statement> statements = parse_code(code).value();
  for (const Statement& statement : statements) ASSERT_FALSE(names.run(statement).has_value());
}

TEST(ModelPython, CodeIsReadAsItWasWritten) {
  const std::string code =
      "set a 5; alias b a; add b 2; big c 900; del a; unserial u; print 3; sleep 4; fail";
  EXPECT_EQ(code_of(parse_code(code).value()), code);
  EXPECT_FALSE(parse_code("import os").has_value());
  EXPECT_FALSE(parse_code("set a five").has_value());
}

TEST(ModelPython, AViewMadeFromDeltasHasTheSameValuesAndTheSameSharing) {
  Namespace executor;
  Namespace standby;
  for (const std::string code :
       {"set a 5; alias b a; big c 900", "add b 2", "set b 9; unserial u", "del c; alias d a"}) {
    run_code(executor, code);
    const session::Delta delta = executor.delta();
    for (const auto& value : delta.changed) ASSERT_EQ(standby.load(value), Namespace::Loaded::kWhole);
    for (const auto& name : delta.deleted) standby.forget(name);
    EXPECT_EQ(standby.text(), executor.text()) << code;
    EXPECT_EQ(standby.digest(), executor.digest());
  }
  EXPECT_THAT(executor.text(), HasSubstr("d=7+0@a"));
}

/// A cell that ran again has made a value that was left behind when its session was exported: no host has its
/// bytes.
TEST(ModelPython, AValueThatTheSessionDoesNotKeepComesWithItsBytes) {
  for (const bool kept : {true, false}) {
    Namespace names;
    run_code(names, "big f 900");
    std::vector<session::CoVariable> makes = Namespace(names).delta().changed;
    makes.at(0).kept = kept;
    EXPECT_THAT(names.repeated(makes).made, ElementsAre("f"));
    run_code(names, "alias d f");
    const session::Delta delta = names.delta();
    EXPECT_EQ(delta.changed.at(0).blocks.at(1).bytes.has_value(), !kept);
  }
}

/// Only what had no bytes at first is made again by a value that cannot be saved.
TEST(ModelPython, ALiveObjectInPlaceOfASavedValueIsNotTheSame) {
  for (const bool kept : {true, false}) {
    Namespace saved;
    run_code(saved, "big e 900");
    std::vector<session::CoVariable> makes = saved.delta().changed;
    makes.at(0).kept = kept;
    Namespace names;
    run_code(names, "big e 900; unserial e");
    EXPECT_THAT(names.repeated(makes).changed, ElementsAre("e"));
  }
}

TEST(ModelPython, ADamagedBufferIsNotLoaded) {
  Namespace executor;
  run_code(executor, "big c 900");
  session::Delta delta = executor.delta();
  delta.changed.at(0).blocks.at(1).bytes = Blob(std::string(900, 'x'));
  EXPECT_EQ(Namespace().load(delta.changed.at(0)), Namespace::Loaded::kBroken);
}

class LogOracleTest : public testing::Test {
 protected:
  LogOracleTest() {
    for (const char* host : {"h1", "h2", "h3"}) {
      const session::Members members{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
      raft::Snapshot birth{{1}, {0}, {}, session::Session({}, {}, members).snapshot()};
      oracle.durable({host}, {node::PutSnapshot{kSession, birth}});
    }
  }
  void store(const char* host, std::uint64_t index, std::uint64_t term, const session::Command& command) {
    raft::Entry entry{{term}, {index}, raft::EntryType::kCommand, Blob(encode(command))};
    oracle.durable({host}, {node::PutEntries{kSession, {entry}, {index - 1}}});
  }
  void commit(const char* host, std::uint64_t index) {
    oracle.durable({host}, {node::PutHardState{kSession, {{9}, {}, {index}}}});
  }
  static session::Propose lead(const char* execution, std::uint64_t replica) {
    return {.execution = {execution}, .replica = {replica}};
  }
  std::vector<std::string> reports;
  LargeValues values;
  LogOracle oracle{values, [this](const std::string& what) { reports.push_back(what); }};
};

TEST_F(LogOracleTest, ALeadCountsOnceItIsOnAMajority) {
  store("h1", 2, 1, lead("x", 1));
  EXPECT_FALSE(oracle.lead_durable(kSession, {"x"}));
  store("h2", 2, 1, lead("x", 1));
  EXPECT_TRUE(oracle.lead_durable(kSession, {"x"}));
}

TEST_F(LogOracleTest, TheFirstCommittedLeadWins) {
  for (const char* host : {"h1", "h2"}) {
    store(host, 2, 1, lead("x", 2));
    store(host, 3, 1, lead("x", 1));
  }
  EXPECT_EQ(oracle.find(kSession, {"x"}), nullptr);
  commit("h1", 3);
  ASSERT_NE(oracle.find(kSession, {"x"}), nullptr);
  EXPECT_EQ(oracle.find(kSession, {"x"})->executor, HostId{"h2"});
}

TEST_F(LogOracleTest, TwoEntriesCommittedAtOneIndexAreReported) {
  store("h1", 2, 1, lead("x", 1));
  commit("h1", 2);
  store("h2", 2, 2, lead("y", 2));
  EXPECT_THAT(reports, IsEmpty());
  commit("h2", 2);
  EXPECT_THAT(reports, ElementsAre(HasSubstr("state machine safety")));
}

TEST_F(LogOracleTest, ATakeOverLosesTheRunningCellAndLateCommitsCountForNothing) {
  std::uint64_t index = 2;
  for (const session::Command& command : std::vector<session::Command>{
           lead("x", 1), session::TakeOver{.epoch = {1}, .reason = "silent"},
           session::Commit{.execution = {"x"}, .epoch = {1}, .reply = R"({"status":"ok","after":"ff"})"}}) {
    store("h1", index++, 1, command);
  }
  commit("h1", 4);
  EXPECT_EQ(oracle.find(kSession, {"x"})->ended, session::Status::kLost);
  EXPECT_EQ(oracle.state(kSession), LogOracle::empty_state());
}

class LostDiskTest : public LogOracleTest {
 protected:
  /// The replica's meta as its host writes it begins with the id.
  void opens(const char* host, std::uint64_t replica, const SessionId& session = kSession) {
    struct Meta {
      ReplicaId id;
      std::string more;
    };
    oracle.durable({host}, {node::PutMeta{session, encode(Meta{{replica}, "more"})}});
  }
  void SetUp() override {
    for (std::uint64_t i = 1; i <= 3; ++i) opens(("h" + std::to_string(i)).c_str(), i);
  }
};

TEST_F(LostDiskTest, WhatWasOnItCountsForWhatWasPromisedBefore) {
  store("h1", 2, 1, lead("x", 1));
  store("h2", 2, 1, lead("x", 1));
  oracle.lost_disk({"h2"});
  EXPECT_TRUE(oracle.lead_durable(kSession, {"x"}));
  EXPECT_THAT(oracle.forgetful(kSession), ElementsAre(HostId{"h2"}));
  store("h1", 3, 1, lead("y", 1));
  EXPECT_FALSE(oracle.lead_durable(kSession, {"y"}));
}

TEST_F(LostDiskTest, ItsMemberIsNoneOfThoseThatKeepTheSession) {
  EXPECT_TRUE(oracle.survives_without({{"h1"}}));
  oracle.lost_disk({"h2"});
  EXPECT_TRUE(oracle.survives_without({{"h2"}}));
  EXPECT_FALSE(oracle.survives_without({{"h1"}}));
  opens("h2", 4);
  EXPECT_FALSE(oracle.survives_without({{"h1"}}))
      << "the new replica of the host is none of the log's members";
}

/// Its log names the other host a moment later, and two of two are more than half.
TEST_F(LostDiskTest, ASessionOnOneHostIsNothingWithoutTheHostThatJoins) {
  oracle.durable(
      {"h1"},
      {node::PutSnapshot{{"alone"}, {{1}, {0}, {}, session::Session({}, {}, {{{7}, {"h1"}}}).snapshot()}}});
  opens("h1", 7, {"alone"});
  EXPECT_TRUE(oracle.survives_without({{"h2"}}));
  opens("h2", 8, {"alone"});
  EXPECT_FALSE(oracle.survives_without({{"h2"}}));
  EXPECT_TRUE(oracle.survives_without({{"h3"}}));
}

TEST_F(LostDiskTest, AReplicaThatJoinsThreeIsNotNeededYet) {
  opens("h4", 4);
  EXPECT_TRUE(oracle.survives_without({{"h4"}}));
}

/// A leader that has not noticed may still make four members of three, of whom two are lost.
TEST_F(LostDiskTest, AReplicaThatWasLostWhileItJoinedMayBeNamedAllTheSame) {
  opens("h4", 4);
  EXPECT_TRUE(oracle.survives_without({{"h1"}}));
  EXPECT_FALSE(oracle.survives_without({{"h1"}, {"h4"}}));
  oracle.lost_disk({"h4"});
  EXPECT_FALSE(oracle.survives_without({{"h1"}}));
  store("h2", 2, 1, session::SetMembers{{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}}, 2});
  EXPECT_TRUE(oracle.survives_without({{"h1"}})) << "the gateway has come to want others since";
}

TEST_F(LostDiskTest, AReplicaThatTheLogNamesMustNotBeginAnew) {
  oracle.lost_disk({"h2"});
  opens("h2", 4);
  EXPECT_THAT(reports, IsEmpty());
  oracle.lost_disk({"h2"});
  opens("h2", 4);
  EXPECT_THAT(reports, IsEmpty()) << "no log names it, so nobody has counted it";
  oracle.lost_disk({"h3"});
  opens("h3", 3);
  EXPECT_THAT(reports, ElementsAre(HasSubstr("replica 3 of session s begins anew on h3")));
}

class DataStoreTest : public testing::Test {
 protected:
  DataStore store(Plant plant) {
    return {scheduler, Rng(1), trace, plant, [this](const std::string& what) { reports.push_back(what); }};
  }
  std::vector<bool> put(DataStore& to, int count) {
    std::vector<bool> said;
    for (int i = 0; i < count; ++i)
      to.put("k/" + std::to_string(i), "value " + std::to_string(i),
             [&](bool done) { said.push_back(done); });
    scheduler.run_until(scheduler.now() + 10s);
    return said;
  }
  node::ChunkFetched fetch(DataStore& from, const std::string& key, const std::string& value) {
    node::ChunkFetched got;
    from.fetch({digest_of(value), key, sum_of(value)},
               [&](node::ChunkFetched came) { got = std::move(came); });
    scheduler.run_until(scheduler.now() + 10s);
    return got;
  }
  Scheduler scheduler;
  Trace trace{scheduler, {}};
  std::vector<std::string> reports;
};

TEST_F(DataStoreTest, GivesWhatItHasAndReportsAKeyThatItHasNot) {
  DataStore whole = store(Plant::kNone);
  EXPECT_THAT(put(whole, 1), ElementsAre(true));
  EXPECT_TRUE(whole.has("k/0", sum_of("value 0")));
  EXPECT_EQ(fetch(whole, "k/0", "value 0").bytes, Blob(std::string("value 0")));
  EXPECT_THAT(reports, IsEmpty());
  EXPECT_TRUE(fetch(whole, "k/9", "value 9").denied);
  EXPECT_THAT(reports, ElementsAre(HasSubstr("asks for k/9")));
}

TEST_F(DataStoreTest, ASilentOneMayHaveStoredAndDeniesNothing) {
  DataStore silent = store(Plant::kNone);
  silent.set_trouble({.silent = 1});
  EXPECT_THAT(put(silent, 40), testing::Each(false));
  int there = 0;
  for (int i = 0; i < 40; ++i)
    there += silent.has("k/" + std::to_string(i), sum_of("value " + std::to_string(i))) ? 1 : 0;
  EXPECT_THAT(there, testing::AllOf(testing::Gt(0), testing::Lt(40)));
  const node::ChunkFetched came = fetch(silent, "k/0", "value 0");
  EXPECT_FALSE(came.denied);
  EXPECT_FALSE(came.bytes.has_value());
}

/// Replays what other replicas of the session would have: cells whose replies tell the digests.
session::Session ran_one_cell(const session::Members& members, const char* execution, const char* after) {
  session::Session session({"exported"}, {}, members);
  session.apply(session::Propose{.execution = {execution}, .replica = members.begin()->first});
  session.apply(session::Commit{.execution = {execution}, .epoch = {1}, .reply = after});
  return session;
}

class ImportedLogTest : public LogOracleTest {
 protected:
  /// A session on h4 alone runs a cell, and is exported after it.
  ImportedLogTest() {
    const SessionId exported{"exported"};
    const char* const reply = R"({"status":"ok","after":"f0"})";
    raft::Snapshot birth{{1}, {0}, {}, session::Session(exported, {}, kAlone).snapshot()};
    oracle.durable({"h4"}, {node::PutSnapshot{exported, birth}});
    std::uint64_t index = 2;
    for (const session::Command& command :
         std::vector<session::Command>{session::Propose{.execution = {"x"}, .replica = {7}},
                                       session::Commit{.execution = {"x"}, .epoch = {1}, .reply = reply}}) {
      raft::Entry entry{{1}, {index}, raft::EntryType::kCommand, Blob(encode(command))};
      oracle.durable({"h4"}, {node::PutEntries{exported, {entry}, {index - 1}}});
      ++index;
    }
    oracle.durable({"h4"}, {node::PutHardState{exported, {{1}, {}, {3}}}});
    state = ran_one_cell(kAlone, "x", reply).snapshot_with({});
  }
  const session::Members kAlone{{{7}, {"h4"}}};
  Blob state;
};

TEST_F(ImportedLogTest, BeginsWhereTheOtherSessionWasExported) {
  store("h1", 2, 1, session::Import{"upload", state});
  commit("h1", 2);
  EXPECT_EQ(oracle.state(kSession), "f0");
  EXPECT_EQ(oracle.stands_at(kSession), (StandAt{{1}, 0}));
}

TEST_F(ImportedLogTest, AnImportCountsOnceItIsOnAMajority) {
  store("h1", 2, 1, session::Import{"upload", state});
  EXPECT_FALSE(oracle.import_durable(kSession, "upload"));
  store("h2", 2, 1, session::Import{"upload", state});
  const auto brought = oracle.import_durable(kSession, "upload");
  ASSERT_TRUE(brought.has_value());
  EXPECT_EQ(StateOf::of(*brought), (StateOf{{"exported"}, {7}, {{1}, 0}}));
}

TEST_F(ImportedLogTest, AnImportIntoASessionThatHasRunACellChangesNothing) {
  std::uint64_t index = 2;
  for (const session::Command& command : std::vector<session::Command>{
           lead("y", 1), session::Commit{.execution = {"y"}, .epoch = {1}, .reply = R"({"after":"ff"})"},
           session::Import{"upload", state}}) {
    store("h1", index++, 1, command);
  }
  commit("h1", 4);
  EXPECT_EQ(oracle.state(kSession), "ff");
}

TEST(Front, TheTimeInWhichTheGatewayWasStoppedDoesNotCount) {
  Scheduler scheduler;
  Trace trace(scheduler, {});
  Process process;
  Front front(scheduler, Rng(1), trace, process, "secret", Plant::kNone);
  scheduler.after(2s, [&] { front.gateway_stops(); });
  scheduler.after(5s, [&] { front.gateway_goes_on(); });
  scheduler.after(6s, [&] { front.gateway_stops(); });
  scheduler.run_until(7s);
  EXPECT_EQ(front.gateway_ran_since(0s), 3s);
  EXPECT_EQ(front.gateway_ran_since(3s), 1s);
  EXPECT_EQ(front.gateway_ran_since(6500ms), 0s) << "it is stopped";
  front.gateway_started([](const node::GatewayEvent&) {});
  scheduler.run_until(9s);
  EXPECT_EQ(front.gateway_ran_since(3s), 3s);
}

}  // namespace
}  // namespace banyan::sim
