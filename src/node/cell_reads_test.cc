#include "node/cell_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CellReads, AWorkerAnswersOneQuestionAtATime) {
  CellReads reads;
  EXPECT_THAT(reads.ask({"a"}), ElementsAre("a"));
  EXPECT_THAT(reads.ask_early({"b"}), IsEmpty());
  EXPECT_TRUE(reads.on_answer({}));
  EXPECT_THAT(reads.ask_early({"b"}), ElementsAre("b"));
}

TEST(CellReads, AWorkerIsAskedOncePerName) {
  CellReads reads;
  EXPECT_THAT(reads.ask({"a", "b"}), ElementsAre("a", "b"));
  EXPECT_TRUE(reads.is_asking());
  EXPECT_TRUE(reads.on_answer({"a"}));
  EXPECT_FALSE(reads.on_answer({"b"})) << "nobody asked";
  EXPECT_THAT(reads.names(), ElementsAre("a"));
  EXPECT_THAT(reads.ask({"b", "c"}), ElementsAre("c"));
  reads.on_worker_gone();
  EXPECT_FALSE(reads.is_asking());
  EXPECT_THAT(reads.ask({"b"}), ElementsAre("b")) << "by another worker";
}

TEST(CellReads, ItIsAskedEarlyOnceAndAgainWhenItHasAllElse) {
  CellReads reads;
  EXPECT_THAT(reads.ask_early({}), IsEmpty());
  EXPECT_THAT(reads.ask_early({"a"}), ElementsAre("a"));
  EXPECT_THAT(reads.ask_early({"a"}), IsEmpty());
  EXPECT_TRUE(reads.on_answer({}));
  EXPECT_THAT(reads.ask_early({"a"}), IsEmpty());
  EXPECT_THAT(reads.ask({"a"}), ElementsAre("a"));
}

}  // namespace
}  // namespace banyan::node
