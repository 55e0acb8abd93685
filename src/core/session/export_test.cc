// Which values an export takes along, and what bringing and making them costs.

#include <gtest/gtest.h>

#include "core/session/test_session.h"
#include "core/session/transfer.h"

namespace banyan::session {
namespace {

/// A session in which each cell takes a microsecond; `a` was written twice.
class Exports : public testing::Test {
 protected:
  Exports() {
    for (const std::string text : {"first", "second"})
      run(session, text, {.changed = {variable({"a"}, text)}});
    run(session, "room", {.changed = {variable({"fits"}, std::string(kRoom, 'x'))}});
    run(session, "more", {.changed = {variable({"large"}, std::string(kRoom + 1, 'x'))}});
    run(session, "live", {.failed = {"g"}});
  }
  std::set<CoVariableId> values(const char* which) {
    return *exported_values(session, {}, {.values = which, .bytes_per_s = 1});
  }
  CoVariableId at(const std::string& name) { return session.view().at(name); }

  static constexpr std::size_t kRoom = 64 << 10;
  Session session = fresh();
};

TEST_F(Exports, OfAllTakeAlongWhatAnyCommitShows) {
  EXPECT_EQ(values("all"), (std::set<CoVariableId>{{{1}, 0}, at("a"), at("fits"), at("large"), at("g")}));
}

TEST_F(Exports, OfHeadTakeAlongWhatItShows) {
  EXPECT_EQ(values("head"), (std::set<CoVariableId>{at("a"), at("fits"), at("large")}));
  EXPECT_EQ(*exported_values(session, {}, {}), values("head")) << "also when nobody says";
}

TEST_F(Exports, OfTheLeastLeaveOutLargeValuesThatAreQuicklyMade) {
  EXPECT_EQ(values("least"), (std::set<CoVariableId>{at("a"), at("fits")}));
  session.apply(amend(session, checkpoint::CopyAlways{{"large"}}));
  EXPECT_TRUE(values("least").contains(at("large"))) << "it is always to be copied";
}

TEST_F(Exports, WhoeverAsksSaysWhichValuesTakeNoRoom) {
  const question::Export least{.values = "least", .bytes_per_s = 1};
  EXPECT_EQ(*exported_values(session, {}, least, kRoom + 1), values("head"));
  EXPECT_EQ(*exported_values(session, {}, least, 0), std::set<CoVariableId>{});
}

TEST_F(Exports, OfTheLeastTakeAlongWhatMayNotBeMadeAgain) {
  run(session, "log",
      {.changed = {variable({"l"}, std::string(kRoom + 1, 'l'))}, .footprint = {.effects = {"wrote"}}});
  run(session, "gpu", {.changed = {variable({"d"}, std::string(kRoom + 1, 'd'))}, .footprint = {.gpus = 1}});
  EXPECT_TRUE(values("least").contains(at("l")));
  EXPECT_TRUE(values("least").contains(at("d"))) << "the host may have no GPU";
}

TEST_F(Exports, CostTheirBytesAtTheRateOfTheWay) {
  EXPECT_EQ(way_at(2e6)(variable({"a"}, std::string(1000, 'x'))), 500);
  const planner::Speeds speeds;
  const planner::Costs costs = costs_of(session, speeds, way_at(1e6));
  EXPECT_EQ(costs.load(at("fits"))->way_us, 65536);
  EXPECT_FALSE(costs.load(at("g")).has_value()) << "nothing can be brought";
}

}  // namespace
}  // namespace banyan::session
