#include "sim/eva/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "sim/eva/report.h"

namespace banyan::sim::eva {
namespace {

TEST(Runner, WhatIsDoneIsNotDoneAgain) {
  const std::filesystem::path folder = testing::TempDir() + "cells";
  std::filesystem::remove_all(folder);
  std::atomic<int> computed = 0;
  const auto cells = [&](int count) {
    std::vector<Cell> all;
    for (int i = 0; i < count; ++i)
      all.push_back(
          {"cell-" + std::to_string(i % 5), [&computed, i] { return ++computed, nlohmann::json(i); }});
    return all;
  };
  const RunnerOptions options{.directory = folder, .threads = 2, .progress = false};
  ASSERT_TRUE(run_cells(cells(3), options));
  EXPECT_EQ(computed, 3);
  const auto values = run_cells(cells(10), options);
  ASSERT_TRUE(values);
  EXPECT_EQ(computed, 5) << "three were there, and equal keys are one cell";
  EXPECT_EQ(values->at("cell-2"), 2);
}

TEST(Report, ThePageLoadsNothingFromElsewhereAndEscapesWhatItShows) {
  const std::filesystem::path folder = testing::TempDir() + "report";
  const Sheet sheet{.name = "table 0",
                    .title = "<b>",
                    .columns = {"a", "b, c"},
                    .rows = {{"x</script>", 12345}, {nullptr, 0.25}},
                    .notes = {"n"},
                    .chart = {"x", "y", false, {{"s</script>", {1}, {2}}}}};
  Sheet bars = sheet;
  bars.chart.bars = {"Owl", "Eva"};
  ASSERT_TRUE(write_report(folder, {sheet, bars}, "here", "/*chart*/"));
  std::string page;
  if (std::FILE* file = std::fopen((folder / "report.html").c_str(), "r")) {
    char buffer[65536];
    page.assign(buffer, std::fread(buffer, 1, sizeof buffer, file));
    std::fclose(file);
  }
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("s</script>"), std::string::npos);
  EXPECT_NE(page.find(R"({"x":1.0,"y":2.0})"), std::string::npos);
  EXPECT_NE(page.find(R"({"x":"Eva","y":2.0})"), std::string::npos) << "a bar has its name for its place";
  EXPECT_NE(page.find("12,345"), std::string::npos);
  EXPECT_EQ(to_json({sheet})[0]["rows"][1]["b, c"], 0.25);
}

}  // namespace
}  // namespace banyan::sim::eva
