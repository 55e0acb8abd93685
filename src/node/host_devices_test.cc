#include "node/host_devices.h"

#include <gmock/gmock.h>

#include <utility>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;

const DeviceId k0{"0"}, k1{"1"}, k2{"2"};

class HostDevicesTest : public ::testing::Test {
 protected:
  HostDevicesTest() { devices_.set({{k0}, {k1}, {k2}}); }

  HostDevices devices_;
};

TEST_F(HostDevicesTest, ADeviceIsBoundToOneCellAtATime) {
  const auto first = devices_.bind(2, {k0, k2});
  ASSERT_TRUE(first);
  EXPECT_THAT(first->devices(), ElementsAre(k0, k2));
  const auto refused = devices_.bind(2, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "the cell needs 2 GPUs of its host, which has 3 that work, and 1 that no other cell has");
  const auto other = devices_.bind(1, {k2});
  ASSERT_TRUE(other);
  EXPECT_THAT(other->devices(), ElementsAre(k1)) << "another one, because that one is bound";
}

TEST_F(HostDevicesTest, WhatACellHadIsFreeWhenItsGrantIsGone) {
  {
    HostDevices::Grant first = *devices_.bind(3, {});
    const HostDevices::Grant moved = std::move(first);
    first = HostDevices::Grant{};
    EXPECT_FALSE(devices_.bind(1, {})) << "the grant was moved, and lives";
  }
  HostDevices::Grant second = *devices_.bind(1, {k2});
  second = *devices_.bind(1, {k1});
  EXPECT_THAT(second.devices(), ElementsAre(k1));
  EXPECT_TRUE(devices_.bind(2, {k0, k2})) << "what was replaced is free";
}

TEST_F(HostDevicesTest, WhatAWorkerUsesThatIsBeingEndedIsFreeWhenItIsGone) {
  devices_.keep_until_exit({7}, *devices_.bind(3, {}));
  EXPECT_FALSE(devices_.bind(1, {}));
  devices_.on_exited({8});
  EXPECT_FALSE(devices_.bind(1, {}));
  devices_.on_exited({7});
  EXPECT_TRUE(devices_.bind(3, {}));
}

TEST_F(HostDevicesTest, ACellThatNeedsNoneGetsNone) {
  const auto none = devices_.bind(0, {k0});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->devices().empty());
}

TEST_F(HostDevicesTest, AFaultyOrUnknownDeviceIsNotBound) {
  devices_.set({{k0, "", 0, false}, {k1}});
  const auto one = devices_.bind(1, {k0});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->devices(), ElementsAre(k1));
  const auto two = devices_.bind(2, {});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(two.error().message, "the cell needs 2 GPUs of its host, which has 1 that work");
}

}  // namespace
}  // namespace banyan::node
