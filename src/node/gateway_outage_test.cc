// Since when less than a majority of a session's replicas is up, and what people are told.

#include "node/gateway_outage.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

using ::testing::HasSubstr;

class OutageTest : public ::testing::Test, protected TestGround {};

TEST_F(OutageTest, ItLastsWhenNoMajorityHasBeenUpForTenSeconds) {
  Outage outage{gateway, record, members};
  outage.watch();
  EXPECT_EQ(outage.reason(), "");
  lose(h1);
  lose(h2);
  outage.watch();
  EXPECT_THAT(outage.reason(), HasSubstr("Only 1 of the session's 3 replicas is up"));
  EXPECT_THAT(outage.reason(), HasSubstr("not up: h1, h2"));
  advance(9900ms);
  outage.watch();
  EXPECT_FALSE(outage.lasts()) << "hosts start again within that";
  advance(100ms);
  EXPECT_TRUE(outage.lasts());
  find(h1);
  EXPECT_FALSE(outage.lasts());
  outage.watch();
  lose(h1);
  outage.watch();
  EXPECT_FALSE(outage.lasts()) << "it is another outage";
}

}  // namespace
}  // namespace banyan::node
