// Outputs while the gateway takes nothing: they wait where there is a bound.

#include <gtest/gtest.h>

#include <algorithm>

#include "node/test_hosts.h"

namespace banyan::node {
namespace {

constexpr std::uint64_t kKept = 16 << 10;  // bytes on the way to the gateway, and as many in the cell's log
constexpr std::uint64_t kPrinted = 400;

Sizes small() { return {.link_window = 4 << 10, .journal_max = 1 << 10, .session_buffer = kKept}; }

void print_much(TestHosts& cluster) {
  for (std::uint64_t line = 1; line <= kPrinted; ++line) {
    cluster.print({"h1"}, "line " + std::to_string(line) + std::string(1000, '.'));
    cluster.run_until([] { return false; }, 5ms);
  }
}

TEST(HostOutputs, OfACellWhileTheGatewayIsAwayAreBoundedAndTheLastOnesAreThere) {
  TestHosts cluster(small());
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
  cluster.cut_ = {kGateway};
  print_much(cluster);
  cluster.cut_.clear();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.said("line 400."); }));
  EXPECT_LT(cluster.outputs_.size(), 3 * kKept / 1000);
  EXPECT_TRUE(cluster.said("line 1.")) << "what was on its way arrives";
  cluster.print({"h1"}, "the next line");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.said("the next line"); }));
  cluster.answer_input({"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_EQ(cluster.ended_[{"c1"}].outputs, kPrinted + 2) << "so that the gateway can say what is missing";
}

TEST(HostOutputs, ThatWaitedAreSentBeforeTheEndOfTheirCell) {
  TestHosts cluster(small());
  cluster.cells_ask_ = true;
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.outputs_.size() == 2; }));
  cluster.cut_ = {kGateway};
  print_much(cluster);
  cluster.answer_input({"h1"});
  cluster.run_until([] { return false; }, 1s);
  cluster.cut_.clear();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  EXPECT_TRUE(cluster.said("line 400."));
}

TEST(HostOutputs, OfThreadsBetweenCellsAreBoundedAndCounted) {
  TestHosts cluster(small());
  cluster.open();
  cluster.execute("c1", "x=5", {1}, {"h1"});
  ASSERT_TRUE(cluster.run_until([&] { return cluster.ended("c1"); }));
  cluster.cut_ = {kGateway};
  cluster.outputs_.clear();
  print_much(cluster);
  cluster.cut_.clear();
  ASSERT_TRUE(cluster.run_until([&] { return cluster.said("messages of output are missing here"); }));
  EXPECT_LT(cluster.outputs_.size(), 2 * kKept / 1000);
  EXPECT_TRUE(cluster.said("line 1."));
  cluster.print({"h1"}, "the next line");
  ASSERT_TRUE(cluster.run_until([&] { return cluster.said("the next line"); }));
}

}  // namespace
}  // namespace banyan::node
