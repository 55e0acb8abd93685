// What a session hands on to others, and takes over from them.

#include <gtest/gtest.h>

#include "core/session/history.h"
#include "core/session/test_session.h"
#include "core/session/transfer.h"

namespace banyan::session {
namespace {

using checkpoint::Checkout;

Session with_values() {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(
      commit("c1", session.epoch(), {.changed = {variable({"a"}, "1"), variable({"b", "c"}, "22")}}));
  return session;
}

TEST(Import, TakesEverythingButTheReplicas) {
  const Session from = with_values();
  Session to({"other"}, {.kernel_name = "python3", .working_directory = {}, .env = {}}, {{{7}, {"h7"}}});
  const auto events = to.apply(Import{"r", from.snapshot()});
  ASSERT_NE(first<Amended>(events), nullptr);
  EXPECT_FALSE(first<Amended>(events)->refused);
  EXPECT_EQ(to.id(), SessionId{"other"});
  EXPECT_EQ(to.members(), (Members{{{7}, {"h7"}}}));
  EXPECT_EQ(to.executor(), ReplicaId{});
  EXPECT_EQ(to.view(), from.view());
  EXPECT_EQ(to.last(), from.last());
  EXPECT_EQ(to.value_bytes(), from.value_bytes());
  EXPECT_TRUE(first<Amended>(to.apply(Import{"r", from.snapshot()}))->refused) << "it is not empty any more";
}

TEST(Import, OfWhatIsNoStateChangesNothing) {
  Session session = fresh();
  const Blob before = session.snapshot();
  for (const std::string& bytes :
       {std::string(), std::string("nonsense"), std::string(with_values().snapshot().part(0, 100).view())})
    EXPECT_TRUE(first<Amended>(session.apply(Import{"r", Blob(bytes)}))->refused);
  EXPECT_EQ(session.snapshot(), before);
}

TEST(Import, LeavesTheSessionItsOwnEpochSoThatNoOldCommitCounts) {
  Session from = with_values();
  for (int i = 0; i < 3; ++i) from.apply(TakeOver{from.epoch(), "silent"});
  from.apply(Clear{4});
  from.apply(lead("lost", kC));
  from.apply(TakeOver{from.epoch(), "silent"});
  from.apply(Propose{.execution = {"runs"}, .replica = kC, .restarts = 4});
  ASSERT_TRUE(from.running());

  Spec spec;
  spec.kernel_name = "other";
  Session to({"other"}, spec, {{{7}, {"h7"}}, {{8}, {"h8"}}});
  to.apply(amend(to, checkpoint::HandOver{{7}}));
  to.apply(amend(to, checkpoint::Suspend{true}));
  const Epoch epoch = to.epoch();
  EXPECT_FALSE(first<Amended>(to.apply(Import{"r", from.snapshot()}))->refused);
  EXPECT_EQ(to.epoch(), epoch);
  EXPECT_EQ(to.executor(), ReplicaId{7});
  EXPECT_EQ(to.spec().kernel_name, "other");
  EXPECT_EQ(to.last_clear(), 0U) << "cells that were accepted here may start";
  EXPECT_TRUE(to.suspended());
  EXPECT_FALSE(to.running()) << "the cell runs elsewhere";
  EXPECT_EQ(to.find({"c1"})->code, "x");
  EXPECT_NE(first<Started>(to.apply(lead("new", {7}))), nullptr);
  EXPECT_EQ(to.epoch(), epoch);
}

TEST(Import, BringsNoBidsAlong) {
  Session from = fresh();
  for (const ReplicaId who : {kA, kB}) from.apply(yield("c1", who));
  Session to = fresh();
  to.apply(Import{"r", from.snapshot()});
  EXPECT_TRUE(to.apply(yield("c1", kC)).empty()) << "the others have not yielded here";
}

TEST(Import, IsRefusedWhereACellRuns) {
  Session to = fresh();
  to.apply(lead("c1", kA));
  const auto events = to.apply(Import{"r", with_values().snapshot()});
  EXPECT_EQ(first<Amended>(events)->request, "r");
  EXPECT_EQ(first<Amended>(events)->refused->kind, ErrorKind::kConflict);
  EXPECT_TRUE(to.running());
}

TEST(Import, WantsTheChunksOfItsValues) {
  Session from = fresh();
  run(from, "c1", {.changed = {large({"a"}, "x"), variable({"b"}, "2")}});
  Session to = fresh();
  const auto events = to.apply(Import{"r", from.snapshot()});
  ASSERT_NE(first<ValuesMoved>(events), nullptr);
  EXPECT_EQ(first<ValuesMoved>(events)->wanted, std::vector<Digest>{digest_of("x")});
}

TEST(Export, LeavesSecretsOfTheEnvironmentBehind) {
  Spec spec;
  spec.env = {{"TOKEN", "secret"}};
  const Session session({"s"}, spec, {{kA, {"h1"}}});
  EXPECT_TRUE(Session::restore(session.snapshot_with({}))->spec().env.empty());
  EXPECT_EQ(Session::restore(session.snapshot())->spec().env, spec.env);
}

TEST(Import, OfAStateThatLeftValuesBehindCanBeCleanedUp) {
  Session from = with_values();
  from.apply(lead("c2", kA));
  from.apply(commit("c2", from.epoch(), {.changed = {{{"big"}, {{digest_of("x"), 1 << 20, {}}}, {1}}}}));
  from.apply(lead("c3", kA));
  from.apply(commit("c3", from.epoch(), {.changed = {variable({"big"}, "small now")}}));
  Session to = fresh();
  to.apply(Import{"r", from.snapshot_with({})});
  for (const char* question : {R"({"do":"gc","keep":1})", R"({"do":"space"})", R"({"do":"state"})"})
    EXPECT_TRUE(ask(to, {}, question).has_value()) << question;
  to.apply(amend(to, checkpoint::Prune{1}));
  EXPECT_EQ(to.value_bytes(), 0U);
}

TEST(Export, OfARateThatNothingHasIsRefused) {
  const Session session = with_values();
  EXPECT_EQ(exported_values(session, {}, {.bytes_per_s = 0.5}).error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(exported_values(session, {}, {.bytes_per_s = 1}).has_value());
  EXPECT_EQ(exported_values(session, {}, {.values = "some"}).error().kind, ErrorKind::kInvalid);
}

TEST(Import, WhatItLeftBehindIsNotHandedOn) {
  Session from = with_values();
  from.apply(lead("c2", kA));
  from.apply(Commit{
      .execution = {"c2"},
      .epoch = from.epoch(),
      .execution_count = 2,
      .delta = {.changed = {variable({"d"}, "4")}, .footprint = {.reads = {"a"}, .effects = {"wrote log"}}}});
  Session to = fresh();
  to.apply(Import{"r", from.snapshot_with({from.view().at("d")})});
  for (const char* which : {"head", "least"}) {
    const auto values = exported_values(to, {}, {.values = which});
    ASSERT_TRUE(values) << which;
    EXPECT_EQ(*values, (std::set<CoVariableId>{from.view().at("d")})) << which;
  }
}

TEST(Import, SaysWhereItsChunksAreForAsLongAsItHasThem) {
  Session from = with_values();
  from.apply(lead("c2", kA));
  from.apply(commit("c2", from.epoch(), {.changed = {{{"big"}, {{digest_of("x"), 1 << 20, {}}}, {1}}}}));
  const Elsewhere there{.prefix = "chunks-of/s/", .sha256 = {{digest_of("x"), "aa"}}};
  Session to = fresh();
  to.apply(Import{"r", from.snapshot_from(there)});
  EXPECT_EQ(to.elsewhere(), there);
  EXPECT_EQ(Session::restore(to.snapshot())->elsewhere(), there) << "other replicas know it, too";
  EXPECT_EQ(Session::restore(to.snapshot_with({to.view().at("big")}))->elsewhere(), Elsewhere())
      << "whoever imports an export may know another store";
  to.apply(lead("c3", kA));
  to.apply(commit("c3", to.epoch(), {.changed = {variable({"big"}, "small now")}}));
  to.apply(amend(to, checkpoint::Prune{1}));
  EXPECT_TRUE(to.elsewhere().sha256.empty());
}

/// A snapshot may come from anybody: one that is accepted must not end the host agent later.
TEST(Import, OfADamagedStateIsRefusedOrHarmless) {
  const std::string whole(with_values().snapshot().view());
  for (std::size_t place = 0; place < whole.size(); ++place) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[place] = static_cast<char>(damaged[place] ^ flip);
      Session session = fresh();
      const auto events = session.apply(Import{"r", Blob(damaged)});
      if (first<Amended>(events)->refused) continue;
      session.apply(lead("c7", kA));
      session.apply(commit("c7", session.epoch(), {.changed = {variable({"a"}, "7")}, .deleted = {"b"}}));
      session.apply(amend(session, Checkout{{0}}));
      for (const char* question :
           {R"({"do":"gc","keep":1})", R"({"do":"state"})", R"({"do":"log"})", R"({"do":"suspend"})"})
        (void)ask(session, {}, question).has_value();
      session.apply(amend(session, checkpoint::Prune{1}));
      EXPECT_TRUE(Session::restore(session.snapshot()).has_value()) << "byte " << place;
    }
  }
}

TEST(Snapshot, CanLeaveValuesToTheirCells) {
  const Session session = with_values();
  const CoVariableId a = session.view().at("a"), b = session.view().at("b");
  const auto trimmed = Session::restore(session.snapshot_with({a}));
  ASSERT_TRUE(trimmed);
  EXPECT_TRUE(trimmed->co_variable(a).serialised());
  EXPECT_FALSE(trimmed->co_variable(b).serialised());
  EXPECT_EQ(trimmed->co_variable(b).blocks.front().digest, digest_of("22"))
      << "tells whether its cell made the same";
  EXPECT_EQ(trimmed->value_bytes(), 1U);
  EXPECT_EQ(trimmed->view(), session.view());
}

TEST(Members, TheWishThatTheyFulfilOutlivesASnapshotAndAnImport) {
  Session session = fresh();
  EXPECT_EQ(session.members_wish(), 0U);
  session.apply(SetMembers{{{kA, {"h1"}}, {kB, {"h2"}}}, 7});
  const auto restored = Session::restore(session.snapshot());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->members_wish(), 7U);
  session.apply(Import{"r", with_values().snapshot()});
  EXPECT_EQ(session.members_wish(), 7U);
}

}  // namespace
}  // namespace banyan::session
