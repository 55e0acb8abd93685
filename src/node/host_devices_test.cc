#include "node/host_devices.h"

#include <gmock/gmock.h>

#include <utility>

namespace banyan::node {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const DeviceId k0{"0"}, k1{"1"}, k2{"2"};
const SessionId kSession{"s"}, kAnother{"t"};
constexpr WorkerId kWorker{7}, kOthers{8};

class HostDevicesTest : public ::testing::Test {
 protected:
  HostDevicesTest() { devices_.set({{k0}, {k1}, {k2}}); }
  Result<HostDevices::Grant> bind(std::uint64_t gpus, std::set<DeviceId> preferred,
                                  std::optional<WorkerId> worker = {}) {
    return devices_.bind(
        {.session = kSession, .gpus = gpus, .preferred = std::move(preferred), .worker = worker});
  }

  HostDevices devices_;
};

TEST_F(HostDevicesTest, ADeviceIsBoundToOneCellAtATime) {
  const auto first = bind(2, {k0, k2});
  ASSERT_TRUE(first);
  EXPECT_THAT(first->devices(), ElementsAre(k0, k2));
  const auto refused = bind(2, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "the cell needs 2 GPUs of its host, which has 3 that work, and 1 that no other cell has");
  const auto other = bind(1, {k2});
  ASSERT_TRUE(other);
  EXPECT_THAT(other->devices(), ElementsAre(k1)) << "another one, because that one is bound";
}

TEST_F(HostDevicesTest, WhatACellHadIsFreeWhenItsGrantIsGone) {
  {
    HostDevices::Grant first = *bind(3, {});
    const HostDevices::Grant moved = std::move(first);
    first = HostDevices::Grant{};
    EXPECT_FALSE(bind(1, {})) << "the grant was moved, and lives";
  }
  HostDevices::Grant second = *bind(1, {k2});
  second = *bind(1, {k1});
  EXPECT_THAT(second.devices(), ElementsAre(k1));
  EXPECT_TRUE(bind(2, {k0, k2})) << "what was replaced is free";
}

TEST_F(HostDevicesTest, WhatAWorkerUsesThatIsBeingEndedIsFreeWhenItIsGone) {
  devices_.keep_until_exit({7}, *bind(3, {}));
  EXPECT_FALSE(bind(1, {}));
  devices_.on_exited({8});
  EXPECT_FALSE(bind(1, {}));
  devices_.on_exited({7});
  EXPECT_TRUE(bind(3, {}));
}

TEST_F(HostDevicesTest, ACellThatNeedsNoneGetsNone) {
  const auto none = bind(0, {k0});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->devices().empty());
}

TEST_F(HostDevicesTest, AFaultyOrUnknownDeviceIsNotBound) {
  devices_.set({{k0, "", 0, false}, {k1}});
  const auto one = bind(1, {k0});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->devices(), ElementsAre(k1));
  const auto two = bind(2, {});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(two.error().message, "the cell needs 2 GPUs of its host, which has 1 that work");
}

// ---- what processes use

TEST_F(HostDevicesTest, ACellHasWhatItsProcessUses) {
  devices_.on_uses(kWorker, kSession, {k1});
  {
    const auto none = bind(0, {}, kWorker);
    EXPECT_THAT(none->devices(), ElementsAre(k1)) << "it cannot be taken away from the process";
    EXPECT_FALSE(none->is_for_new_process());
    EXPECT_FALSE(bind(3, {})) << "it is not free";
  }
  const auto one = bind(1, {k0}, kWorker);
  EXPECT_THAT(one->devices(), ElementsAre(k1)) << "the process would go on with that, whichever it is given";
  EXPECT_FALSE(one->is_for_new_process());
}

TEST_F(HostDevicesTest, ACellThatWantsMoreThanItsProcessUsesGetsANewProcess) {
  devices_.on_uses(kWorker, kSession, {k1});
  const auto two = bind(2, {k0, k2}, kWorker);
  EXPECT_THAT(two->devices(), ElementsAre(k0, k2));
  EXPECT_TRUE(two->is_for_new_process());
  EXPECT_FALSE(bind(0, {}, kOthers)->is_for_new_process());
}

TEST_F(HostDevicesTest, ADeviceThatDoesNotWorkAnyMoreNeedsANewProcess) {
  devices_.on_uses(kWorker, kSession, {k1});
  devices_.set({{k0}, {k1, "", 0, false}, {k2}});
  EXPECT_THAT(bind(0, {}, kWorker)->devices(), IsEmpty());
  const auto one = bind(1, {}, kWorker);
  EXPECT_THAT(one->devices(), ElementsAre(k0));
  EXPECT_TRUE(one->is_for_new_process());
}

TEST_F(HostDevicesTest, WhatAnotherSessionsProcessUsesIsBoundLast) {
  devices_.on_uses(kOthers, kAnother, {k0});
  devices_.on_uses(kWorker, kSession, {k1});
  EXPECT_THAT(bind(1, {})->devices(), ElementsAre(k1));
  EXPECT_THAT(bind(2, {})->devices(), ElementsAre(k1, k2));
  EXPECT_THAT(bind(3, {})->devices(), ElementsAre(k0, k1, k2));
}

TEST_F(HostDevicesTest, AProcessIsInTheWayOfACellThatHasWhatItUses) {
  devices_.on_uses(kOthers, kAnother, {k0});
  EXPECT_FALSE(devices_.is_in_the_way(kOthers));
  const auto own = bind(1, {k1}, kWorker);
  EXPECT_THAT(devices_.in_the_way(), IsEmpty());
  const auto grant = bind(1, {k0}, kWorker);
  EXPECT_TRUE(devices_.is_in_the_way(kOthers));
  EXPECT_THAT(devices_.in_the_way(), ElementsAre(kAnother));
  EXPECT_FALSE(devices_.are_clear(grant->devices(), kWorker));
  EXPECT_TRUE(devices_.are_clear(own->devices(), kWorker));
  devices_.on_uses(kWorker, kSession, {k0, k1});
  EXPECT_FALSE(devices_.is_in_the_way(kWorker)) << "its own cell has it";
  devices_.on_exited(kOthers);
  EXPECT_THAT(devices_.in_the_way(), IsEmpty());
  EXPECT_TRUE(devices_.are_clear(grant->devices(), kWorker));
}

TEST_F(HostDevicesTest, WhatTheHostDoesNotKnowIsNotUsed) {
  devices_.on_uses(kWorker, kSession, {k1, {"file of slices"}});
  EXPECT_THAT(devices_.used_by(kWorker), ElementsAre(k1));
  devices_.on_uses(kWorker, kSession, {{"file of slices"}});
  EXPECT_FALSE(bind(1, {}, kWorker)->is_for_new_process());
}

TEST_F(HostDevicesTest, AGrantShrinks) {
  auto all = bind(3, {});
  all->shrink(4);
  EXPECT_FALSE(bind(1, {}));
  all->shrink(1);
  EXPECT_THAT(all->devices(), ElementsAre(k0));
  EXPECT_TRUE(bind(2, {k1, k2}));
  all->shrink(0);
  EXPECT_TRUE(bind(3, {}));
}

TEST_F(HostDevicesTest, WhatAProcessDoesNotUseAnyMoreIsClear) {
  devices_.on_uses(kOthers, kAnother, {k0});
  const auto grant = bind(1, {k0}, kWorker);
  devices_.on_uses(kOthers, kAnother, {});
  EXPECT_TRUE(devices_.are_clear(grant->devices(), kWorker));
  EXPECT_FALSE(devices_.is_in_the_way(kOthers));
}

/// Its replica has been given another process, and the old one has not ended yet.
TEST_F(HostDevicesTest, AnEarlierProcessOfTheSameSessionIsWaitedFor) {
  devices_.on_uses(kWorker, kSession, {k0});
  const auto grant = bind(1, {k0}, WorkerId{9});
  EXPECT_FALSE(devices_.are_clear(grant->devices(), WorkerId{9}));
  EXPECT_FALSE(devices_.is_in_the_way(kWorker)) << "it is being ended already";
}

}  // namespace
}  // namespace banyan::node
