#include "sim/eva/cluster.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sim/eva/convert.h"
#include "sim/eva/runs.h"

namespace banyan::sim::eva {
namespace {

const std::string kData = BANYAN_SOURCE_DIR "/../shared/data/";

Outcome run(const JobList& list, const char* policy, const Conditions& conditions = {}) {
  return simulate(list, **policy_named(policy), conditions);
}

JobList gcn_jobs(std::initializer_list<std::int64_t> arrivals_s, double work_s) {
  JobList list{.catalog = ec2_catalog(CpuUnit::kCore), .workloads = {}, .bases = {}, .jobs = {}};
  const std::uint32_t gcn = *base_workload_named("gcn");
  const BaseWorkload& kind = base_workloads()[gcn];
  for (const std::int64_t arrival_s : arrivals_s)
    list.add(list.jobs.size(), list.workload("gcn", gcn, kind.on_p3, kind.on_others), 1, arrival_s, work_s);
  return list;
}

TEST(Cluster, OneJobIsBilledFromAcquisitionToTheEndOfTermination) {
  // gcn needs 6 cores and 40 GiB: r7i.4xlarge at $1.0584, 7 s to acquire, 58 + 103 s to set up, 1 s to end.
  // The task is fetched in 1 s, built in 10 s and initialised in 28 s. Its 6,250 s are 1,001 whole
  // iterations.
  JobList list = gcn_jobs({100}, 0);
  list.jobs[0].work_s = 6250;
  const Outcome out = run(list, "no_packing");
  const double active_s = 300 + 7 + 58 + 103 + 1 + 10 + 28;
  const double end_s = active_s + 6250;  // 6,757; the next round is at 6,900
  EXPECT_NEAR(out.jct_h, (end_s - 100) / 3600, 1e-9);
  EXPECT_NEAR(out.cost_usd, 1.0584 * (6900 + 1 - 300 - 7) / 3600, 1e-9);
  EXPECT_EQ(out.instances, 1U);
  EXPECT_EQ(out.throughput, 1);
}

TEST(Cluster, NeighboursSlowEachOtherFromTheirLaunchOn) {
  JobList list = gcn_jobs({100, 100}, 0);
  list.jobs[0].work_s = list.jobs[1].work_s = 6250;
  const Outcome alone = run(list, "no_packing", {.uniform_pair = 0.5});
  EXPECT_EQ(alone.throughput, 1);
  const Outcome packed = run(list, "eva_rp", {.uniform_pair = 0.9});
  EXPECT_LT(packed.throughput, 0.91);
  EXPECT_GT(packed.jct_h, alone.jct_h);
}

TEST(Cluster, EveryJobEndsUnderEveryPolicyAndRunsRepeat) {
  const JobList list = with_many_tasks(synthetic_jobs(3, 60), 0.3, 4);
  for (const char* policy : {"no_packing", "stratus", "synergy", "owl", "eva", "eva_rp", "eva_single", "full",
                             "partial", "improved", "lookahead"}) {
    const Outcome out = run(list, policy), again = run(list, policy);
    EXPECT_GT(out.jct_h, 0) << policy;
    EXPECT_EQ(out.cost_usd, again.cost_usd) << policy;
    EXPECT_GT(out.end_s, static_cast<double>(list.jobs.back().arrival_s)) << policy;
    EXPECT_LE(out.throughput, 1 + 1e-9) << policy;
  }
}

TEST(Cluster, EvaLearnsToLeaveTasksAloneUnderExtremeInterference) {
  const JobList list = synthetic_jobs(5, 150);
  const double apart = run(list, "no_packing", {.uniform_pair = 0.3}).cost_usd;
  EXPECT_LT(run(list, "eva", {.uniform_pair = 0.3}).cost_usd, 1.15 * apart);
  EXPECT_GT(run(list, "eva_rp", {.uniform_pair = 0.3}).cost_usd, 1.2 * apart);
  EXPECT_LT(run(list, "eva", {.uniform_pair = 1}).cost_usd, 0.85 * apart);
}

TEST(Cluster, NoPackingOnTheTraceCostsWhatThePaperSaysToTheCent) {
  if (!std::filesystem::exists(kData)) GTEST_SKIP() << kData << " is not there";
  const auto list = read_jobs(kData + "eva_jobs_gavel.csv.zst");
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->jobs.size(), 6274U);
  const Outcome out = run(*list, "no_packing");
  EXPECT_NEAR(out.cost_usd, 831'227.28, 0.01);
  EXPECT_EQ(out.instances, 6274U);
}

TEST(Cluster, EvaOnTheTraceIsWithinThreePercentOfThePaper) {
  if (!std::filesystem::exists(kData)) GTEST_SKIP() << kData << " is not there";
  const auto list = read_jobs(kData + "eva_jobs_gavel.csv.zst");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_NEAR(run(*list, "eva").cost_usd / 483'472, 1, 0.03);
}

TEST(Jobs, ErrorsNameFileAndLine) {
  const std::string path = testing::TempDir() + "jobs.csv";
  const auto error = [&](const std::string& row) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(("job,name,arrival_s,duration_s,gpu,vcpu,ram_gib\n" + row + "\n").c_str(), file);
    std::fclose(file);
    const auto list = read_jobs(path);
    return list ? "" : list.error().message.substr(path.size());
  };
  EXPECT_EQ(error("1,gcn,0,10,0,4,8"), "");
  EXPECT_EQ(error("1,nope,0,10,0,4,8"), ":2: no workload is called 'nope'");
  EXPECT_EQ(error("1,gcn,0,10,64,4,8"), ":2: job 1 fits no type");
  EXPECT_EQ(error("1,gcn,0,-10,0,4,8"), ":2: duration_s is -10, below 0");
  EXPECT_NE(read_jobs("/nowhere.csv").error().message.find("--jobs"), std::string::npos);
}

TEST(Convert, FailedPodsAndThoseThatFitNowhereAreLeftOutAndAmountsRoundedUp) {
  const std::string pods =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
      "scheduled_time\n"
      "a,3200,1025,1,1000,,LS,Succeeded,0,500,100\n"
      "b,3200,1025,1,1000,,LS,Failed,0,500,100\n"
      "c,3200,1025,64,1000,,LS,Running,0,500,100\n";
  const auto list = convert_alibaba(pods, "pods.csv", Durations::kTrace, 1);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(std::ranges::count(*list, '\n'), 2);
  EXPECT_NE(list->find(",400,1,4,2\n"), std::string::npos) << *list;
}

}  // namespace
}  // namespace banyan::sim::eva
