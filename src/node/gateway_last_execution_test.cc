// Where a session's last cell ran.

#include "node/gateway_last_execution.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class LastExecutionTest : public ::testing::Test, protected TestGround {};

TEST_F(LastExecutionTest, TheReportThatKnowsMostSaysIt) {
  EXPECT_EQ(last.host(), h1);
  report_of(h3).epoch = Epoch{2};
  report_of(h3).executor = ReplicaId{3};
  EXPECT_EQ(last.host(), h3);
}

TEST_F(LastExecutionTest, WhoToldOfAnEndThatNoReportHasIsBelieved) {
  last.on_ended(h2, CommitId{5});
  EXPECT_TRUE(last.reports_lag());
  EXPECT_EQ(last.host(), h2);
  report_of(h1).last = CommitId{5};
  EXPECT_FALSE(last.reports_lag());
  EXPECT_EQ(last.host(), h1) << "the report has it, and names the executor";
}

TEST_F(LastExecutionTest, AnEndThatIsToldAgainChangesNothing) {
  last.on_ended(h2, CommitId{5});
  last.on_ended(h3, CommitId{5});
  EXPECT_EQ(last.told_by(), h2);
  EXPECT_EQ(last.commit(), CommitId{5});
}

TEST_F(LastExecutionTest, AHostThatIsDownIsNotBelieved) {
  last.on_ended(h2, CommitId{5});
  lose(h2);
  EXPECT_EQ(last.host(), h1);
}

TEST_F(LastExecutionTest, AnExecutorThatIsToLeaveIsNoneAnyMore) {
  report_of(h1).leader = ReplicaId{2};
  record.members.erase(ReplicaId{1});
  EXPECT_EQ(last.host(), h2) << "the leader";
}

TEST_F(LastExecutionTest, WhenBothLeaveAnotherReplicaIsNamedThatStays) {
  record.members.erase(ReplicaId{1});  // executor and leader
  EXPECT_EQ(last.host(), h2);
  lose(h2);
  EXPECT_EQ(last.host(), h3);
}

TEST_F(LastExecutionTest, AfterARestartThereHasBeenNoCell) {
  last.on_ended(h2, CommitId{5});
  last.reset();
  EXPECT_FALSE(last.reports_lag());
  EXPECT_FALSE(last.told_by());
}

}  // namespace
}  // namespace banyan::node
