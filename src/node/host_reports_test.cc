#include "node/host_reports.h"

#include <gmock/gmock.h>

#include "node/test_host.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const SessionId kS{"s"}, kT{"t"};

class Reports : public TestHost {
 protected:
  std::vector<HostReport> heard() { return told<HostReport>(kGateway); }
  static ReplicaReport of(const SessionId& session, std::uint64_t count) {
    ReplicaReport report{.session = session, .replica = {1}};
    report.execution_count = count;
    return report;
  }

  HostReports reports_{
      host_, {.id = {"h1"}, .timing = {}, .sizes = {}, .store = "where", .devices = {{.id = {"0"}}}}};
};

TEST_F(Reports, TheFirstOneSaysWhatTheHostIs) {
  reports_.send({}, false);
  const auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].store, "where");
  EXPECT_EQ(said[0].gpus, 1U);
  EXPECT_EQ(said[0].devices.size(), 1U);
  EXPECT_TRUE(said[0].takes_addresses);
  EXPECT_FALSE(said[0].whole);
}

TEST_F(Reports, WhatIsNotNewIsNotSaid) {
  reports_.send({of(kS, 1)}, false);
  ASSERT_THAT(heard(), SizeIs(1));
  reports_.send({of(kS, 1)}, false);
  EXPECT_THAT(heard(), IsEmpty());
  reports_.send({of(kS, 2), of(kT, 1)}, false);
  auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].replicas.size(), 2U);
  reports_.send({of(kS, 3), of(kT, 1)}, false);
  said = heard();
  ASSERT_EQ(said.size(), 1U);
  ASSERT_EQ(said[0].replicas.size(), 1U);
  EXPECT_EQ(said[0].replicas[0].execution_count, 3U);
}

TEST_F(Reports, AWholeOneSaysAll) {
  reports_.send({of(kS, 1)}, false);
  (void)heard();
  reports_.send({of(kS, 1)}, true);
  const auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].whole);
  EXPECT_EQ(said[0].replicas.size(), 1U);
}

TEST_F(Reports, NewFiguresAreSaid) {
  reports_.send({}, false);
  (void)heard();
  reports_.set_figures(
      {.cpus = 8, .memory_bytes = 100, .resident_bytes = 3, .devices = {{.id = {"0"}}, {.id = {"1"}}}});
  reports_.send({}, false);
  const auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].cpus, 8U);
  EXPECT_EQ(said[0].memory_bytes, 100U);
  EXPECT_EQ(said[0].resident_bytes, 3U);
  EXPECT_EQ(said[0].gpus, 2U);
  reports_.send({}, false);
  EXPECT_THAT(heard(), IsEmpty());
}

TEST_F(Reports, NewKernelsAreSaid) {
  reports_.send({}, false);
  (void)heard();
  reports_.set_kernels({{"torch", KernelState::kChecking, {}, {}}});
  reports_.send({}, false);
  const auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].kernels.size(), 1U);
}

TEST_F(Reports, AReplicaThatIsGoneIsSaidOnceAndALaterOneIsNew) {
  reports_.send({of(kS, 1)}, false);
  (void)heard();
  reports_.on_closed(kS);
  reports_.send({}, false);
  auto said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0].closed, ElementsAre(kS));
  reports_.send({of(kS, 1)}, false);
  said = heard();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].replicas.size(), 1U);
  EXPECT_THAT(said[0].closed, IsEmpty());
}

TEST_F(Reports, WhatIsNotToWaitForATickIsSaidByItself) {
  reports_.send({of(kS, 1)}, false);
  (void)heard();
  reports_.send_soon({of(kS, 1)});
  EXPECT_THAT(heard(), IsEmpty()) << "it is known";
  reports_.send_soon({of(kS, 2)});
  EXPECT_THAT(heard(), SizeIs(1));
  reports_.on_closed(kT);
  reports_.send_soon({});
  EXPECT_THAT(heard(), SizeIs(1));
}

}  // namespace
}  // namespace banyan::node
