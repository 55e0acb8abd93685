#include "base/csv.h"

#include <gtest/gtest.h>

namespace banyan {
namespace {

std::string error(const std::string& text) {
  const auto csv = Csv::parse(text, "t.csv");
  return csv ? "" : csv.error().message;
}

TEST(Csv, CellsAreFoundByTheNamesInTheHead) {
  const auto csv = Csv::parse("a, b\n# said here\n\n1, x \r\n2.5,y\n", "t.csv");
  ASSERT_TRUE(csv);
  ASSERT_EQ(csv->rows().size(), 2U);
  EXPECT_EQ(csv->text(csv->rows()[0], "b"), "x");
  EXPECT_EQ(csv->number(csv->rows()[1], "a"), 2.5);
  EXPECT_EQ(csv->rows()[0].line, 4U);
  EXPECT_EQ(csv->text(csv->rows()[0], "c"), "");
}

TEST(Csv, ErrorsNameFileAndLine) {
  EXPECT_EQ(error(""), "t.csv:1: is empty; the first line names the columns");
  EXPECT_EQ(error("a,b\n1\n"), "t.csv:2: has 1 cells, the head has 2");
  EXPECT_EQ(error("a,a\n"), "t.csv:1: column 'a' is there twice");
  EXPECT_EQ(error("a\n\"1\"\n"), "t.csv:2: has a quote; cells are plain here");
}

TEST(Csv, NumbersAreNumbersOfZeroOrMore) {
  const auto csv = Csv::parse("a\n-1\nten\n1e999\n", "t.csv");
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->number(csv->rows()[0], "a").error().message, "t.csv:2: a is -1, below 0");
  EXPECT_EQ(csv->number(csv->rows()[1], "a").error().message, "t.csv:3: a is 'ten', not a number");
  EXPECT_EQ(csv->number(csv->rows()[2], "a").error().message, "t.csv:4: a is '1e999', not a number");
}

TEST(Csv, UnknownAndMissingColumnsAreNamed) {
  const auto csv = Csv::parse("a,b\n", "t.csv");
  ASSERT_TRUE(csv);
  EXPECT_EQ(csv->require({"a", "c"}).error().message, "t.csv:1: the head has no column 'c'");
  EXPECT_EQ(csv->allow([](auto column) { return column == "a"; }, "a").error().message,
            "t.csv:1: unknown column 'b'; known are a");
}

}  // namespace
}  // namespace banyan
