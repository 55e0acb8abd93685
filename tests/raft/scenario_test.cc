// Runs the scenario files of scenarios/ and compares what happens with the text in the files.
// BANYAN_REWRITE=1 writes what happens into the files instead; read the difference before you keep it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/raft/test_scenario.h"

namespace banyan::raft {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(BANYAN_SOURCE_DIR) / "tests/raft/scenarios";

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_command(const std::string& line) { return line.starts_with("> "); }
bool is_expectation(const std::string& line) {
  return !line.empty() && !is_command(line) && line.front() != '#';
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFolder))
    if (file.path().extension() == ".txt") names.push_back(file.path().stem().string());
  std::ranges::sort(names);
  return names;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, ComesOutAsWritten) {
  const std::filesystem::path file = kFolder / (GetParam() + ".txt");
  const std::vector<std::string> lines = lines_of(file);
  World world;
  std::string rewritten;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (is_expectation(lines[i])) continue;
    rewritten += lines[i] + "\n";
    if (!is_command(lines[i])) continue;
    std::string expected;
    for (std::size_t j = i + 1; j < lines.size() && is_expectation(lines[j]); ++j)
      expected += lines[j] + "\n";
    const std::string actual = world.run(lines[i].substr(2));
    EXPECT_EQ(actual.find("VIOLATION"), std::string::npos) << actual;
    rewritten += actual;
    if (std::getenv("BANYAN_REWRITE") == nullptr) {
      ASSERT_EQ(expected, actual) << file.string() << ":" << i + 1 << ": " << lines[i];
    }
  }
  if (std::getenv("BANYAN_REWRITE") != nullptr) std::ofstream(file) << rewritten;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenario_names()),
                         [](const auto& scenario) { return scenario.param; });

TEST(ScenarioFiles, CoverEveryPublishedInteractionTest) {
  std::set<std::string> covered;
  for (const std::string& name : scenario_names()) {
    const std::string mark = "# covers: etcd-io/raft ";
    for (const std::string& line : lines_of(kFolder / (name + ".txt")))
      if (line.starts_with(mark)) covered.insert(line.substr(mark.size()));
  }
  for (const char* behaviour : {"async_storage_writes",
                                "async_storage_writes_append_aba_race",
                                "campaign",
                                "campaign_learner_must_vote",
                                "checkquorum",
                                "confchange_disable_validation",
                                "confchange_drop_if_unapplied",
                                "confchange_v1_add_single",
                                "confchange_v1_remove_leader",
                                "confchange_v1_remove_leader_stepdown",
                                "confchange_v2_add_double_auto",
                                "confchange_v2_add_double_implicit",
                                "confchange_v2_add_single_auto",
                                "confchange_v2_add_single_explicit",
                                "confchange_v2_replace_leader",
                                "confchange_v2_replace_leader_stepdown",
                                "forget_leader",
                                "forget_leader_prevote_checkquorum",
                                "forget_leader_read_only_lease_based",
                                "heartbeat_resp_recovers_from_probing",
                                "lagging_commit",
                                "prevote",
                                "prevote_checkquorum",
                                "probe_and_replicate",
                                "replicate_pause",
                                "single_node",
                                "slow_follower_after_compaction",
                                "snapshot_new_term",
                                "snapshot_succeed_via_app_resp",
                                "snapshot_succeed_via_app_resp_behind"})
    EXPECT_TRUE(covered.contains(behaviour)) << behaviour;
}

}  // namespace
}  // namespace banyan::raft
