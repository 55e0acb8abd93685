// Runs the scenario files of scenarios/ (tests/scenarios.h).
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/raft/test_scenario.h"
#include "scenarios.h"

namespace banyan::raft {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(BANYAN_SOURCE_DIR) / "tests/raft/scenarios";

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, ComesOutAsWritten) { scenarios::run(kFolder / (GetParam() + ".txt"), World()); }

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenarios::names_in(kFolder)),
                         [](const auto& scenario) { return scenario.param; });

TEST(ScenarioFiles, CoverEveryPublishedInteractionTest) {
  std::set<std::string> covered;
  for (const std::string& name : scenarios::names_in(kFolder)) {
    const std::string mark = "# covers: etcd-io/raft ";
    for (const std::string& line : scenarios::lines_of(kFolder / (name + ".txt")))
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
