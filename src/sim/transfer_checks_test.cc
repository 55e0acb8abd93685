// What exports and imports are blamed for, and what they are forgiven.
#include "sim/transfer_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/session/session.h"

namespace banyan::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TransferChecksTest : public testing::Test {
 protected:
  TransferChecksTest() {
    const raft::Snapshot birth{{1}, {0}, {}, session::Session(kInto, {}, kMembers).snapshot()};
    for (const char* host : {"h1", "h2", "h3"}) oracle.durable({host}, {node::PutSnapshot{kInto, birth}});
    for (const char* host : {"h1", "h2", "h3", "h4"})
      places.push_back({.host = {host}, .life = 1, .here = true, .known = true});
  }
  [[nodiscard]] std::string refusal() const {
    return R"({"message":"the chunk )" + to_hex(kChunk) + R"( of the state was not sent before it"})";
  }
  bool may_ask_again() { return checks.may_ask_again(kInto, "upload", refusal()); }
  /// An export of a session that has run one cell and was never amended.
  void take_out(const ExportFloor& floor) {
    session::Session ran(kInto, {}, kMembers);
    ran.apply(session::Propose{.execution = {"x"}, .replica = {1}});
    ran.apply(session::Commit{.execution = {"x"}, .epoch = {1}, .reply = "{}"});
    take_out(ran, floor);
  }
  void take_out(const session::Session& session, const ExportFloor& floor) {
    Exported box;
    box.session = kInto;
    box.values = "least";
    box.state = std::string(session.snapshot_with({}).view());
    checks.exported(box, floor);
  }

  const SessionId kInto{"into"};
  const session::Members kMembers{{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
  const Digest kChunk = digest_of("a chunk");
  std::vector<std::string> reports;
  LargeValues values;
  LogOracle oracle{values, [this](const std::string& what) { reports.push_back(what); }};
  std::vector<TransferChecks::Place> places;
  TransferChecks checks{oracle, nullptr, [this](const Digest&) { return places; },
                        [this](const std::string& what) { reports.push_back(what); }};
};

TEST_F(TransferChecksTest, AChunkThatWasBroughtIsAskedForAgainByNobodyWhoKnowsIt) {
  EXPECT_FALSE(may_ask_again()) << "it was never brought";
  checks.chunk_brought(kInto, "upload", kChunk);
  EXPECT_FALSE(may_ask_again());
  places[3].life = 2;
  EXPECT_FALSE(may_ask_again()) << "a host without a replica of the session has started again";
  places[1].life = 2;
  EXPECT_TRUE(may_ask_again());
  EXPECT_FALSE(checks.may_ask_again(kInto, "other", refusal())) << "it was brought for another import";
}

TEST_F(TransferChecksTest, AChunkIsAskedForAgainByAHostThatWasNotThere) {
  places[2].known = false;
  checks.chunk_brought(kInto, "upload", kChunk);
  EXPECT_TRUE(may_ask_again());
}

TEST_F(TransferChecksTest, AChunkIsAskedForAgainByAHostOnWhichItIsDamaged) {
  checks.chunk_brought(kInto, "upload", kChunk);
  places[0].damaged = true;
  EXPECT_TRUE(may_ask_again());
}

TEST_F(TransferChecksTest, AnExportIsComparedWithWhatWasKnownWhenItWasAskedFor) {
  take_out({.at = {{1}, 0}, .answered = {}, .whole = false});
  EXPECT_THAT(reports, IsEmpty());
  take_out({.at = {{2}, 0}, .answered = {}, .whole = false});
  EXPECT_THAT(reports, ElementsAre(HasSubstr("is older than what was committed")));
}

TEST_F(TransferChecksTest, AStateThatAnImportHasBroughtLateIsNotOlderThanTheEmptyOne) {
  take_out({.at = {{0}, 3}, .answered = {}, .whole = false});
  EXPECT_THAT(reports, IsEmpty());
  take_out(session::Session(kInto, {}, kMembers), {.at = {{0}, 1}, .answered = {}, .whole = false});
  EXPECT_THAT(reports, IsEmpty()) << "what was brought may have run no cell either";
  take_out({.at = {{1}, 1}, .answered = {}, .whole = false});
  EXPECT_THAT(reports, ElementsAre(HasSubstr("is older than what was committed")));
}

}  // namespace
}  // namespace banyan::sim
