// A snapshot may come from a file that anybody has written: one that contradicts itself is refused.

#include <gtest/gtest.h>

#include <functional>

#include "base/codec.h"
#include "core/session/test_session.h"

namespace banyan::session {
namespace {

/// A snapshot as it is encoded (Session::State, the tree, and the names).
struct Written {
  struct Election {
    std::set<ReplicaId> yielded;
  };
  struct Parts {
    Spec spec;
    Members members;
    Epoch epoch;
    ReplicaId executor;
    std::optional<Running> running;
    CommitId last;
    std::uint64_t execution_count = 0;
    View view;
    std::map<CoVariableId, CoVariable> co_variables;
    std::map<CommitId, Ended> history;
    std::map<ExecutionId, CommitId> known;
    std::map<ExecutionId, Election> elections;
  } state;
  checkpoint::Tree::Nodes nodes;
  checkpoint::Refs::Names names;
};

/// A session with the commits 1 to 3, where 3 was undone; `b` is a chunk on the disks.
Session with_three_commits() {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "one")}});
  run(session, "c2", {.changed = {variable({"a"}, "two"), large({"b"}, "large")}});
  run(session, "c3", {.changed = {large({"c"}, "large")}});
  session.apply(Amend{"tag", {checkpoint::MakeTag{"t", {1}}}, session.last(), session.amended()});
  session.apply(Amend{"describe", {checkpoint::Describe{{1}, "first"}}, session.last(), session.amended()});
  session.apply(Amend{"undo",
                      {checkpoint::Checkout{{2}, checkpoint::Checkout::Step::kUndo}},
                      session.last(),
                      session.amended()});
  return session;
}

Written written() {
  const Blob snapshot = with_three_commits().snapshot();
  Decoder decoder(snapshot.view());
  Written parts;
  decoder.get(parts.state);
  decoder.get(parts.nodes);
  decoder.get(parts.names);
  EXPECT_TRUE(decoder.ok());
  return parts;
}

Result<Session> read(const Written& parts) {
  Encoder encoder;
  encoder.put(parts.state);
  encoder.put(parts.nodes);
  encoder.put(parts.names);
  return Session::restore(Blob(encoder.take()));
}

/// What is said of the snapshot after `change`; empty when it is taken.
std::string refusal(const std::function<void(Written&)>& change) {
  Written parts = written();
  change(parts);
  const auto session = read(parts);
  return session ? "" : session.error().message;
}

const std::string kContradicts = "a session's snapshot contradicts itself";
constexpr CoVariableId kA1{{1}, 0}, kA2{{2}, 0}, kB2{{2}, 1};

TEST(Restore, TakesWhatASessionHasWritten) {
  EXPECT_EQ(refusal([](Written&) {}), "");
  const Session before = with_three_commits();
  const auto after = Session::restore(before.snapshot());
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->value_bytes(), 3U + 3U + 5U);
  EXPECT_EQ(after->value_bytes(), before.value_bytes());
  EXPECT_EQ(after->chunks(), (std::map<Digest, std::uint64_t>{{digest_of("large"), 2}}));
}

TEST(Restore, RefusesNamesOfCommitsThatAreNotThere) {
  EXPECT_EQ(refusal([](Written& w) { w.names.head = {7}; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.names.branches["main"] = {7}; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.names.tags["t"] = {7}; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.names.undone = {{7}}; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.names.messages[{7}] = "seventh"; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.names.current = "nowhere"; }), kContradicts);
}

TEST(Restore, RefusesCommitsAfterTheLastOne) {
  EXPECT_EQ(refusal([](Written& w) { w.state.last = {2}; }), kContradicts) << "the third is in the tree";
  EXPECT_EQ(refusal([](Written& w) { w.state.last = {4}; }), "")
      << "an aborted cell is no commit of the tree";
  const auto counts_to = [](std::uint64_t last) { return [last](Written& w) { w.state.last = {last}; }; };
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
  EXPECT_EQ(refusal(counts_to(kMost)), "");
  EXPECT_EQ(refusal(counts_to(kMost + 1)), kContradicts) << "counting on would end at 0";
  EXPECT_EQ(refusal([](Written& w) { w.state.execution_count = kMost; }), "");
  EXPECT_EQ(refusal([](Written& w) { w.state.execution_count = kMost + 1; }), kContradicts);
}

TEST(Restore, RefusesCellsUnderAnotherCommitThanTheirs) {
  EXPECT_EQ(refusal([](Written& w) { w.state.history.at({2}).commit = {1}; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) {
              w.state.history[{9}] = w.state.history.at({3});
              w.state.history[{9}].commit = {9};
            }),
            kContradicts)
      << "the next cells would end under its number";
}

TEST(Restore, RefusesVersionsWithoutAValue) {
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables.erase(kA1); }), kContradicts)
      << "also where only an earlier commit shows it";
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables.at(kA1).names.clear(); }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables[{{0}, 0}] = w.state.co_variables.at(kA1); }),
            kContradicts)
      << "before all cells there is nothing";
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables[{{4}, 0}] = w.state.co_variables.at(kA1); }),
            kContradicts)
      << "the next cell would make a version with this id";
}

TEST(Restore, RefusesAViewThatIsNotThatOfHead) {
  EXPECT_EQ(refusal([](Written& w) { w.state.view["a"] = kA1; }), kContradicts);
  EXPECT_EQ(refusal([](Written& w) { w.state.view.erase("b"); }), kContradicts);
}

TEST(Restore, RefusesBlocksThatDoNotFitTogether) {
  const auto block = [](Written& w, const CoVariableId& id) -> Chunk& {
    return w.state.co_variables.at(id).blocks.front();
  };
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables.at(kA2).parts = {2}; }), kContradicts)
      << "a part has a block that is not there";
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables.at(kA2).parts = {1, 0}; }), "");
  EXPECT_EQ(refusal([&](Written& w) { block(w, kA2).size = 4; }), kContradicts);
  EXPECT_EQ(refusal([&](Written& w) { block(w, kB2).size = 6; }), kContradicts) << "one chunk has two sizes";
  EXPECT_EQ(refusal([](Written& w) { w.state.co_variables.at(kA2).kept = false; }), kContradicts)
      << "the bytes of a value that was left behind came along";
}

TEST(Restore, TakesAnySizeOfAChunkThatWasLeftBehind) {
  EXPECT_EQ(refusal([](Written& w) {
              CoVariable& left = w.state.co_variables.at(kB2);
              left.kept = false;
              left.blocks.front().size = 6;
            }),
            "")
      << "nothing reads it";
}

TEST(Restore, TakesAVersionOfACellThatEndedAtTheLastCommit) {
  Session session = fresh();
  run(session, "c1", {.changed = {variable({"a"}, "one")}});
  EXPECT_TRUE(Session::restore(session.snapshot()).has_value());
}

TEST(Restore, SaysWhenAnEarlierVersionKeptNoHistory) {
  const Blob snapshot = with_three_commits().snapshot();
  Decoder decoder(snapshot.view());
  Written::Parts state;
  decoder.get(state);
  const std::string alone = encode(state);
  EXPECT_EQ(Session::restore(Blob(alone)).error().message,
            "the session was made by a version of Banyan that kept no history");
  EXPECT_EQ(Session::restore(Blob(alone + "\x7f")).error().message,
            "a session's snapshot is cut short or malformed");
  EXPECT_EQ(Session::restore(Blob("\x7f")).error().message, "a session's snapshot is cut short or malformed");
}

TEST(Restore, ACellWhoseEndIsNotKeptIsNotFound) {
  Written parts = written();
  parts.state.history.erase({3});
  const auto session = read(parts);
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->find({"c3"}), nullptr);
  EXPECT_EQ(session->find({"never heard of"}), nullptr);
}

TEST(Restore, RefusesACommitThatIsInNoTreeAndATreeBeyondTheLastCommit) {
  EXPECT_EQ(refusal([](Written& w) {
              w.state.last = {8};
              w.names.tags["t"] = {7};
            }),
            kContradicts);
  EXPECT_EQ(refusal([](Written& w) {
              w.state.last = {2};
              w.names.branches["main"] = {2};
              w.names.undone = {};
              w.nodes.at({3}).change = {};
              w.state.co_variables.erase({{3}, 0});
              w.state.history.erase({3});
            }),
            kContradicts)
      << "the next cell would end under the number of that commit";
}

}  // namespace
}  // namespace banyan::session
