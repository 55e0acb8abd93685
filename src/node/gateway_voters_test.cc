#include "node/gateway_voters.h"

#include <gtest/gtest.h>

#include <set>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

class VotersTest : public ::testing::Test, protected TestGround {
 protected:
  Voters voters_{gateway, record};
};

TEST_F(VotersTest, AMajorityServes) {
  EXPECT_EQ(voters_.up(), 3U);
  lose(h1);
  EXPECT_EQ(voters_.up(), 2U);
  EXPECT_TRUE(voters_.can_serve());
  lose(h2);
  EXPECT_FALSE(voters_.can_serve());
  EXPECT_FALSE(voters_.beyond_repair()) << "they may come back";
}

TEST_F(VotersTest, AReplicaThatHasLostItsDataCountsAndDoesNothing) {
  EXPECT_TRUE(voters_.lose({1}));
  EXPECT_FALSE(voters_.lose({1})) << "it is known";
  EXPECT_TRUE(voters_.is_lost({1}));
  EXPECT_FALSE(voters_.can_run({1}, h1));
  EXPECT_TRUE(voters_.can_serve());
  EXPECT_FALSE(voters_.beyond_repair());
  voters_.lose({4});
  EXPECT_FALSE(voters_.beyond_repair()) << "one that joins does not count";
  voters_.lose({2});
  EXPECT_FALSE(voters_.can_serve());
  EXPECT_TRUE(voters_.beyond_repair()) << "one of three can never agree";
}

TEST_F(VotersTest, WhoseHostWasRemovedIsLostUntilItIsAddedAgain) {
  voters_.lose({1});
  const auto removed = gateway.hosts().extract(h3);
  EXPECT_EQ(voters_.lost(), 2U);
  EXPECT_TRUE(voters_.beyond_repair());
  gateway.hosts().try_emplace(h3);
  EXPECT_EQ(voters_.lost(), 1U);
  EXPECT_FALSE(voters_.beyond_repair());
}

TEST_F(VotersTest, WhoIsNoMemberAnyMoreIsForgotten) {
  voters_.lose({1});
  voters_.lose({2});
  record.members.erase({1});
  voters_.on_settled();
  EXPECT_FALSE(voters_.is_lost({1}));
  EXPECT_TRUE(voters_.is_lost({2}));
}

TEST_F(VotersTest, WhatIsWantedTakesAMajorityOfTheWanted) {
  const auto pass = [&](Duration time, const std::set<HostId>& silent) {
    advance(time);
    for (auto& [host, peer] : gateway.hosts())
      if (!silent.contains(host)) peer.heard_or_start = gateway.now().mono;
  };
  pass(8s - 1ns, {h3});
  EXPECT_FALSE(voters_.is_away({3}));
  pass(1ns, {h3});
  EXPECT_TRUE(voters_.is_away({3}));
  EXPECT_TRUE(voters_.wanted_can_agree());
  voters_.lose({2});
  EXPECT_TRUE(voters_.is_away({2}));
  EXPECT_FALSE(voters_.wanted_can_agree());
  pass(0s, {});
  EXPECT_TRUE(voters_.wanted_can_agree());
  record.members.erase({1});
  EXPECT_FALSE(voters_.wanted_can_agree()) << "one of two is no majority";
}

TEST_F(VotersTest, WhoseHostIsDownCannotRun) {
  lose(h3);
  EXPECT_FALSE(voters_.can_run({3}, h3));
  EXPECT_TRUE(voters_.can_run({2}, h2));
}

}  // namespace
}  // namespace banyan::node
