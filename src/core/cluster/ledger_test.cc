#include "core/cluster/ledger.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace banyan::cluster {
namespace {

SessionId session(std::uint64_t n) { return {"s" + std::to_string(n)}; }
HostId host(std::uint64_t n) { return {"h" + std::to_string(n)}; }

TEST(Ledger, WhatIsSaidLastHolds) {
  Ledger ledger;
  ledger.hold(session(1), {host(1), host(2)});
  ledger.hold(session(1), {host(2), host(3)});
  ledger.run(session(1), host(2));
  ledger.run(session(1), host(3));
  EXPECT_EQ(ledger.replicas_on(host(1)), 0U);
  EXPECT_EQ(ledger.replicas_on(host(2)), 1U);
  EXPECT_EQ(ledger.cells_on(host(2)), 0U);
  EXPECT_EQ(ledger.cells_on(host(3)), 1U);
  EXPECT_EQ(ledger.replicas_of(session(1)), (std::set<HostId>{host(2), host(3)}));
  ledger.drop(session(1));
  EXPECT_EQ(ledger.replicas_on(host(2)) + ledger.cells_on(host(3)), 0U);
  EXPECT_TRUE(ledger.replicas_of(session(1)).empty());
}

TEST(Ledger, WhatIsNotHeldCanBeGivenBack) {
  Ledger ledger;
  ledger.run(session(1), std::nullopt);
  ledger.drop(session(1));
  ledger.hold(session(1), {});
  EXPECT_EQ(ledger.cells_on(host(1)), 0U);
}

/// The sums are those of a list that is counted anew each time.
TEST(Ledger, SumsFollowFromWhatSessionsHoldInAnyOrderOfEvents) {
  struct Held {
    std::set<HostId> replicas;
    std::optional<HostId> cell;
  };
  constexpr std::uint64_t kSeed = 20261126, kSequences = 100'000, kSessions = 4, kHosts = 5;
  Rng rng(kSeed);
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    Ledger ledger;
    std::map<SessionId, Held> held;
    for (std::uint64_t events = 1 + rng.below(12); events > 0; --events) {
      const SessionId id = session(rng.below(kSessions));
      const std::uint64_t kind = rng.below(8);
      if (kind == 0) {
        ledger.drop(id);
        held.erase(id);
      } else if (kind < 4) {
        std::set<HostId> hosts;
        for (std::uint64_t n = 0; n < kHosts; ++n)
          if (rng.chance(0.4)) hosts.insert(host(n));
        held[id].replicas = hosts;
        ledger.hold(id, std::move(hosts));
      } else {
        const auto on = kind < 7 ? std::optional(host(rng.below(kHosts))) : std::nullopt;
        held[id].cell = on;
        ledger.run(id, on);
      }
    }
    for (std::uint64_t n = 0; n < kHosts; ++n) {
      std::uint64_t replicas = 0, cells = 0;
      for (const auto& [id, one] : held) {
        replicas += one.replicas.count(host(n));
        cells += one.cell == host(n) ? 1 : 0;
      }
      ASSERT_EQ(ledger.replicas_on(host(n)), replicas) << "seed " << kSeed << ", sequence " << sequence;
      ASSERT_EQ(ledger.cells_on(host(n)), cells) << "seed " << kSeed << ", sequence " << sequence;
    }
  }
}

}  // namespace
}  // namespace banyan::cluster
