#include "node/output_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// An output of that many bytes.
jupyter::Message output_of(std::size_t bytes) {
  return {.header = {}, .parent_header = {}, .metadata = {}, .content = Blob(std::string(bytes, 'x'))};
}

std::vector<std::uint64_t> numbers_of(const OutputLog& log) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [seq, message] : log.kept()) {
    const jupyter::Message* const found = log.find(seq);
    EXPECT_TRUE(found != nullptr && *found == *message) << seq;
    numbers.push_back(seq);
  }
  return numbers;
}

TEST(OutputLogs, AreEmptyAtFirst) {
  const OutputLog log(100, 100);
  EXPECT_EQ(log.total(), 0U);
  EXPECT_THAT(log.kept(), IsEmpty());
  EXPECT_EQ(log.find(0), nullptr);
  EXPECT_EQ(log.find(1), nullptr);
}

TEST(OutputLogs, NumberOutputsFromOne) {
  OutputLog log(100, 100);
  EXPECT_EQ(log.add(output_of(1)), 1U);
  EXPECT_EQ(log.add(output_of(2)), 2U);
  EXPECT_EQ(log.total(), 2U);
  ASSERT_NE(log.find(1), nullptr);
  ASSERT_NE(log.find(2), nullptr);
  EXPECT_EQ(log.find(1)->size(), 1U);
  EXPECT_EQ(log.find(2)->size(), 2U);
  EXPECT_EQ(log.find(0), nullptr);
  EXPECT_EQ(log.find(3), nullptr);
}

TEST(OutputLogs, JournalTheFirstBytesAndNothingBehindAGap) {
  OutputLog log(10, 1000);
  for (const std::size_t bytes : {6U, 4U, 1U}) log.add(output_of(bytes));
  EXPECT_EQ(log.journal().size(), 2U) << "ten bytes fit";
  OutputLog cut(10, 1000);
  for (const std::size_t bytes : {6U, 5U, 1U}) cut.add(output_of(bytes));
  EXPECT_EQ(cut.journal().size(), 1U) << "the third would fit, and is not what comes next";
  EXPECT_EQ(cut.total(), 3U);
}

TEST(OutputLogs, HoldTheNewestForClientsThatMissThem) {
  OutputLog log(0, 10);
  for (const std::size_t bytes : {4U, 4U, 2U}) log.add(output_of(bytes));
  EXPECT_THAT(numbers_of(log), ElementsAre(1U, 2U, 3U)) << "ten bytes";
  log.add(output_of(5));
  EXPECT_THAT(numbers_of(log), ElementsAre(3U, 4U));
  EXPECT_EQ(log.find(2), nullptr) << "it was cut";
  log.add(output_of(100));
  EXPECT_THAT(numbers_of(log), ElementsAre(5U)) << "the last one stays, however large it is";
}

TEST(OutputLogs, LetWhatClientsHaveGo) {
  OutputLog log(0, 10);
  for (const std::size_t bytes : {5U, 4U, 1U}) log.add(output_of(bytes));
  log.delivered(2);
  EXPECT_THAT(numbers_of(log), ElementsAre(3U));
  for (const std::size_t bytes : {5U, 4U}) log.add(output_of(bytes));
  EXPECT_THAT(numbers_of(log), ElementsAre(3U, 4U, 5U)) << "their bytes are free again";
  log.delivered(2);
  EXPECT_THAT(numbers_of(log), ElementsAre(3U, 4U, 5U));
  log.delivered(9);
  EXPECT_THAT(numbers_of(log), IsEmpty());
  EXPECT_EQ(log.total(), 5U);
  EXPECT_EQ(log.add(output_of(1)), 6U);
  EXPECT_THAT(numbers_of(log), ElementsAre(6U));
}

TEST(OutputLogs, FindInTheJournalWhatIsNotHeldAnyMore) {
  OutputLog log(8, 10);
  for (const std::size_t bytes : {4U, 3U, 6U, 4U}) log.add(output_of(bytes));
  ASSERT_EQ(log.journal().size(), 2U);
  EXPECT_THAT(numbers_of(log), ElementsAre(1U, 2U, 3U, 4U));
  log.add(output_of(5));
  EXPECT_THAT(numbers_of(log), ElementsAre(1U, 2U, 4U, 5U));
  EXPECT_EQ(log.find(2)->size(), 3U);
  log.delivered(5);
  EXPECT_THAT(numbers_of(log), ElementsAre(1U, 2U));
}

TEST(OutputLogs, NameWhatIsInTheJournalAndHeldOnce) {
  OutputLog log(100, 100);
  for (int n = 0; n < 3; ++n) log.add(output_of(1));
  log.delivered(1);
  EXPECT_THAT(numbers_of(log), ElementsAre(1U, 2U, 3U));
}

}  // namespace
}  // namespace banyan::node
