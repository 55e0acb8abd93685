#include "node/gateway_voters.h"

#include <gmock/gmock.h>

#include "node/test_parts.h"

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Key;

class VotersTest : public ::testing::Test, protected TestGround {
 protected:
  /// The host has tried the kernel, and cannot run it.
  void cannot_run(const HostId& host) {
    gateway.tell(
        schedule::HostReported{.host = host,
                               .capacity = {},
                               .kernels = {{record.spec.kernel_name, KernelState::kCannot, "", "why"}}});
  }

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
  EXPECT_THAT(voters_.may_be_asked({}), ElementsAre(Key(ReplicaId{2}), Key(ReplicaId{3})));
  voters_.lose({4});
  EXPECT_FALSE(voters_.beyond_repair()) << "one that joins does not count";
  voters_.lose({2});
  EXPECT_FALSE(voters_.can_serve());
  EXPECT_TRUE(voters_.beyond_repair()) << "one of three can never agree";
}

TEST_F(VotersTest, WhoIsNoMemberAnyMoreIsForgotten) {
  voters_.lose({1});
  voters_.lose({2});
  record.members.erase({1});
  voters_.on_settled();
  EXPECT_EQ(voters_.lost(), 1U);
  EXPECT_TRUE(voters_.is_lost({2}));
}

TEST_F(VotersTest, WhoIsPassedOverOrDownIsNotAsked) {
  lose(h3);
  EXPECT_THAT(voters_.may_be_asked({h1}), ElementsAre(Key(ReplicaId{2})));
}

TEST_F(VotersTest, WhoIsAboutToLeaveIsAskedOnlyWhereNobodyElseIsLeft) {
  record.members.erase({1});
  EXPECT_THAT(voters_.may_be_asked({}), ElementsAre(Key(ReplicaId{2}), Key(ReplicaId{3})));
  EXPECT_THAT(voters_.may_be_asked({h2, h3}), ElementsAre(Key(ReplicaId{1})));
}

TEST_F(VotersTest, WhoCannotRunTheKernelIsAskedOnlyWhereNobodyCan) {
  cannot_run(h1);
  EXPECT_THAT(voters_.may_be_asked({}), ElementsAre(Key(ReplicaId{2}), Key(ReplicaId{3})));
  EXPECT_THAT(voters_.may_be_asked({h2, h3}), IsEmpty()) << "others could, later";
  cannot_run(h2);
  cannot_run(h3);
  EXPECT_EQ(voters_.may_be_asked({}).size(), 3U) << "they say why";
}

}  // namespace
}  // namespace banyan::node
