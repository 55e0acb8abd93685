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

/// The worker has run a cell with these, and goes on using them.
class UsedDevices : public HostDevicesTest {
 protected:
  void use(WorkerId worker, const SessionId& session, const std::set<DeviceId>& devices) {
    devices_.on_goes(worker, session, devices);
    devices_.on_uses(worker, session, devices);
  }
};

TEST_F(UsedDevices, ACellHasWhatItsProcessUses) {
  use(kWorker, kSession, {k1});
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

TEST_F(UsedDevices, ACellThatWantsMoreThanItsProcessUsesGetsANewProcess) {
  use(kWorker, kSession, {k1});
  const auto two = bind(2, {k0, k2}, kWorker);
  EXPECT_THAT(two->devices(), ElementsAre(k0, k2));
  EXPECT_TRUE(two->is_for_new_process());
  EXPECT_FALSE(bind(0, {}, kOthers)->is_for_new_process());
}

TEST_F(UsedDevices, ADeviceThatDoesNotWorkAnyMoreNeedsANewProcess) {
  use(kWorker, kSession, {k1});
  devices_.set({{k0}, {k1, "", 0, false}, {k2}});
  EXPECT_THAT(bind(0, {}, kWorker)->devices(), IsEmpty());
  const auto one = bind(1, {}, kWorker);
  EXPECT_THAT(one->devices(), ElementsAre(k0));
  EXPECT_TRUE(one->is_for_new_process());
}

TEST_F(UsedDevices, WhatAnotherSessionsProcessUsesIsBoundLast) {
  use(kOthers, kAnother, {k0});
  use(kWorker, kSession, {k1});
  EXPECT_THAT(bind(1, {})->devices(), ElementsAre(k1));
  EXPECT_THAT(bind(2, {})->devices(), ElementsAre(k1, k2));
  EXPECT_THAT(bind(3, {})->devices(), ElementsAre(k0, k1, k2));
}

TEST_F(UsedDevices, AProcessIsInTheWayOfACellThatHasWhatItUses) {
  use(kOthers, kAnother, {k0});
  EXPECT_FALSE(devices_.is_in_the_way(kOthers));
  const auto own = bind(1, {k1}, kWorker);
  EXPECT_THAT(devices_.in_the_way(), IsEmpty());
  const auto grant = bind(2, {k0, k2}, kWorker);
  EXPECT_TRUE(devices_.is_in_the_way(kOthers));
  EXPECT_THAT(devices_.in_the_way(), ElementsAre(kAnother));
  EXPECT_FALSE(devices_.are_clear(grant->devices(), kWorker));
  EXPECT_TRUE(devices_.are_clear(own->devices(), kWorker));
  use(kWorker, kSession, {k0, k1});
  EXPECT_FALSE(devices_.is_in_the_way(kWorker)) << "its own cell has it";
  devices_.on_exited(kOthers);
  EXPECT_THAT(devices_.in_the_way(), IsEmpty());
  EXPECT_TRUE(devices_.are_clear(grant->devices(), kWorker));
}

TEST_F(UsedDevices, WhatTheHostDoesNotKnowIsNotUsed) {
  devices_.on_all_uses(kWorker, kSession, {k1, {"file of slices"}});
  EXPECT_THAT(devices_.used_by(kWorker), ElementsAre(k1));
  devices_.on_all_uses(kWorker, kSession, {{"file of slices"}});
  EXPECT_FALSE(bind(1, {}, kWorker)->is_for_new_process());
}

TEST_F(UsedDevices, WhatItWasNeverGrantedIsNotItsOwn) {
  devices_.on_uses(kWorker, kSession, {k0, k1, k2});
  EXPECT_THAT(bind(0, {}, kWorker)->devices(), IsEmpty());
  const auto one = bind(1, {k2}, kWorker);
  EXPECT_THAT(one->devices(), ElementsAre(k2)) << "and not all that it has opened";
  EXPECT_TRUE(one->is_for_new_process());
}

/// It sees its own process only, and not those that a cell has started.
TEST_F(UsedDevices, AReportOfAWorkerAddsToWhatTheHostHasFound) {
  devices_.on_all_uses(kOthers, kAnother, {k0});
  devices_.on_uses(kOthers, kAnother, {});
  EXPECT_FALSE(devices_.are_clear({k0}, kWorker));
  devices_.on_all_uses(kOthers, kAnother, {});
  EXPECT_TRUE(devices_.are_clear({k0}, kWorker));
}

/// Else cells that ask for no device, one after the other, would keep it from the one that waits.
TEST_F(UsedDevices, OnceACellWasRefusedWhatNobodyAskedForIsLeft) {
  devices_.set({{k0}});
  use(kOthers, kAnother, {k0});
  const auto next = [&] { return devices_.bind({.session = kAnother, .gpus = 0, .worker = kOthers}); };
  {
    const auto asks_for_none = next();
    EXPECT_THAT(asks_for_none->devices(), ElementsAre(k0));
    EXPECT_FALSE(bind(1, {}));
  }
  {
    const auto leaves = next();
    EXPECT_THAT(leaves->devices(), IsEmpty());
    EXPECT_TRUE(leaves->is_for_new_process());
  }
  EXPECT_THAT(next()->devices(), ElementsAre(k0)) << "nobody has come";
}

TEST_F(UsedDevices, WhatACellAskedForIsNotLeft) {
  devices_.set({{k0}});
  use(kOthers, kAnother, {k0});
  const auto next = [&](std::uint64_t gpus) {
    return devices_.bind({.session = kAnother, .gpus = gpus, .worker = kOthers});
  };
  {
    const auto asks = next(1);
    EXPECT_FALSE(bind(1, {}));
  }
  EXPECT_FALSE(next(0)->is_for_new_process());
}

TEST_F(UsedDevices, WhatIsPreferredIsNotBoundWhereAProcessWouldHaveToEndAndOthersAreFree) {
  use(kOthers, kAnother, {k0});
  EXPECT_THAT(bind(1, {k0})->devices(), ElementsAre(k1));
  EXPECT_THAT(bind(2, {k0, k1})->devices(), ElementsAre(k1, k2));
  const auto two = bind(2, {k1, k2});
  EXPECT_THAT(bind(1, {k0})->devices(), ElementsAre(k0));
}

TEST_F(UsedDevices, AGrantShrinks) {
  auto all = bind(3, {});
  all->shrink(4);
  EXPECT_FALSE(bind(1, {}));
  all->shrink(1);
  EXPECT_THAT(all->devices(), ElementsAre(k0));
  EXPECT_TRUE(bind(2, {k1, k2}));
  all->shrink(0);
  EXPECT_TRUE(bind(3, {}));
}

TEST_F(UsedDevices, WhatAProcessDoesNotUseAnyMoreIsClear) {
  use(kOthers, kAnother, {k0});
  const auto grant = bind(1, {k0}, kWorker);
  devices_.on_all_uses(kOthers, kAnother, {});
  EXPECT_TRUE(devices_.are_clear(grant->devices(), kWorker));
  EXPECT_FALSE(devices_.is_in_the_way(kOthers));
}

/// Its replica has been given another process, and the old one has not ended yet.
TEST_F(UsedDevices, AnEarlierProcessOfTheSameSessionIsWaitedFor) {
  use(kWorker, kSession, {k0});
  const auto grant = bind(1, {k0}, WorkerId{9});
  EXPECT_FALSE(devices_.are_clear(grant->devices(), WorkerId{9}));
  EXPECT_FALSE(devices_.is_in_the_way(kWorker)) << "it is being ended already";
}

}  // namespace
}  // namespace banyan::node
