#include "sim/nemesis.h"

#include <algorithm>
#include <utility>

namespace banyan::sim {

void Nemesis::start() { after(Duration(rng_.below(500'000'000)), &Nemesis::next); }

Duration Nemesis::outage() {
  const auto most = static_cast<std::uint64_t>(
      (rng_.chance(0.15) ? 4 * intensity_.outage_max : intensity_.outage_max).count());
  return 20ms + Duration(rng_.below(rng_.chance(0.5) ? most / 8 : most));
}

void Nemesis::next() {
  if (healed_) return;
  if (scheduler_.now() >= period_ends_) {
    quiet_ = rng_.chance(intensity_.quiet);
    period_ends_ = scheduler_.now() + 1s + Duration(rng_.below(4'000'000'000));
  }
  if (!quiet_) strike();
  after(Duration(rng_.below(2 * static_cast<std::uint64_t>(intensity_.between.count()) + 1)), &Nemesis::next);
}

void Nemesis::strike() {
  const std::uint64_t dice = rng_.below(100);
  if (dice < 16) {
    if (intensity_.crashes) crash_host();
  } else if (dice < 22) {
    if (intensity_.crashes && intensity_.gateway) crash_gateway();
  } else if (dice < 32) {
    if (intensity_.stops) stop_host();
  } else if (dice < 35) {
    if (intensity_.stops && intensity_.gateway) stop_gateway();
  } else if (dice < 57) {
    if (intensity_.partitions) partition();
  } else if (dice < 67) {
    if (intensity_.bad_network) spoil_network();
  } else if (dice < 75) {
    if (intensity_.slow_disks) slow_disk();
  } else if (dice < 83) {
    trace_.note("nemesis", "kill worker");
    any_host().kill_worker();
  } else if (dice < 89) {
    const Duration hour = 1h;
    any_host().clock().set_wall_offset(rng_.chance(0.5) ? hour : -hour);
  } else if (dice < 94) {
    corrupt_chunk();
  } else {
    lie();
  }
}

void Nemesis::crash_host() {
  HostServer& host = any_host();
  host.crash();
  scheduler_.after(outage(), [&host] { host.start(); });
}

void Nemesis::crash_gateway() {
  gateway_.crash();
  scheduler_.after(std::min<Duration>(outage(), 3s), [this] { gateway_.start(); });
}

HostServer& Nemesis::busy_host() {
  std::vector<HostServer*> busy;
  for (const auto& host : hosts_) {
    if (host->runs_cell()) busy.push_back(host.get());
  }
  return busy.empty() ? any_host() : *busy[rng_.below(busy.size())];
}

void Nemesis::stop_host() {
  // A host agent that stands still while its worker runs on is what leases are for.
  const bool outlasts_lease = rng_.chance(0.5);
  HostServer& host = outlasts_lease ? busy_host() : any_host();
  const Duration stopped = outlasts_lease ? 3s + Duration(rng_.below(4'000'000'000)) : outage();
  trace_.note(host.id().value, "STOPS");
  host.stop();
  scheduler_.after(stopped, [this, &host] {
    trace_.note(host.id().value, "GOES ON");
    host.resume();
  });
}

void Nemesis::stop_gateway() {
  trace_.note("gateway", "STOPS");
  gateway_.stop();
  scheduler_.after(std::min<Duration>(outage(), 3s), [this] { gateway_.resume(); });
}

void Nemesis::cut_for(std::vector<std::pair<HostId, HostId>> pairs, Duration duration) {
  for (const auto& [from, to] : pairs) {
    trace_.note(from.value, "CUT", 0,
                [&, source = from, target = to] { return source.value + " to " + target.value; });
    network_.cut(from, to);
  }
  scheduler_.after(duration, [this, pairs = std::move(pairs)] {
    if (healed_) return;
    for (const auto& [from, to] : pairs) {
      trace_.note(from.value, "MENDED", 0, [&, target = to] { return "to " + target.value; });
      network_.mend(from, to);
    }
  });
}

void Nemesis::partition() {
  std::vector<std::pair<HostId, HostId>> pairs;
  const HostId victim = any_host().id();
  std::vector<HostId> others{node::kGateway};
  for (const auto& host : hosts_) {
    if (host->id() != victim) others.push_back(host->id());
  }
  const auto both = [&](const HostId& a, const HostId& b) {
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  };
  switch (rng_.below(6)) {
    case 0:  // one host alone
      for (const HostId& other : others) both(victim, other);
      break;
    case 1:  // nobody hears it
      for (const HostId& other : others) pairs.emplace_back(victim, other);
      break;
    case 2:  // it hears nobody
      for (const HostId& other : others) pairs.emplace_back(other, victim);
      break;
    case 3:  // the gateway and a host
      both(node::kGateway, victim);
      break;
    case 4: {  // one link, perhaps one way
      const HostId& other = others[rng_.below(others.size())];
      pairs.emplace_back(victim, other);
      if (rng_.chance(0.5)) pairs.emplace_back(other, victim);
      break;
    }
    default: {  // two halves
      std::vector<HostId> all = others;
      all.push_back(victim);
      const std::uint64_t side = rng_.next();
      for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = a + 1; b < all.size(); ++b) {
          if (((side >> a) & 1) != ((side >> b) & 1)) both(all[a], all[b]);
        }
      }
    }
  }
  cut_for(std::move(pairs), outage());
}

void Nemesis::spoil_network() {
  Quality bad;
  bad.loss = rng_.chance(0.6) ? rng_.uniform() * 0.3 : 0;
  bad.repeat = rng_.chance(0.6) ? rng_.uniform() * 0.3 : 0;
  bad.late = rng_.uniform() * 0.4;
  bad.late_max = 10ms + Duration(rng_.below(rng_.chance(0.2) ? 2'000'000'000 : 200'000'000));
  bad.jitter = 1ms + Duration(rng_.below(20'000'000));
  trace_.note("nemesis", "bad network", static_cast<std::uint64_t>(bad.loss * 100));
  network_.set_quality(bad);
  scheduler_.after(outage(), [this] { network_.set_quality({}); });
}

void Nemesis::slow_disk() {
  HostServer& host = any_host();
  const DiskSpeed slow{10ms + Duration(rng_.below(300'000'000)), Duration(rng_.below(200'000'000))};
  trace_.note(host.id().value, "slow disk", static_cast<std::uint64_t>(slow.sync.count()));
  host.disk().set_speed(slow);
  scheduler_.after(outage(), [&host] { host.disk().set_speed({}); });
}

/// Only a chunk of which two good copies remain: with fewer nobody could repair it.
void Nemesis::corrupt_chunk() {
  HostServer& host = any_host();
  for (const auto& [digest, bytes] : host.disk().chunks()) {
    const auto copies = std::count_if(hosts_.begin(), hosts_.end(), [&, wanted = digest](const auto& other) {
      return other->alive() && other->disk().whole(wanted);
    });
    if (copies < 3 || !rng_.chance(0.5)) continue;
    trace_.note(host.id().value, "corrupt", digest.low);
    host.disk().corrupt(Digest(digest));
    return;
  }
}

/// The transport is wrong about a peer.
void Nemesis::lie() {
  const HostId about = rng_.chance(0.2) ? node::kGateway : any_host().id();
  const HostId at = any_host().id();
  if (at != about) network_.hint(at, about, rng_.chance(0.3));
}

void Nemesis::heal() {
  healed_ = true;
  trace_.note("nemesis", "HEALS");
  network_.mend_all();
  network_.set_quality({});
  for (auto& host : hosts_) {
    host->disk().set_speed({});
    host->resume();
    host->start();
  }
  gateway_.resume();
  gateway_.start();
}

}  // namespace banyan::sim
