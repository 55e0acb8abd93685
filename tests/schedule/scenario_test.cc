// Runs the scenario files of scenarios/ (tests/scenarios.h).
#include <gtest/gtest.h>

#include <filesystem>

#include "core/schedule/test_scenario.h"
#include "scenarios.h"

namespace banyan::schedule {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(BANYAN_SOURCE_DIR) / "tests/schedule/scenarios";

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, ComesOutAsWritten) { scenarios::run(kFolder / (GetParam() + ".txt"), World()); }

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenarios::names_in(kFolder)),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace banyan::schedule
