#include "node/gateway_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

using ::testing::SizeIs;

class ContextTest : public ::testing::Test, protected TestGround {};

TEST_F(ContextTest, WhoWaitsForARecordIsToldOnce) {
  gateway.store("a", "1");
  gateway.store("b", "2", {"s"}, RestartNoted{4});
  gateway.store("c", "3", RequestNoted{{7}});
  finish();
  ASSERT_EQ(writes.size(), 3U);
  EXPECT_EQ(writes[0].token, 0U) << "nobody waits";
  EXPECT_NE(writes[1].token, 0U);
  EXPECT_NE(writes[2].token, writes[1].token);
  EXPECT_EQ(writes[1].key, "b");
  EXPECT_EQ(writes[1].value, "2");
  const auto session = gateway.noted(writes[1].token);
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(std::get<0>(*session).first, SessionId{"s"});
  EXPECT_EQ(std::get<RestartNoted>(std::get<0>(*session).second).request, 4U);
  const auto request = gateway.noted(writes[2].token);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(std::get<RequestNoted>(*request).request, RequestId{7});
  EXPECT_FALSE(gateway.noted(writes[1].token).has_value());
  EXPECT_FALSE(gateway.noted(99).has_value());
}

TEST_F(ContextTest, OnlyHostsOfThePlatformAreSentAnything) {
  gateway.send(h1, ReportAll{});
  gateway.send({"h9"}, ReportAll{});
  EXPECT_THAT(take<ReportAll>(h1), SizeIs(1));
  gateway.remove_host(h2);
  gateway.send(h2, ReportAll{});
  EXPECT_FALSE(gateway.hosts().contains(h2));
  EXPECT_FALSE(gateway.usable(h2));
  gateway.add_host(h2);
  finish();
  EXPECT_THAT(take<ReportAll>(h2), SizeIs(0)) << "what was sent while it was none";
}

TEST_F(ContextTest, SilenceCountsFromWhenAHostWasHeard) {
  advance(3s);
  gateway.hosts().at(h1).heard_or_start = gateway.now().mono - 1s;
  EXPECT_EQ(gateway.silence(h1), 1s);
  EXPECT_EQ(gateway.silence(h2), 3s) << "it was never heard";
  EXPECT_EQ(gateway.silence({"h9"}), gateway.now().mono - gateway.started().mono);
}

TEST_F(ContextTest, AReportIsThatOfTheHostAndTheSession) {
  EXPECT_EQ(gateway.report_of(h1, record.id), &report_of(h1));
  EXPECT_EQ(gateway.report_of(h1, {"another"}), nullptr);
  EXPECT_EQ(gateway.report_of({"h9"}, record.id), nullptr);
}

TEST_F(ContextTest, DecisionsAreTakenInTheirOrder) {
  while (gateway.take_decision()) {
  }
  gateway.tell(schedule::ReplicaWanted{.session = record.id, .avoid = {h1, h2, h3}});
  EXPECT_TRUE(gateway.take_decision().has_value());
  EXPECT_FALSE(gateway.take_decision().has_value());
}

}  // namespace
}  // namespace banyan::node
