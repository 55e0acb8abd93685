#include "cli/fleet/plan_fleet.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace banyan::cli {
namespace {

/// Table 3 of the paper: four tasks, $12.80 an hour together and $16.20 each alone.
class PlanFleet : public ::testing::Test {
 protected:
  PlanFleet() {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "tasks.csv") << "id,gpu,cpu,ram_gib\nt1,2,8,24\nt2,1,4,10\nt3,0,6,20\nt4,0,4,12\n";
    std::ofstream(folder / "catalog.csv") << "type,family,gpu,cpu,ram_gib,usd_h\nit1,p,4,16,244,12\nit2,p,1,"
                                             "4,61,3\nit3,c,0,8,32,0.8\nit4,c,0,4,16,0.4\n";
  }
  ~PlanFleet() override { std::filesystem::remove_all(folder); }
  [[nodiscard]] PlanFleetOptions with(const std::string& policy) const {
    return {.tasks = folder / "tasks.csv", .catalog = folder / "catalog.csv", .policy = policy, .json = true};
  }

  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("plan_fleet_" + std::to_string(getpid()));
};

TEST_F(PlanFleet, EveryPolicyThatPacksFindsThePapersPlan) {
  for (const char* policy : {"", "improved", "full", "eva", "exact"}) {
    testing::internal::CaptureStdout();
    ASSERT_EQ(plan_fleet(with(policy)), 0) << policy;
    const auto answer = nlohmann::json::parse(testing::internal::GetCapturedStdout());
    EXPECT_NEAR(answer["usd_h"].get<double>(), 12.80, 1e-9) << policy;
  }
}

TEST_F(PlanFleet, AnUnknownPolicyIsAnErrorThatNamesThem) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(plan_fleet(with("exakt")), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("no_packing, stratus"), std::string::npos);
}

}  // namespace
}  // namespace banyan::cli
