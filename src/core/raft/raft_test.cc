#include "core/raft/raft.h"

#include <gtest/gtest.h>

namespace banyan::raft {
namespace {

TEST(Raft, SingleVoterCommitsWhatIsDurable) {
  auto opened = Raft::open({.id = {1}}, Restored::birth({{1}}));
  ASSERT_TRUE(opened.has_value());
  Raft& raft = *opened;
  raft.campaign();
  Output out = raft.take_output();
  ASSERT_TRUE(out.persist.has_value());
  EXPECT_EQ(raft.role(), Role::kCandidate);
  raft.persisted(out.persist->token);
  EXPECT_EQ(raft.role(), Role::kLeader);
}

}  // namespace
}  // namespace banyan::raft
