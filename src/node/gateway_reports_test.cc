#include "node/gateway_reports.h"

#include <gtest/gtest.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class ReportsTest : public ::testing::Test, protected TestGround {};

TEST_F(ReportsTest, AReplicaThatIsNoMembersTellsNothing) {
  EXPECT_NE(reports.on(h1), nullptr);
  EXPECT_EQ(reports.on({"h9"}), nullptr);
  report_of(h1).replica = {9};
  EXPECT_EQ(reports.on(h1), nullptr);
  record.members[{9}] = {.host = h1};
  EXPECT_NE(reports.on(h1), nullptr) << "it is wanted";
  record.members.erase({9});
  record.committed[{9}] = h1;
  EXPECT_NE(reports.on(h1), nullptr) << "it counts in quorums";
}

TEST_F(ReportsTest, TheNewestIsOfTheHighestEpochThenCommitThenTermThenChange) {
  report_of(h1).amended = 1;
  EXPECT_EQ(reports.newest(), &report_of(h1));
  report_of(h2).term = 1;
  EXPECT_EQ(reports.newest(), &report_of(h2));
  report_of(h3).last = {1};
  EXPECT_EQ(reports.newest(), &report_of(h3));
  report_of(h1).epoch = {1};
  EXPECT_EQ(reports.newest(), &report_of(h1));
}

TEST_F(ReportsTest, OfEqualOnesTheFirstIsAsGood) { EXPECT_EQ(reports.newest(), &report_of(h1)); }

TEST_F(ReportsTest, AHostThatIsAwayIsNotTheNewest) {
  report_of(h3).epoch = {1};
  lose(h3);
  EXPECT_EQ(reports.newest(), &report_of(h1));
  lose(h1);
  lose(h2);
  EXPECT_EQ(reports.newest(), nullptr);
  EXPECT_FALSE(reports.suspended());
}

TEST_F(ReportsTest, AWorkerIsReadyAlsoWhileItRunsACell) {
  EXPECT_TRUE(reports.worker_ready(h1));
  report_of(h1).worker = WorkerState::kBusy;
  EXPECT_TRUE(reports.worker_ready(h1));
  for (const WorkerState state : {WorkerState::kNone, WorkerState::kStarting}) {
    report_of(h1).worker = state;
    EXPECT_FALSE(reports.worker_ready(h1));
  }
  EXPECT_TRUE(reports.worker_ready()) << "on another host";
  lose(h2);
  EXPECT_FALSE(reports.worker_ready(h2));
  lose(h3);
  EXPECT_FALSE(reports.worker_ready());
  EXPECT_FALSE(reports.worker_ready({"h9"}));
}

TEST_F(ReportsTest, AHostShowsHeadWhenItsWorkerHasTheLastCommitThatIsKnown) {
  for (const HostId& host : {h1, h2, h3}) report_of(host).last = report_of(host).shown = {3};
  EXPECT_TRUE(reports.shows_head(h1));
  EXPECT_FALSE(reports.shows_head({"h9"}));
  report_of(h1).shown = {2};
  EXPECT_FALSE(reports.shows_head(h1));
  report_of(h1).shown = {3};
  report_of(h1).worker = WorkerState::kBusy;
  EXPECT_FALSE(reports.shows_head(h1)) << "it is changing what it shows";
  report_of(h1).worker = WorkerState::kReady;
  report_of(h2).last = {4};
  EXPECT_FALSE(reports.shows_head(h1)) << "it is behind";
  for (const HostId& host : {h1, h2, h3}) lose(host);
  EXPECT_FALSE(reports.shows_head(h1)) << "nothing is known";
}

TEST_F(ReportsTest, ASessionIsSuspendedByItsNewestReport) {
  report_of(h1).suspended = true;
  EXPECT_TRUE(reports.suspended());
  report_of(h2).last = {1};
  EXPECT_FALSE(reports.suspended());
}

TEST_F(ReportsTest, ASessionIsWithoutWorkersWhenNoHostThatAnswersHasOne) {
  EXPECT_FALSE(reports.without_workers());
  report_of(h1).worker = WorkerState::kNone;
  report_of(h2).worker = WorkerState::kNone;
  EXPECT_FALSE(reports.without_workers());
  report_of(h3).worker = WorkerState::kStarting;
  EXPECT_FALSE(reports.without_workers());
  lose(h3);
  EXPECT_TRUE(reports.without_workers());
  find(h3);
  gateway.hosts().at(h3).replicas.clear();
  EXPECT_TRUE(reports.without_workers());
}

}  // namespace
}  // namespace banyan::node
