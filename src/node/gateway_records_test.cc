#include "node/gateway_records.h"

#include <gtest/gtest.h>

namespace banyan::node {
namespace {

SessionRecord example() {
  SessionRecord record{.id = {"s"}};
  record.spec = {"python3", "/work", {{"A", "1"}}, {}};
  record.members = {{{1}, {{"h1"}, true, false}}, {{4}, {{"h4"}, false, true}}};
  record.committed = {{{1}, {"h1"}}, {{2}, {"h2"}}};
  record.wishes = 2;
  record.fulfilled = 1;
  record.next_replica = 5;
  record.restarts = 3;
  record.founding = {.life = 1ULL << 63U, .number = 12};
  record.created = {123456789};
  record.notebook = Notebook{"n", "a/b.ipynb", "b", "notebook"};
  return record;
}

TEST(GatewayRecords, ASessionSurvivesTheStore) {
  const SessionRecord before = example();
  const auto stored = read_records({{session_key({"s"}), to_record(before)}});
  const SessionRecord& after = stored.sessions.at({"s"}).session;
  EXPECT_EQ(after.spec, before.spec);
  EXPECT_EQ(after.wanted(), before.wanted());
  EXPECT_TRUE(after.members.at({1}).open);
  EXPECT_TRUE(after.members.at({4}).joining);
  EXPECT_EQ(after.committed, before.committed);
  EXPECT_EQ(after.wishes, 2U);
  EXPECT_EQ(after.fulfilled, 1U);
  EXPECT_EQ(after.next_replica, 5U);
  EXPECT_EQ(after.restarts, 3U);
  EXPECT_EQ(after.founding.life, before.founding.life);
  EXPECT_EQ(after.founding.number, 12U);
  EXPECT_EQ(after.created, before.created);
  EXPECT_EQ(after.notebook->path, "a/b.ipynb");
}

TEST(GatewayRecords, EachPartOfASessionSurvivesTheStore) {
  SessionRecord before = example();
  before.spec.keep = {.cells = 1, .journal = 2, .inline_values = 3, .values = 4};
  before.spec.standbys = session::Standbys::kWarm;
  before.leaves = {4};
  const SessionRecord after =
      read_records({{session_key({"s"}), to_record(before)}}).sessions.at({"s"}).session;
  EXPECT_EQ(after.id, SessionId{"s"});
  EXPECT_EQ(after.spec, before.spec);
  EXPECT_EQ(after.leaves, before.leaves);
  EXPECT_FALSE(after.members.at({1}).joining);
  EXPECT_FALSE(after.members.at({4}).open);
  EXPECT_EQ(after.notebook->id, "n");
  EXPECT_EQ(after.notebook->name, "b");
  EXPECT_EQ(after.notebook->type, "notebook");
}

TEST(GatewayRecords, ASessionWithoutANotebookHasNone) {
  SessionRecord before = example();
  before.notebook.reset();
  before.created = {-5};
  const auto stored = read_records({{session_key({"s"}), to_record(before)}});
  EXPECT_FALSE(stored.sessions.at({"s"}).session.notebook.has_value());
  EXPECT_EQ(stored.sessions.at({"s"}).session.created.us, 0);
}

TEST(GatewayRecords, ASessionOfAnEarlierVersionHasWhatItHadThen) {
  const auto read = [](const std::string& committed) {
    return read_records({{"session/s", R"({"kernel":"p","env":{"A":"1","B":2},"founding":7,"next_replica":2,
                                           "members":{"1":{"host":"h1"}},"committed":)" +
                                           committed + "}"}})
        .sessions.at({"s"})
        .session;
  };
  const SessionRecord settled = read(R"({"1":"h1"})");
  EXPECT_EQ(settled.wishes, 0U);
  EXPECT_EQ(settled.spec.keep, session::Keep{});
  EXPECT_EQ(settled.spec.standbys, session::Standbys::kHot);
  EXPECT_EQ(settled.spec.env, (std::map<std::string, std::string>{{"A", "1"}}));
  EXPECT_EQ(settled.founding.life, 0U);
  EXPECT_EQ(read(R"({"2":"h2"})").wishes, 1U) << "a change was under way";
}

TEST(GatewayRecords, OnlyANumberIsTakenForOne) {
  const auto read = [](const std::string& restarts) {
    return read_records(
               {{"session/s", R"({"kernel":"p","next_replica":2,"members":{"1":{"host":"h1","open":1}},
                                           "restarts":)" +
                                  restarts + "}"}})
        .sessions.at({"s"})
        .session;
  };
  EXPECT_EQ(read("7").restarts, 7U);
  EXPECT_EQ(read("-7").restarts, 0U);
  EXPECT_EQ(read("\"7\"").restarts, 0U);
  EXPECT_FALSE(read("7").members.at({1}).open) << "and only a truth value for a truth";
}

TEST(GatewayRecords, ASessionKnowsWhichHostsItNames) {
  const SessionRecord record = example();
  EXPECT_EQ(record.member_on({"h4"}), ReplicaId{4});
  EXPECT_EQ(record.member_on({"h2"}), std::nullopt) << "it is committed, and not wanted any more";
  for (const char* host : {"h1", "h2", "h4"}) EXPECT_TRUE(record.names({host})) << host;
  EXPECT_FALSE(record.names({"h3"}));
}

TEST(GatewayRecords, ACellSurvivesByteForByte) {
  CellRecord cell{
      .number = 7, .client = {"tab"}, .request = {.header = R"({"a":1})", .content = Blob(R"({"x":NaN})")}};
  cell.request.buffers.emplace_back(std::string("\0\xff", 2));
  cell.verdict = Verdict{"NoQuorum", "why"};
  const auto stored = read_records({{session_key({"s"}), to_record(example())},
                                    {cell_key({"s"}, 7), to_record(cell)},
                                    {progress_key({"s"}), to_record(ProgressRecord{{"c1"}, 9})}});
  const StoredSession& session = stored.sessions.at({"s"});
  EXPECT_EQ(session.cells.at(7).request, cell.request);
  EXPECT_EQ(session.cells.at(7).verdict->name, "NoQuorum");
  EXPECT_EQ(session.progress->seq, 9U);
}

TEST(GatewayRecords, KeysOfCellsSortByAge) { EXPECT_LT(cell_key({"s"}, 9), cell_key({"s"}, 10)); }

TEST(GatewayRecords, CellsOfNoSessionAreOrphansAndThoseOfADamagedOneAreKept) {
  const auto stored = read_records({{"session/bad", "{"},
                                    {cell_key({"bad"}, 1), "x"},
                                    {cell_key({"gone"}, 1), "x"},
                                    {"cell/", "x"},
                                    {progress_key({"gone"}), "{}"},
                                    {"who knows", ""}});
  EXPECT_TRUE(stored.damaged.contains({"bad"}));
  EXPECT_EQ(stored.orphans.size(), 3U);
  EXPECT_EQ(stored.unreadable.size(), 3U);
}

TEST(GatewayRecords, ACellThatCannotBeReadIsNamedAndLeftAlone) {
  const auto stored = read_records({{session_key({"s"}), to_record(example())},
                                    {cell_key({"s"}, 1), "x"},
                                    {cell_key({"s"}, 2), to_record(CellRecord{.number = 0})},
                                    {progress_key({"s"}), "[]"}});
  EXPECT_TRUE(stored.sessions.at({"s"}).cells.empty());
  EXPECT_FALSE(stored.sessions.at({"s"}).progress.has_value());
  EXPECT_EQ(stored.unreadable, (std::vector{cell_key({"s"}, 1), cell_key({"s"}, 2)}));
}

TEST(GatewayRecords, TheProgressOfACellSurvivesTheStore) {
  const auto stored = read_records({{session_key({"s"}), to_record(example())},
                                    {progress_key({"s"}), to_record(ProgressRecord{{"c1"}, 9})}});
  EXPECT_EQ(stored.sessions.at({"s"}).progress->execution, ExecutionId{"c1"});
}

TEST(GatewayRecords, WhatWasFoundedIsKnownByLife) {
  const std::uint64_t life = ~0ULL;
  const auto stored =
      read_records({{founded_key(life), founded_record(3)}, {founded_key(7), founded_record(1)}});
  EXPECT_EQ(stored.founded, (FoundedRecords{{life, 3}, {7, 1}}));
  EXPECT_TRUE(stored.unreadable.empty());
  for (const char* bad : {"", "{", "[]", R"({"sessions":"x"})"})
    EXPECT_EQ(read_records({{founded_key(7), bad}}).unreadable.size(), 1U) << bad;
  for (const char* key : {"founded/", "founded/x", "founded/-1", "founded/18446744073709551616"})
    EXPECT_EQ(read_records({{key, founded_record(1)}}).unreadable.size(), 1U) << key;
}

TEST(GatewayRecords, AHostSurvivesTheStore) {
  const HostRecord host{
      .state = HostRecord::State::kDraining, .address = "10.0.0.5:7401", .force = true, .key = "0af1"};
  EXPECT_EQ(read_records({{host_key({"h5"}), to_record(host)}}).hosts.at({"h5"}), host);
}

TEST(GatewayRecords, AHostThatWasRemovedOrCannotBeReadIsKnownToBe) {
  const HostRecord removed{.state = HostRecord::State::kRemoved};
  const auto stored = read_records({{host_key({"h5"}), to_record(removed)}, {host_key({"h6"}), "[]"}});
  EXPECT_EQ(stored.hosts, (std::map<HostId, HostRecord>{{{"h5"}, removed}}));
  EXPECT_EQ(stored.unreadable, std::vector{host_key({"h6"})});
}

TEST(GatewayRecords, AHostOfAnEarlierVersionHasNoKeyYet) {
  const auto stored =
      read_records({{host_key({"h5"}), R"({"state":"in use","address":"10.0.0.5:7401","force":false})"}});
  EXPECT_EQ(stored.hosts.at({"h5"}), HostRecord{.address = "10.0.0.5:7401"});
}

TEST(GatewayRecords, NoTextFromTheStoreIsTrusted) {
  const std::string good = to_record(example());
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_TRUE(read_records({{"session/s", good.substr(0, cut)}}).damaged.contains({"s"})) << cut;
  for (const char* bad :
       {"[]", R"({"kernel":7,"members":[]})", R"({"kernel":"p","members":{"x":{}}})",
        R"({"kernel":"p","members":{"9":{"host":"h"}},"next_replica":9})",
        R"({"kernel":"p","members":{"1":{"host":"h"}},"next_replica":2,"committed":{"1":7}})"})
    EXPECT_TRUE(read_records({{"session/s", bad}}).damaged.contains({"s"})) << bad;
}

}  // namespace
}  // namespace banyan::node
