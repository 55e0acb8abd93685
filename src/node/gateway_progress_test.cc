// How much of the running cell's output clients have, across lives of the gateway.

#include "node/gateway_progress.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class OutputProgressTest : public ::testing::Test, protected TestGround {
 protected:
  void pass(std::uint64_t number) {
    progress.on_seen(number);
    progress.on_taken(number);
    progress.store();
  }
  std::vector<Store> written() {
    finish();
    return std::exchange(writes, {});
  }

  OutputProgress progress{gateway, record.id};
};

TEST_F(OutputProgressTest, OneWriteFollowsTheOtherAndHasAllThatCameMeanwhile) {
  progress.begin({"c"});
  pass(1);
  pass(2);
  pass(3);
  EXPECT_EQ(written().size(), 1U) << "the second waits for the first";
  progress.on_noted();
  progress.store();
  const auto next = written();
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(next[0].value, to_record(ProgressRecord{{"c"}, 3}));
}

TEST_F(OutputProgressTest, TheExecutorMayForgetWhatIsDurableAndNoMore) {
  progress.begin({"c"});
  pass(1);
  pass(2);
  progress.tell(h1);
  EXPECT_TRUE(take<OutputDelivered>(h1).empty()) << "a later life of the gateway would ask for it";
  progress.on_noted();
  progress.tell(h1);
  progress.tell(h1);
  const auto told = take<OutputDelivered>(h1);
  ASSERT_EQ(told.size(), 1U) << "once";
  EXPECT_EQ(told[0].seq, 1U);
  EXPECT_FALSE(told[0].whole);
}

TEST_F(OutputProgressTest, ALaterLifeGoesOnWhereTheRecordSays) {
  progress.recover(ProgressRecord{{"c"}, 5});
  progress.begin({"c"});
  EXPECT_EQ(progress.seen(), 5U);
  pass(5);
  EXPECT_TRUE(written().empty()) << "it is written already";
  progress.tell(h1);
  EXPECT_EQ(take<OutputDelivered>(h1).size(), 1U);
}

TEST_F(OutputProgressTest, ACellThatIsSentAgainGoesOnWhereItsClientIs) {
  progress.begin({"c"});
  pass(1);
  progress.on_noted();
  progress.begin({"c"});
  EXPECT_EQ(progress.seen(), 1U);
  progress.tell(h1);
  EXPECT_EQ(take<OutputDelivered>(h1).size(), 1U) << "its host may be another one now";
  progress.end();
  progress.begin({"c"});
  EXPECT_EQ(progress.seen(), 0U) << "its client asks for it once more after its end";
}

TEST_F(OutputProgressTest, AnotherCellBeginsWithNothing) {
  progress.begin({"c"});
  pass(1);
  progress.on_noted();
  progress.end();
  const auto writes = written();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[1].value, "") << "the record is gone";
  progress.begin({"d"});
  EXPECT_EQ(progress.seen(), 0U);
}

TEST_F(OutputProgressTest, ACellThatEndsFirstLeavesWhatIsKnownOfTheNextOne) {
  progress.recover(ProgressRecord{{"d"}, 5});
  progress.begin({"c"});
  EXPECT_EQ(progress.seen(), 0U);
  progress.end();  // it had ended already, and its client had not got that
  EXPECT_TRUE(written().empty()) << "a further life of the gateway needs the record";
  progress.begin({"d"});
  EXPECT_EQ(progress.seen(), 5U) << "its client has these";
  progress.end();
  const auto deleted = written();
  ASSERT_EQ(deleted.size(), 1U);
  EXPECT_EQ(deleted[0].value, "");
}

TEST_F(OutputProgressTest, ARecordIsOfTheCellThatWasWrittenLast) {
  progress.recover(ProgressRecord{{"d"}, 5});
  progress.begin({"c"});
  pass(1);
  progress.on_noted();
  progress.end();
  const auto writes = written();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[1].value, "");
  progress.begin({"d"});
  EXPECT_EQ(progress.seen(), 5U) << "this life remembers it";
}

}  // namespace
}  // namespace banyan::node
