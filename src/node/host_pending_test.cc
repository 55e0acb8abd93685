// Large values that a cell's reply does not wait for: on hosts that work, from the reply until a majority has
// them, and when their host dies before.
#include <gtest/gtest.h>

#include <algorithm>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

const std::string kLarge(300'000, '7');

Sizes little_is_awaited() {
  Sizes sizes;
  sizes.durable_inline = 200'000;
  return sizes;
}

/// A session whose replies wait for values of at most 200,000 bytes.
class PendingValues : public ::testing::Test {
 protected:
  void open(session::Durability durability = session::Durability::kAsync, const session::Keep& keep = {}) {
    const session::Members members = {{{1}, {"h1"}}, {{2}, {"h2"}}, {{3}, {"h3"}}};
    const session::Spec spec{.kernel_name = "python3", .keep = keep, .durability = durability};
    for (const auto& [id, host] : members) hosts_.send(host, OpenReplica{kSession, id, spec, members});
  }
  void run(const std::string& cell, const std::string& code, ReplicaId lead = {1}) {
    hosts_.execute(cell, code, lead, {"h" + std::to_string(lead.value)});
    ASSERT_TRUE(hosts_.run_until([&] { return hosts_.ended(cell); }, 60s)) << cell;
    ASSERT_EQ(hosts_.ended_[{cell}].status, session::Status::kOk);
  }
  /// How many of the hosts have the value on their disks.
  std::ptrdiff_t copies(const std::string& value) const {
    return std::ranges::count_if(
        hosts_.hosts_, [&](const auto& host) { return host.second.chunks.contains(digest_of(value)); });
  }
  const ReplicaReport& executors_report() { return hosts_.reports_[{"h1"}][kSession]; }
  std::map<std::string, std::string>& variables(const HostId& host) {
    return hosts_.hosts_[host].workers.begin()->second.variables;
  }

  TestHosts hosts_{little_is_awaited()};
};

/// 300,000 bytes, half of them from each of two peers at the 125 MB a second that are assumed until measured.
TEST_F(PendingValues, AMoveIsExpectedToTakeLongerWithThem) {
  open();
  run("c1", "x=1");
  ASSERT_TRUE(hosts_.run_until([&] { return executors_report().last.value > 0; }, 1s));
  const std::int64_t before = executors_report().move_us;
  EXPECT_GE(before, 500'000) << "the members change twice, and a worker starts";
  run("c2", "y=" + kLarge);
  ASSERT_TRUE(hosts_.run_until([&] { return executors_report().last.value > 1; }, 1s));
  EXPECT_NEAR(static_cast<double>(executors_report().move_us - before), 1'200, 300);
}

TEST_F(PendingValues, TheReplyDoesNotWaitForALargeOneWhichIsCopiedAfterwards) {
  open();
  run("c1", "x=" + kLarge);
  EXPECT_LE(copies(kLarge), 1);
  EXPECT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == kLarge.size(); }, 100ms));
  EXPECT_TRUE(hosts_.run_until([&] { return copies(kLarge) == 3; }));
  EXPECT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == 0; }, 1s));
}

TEST_F(PendingValues, TheReplyWaitsForASmallOne) {
  open();
  const std::string small(100'000, '7');
  run("c1", "x=" + small);
  EXPECT_GE(copies(small), 2);
}

TEST_F(PendingValues, WhereDurabilityIsSyncTheReplyWaitsForAll) {
  open(session::Durability::kSync);
  run("c1", "x=" + kLarge);
  EXPECT_GE(copies(kLarge), 2);
}

TEST_F(PendingValues, OneThatIsSupersededBeforeItIsCopiedIsNot) {
  open(session::Durability::kAsync, {.values = 350'000});  // one version
  run("c1", "x=" + kLarge);
  run("c2", "x=" + std::string(300'000, '8'));
  EXPECT_TRUE(hosts_.run_until([&] { return copies(std::string(300'000, '8')) == 3; }));
  EXPECT_LE(copies(kLarge), 1) << "no other host has asked for it";
}

TEST_F(PendingValues, OneThatTheOthersHaveAlreadyIsSoonDurable) {
  open();
  run("c1", "x=" + kLarge);
  ASSERT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == 0 && copies(kLarge) == 3; }));
  run("c2", "x=1");
  run("c3", "%undo=2");
  run("c4", "y=" + kLarge);
  EXPECT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == 0; }, 1s));
}

TEST_F(PendingValues, WhenItsHostDiesBeforeACopyIsMadeItsCellMakesItAgain) {
  open();
  run("c1", "x=" + kLarge);
  hosts_.kill({"h1"});
  ASSERT_EQ(copies(kLarge), 1);
  run("c2", "y=6", {2});
  EXPECT_EQ(variables({"h2"})["x"], kLarge);
  EXPECT_GE(hosts_.repeats_.size(), 1U);
}

TEST_F(PendingValues, WhenItsHostDiesAndItsCellMayNotRunAgainItIsNamed) {
  hosts_.cells_have_effects_ = true;
  open();
  run("c1", "x=1");
  run("c2", "x=" + kLarge);
  hosts_.kill({"h1"});
  run("c3", "y=6", {2});
  EXPECT_FALSE(variables({"h2"}).contains("x")) << "an older value does not stand for it";
  EXPECT_TRUE(hosts_.said("'x' could not be restored on this host (cell [2] made it): "));
}

TEST_F(PendingValues, WhenAllMembersAreThereAndNobodyHasItNobodyWaitsForIt) {
  hosts_.cells_have_effects_ = true;
  open();
  hosts_.loses_chunks_ = HostId{"h1"};
  run("c1", "x=" + kLarge);
  hosts_.kill({"h1"});
  hosts_.start({"h1"},
               {.replicas = {*hosts_.hosts_[{"h1"}].replicas.find(kSession)}, .chunks = {}, .speeds = {}});
  const Time before = hosts_.now();
  run("c2", "y=6", {2});
  EXPECT_LT(hosts_.now() - before, 5s);
  EXPECT_TRUE(hosts_.said("'x' could not be restored"));
  EXPECT_TRUE(hosts_.run_until([&] { return hosts_.reports_[{"h3"}][kSession].complete; }, 20s))
      << "what is nowhere holds back no move";
}

TEST_F(PendingValues, WhoeverHasTheReplyFindsWhatIsPending) {
  open();
  hosts_.execute("c1", "x=" + kLarge, {1}, {"h1"});
  ASSERT_TRUE(hosts_.run_until([&] { return hosts_.ended("c1"); }));
  EXPECT_EQ(executors_report().pending_bytes, kLarge.size());
}

/// The memory of the life before is gone, but not its promises.
TEST_F(PendingValues, AHostThatStartsAgainAsksWhoHasWhatItsCellsMade) {
  open();
  run("c1", "x=" + kLarge);
  hosts_.kill({"h1"});
  ASSERT_EQ(copies(kLarge), 1);
  hosts_.reports_.clear();
  hosts_.start({"h1"}, {.replicas = {*hosts_.hosts_[{"h1"}].replicas.find(kSession)},
                        .chunks = {digest_of(kLarge)},
                        .speeds = {}});
  ASSERT_TRUE(hosts_.run_until([&] { return executors_report().last == CommitId{1}; }));
  EXPECT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == 0; }));
  EXPECT_GE(copies(kLarge), 2);
}

TEST_F(PendingValues, AnotherExecutorAsksToo) {
  open();
  run("c1", "x=" + kLarge);
  ASSERT_TRUE(hosts_.run_until([&] { return executors_report().pending_bytes == 0 && copies(kLarge) == 3; }));
  hosts_.ticks_ = false;  // so that nobody is asked yet
  run("c2", "y=6", {2});
  EXPECT_EQ(hosts_.reports_[{"h2"}][kSession].pending_bytes, kLarge.size());
  EXPECT_EQ(executors_report().pending_bytes, 0U) << "who ran the cells before has nothing to say of them";
  hosts_.ticks_ = true;
  EXPECT_TRUE(hosts_.run_until([&] { return hosts_.reports_[{"h2"}][kSession].pending_bytes == 0; }));
}

}  // namespace
}  // namespace banyan::node
