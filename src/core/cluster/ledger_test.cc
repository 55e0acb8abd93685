#include "core/cluster/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"

namespace banyan::cluster {
namespace {

SessionId session(std::uint64_t n) { return {"s" + std::to_string(n)}; }
HostId host(std::uint64_t n) { return {"h" + std::to_string(n)}; }
DeviceId device(std::uint64_t n) { return {std::to_string(n)}; }

TEST(Ledger, WhatIsSaidLastHolds) {
  Ledger ledger;
  ledger.hold(session(1), {host(1), host(2)});
  ledger.hold(session(1), {host(2), host(3)});
  ledger.run(session(1), Binding{host(2), {}});
  ledger.run(session(1), Binding{host(3), {}});
  EXPECT_EQ(ledger.replicas_on(host(1)), 0U);
  EXPECT_EQ(ledger.replicas_on(host(2)), 1U);
  EXPECT_EQ(ledger.cells_on(host(2)), 0U);
  EXPECT_EQ(ledger.cells_on(host(3)), 1U);
  EXPECT_EQ(ledger.replicas_of(session(1)), (std::set<HostId>{host(2), host(3)}));
  ledger.drop(session(1));
  EXPECT_EQ(ledger.replicas_on(host(2)) + ledger.cells_on(host(3)), 0U);
  EXPECT_TRUE(ledger.replicas_of(session(1)).empty());
  EXPECT_EQ(ledger.size(), 0U);
}

TEST(Ledger, WhatIsNotHeldCanBeGivenBack) {
  Ledger ledger;
  ledger.run(session(1), std::nullopt);
  EXPECT_EQ(ledger.size(), 0U);
  ledger.drop(session(1));
  EXPECT_EQ(ledger.cells_on(host(1)), 0U);
  EXPECT_EQ(ledger.size(), 0U) << "nothing is kept of a session that holds nothing";
}

TEST(Ledger, ADeviceIsIdleBoundOrFaulty) {
  Ledger ledger;
  ledger.set_devices(host(1), {{device(0)}, {device(1)}, {device(2), "", 0, false}});
  ledger.run(session(1), Binding{host(1), {device(1)}});
  EXPECT_EQ(ledger.idle_devices(host(1)), (std::vector<DeviceId>{device(0)}));
  EXPECT_EQ(ledger.holder_of(host(1), device(1)), session(1));
  EXPECT_FALSE(ledger.holder_of(host(1), device(0)).has_value());
  EXPECT_FALSE(ledger.holder_of(host(2), device(0)).has_value());
  ledger.set_devices(host(1), {});
  EXPECT_EQ(ledger.holder_of(host(1), device(1)), session(1)) << "its host names it no more";
  ledger.set_devices(host(1), {{device(0)}, {device(1), "", 0, false}, {device(2)}});
  const DeviceCounts counts = ledger.device_counts(host(1));
  EXPECT_EQ(counts.bound, 1U) << "a cell still has the one that is faulty now";
  EXPECT_EQ(counts.idle, 2U);
  EXPECT_EQ(counts.faulty, 0U);
  ledger.run(session(1), std::nullopt);
  EXPECT_EQ(ledger.device_counts(host(1)).faulty, 1U);
  ledger.set_devices(host(1), {});
  EXPECT_EQ(ledger.device_counts(host(1)).all(), 0U);
  ledger.drop(session(1));
  EXPECT_EQ(ledger.size(), 0U);
}

TEST(Ledger, WhatAHostSaysIsBoundIsNotIdleWhateverTheCellIsThoughtToDo) {
  Ledger ledger;
  ledger.set_devices(host(1), {{device(0)}, {device(1)}});
  ledger.run(session(1), Binding{host(1), {device(0)}});
  ledger.report_bound(host(1), session(1), {device(0)});
  EXPECT_EQ(ledger.device_counts(host(1)).bound, 1U) << "both speak of one device";
  ledger.run(session(1), std::nullopt);  // the host does not answer, for example, and another one is asked
  EXPECT_EQ(ledger.idle_devices(host(1)), (std::vector<DeviceId>{device(1)}));
  ledger.report_bound(host(1), session(1), {device(1)});
  EXPECT_EQ(ledger.idle_devices(host(1)), (std::vector<DeviceId>{device(0)}));
  ledger.drop(session(1));
  EXPECT_EQ(ledger.device_counts(host(1)).bound, 1U) << "the host has not said that it is free";
  ledger.report_bound(host(1), session(1), {});
  EXPECT_EQ(ledger.device_counts(host(1)).idle, 2U);
  ledger.report_bound(host(1), session(2), {device(0), device(1)});
  ledger.forget_bound(host(1));
  EXPECT_EQ(ledger.device_counts(host(1)).idle, 2U);
}

TEST(Ledger, WhatASessionHasIsItsOwnersAlsoAfterItsEnd) {
  Ledger ledger;
  ledger.report_bound(host(1), session(1), {device(0)});
  EXPECT_EQ(ledger.holdings().of(""), 1U) << "nobody has said whose it is";
  ledger.set_owner(session(1), "ann");
  ledger.hold(session(1), {host(1)});
  EXPECT_EQ(ledger.holdings().of(""), 0U);
  EXPECT_EQ(ledger.holdings().of("ann"), 1U);
  ledger.run(session(1), Binding{host(1), {device(0), device(1)}});
  EXPECT_EQ(ledger.holdings().of("ann"), 2U) << "each counts once";
  ledger.drop(session(1));
  EXPECT_EQ(ledger.holdings().of("ann"), 1U) << "its host has not said that it is free";
  ledger.forget_bound(host(1));
  EXPECT_EQ(ledger.holdings().of("ann"), 0U);
  EXPECT_EQ(ledger.holdings().owner_of(session(1)), "") << "nothing is kept of it";
}

/// Its cell is lost with the host, and nobody says that the device is free.
TEST(Ledger, WhatIsBoundOnASilentHostIsNobodysShare) {
  Ledger ledger;
  ledger.set_devices(host(1), {{device(0)}, {device(1)}});
  ledger.set_owner(session(1), "ann");
  ledger.hold(session(1), {host(1)});
  ledger.run(session(1), Binding{host(1), {device(1)}});
  ledger.report_bound(host(1), session(1), {device(0)});
  EXPECT_EQ(ledger.holdings().of("ann"), 2U);
  ledger.set_silent(host(1), true);
  ledger.set_silent(host(1), true);
  EXPECT_EQ(ledger.holdings().of("ann"), 0U);
  EXPECT_EQ(ledger.device_counts(host(1)).bound, 2U) << "its own cells may go on";
  ledger.run(session(1), std::nullopt);
  EXPECT_EQ(ledger.holdings().of("ann"), 0U);
  ledger.set_silent(host(1), false);
  EXPECT_EQ(ledger.holdings().of("ann"), 1U);
  ledger.report_bound(host(1), session(1), {});
  EXPECT_EQ(ledger.holdings().of("ann"), 0U);
  ledger.set_silent(host(2), true);
  ledger.set_silent(host(2), false);
  ledger.set_devices(host(1), {});
  ledger.drop(session(1));
  EXPECT_EQ(ledger.size(), 0U);
}

TEST(Ledger, ASessionGetsTheDevicesAgainThatItHadAndAnothersLast) {
  Ledger ledger;
  ledger.set_devices(host(1), {{device(0)}, {device(1)}, {device(2)}});
  const auto some = [&](std::uint64_t of, std::uint64_t count) {
    return ledger.some_idle(host(1), session(of), count);
  };
  EXPECT_EQ(some(1, 1), std::set<DeviceId>{device(0)}) << "at first the host's order counts";
  ledger.run(session(1), Binding{host(1), {device(1)}});
  ledger.run(session(1), std::nullopt);
  ledger.report_bound(host(1), session(2), {device(0)});
  ledger.hold(session(2), {host(1)});
  ledger.report_bound(host(1), session(2), {});
  EXPECT_EQ(some(1, 1), std::set<DeviceId>{device(1)});
  EXPECT_EQ(some(1, 2), (std::set<DeviceId>{device(1), device(2)}));
  EXPECT_EQ(some(2, 1), std::set<DeviceId>{device(0)});
  EXPECT_EQ(some(3, 1), std::set<DeviceId>{device(2)}) << "nobody has had it";
  EXPECT_EQ(some(3, 3).size(), 3U) << "those of others rather than none";
  EXPECT_TRUE(some(1, 4).empty());
  EXPECT_TRUE(some(1, 0).empty());
  ledger.drop(session(1));
  EXPECT_EQ(some(3, 2), (std::set<DeviceId>{device(1), device(2)})) << "whose session is gone";
  ledger.set_devices(host(1), {{device(1)}, {device(2)}});
  ledger.set_devices(host(1), {{device(0)}, {device(1)}, {device(2)}});
  EXPECT_EQ(some(2, 1), std::set<DeviceId>{device(0)}) << "a device that was gone is as new";
  ledger.set_devices(host(1), {});
  EXPECT_TRUE(ledger.some_idle(host(2), session(1), 1).empty());
}

TEST(Ledger, NothingIsHeldByWhoIsNotKnown) {
  Ledger ledger;
  EXPECT_TRUE(ledger.replicas_of(session(1)).empty());
  EXPECT_FALSE(ledger.binding_of(session(1)).has_value());
  EXPECT_TRUE(ledger.idle_devices(host(1)).empty());
  EXPECT_TRUE(ledger.sessions_on(host(1)).empty());
}

TEST(Ledger, SaysWhereACellRunsUntilItHasEnded) {
  Ledger ledger;
  ledger.run(session(1), Binding{host(1), {device(0)}});
  ASSERT_TRUE(ledger.binding_of(session(1)).has_value());
  EXPECT_EQ(ledger.binding_of(session(1))->host, host(1));
  EXPECT_EQ(ledger.binding_of(session(1))->devices, std::set<DeviceId>{device(0)});
  ledger.run(session(1), std::nullopt);
  EXPECT_FALSE(ledger.binding_of(session(1)).has_value());
}

TEST(Ledger, WhatASessionHasReservedIsBoundAndNoCell) {
  Ledger ledger;
  ledger.set_devices(host(1), {{device(0)}, {device(1)}});
  ledger.set_owner(session(1), "ann");
  ledger.reserve(session(1), Binding{host(1), {device(0)}});
  EXPECT_EQ(ledger.reserved_by(session(1))->devices, std::set<DeviceId>{device(0)});
  EXPECT_EQ(ledger.idle_devices(host(1)), (std::vector<DeviceId>{device(1)}));
  EXPECT_EQ(ledger.cells_on(host(1)), 0U);
  ledger.run(session(1), Binding{host(1), {device(0)}});
  ledger.run(session(1), std::nullopt);
  EXPECT_EQ(ledger.holdings().of("ann"), 1U);
  ledger.set_silent(host(1), true);
  EXPECT_EQ(ledger.holdings().of("ann"), 0U);
  ledger.set_silent(host(1), false);
  EXPECT_EQ(ledger.holdings().of("ann"), 1U);
  EXPECT_TRUE(ledger.works(host(1), device(0)));
  ledger.set_devices(host(1), {{.id = device(0), .healthy = false}});
  EXPECT_FALSE(ledger.works(host(1), device(0)));
  ledger.set_devices(host(1), {});
  EXPECT_FALSE(ledger.works(host(1), device(0)));
  EXPECT_EQ(ledger.holder_of(host(1), device(0)), session(1)) << "the host may come back with it";
  ledger.reserve(session(2), std::nullopt);
  ledger.drop(session(1));
  EXPECT_EQ(ledger.size(), 0U);
}

TEST(Ledger, KeepsNothingOfAHostOfWhichNothingHolds) {
  Ledger ledger;
  ledger.report_bound(host(1), session(1), {});
  EXPECT_EQ(ledger.size(), 0U);
  ledger.report_bound(host(1), session(1), {device(0)});
  EXPECT_EQ(ledger.size(), 1U);
  ledger.report_bound(host(1), session(1), {});
  EXPECT_EQ(ledger.size(), 0U);
  ledger.report_bound(host(1), session(1), {device(0)});
  ledger.forget_bound(host(1));
  EXPECT_EQ(ledger.size(), 0U);
  ledger.hold(session(1), {host(1)});
  ledger.report_bound(host(1), session(1), {});
  EXPECT_EQ(ledger.size(), 2U) << "a session and a host";
  EXPECT_EQ(ledger.replicas_on(host(1)), 1U);
}

/// The sums are those of a list that is counted anew each time.
TEST(Ledger, SumsFollowFromWhatSessionsHoldInAnyOrderOfEvents) {
  struct Held {
    std::set<HostId> replicas;
    std::optional<Binding> cell, reserved;

    [[nodiscard]] std::vector<Binding> bindings() const {
      std::vector<Binding> all;
      for (const auto* const one : {&cell, &reserved})
        if (*one) all.push_back(**one);
      return all;
    }
  };
  constexpr std::uint64_t kDevices = 3;
  constexpr std::uint64_t kSeed = 20261126, kSequences = 100'000, kSessions = 4, kHosts = 5;
  Rng rng(kSeed);
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    Ledger ledger;
    std::map<SessionId, Held> held;
    std::map<HostId, std::vector<Device>> devices;
    std::map<std::pair<HostId, SessionId>, std::set<DeviceId>> reported;
    const auto owner = [](std::uint64_t n) { return std::string(n % 2 == 0 ? "ann" : "ben"); };
    for (std::uint64_t n = 0; n < kSessions; ++n) ledger.set_owner(session(n), owner(n));
    for (std::uint64_t events = 1 + rng.below(12); events > 0; --events) {
      const SessionId id = session(rng.below(kSessions));
      const std::uint64_t kind = rng.below(15);
      const auto some = [&](double share) {
        std::set<DeviceId> chosen;
        for (std::uint64_t n = 0; n < kDevices; ++n)
          if (rng.chance(share)) chosen.insert(device(n));
        return chosen;
      };
      if (kind >= 13) {
        std::optional<Binding> reserved;
        if (kind == 13) reserved = Binding{host(rng.below(kHosts)), some(0.3)};
        if (reserved) reserved->devices.insert(device(rng.below(kDevices)));
        held[id].reserved = reserved;
        ledger.reserve(id, std::move(reserved));
      } else if (kind == 12) {
        const HostId at = host(rng.below(kHosts));
        std::erase_if(reported, [&](const auto& item) { return item.first.first == at; });
        ledger.forget_bound(at);
      } else if (kind >= 10) {
        const HostId at = host(rng.below(kHosts));
        reported[{at, id}] = some(0.3);
        ledger.report_bound(at, id, reported[{at, id}]);
      } else if (kind >= 8) {
        const HostId at = host(rng.below(kHosts));
        devices[at].clear();
        for (std::uint64_t n = 0; n < kDevices; ++n)
          if (rng.chance(0.7)) devices[at].push_back({.id = device(n), .healthy = rng.chance(0.7)});
        ledger.set_devices(at, devices[at]);
      } else if (kind == 0) {
        ledger.drop(id);
        held.erase(id);
        for (std::uint64_t n = 0; n < kSessions; ++n) ledger.set_owner(session(n), owner(n));
      } else if (kind < 4) {
        std::set<HostId> hosts;
        for (std::uint64_t n = 0; n < kHosts; ++n)
          if (rng.chance(0.4)) hosts.insert(host(n));
        held[id].replicas = hosts;
        ledger.hold(id, std::move(hosts));
      } else {
        std::optional<Binding> on;
        if (kind < 7) on = Binding{host(rng.below(kHosts)), some(0.3)};
        held[id].cell = on;
        ledger.run(id, std::move(on));
      }
    }
    for (std::uint64_t n = 0; n < kHosts; ++n) {
      std::uint64_t replicas = 0, cells = 0;
      for (const auto& [id, one] : held) {
        replicas += one.replicas.count(host(n));
        cells += one.cell && one.cell->host == host(n) ? 1 : 0;
      }
      DeviceCounts expected;
      for (const Device& one : devices[host(n)]) {
        const bool booked = std::ranges::any_of(held, [&](const auto& item) {
          return std::ranges::any_of(item.second.bindings(), [&](const Binding& binding) {
            return binding.host == host(n) && binding.devices.contains(one.id);
          });
        });
        const bool bound = booked || std::ranges::any_of(reported, [&](const auto& item) {
                             return item.first.first == host(n) && item.second.contains(one.id);
                           });
        ++(bound ? expected.bound : one.healthy ? expected.idle : expected.faulty);
      }
      const DeviceCounts counts = ledger.device_counts(host(n));
      ASSERT_EQ(counts.idle, expected.idle) << "seed " << kSeed << ", sequence " << sequence;
      ASSERT_EQ(counts.bound, expected.bound) << "seed " << kSeed << ", sequence " << sequence;
      ASSERT_EQ(counts.faulty, expected.faulty) << "seed " << kSeed << ", sequence " << sequence;
      ASSERT_EQ(ledger.idle_devices(host(n)).size(), expected.idle);
      ASSERT_EQ(ledger.replicas_on(host(n)), replicas) << "seed " << kSeed << ", sequence " << sequence;
      ASSERT_EQ(ledger.cells_on(host(n)), cells) << "seed " << kSeed << ", sequence " << sequence;
    }
    std::map<std::string, std::uint64_t> of_owner;
    for (std::uint64_t n = 0; n < kSessions; ++n) {
      std::set<std::pair<HostId, DeviceId>> has;
      const auto add = [&](const HostId& at, const std::set<DeviceId>& some) {
        for (const DeviceId& one : some) has.insert({at, one});
      };
      for (const Binding& binding : held[session(n)].bindings()) add(binding.host, binding.devices);
      for (const auto& [where, some] : reported)
        if (where.second == session(n)) add(where.first, some);
      of_owner[owner(n)] += has.size();
    }
    for (const auto& [name, count] : of_owner)
      ASSERT_EQ(ledger.holdings().of(name), count) << "seed " << kSeed << ", sequence " << sequence;
  }
}

}  // namespace
}  // namespace banyan::cluster
