#include "core/schedule/device_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/random.h"

namespace banyan::schedule {
namespace {

SessionId session(std::uint64_t n) { return {"s" + std::to_string(n)}; }
HostId host(std::uint64_t n) { return {"h" + std::to_string(n)}; }

/// The same queue as a list that is looked through as a whole after each event.
class PlainQueue {
 public:
  PlainQueue(const cluster::Cluster& cluster, std::uint64_t most) : cluster_(cluster), most_(most) {}

  /// Whether the cell may run now on one of these hosts; else it waits.
  bool take_turn(const SessionId& session, std::uint64_t gpus, const std::set<HostId>& hosts) {
    const auto known = std::ranges::find(waiting_, session, &Waiting::session);
    const auto comes_to = known == waiting_.end() ? std::nullopt : known->comes_to;
    const Waiting own{session, gpus, hosts, comes_to};
    const auto goes_before = [&](const Waiting& other, const HostId& host) {
      const bool earlier = known == waiting_.end() || &other < &*known;
      if (other.session == session || !other.hosts.contains(host)) return false;
      if (owner(other.session) == owner(session)) return earlier;
      if (is_at_limit(first_of(other.session, host))) return false;
      return held(other.session) < held(session) || (held(other.session) == held(session) && earlier);
    };
    const bool has_turn = hosts.empty() || std::ranges::any_of(hosts, [&](const HostId& host) {
                            if (comes_to == host) return idle_at_all(host) >= gpus;
                            return idle(host) >= gpus && !is_at_limit(own) &&
                                   std::ranges::none_of(waiting_, [&](const Waiting& other) {
                                     return goes_before(first_of(other.session, host), host);
                                   });
                          });
    if (has_turn) {
      drop(session);
      return true;
    }
    (known == waiting_.end() ? waiting_.emplace_back() : *known) = own;
    return false;
  }
  void pass(const SessionId& session) {
    for (Waiting& one : waiting_)
      if (one.session == session) one.hosts.clear();
  }
  void comes(const SessionId& session, const std::optional<HostId>& host) {
    for (Waiting& one : waiting_)
      if (one.session == session) one.comes_to = host;
  }
  void drop(const SessionId& session) {
    std::erase_if(waiting_, [&](const Waiting& one) { return one.session == session; });
  }
  std::vector<SessionId> take_ready() {
    std::set<HostId> hosts;
    for (const Waiting& one : waiting_) hosts.insert(one.hosts.begin(), one.hosts.end());
    std::set<std::size_t> ready;
    for (const HostId& host : hosts) {
      std::optional<std::size_t> next;
      for (std::size_t n = 0; n < waiting_.size(); ++n) {
        const Waiting& one = waiting_[n];
        if (!one.hosts.contains(host) || &first_of(one.session, host) != &one || is_at_limit(one)) continue;
        if (!next || held(one.session) < held(waiting_[*next].session)) next = n;
      }
      if (next && idle(host) >= waiting_[*next].gpus && !waiting_[*next].named) ready.insert(*next);
    }
    std::vector<SessionId> named;
    for (const std::size_t n : ready) {
      waiting_[n].named = true;
      named.push_back(waiting_[n].session);
    }
    return named;
  }
  std::vector<SessionId> order() const {
    std::vector<SessionId> sessions;
    for (const Waiting& one : waiting_) sessions.push_back(one.session);
    return sessions;
  }

 private:
  struct Waiting {
    SessionId session;
    std::uint64_t gpus = 0;
    std::set<HostId> hosts;
    std::optional<HostId> comes_to;
    bool named = false;
  };
  std::uint64_t idle_at_all(const HostId& host) const { return cluster_.ledger().device_counts(host).idle; }
  std::uint64_t idle(const HostId& host) const {
    std::uint64_t kept = 0;
    for (const Waiting& one : waiting_) kept += one.comes_to == host ? one.gpus : 0;
    return idle_at_all(host) - std::min(idle_at_all(host), kept);
  }
  const std::string& owner(const SessionId& session) const {
    return cluster_.ledger().holdings().owner_of(session);
  }
  std::uint64_t held(const SessionId& session) const {
    std::uint64_t share = cluster_.ledger().holdings().of(owner(session));
    for (const Waiting& one : waiting_)
      share += one.comes_to && owner(one.session) == owner(session) ? one.gpus : 0;
    return share;
  }
  bool is_at_limit(const Waiting& one) const { return most_ > 0 && held(one.session) + one.gpus > most_; }
  /// The first cell of the same owner that waits for the host.
  const Waiting& first_of(const SessionId& session, const HostId& host) const {
    const auto first = std::ranges::find_if(waiting_, [&](const Waiting& one) {
      return owner(one.session) == owner(session) && one.hosts.contains(host);
    });
    return first == waiting_.end() ? *std::ranges::find(waiting_, session, &Waiting::session) : *first;
  }

  const cluster::Cluster& cluster_;
  const std::uint64_t most_;
  std::vector<Waiting> waiting_;
};

TEST(DeviceQueue, NamesTheSameCellsAsAListThatIsLookedThroughAfterEachEvent) {
  constexpr std::uint64_t kSeed = 20261129, kSequences = 5'000, kHosts = 4, kSessions = 6, kDevices = 3;
  Rng rng(kSeed);
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    cluster::Cluster cluster("python3");
    for (std::uint64_t n = 0; n < kHosts; ++n) {
      cluster::Capacity capacity;
      for (std::uint64_t device = 0; device < 1 + rng.below(kDevices); ++device)
        capacity.devices.push_back({.id = {std::to_string(device)}});
      cluster.add(host(n));
      cluster.report(host(n), std::move(capacity), {}, {});
    }
    const std::uint64_t owners = 1 + rng.below(3), most = rng.chance(0.5) ? 0 : 1 + rng.below(5);
    for (std::uint64_t n = 0; n < kSessions; ++n)
      cluster.hold(session(n), {.kernel = "python3", .owner = std::to_string(n % owners)}, {});
    const GpuHours hours{Duration()};
    DeviceQueue queue(cluster, hours, most);
    PlainQueue plain(cluster, most);
    for (std::uint64_t events = 1 + rng.below(40); events > 0; --events) {
      const SessionId id = session(rng.below(kSessions));
      switch (rng.below(7)) {
        case 6: {
          const auto to = rng.chance(0.7) ? std::optional(host(rng.below(kHosts))) : std::nullopt;
          queue.comes(id, to);
          plain.comes(id, to);
          break;
        }
        case 0:
          queue.pass(id);
          plain.pass(id);
          break;
        case 1:
          queue.drop(id);
          plain.drop(id);
          cluster.run(id, std::nullopt);
          break;
        case 2: {
          const HostId at = host(rng.below(kHosts));
          const std::uint64_t count = rng.below(kDevices + 1);
          cluster.run(id, cluster::Binding{at, cluster.ledger().some_idle(at, id, count)});
          break;
        }
        default: {
          const std::uint64_t gpus = 1 + rng.below(kDevices);
          std::vector<EligibleReplica> replicas;
          std::set<HostId> large;
          for (std::uint64_t n = 0; n < kHosts; ++n) {
            if (rng.chance(0.5)) continue;
            replicas.push_back({.replica = {n + 1}, .host = host(n)});
            if (!cluster.why_too_small(host(n), {.gpus = gpus})) large.insert(host(n));
          }
          const bool none = replicas.empty();
          const bool has_turn = !queue.take_turn(id, {.gpus = gpus}, replicas, {}).empty();
          if (none) {
            plain.take_turn(id, gpus, {host(kHosts)});  // such a host is nowhere
            plain.pass(id);
          } else {
            EXPECT_EQ(has_turn, plain.take_turn(id, gpus, large)) << "sequence " << sequence;
          }
        }
      }
      ASSERT_EQ(queue.take_ready(cluster.take_changed_devices(), cluster.take_changed_owners()),
                plain.take_ready())
          << "sequence " << sequence << " of seed " << kSeed;
      std::vector<SessionId> order;
      for (const QueuedCell& cell : queue.cells({})) order.push_back(cell.session);
      ASSERT_EQ(order, plain.order()) << "sequence " << sequence << " of seed " << kSeed;
    }
    for (std::uint64_t n = 0; n < kSessions; ++n) queue.drop(session(n));
    ASSERT_TRUE(queue.keeps_nothing()) << "sequence " << sequence << " of seed " << kSeed;
  }
}

}  // namespace
}  // namespace banyan::schedule
