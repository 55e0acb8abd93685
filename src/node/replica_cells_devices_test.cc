// Cells of a replica whose process uses devices.
#include <gmock/gmock.h>

#include <string>

#include "node/replica_cells.h"
#include "node/test_replica.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;

/// Its process uses device 0 of three.
class CellsWithDevices : public TestReplica {
 protected:
  CellsWithDevices() {
    host_.devices().set({{.id = {"0"}}, {.id = {"1"}}, {.id = {"2"}}});
    host_.devices().on_goes(ready(), {"s"}, {{"0"}});
    host_.devices().on_uses(*worker_.id(), {"s"}, {{"0"}});
  }
  /// The cell waits at the fence.
  void fence(const std::string& cell, std::uint64_t gpus) {
    Execute asked = order(cell);
    asked.gpus = gpus;
    cells_.execute(asked);
    if (worker_.exists() && !worker_.is_ready()) ready();
    starts(cell);
    cells_.forward();
    cells_.on_fenced({.worker = *worker_.id(), .execution = {cell}});
  }
  /// Another session's cell has all that no cell has.
  HostDevices::Grant others(std::uint64_t gpus) {
    return *host_.devices().bind({.session = {"another"}, .gpus = gpus});
  }
  std::string said() {
    std::string all;
    for (const FromKernel& one : told<FromKernel>()) all += one.message.content.view();
    return all;
  }
  std::size_t kills() { return done<StopWorker>().size(); }
};

TEST_F(CellsWithDevices, ACellWaitsUntilNoOtherProcessUsesWhatItHas) {
  const WorkerId other{77};
  host_.devices().on_uses(other, {"another"}, {{"0"}});
  fence("c", 1);
  EXPECT_FALSE(cells_.cell()->is_going());
  host_.devices().on_exited(other);
  cells_.tick();
  EXPECT_TRUE(cells_.cell()->is_going());
}

TEST_F(CellsWithDevices, AProcessBetweenTwoCellsMakesWayAtOnce) {
  cells_.make_way();
  EXPECT_EQ(kills(), 0U);
  const auto grant = others(3);
  cells_.make_way();
  EXPECT_EQ(kills(), 1U);
  EXPECT_TRUE(worker_.exists()) << "the next one";
  cells_.make_way();
  EXPECT_EQ(kills(), 0U) << "it uses nothing";
  host_.devices().on_uses(*worker_.id(), {"s"}, {{"0"}});
  advance(9s);
  cells_.make_way();
  EXPECT_EQ(kills(), 0U) << "what it restores needs the device, and would again";
  advance(1s);
  cells_.make_way();
  EXPECT_EQ(kills(), 1U);
}

TEST_F(CellsWithDevices, AProcessThatRunsACellHasTenSecondsToMakeWay) {
  fence("c", 0);
  ASSERT_TRUE(cells_.cell()->is_going());
  host_.devices().on_uses(*worker_.id(), {"s"}, {{"0"}, {"1"}});
  const auto grant = others(2);
  cells_.make_way();
  EXPECT_THAT(said(), HasSubstr("a GPU that another session's cell has now (0, 1): it is ended in 10 s"));
  advance(9s);
  cells_.make_way();
  EXPECT_EQ(said(), "") << "it was told";
  EXPECT_EQ(kills(), 0U);
  advance(1s);
  cells_.make_way();
  EXPECT_EQ(kills(), 1U);
  const auto ends = proposed<session::Commit>();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_THAT(ends[0].reply, HasSubstr("it used a GPU (0, 1) that another session's cell has"));
}

TEST_F(CellsWithDevices, ACellThatHasReportedEndsAsItWould) {
  fence("c", 0);
  host_.devices().on_uses(*worker_.id(), {"s"}, {{"1"}});
  const auto grant = others(2);
  report("c");
  (void)said();
  cells_.make_way();
  advance(20s);
  cells_.make_way();
  EXPECT_EQ(said(), "");
  EXPECT_EQ(kills(), 0U);
}

TEST_F(CellsWithDevices, OneThatIsNotInTheWayAnyMoreHasAllTheTimeAgain) {
  fence("c", 0);
  host_.devices().on_uses(*worker_.id(), {"s"}, {{"1"}});
  {
    const auto grant = others(2);
    cells_.make_way();
  }
  advance(8s);
  cells_.make_way();
  const auto grant = others(2);
  cells_.make_way();
  advance(8s);
  cells_.make_way();
  EXPECT_EQ(kills(), 0U);
}

TEST_F(CellsWithDevices, WhoWantsMoreThanItsProcessUsesGetsANewOne) {
  fence("c", 2);
  EXPECT_EQ(kills(), 1U);
  EXPECT_EQ(cells_.cell()->devices().size(), 2U);
}

TEST_F(CellsWithDevices, WhatTheProcessUsedIsNotTheNextOnes) {
  Execute asked = order("c");
  cells_.execute(asked);
  EXPECT_EQ(cells_.cell()->devices().size(), 1U);
  cells_.on_exited({.worker = *worker_.id(), .reason = "no memory"});
  EXPECT_EQ(cells_.cell()->devices().size(), 0U);
}

}  // namespace
}  // namespace banyan::node
