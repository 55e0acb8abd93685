// Which values a session keeps, and where their bytes are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/session/test_session.h"

namespace banyan::session {
namespace {

std::vector<Digest> digests(const std::vector<std::string>& texts) {
  std::vector<Digest> all;
  for (const std::string& text : texts) all.push_back(digest_of(text));
  return all;
}

TEST(Values, ANameThatIsDeletedAndBoundAnewIsBound) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "1")}});
  const auto events = run(session, "c2", {.changed = {variable({"a"}, "2")}, .deleted = {"a", "nothing"}});
  EXPECT_EQ(first<CellEnded>(events)->change.bound, session.view());
  EXPECT_TRUE(first<CellEnded>(events)->change.unbound.empty()) << "'nothing' was not bound before";
  EXPECT_TRUE(session.view().contains("a"));
}

TEST(Values, EachHasItsOwnPlaceAmongThoseOfItsCell) {
  Session session = fresh();
  run(session, "c1",
      {.changed = {variable({"a"}, "1"), variable({"b"}, "2")}, .failed = {"f", "g"}, .alone = {"g"}});
  EXPECT_EQ(session.view(), (View{{"a", {{1}, 0}}, {"b", {{1}, 1}}, {"f", {{1}, 2}}, {"g", {{1}, 3}}}));
  EXPECT_EQ(session.co_variable({{1}, 1}), variable({"b"}, "2"));
  EXPECT_FALSE(session.co_variable({{1}, 2}).alone);
  EXPECT_TRUE(session.co_variable({{1}, 3}).alone);
  EXPECT_EQ(session.co_variable({{1}, 3}).names, std::vector<std::string>{"g"});
}

TEST(Values, SayTheSizeOfAllTheirBlocks) {
  CoVariable value = variable({"a"}, "123");
  value.blocks.push_back({digest_of("x"), 4, {}});
  EXPECT_EQ(value.bytes(), 7U);
}

TEST(Chunks, AreWantedWhenTheFirstValueNamesThemAndDroppedWithTheLast) {
  Session session = fresh();
  const auto begun =
      run(session, "c1", {.changed = {large({"a"}, "x"), large({"b"}, "x"), large({"c"}, "y")}});
  ASSERT_TRUE(std::holds_alternative<ValuesMoved>(begun.front())) << "before the cell's end";
  EXPECT_EQ(first<ValuesMoved>(begun)->wanted, digests({"x", "y"}));
  EXPECT_TRUE(first<ValuesMoved>(begun)->dropped.empty());
  EXPECT_EQ(session.value_bytes(), 2U) << "what values share counts once";
  EXPECT_EQ(first<ValuesMoved>(run(session, "c2")), nullptr) << "it was said once";
  run(session, "c3", {.deleted = {"a", "c"}});
  const auto pruned = session.apply(amend(session, checkpoint::Prune{1}));
  ASSERT_NE(first<ValuesMoved>(pruned), nullptr);
  EXPECT_EQ(first<ValuesMoved>(pruned)->dropped, digests({"y"})) << "b still names the other";
  EXPECT_TRUE(first<ValuesMoved>(pruned)->wanted.empty());
  EXPECT_EQ(session.chunks(), (std::map<Digest, std::uint64_t>{{digest_of("x"), 1}}));
  EXPECT_EQ(session.value_bytes(), 1U);
}

TEST(Chunks, OfARestoredSessionAreNotWantedAnew) {
  Session session = fresh();
  run(session, "c1", {.changed = {large({"a"}, "x")}});
  Session restored = *Session::restore(session.snapshot());
  EXPECT_EQ(first<ValuesMoved>(run(restored, "c2")), nullptr);
}

/// A session that keeps 1000 bytes of values in memory, with ten values of 100 bytes.
class Spilling : public testing::Test {
 protected:
  std::vector<Event> add(const std::string& bytes) {
    const std::string cell = "c" + std::to_string(++cells);
    return run(session, cell, {.changed = {variable({"a"}, bytes)}});
  }
  static std::string hundred(char digit) { return std::string(100, digit); }
  Session session = fresh({.inline_values = 1000});
  int cells = 0;
};

TEST_F(Spilling, BeginsWhenMemoryIsFullAndEndsWhenItIsHalfEmpty) {
  for (char digit = '0'; digit <= '9'; ++digit) EXPECT_EQ(first<ValuesMoved>(add(hundred(digit))), nullptr);
  const auto events = add(hundred('x'));
  ASSERT_NE(first<ValuesMoved>(events), nullptr);
  std::vector<Blob> oldest;
  for (char digit = '0'; digit <= '5'; ++digit) oldest.emplace_back(hundred(digit));
  EXPECT_EQ(first<ValuesMoved>(events)->spilled, oldest);
  EXPECT_EQ(first<ValuesMoved>(events)->wanted.size(), 6U);
  EXPECT_EQ(session.value_bytes(), 1100U) << "they are kept all the same";
  EXPECT_EQ(first<ValuesMoved>(add(hundred('y'))), nullptr);
}

TEST_F(Spilling, LeavesOutWhatHeadShowsAndWhatIsOnTheDiskAlready) {
  run(session, "first",
      {.changed = {variable({"shown"}, hundred('s')), large({"disk"}, "d"), variable({"empty"}, "")}});
  run(session, "second", {.deleted = {"disk", "empty"}});
  for (char digit = '0'; digit <= '8'; ++digit) add(hundred(digit));
  const auto events = add(hundred('x'));
  ASSERT_NE(first<ValuesMoved>(events), nullptr);
  EXPECT_EQ(first<ValuesMoved>(events)->spilled.size(), 6U);
  EXPECT_EQ(first<ValuesMoved>(events)->spilled.front(), Blob(hundred('0')));
  EXPECT_TRUE(session.co_variable(session.view().at("shown")).blocks.front().bytes);
  EXPECT_TRUE(session.co_variable({{1}, 2}).blocks.front().bytes) << "no byte is saved by it";
}

/// The bytes of a spilled value came with a cell again: they may be missing on a disk where they were wanted.
TEST_F(Spilling, WhatIsOnTheDiskAlreadyGoesThereAgain) {
  const std::string again = hundred('0');
  add(again);
  for (char digit = '1'; digit <= '9'; ++digit) add(hundred(digit));
  ASSERT_NE(first<ValuesMoved>(add(hundred('x'))), nullptr);
  ASSERT_TRUE(session.chunks().contains(digest_of(again)));
  session.apply(lead("again", kA));
  session.apply(commit("again", session.epoch(), {.changed = {variable({"a"}, std::string(1000, 'y'))}}));
  run(session, "both", {.changed = {variable({"b"}, again)}});
  const auto events = run(session, "other", {.changed = {variable({"b"}, std::string(500, 'z'))}});
  ASSERT_NE(first<ValuesMoved>(events), nullptr);
  EXPECT_THAT(first<ValuesMoved>(events)->spilled, testing::Contains(Blob(again)));
  EXPECT_TRUE(first<ValuesMoved>(events)->wanted.empty());
}

TEST(Forgetting, LeavesNothingOfCellsThatAreTooOld) {
  Session session = fresh({.cells = 3});
  std::size_t size = 0;
  for (int i = 10; i < 60; ++i) {
    run(session, "c" + std::to_string(i), {.changed = {variable({"a"}, std::to_string(i))}});
    if (i == 20) size = session.snapshot().size();
  }
  EXPECT_LT(session.snapshot().size(), size + 8) << "only numbers grow";
  EXPECT_EQ(session.history().size(), 3U);
  EXPECT_EQ(session.find({"c56"}), nullptr);
  EXPECT_NE(session.find({"c57"}), nullptr);
  EXPECT_EQ(session.value_bytes(), 6U);
}

TEST(Forgetting, OutputsOfForgottenCellsTakeNoRoom) {
  jupyter::Message output;
  output.content = Blob(std::string(400, 'x'));
  Session session = fresh({.cells = 2, .journal = 1000 + 2 * output.size() - 800});
  for (int i = 0; i < 5; ++i) {
    session.apply(lead("c" + std::to_string(i), kA));
    session.apply(Commit{.execution = {"c" + std::to_string(i)},
                         .epoch = session.epoch(),
                         .outputs = {output},
                         .outputs_total = 1});
  }
  for (const auto& [commit, cell] : session.history()) EXPECT_EQ(cell.outputs.size(), 1U) << commit.value;
}

TEST(Forgetting, BeginsWhenTheOutputsAreMoreThanTheJournalMayHave) {
  jupyter::Message output;
  output.content = Blob(std::string(400, 'x'));
  Session session = fresh({.journal = 2 * output.size()});
  for (const char* cell : {"c1", "c2", "c3"}) {
    session.apply(lead(cell, kA));
    session.apply(
        Commit{.execution = {cell}, .epoch = session.epoch(), .outputs = {output}, .outputs_total = 1});
    if (session.last().value == 2) EXPECT_EQ(session.history().at({1}).outputs.size(), 1U);
  }
  EXPECT_EQ(session.history().at({1}).outputs.size(), 0U);
  EXPECT_EQ(session.history().at({2}).outputs.size(), 1U);
}

TEST(Actions, ThatCellsAskForAreDoneWhenTheCellEnds) {
  Session session = fresh();
  const auto ask = [&](const std::string& cell, std::vector<checkpoint::Action> actions) {
    session.apply(lead(cell, kA));
    session.apply(Commit{.execution = {cell}, .epoch = session.epoch(), .actions = std::move(actions)});
  };
  run(session, "c1", {.changed = {variable({"a"}, "1")}});
  ask("c2",
      {checkpoint::CopyAlways{{"a", "b"}}, checkpoint::Suspend{true}, checkpoint::AllowRepeat{{{1}, {77}}}});
  EXPECT_EQ(session.copied_always(), (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(session.suspended());
  EXPECT_TRUE(session.history().at({1}).may_repeat);
  EXPECT_FALSE(session.history().at({2}).may_repeat);
  ask("c3", {checkpoint::CopyAlways{{"a"}, false}});
  EXPECT_EQ(session.copied_always(), (std::set<std::string>{"b"}));
}

TEST(Actions, LeaveTheCountOfAmendmentsWhereNothingIsAsked) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "1")}});
  EXPECT_EQ(session.amended(), 0U);
  session.apply(amend(session, checkpoint::MakeTag{"t", {1}}));
  EXPECT_EQ(session.amended(), 1U);
}

TEST(Actions, ACellThatOnlyLooksAmendsNothing) {
  Session session = fresh();
  session.apply(lead("c1", kA));
  session.apply(Commit{.execution = {"c1"}, .epoch = session.epoch(), .asked_history = true});
  session.apply(abort("c2", kA));
  EXPECT_EQ(session.amended(), 0U);
}

TEST(Forgetting, EndsWhereOnlyHeadIsLeft) {
  Session session = fresh({.values = 10});
  run(session, "c1", {.changed = {variable({"a"}, std::string(300, 'x'))}});
  EXPECT_EQ(session.value_bytes(), 300U) << "what head shows is kept, however large it is";
}

TEST(Forgetting, BeginsBeyondTheLimitsAndNotAtThem) {
  Session session = fresh({.cells = 2, .values = 6});
  run(session, "c1", {.changed = {variable({"a"}, "one")}});
  run(session, "c2", {.changed = {variable({"a"}, "two")}});
  EXPECT_EQ(session.tree().nodes().size(), 2U);
  EXPECT_EQ(session.value_bytes(), 6U);
}

TEST(Forgetting, TakesTheMessageOfACommitAlong) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "1")}});
  session.apply(amend(session, checkpoint::Describe{{1}, "the first"}));
  run(session, "c2", {.changed = {variable({"a"}, "2")}});
  session.apply(amend(session, checkpoint::Prune{1}));
  EXPECT_TRUE(session.refs().names().messages.empty());
  EXPECT_TRUE(Session::restore(session.snapshot()).has_value()) << "else it would contradict itself";
}

TEST(Values, WhatACellShowsIsKeptWhenItAlsoDeletedSomethingOrMadeALiveObject) {
  const std::string shown(checkpoint::kShown);
  for (const Delta& also : {Delta{.deleted = {"a"}}, Delta{.failed = {"f"}}}) {
    Session session = fresh();
    run(session, "c1", {.changed = {variable({"a"}, "1")}});
    session.apply(lead("c2", kA));
    Delta delta = also;
    delta.changed = {variable({shown}, "text")};
    session.apply(Commit{
        .execution = {"c2"}, .epoch = session.epoch(), .delta = std::move(delta), .asked_history = true});
    EXPECT_TRUE(session.view().contains(shown)) << "it did not only look";
  }
}

}  // namespace
}  // namespace banyan::session
