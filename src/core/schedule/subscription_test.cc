#include "core/schedule/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::schedule {
namespace {

using Kind = SubscriptionLimit::Kind;
using ::testing::HasSubstr;

const HostId kH1{"h1"}, kH2{"h2"}, kPlain{"plain"};

/// Two hosts with eight GPUs each, and one without.
class Subscription : public ::testing::Test {
 protected:
  Subscription() {
    for (const HostId& host : {kH1, kH2, kPlain}) {
      cluster_.add(host);
      cluster::Capacity capacity;
      for (int device = 0; device < 8 && host != kPlain; ++device)
        capacity.devices.push_back({.id = {std::to_string(device)}});
      cluster_.report(host, std::move(capacity), {}, {});
    }
  }
  void hold(const std::string& session, std::uint64_t gpus, std::set<HostId> hosts) {
    cluster_.hold({session}, {.kernel = "k", .demand = {.gpus = gpus}}, std::move(hosts));
  }
  std::optional<std::string> why(const SubscriptionLimit& limit, const HostId& host, std::uint64_t gpus) {
    return why_oversubscribed(cluster_, most_subscribed(cluster_, limit, 3), host, gpus, 3);
  }

  cluster::Cluster cluster_{"k"};
};

/// The example of the paper: 8 GPUs, 4 kernels of 4 GPUs, 3 replicas.
TEST_F(Subscription, IsWhatIsPromisedToWhatThereIsTimesTheReplicas) {
  EXPECT_EQ(subscription_of(cluster_, kH1, 3), 0.0);
  for (const char* session : {"a", "b", "c", "d"}) hold(session, 4, {kH1});
  EXPECT_NEAR(*subscription_of(cluster_, kH1, 3), 16.0 / 24, 1e-9);
  EXPECT_NEAR(subscription_of_all(cluster_, 3), 16.0 / 48, 1e-9);
  EXPECT_NEAR(*subscription_of(cluster_, kH1, 3, 8), 1.0, 1e-9);
  EXPECT_FALSE(subscription_of(cluster_, kPlain, 3).has_value());
  EXPECT_EQ(subscription_of_all(cluster::Cluster("k"), 3), 0.0);
}

TEST_F(Subscription, FollowsWhatSessionsHold) {
  hold("a", 4, {kH1, kH2});
  hold("a", 2, {kH2});
  EXPECT_EQ(cluster_.subscribed_gpus(kH1), 0U);
  EXPECT_EQ(cluster_.subscribed_gpus(kH2), 2U);
  cluster_.add_replica({"a"}, kH1);
  cluster_.add_replica({"a"}, kH1);
  EXPECT_EQ(cluster_.subscribed_gpus(kH1), 2U);
  cluster_.drop({"a"});
  EXPECT_EQ(cluster_.subscribed_gpus(kH1) + cluster_.subscribed_gpus(kH2), 0U);
}

TEST_F(Subscription, PassesAFixedLimitOrNone) {
  hold("a", 8, {kH1});
  EXPECT_FALSE(why({}, kH1, 800).has_value());
  EXPECT_FALSE(why({Kind::kFixed, 0.67}, kH1, 8).has_value());
  EXPECT_THAT(why({Kind::kFixed, 0.66}, kH1, 8).value_or(""), HasSubstr("0.67, and 0.66 is the limit"));
  EXPECT_FALSE(why({Kind::kFixed, 0.1}, kH1, 0).has_value()) << "its cells need none";
  EXPECT_FALSE(why({Kind::kFixed, 0.1}, kPlain, 1).has_value()) << "it has none";
}

TEST_F(Subscription, PassesTheRatioOfAllHostsWhereThatIsAboveOne) {
  const SubscriptionLimit dynamic{.kind = Kind::kDynamic};
  hold("a", 24, {kH1});
  EXPECT_TRUE(why(dynamic, kH1, 1).has_value()) << "25 of 24";
  EXPECT_FALSE(why(dynamic, kH2, 24).has_value()) << "24 of 24";
  hold("b", 48, {kH2});
  EXPECT_FALSE(why(dynamic, kH1, 12).has_value()) << "36 of 24, as all together: 72 of 48";
  EXPECT_TRUE(why(dynamic, kH1, 13).has_value());
}

TEST(SubscriptionLimits, AreReadAsTheyAreWritten) {
  EXPECT_EQ(SubscriptionLimit::parse("none")->kind, Kind::kNone);
  EXPECT_EQ(SubscriptionLimit::parse("dynamic")->kind, Kind::kDynamic);
  EXPECT_EQ(SubscriptionLimit::parse("1.5")->most, 1.5);
  for (const char* text : {"", "0", "-1", "nan", "inf", "1.5x", "all"})
    EXPECT_THAT(SubscriptionLimit::parse(text).error().message, HasSubstr("\"dynamic\" or a number")) << text;
}

}  // namespace
}  // namespace banyan::schedule
