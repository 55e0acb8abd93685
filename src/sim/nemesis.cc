#include "sim/nemesis.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace banyan::sim {

namespace {
constexpr std::size_t kHostsMin = 3;  // so many hosts always remain: a session has three replicas
constexpr Duration kWithin =
    200ms;  // a crash in the midst of a step comes by then, however few effects there are
}  // namespace

void Nemesis::start() {
  scheduler_.after(Duration(rng_.below(500'000'000)), [this] { next(); });
}

Duration Nemesis::outage(Rng& rng) const {
  const auto most =
      static_cast<std::uint64_t>((rng.chance(0.15) ? 4 * weather_.outage_max : weather_.outage_max).count());
  return 20ms + Duration(rng.below(rng.chance(0.5) ? most / 8 : most));
}

Duration Nemesis::outage_of_gateway(Rng& rng) const { return std::min<Duration>(outage(rng), 3s); }

void Nemesis::next() {
  if (healed_) return;
  if (scheduler_.now() >= period_ends_) {
    quiet_ = rng_.chance(weather_.quiet);
    period_ends_ = scheduler_.now() + 1s + Duration(rng_.below(4'000'000'000));
  }
  if (!quiet_) strike();
  scheduler_.after(Duration(rng_.below(2 * static_cast<std::uint64_t>(weather_.between.count()) + 1)),
                   [this] { next(); });
}

Fault Nemesis::draw(Rng& rng) const {
  const auto& weights = weather_.weights;
  std::uint64_t dice = rng.below(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
  std::size_t fault = 0;
  for (; dice >= weights[fault]; ++fault) dice -= weights[fault];
  return static_cast<Fault>(fault);
}

void Nemesis::strike() {
  Rng rng = rng_.fork();
  if (std::ranges::all_of(weather_.weights, [](std::uint64_t weight) { return weight == 0; })) return;
  const Fault fault = draw(rng);
  if (++strikes_; only_ && !only_->contains(strikes_)) return;
  trace_.note("nemesis", "strikes", strikes_,
              [&] { return "fault " + std::to_string(strikes_) + ": " + std::string(name_of(fault)); });
  strike(fault, rng);
}

void Nemesis::strike(Fault fault, Rng& rng) {
  switch (fault) {
    case Fault::kCrashHost:
      return crash(any_host(rng), rng);
    case Fault::kCrashGateway:
      return crash_gateway(rng);
    case Fault::kCrashMidStep:
      return crash_mid_step(rng);
    case Fault::kCrashAfterReply:
      at_next_reply_ = rng;
      return;
    case Fault::kCrashAtWrite:
      return crash_at_write(rng);
    case Fault::kPowerLoss: {
      std::vector<HostServer*> all;
      for (const auto& host : fleet_.hosts) all.push_back(host.get());
      return crash_several(all, rng);
    }
    case Fault::kLoseHost:
      lose(any_host(rng));
      return;
    case Fault::kStopHost:
      return stop_host(rng);
    case Fault::kStopGateway:
      return stop_gateway(rng);
    case Fault::kPartition:
      return partition(rng);
    case Fault::kBadNetwork:
      return spoil_network(rng);
    case Fault::kUntrueHint:
      return hint(rng);
    case Fault::kSlowDisk:
      return slow_disk(rng);
    case Fault::kCorruptChunk:
      return corrupt_chunk(rng);
    case Fault::kKillWorker:
      return any_host(rng).kill_worker();
    case Fault::kWallClock: {
      const Duration hour = 1h;
      return any_host(rng).clock().set_wall_offset(rng.chance(0.5) ? hour : -hour);
    }
    case Fault::kChangeFleet:
      return change_fleet(rng);
    case Fault::kFaultyDevice:
      return break_device(rng);
    case Fault::kCrashAtTransfer:
      at_next_transfer_ = rng;
      return;
    case Fault::kWipeDisk:
      if (rng.chance(0.3)) {
        at_next_birth_ = rng;
        return;
      }
      return wipe(rng.chance(0.5) ? busy_host(rng) : any_host(rng), rng);
    case Fault::kStoreTrouble:
      return trouble_store(rng);
  }
}

HostServer* Nemesis::host(const HostId& id) {
  const auto found = std::ranges::find_if(fleet_.hosts, [&](const auto& host) { return host->id() == id; });
  return found == fleet_.hosts.end() ? nullptr : found->get();
}

void Nemesis::crash(HostServer& host, Rng& rng) {
  host.crash();
  scheduler_.after(outage(rng), [&host] { host.start(); });
}

void Nemesis::crash_gateway(Rng& rng) {
  fleet_.gateway.crash();
  scheduler_.after(outage_of_gateway(rng), [this] { fleet_.gateway.start(); });
}

/// Lets few effects of a step out, or most of those that a large step has.
void Nemesis::crash_mid_step(Rng& rng) {
  const std::uint64_t effects = rng.below(rng.chance(0.7) ? 4 : 40);
  if (rng.chance(0.25)) {
    fleet_.gateway.crash_mid_step(effects);
    scheduler_.after(kWithin, [this] {
      if (fleet_.gateway.about_to_crash()) fleet_.gateway.crash();
    });
    scheduler_.after(kWithin + outage_of_gateway(rng), [this] { fleet_.gateway.start(); });
  } else {
    HostServer& host = rng.chance(0.5) ? busy_host(rng) : any_host(rng);
    host.crash_mid_step(effects);
    scheduler_.after(kWithin, [&host] {
      if (host.about_to_crash()) host.crash();
    });
    scheduler_.after(kWithin + outage(rng), [&host] { host.start(); });
  }
}

void Nemesis::crash_at_write(Rng& rng) {
  HostServer& host = rng.chance(0.5) ? busy_host(rng) : any_host(rng);
  host.disk().set_full(true);
  scheduler_.after(outage(rng), [&host] {
    host.disk().set_full(false);
    host.start();
  });
}

void Nemesis::crash_several(const std::vector<HostServer*>& among, Rng& rng) {
  for (HostServer* host : among) {
    if (rng.chance(0.7)) crash(*host, rng);
  }
  if (rng.chance(0.3)) crash_gateway(rng);
}

/// Loses a host for good, but only where every session can keep its promises without it. Whether it did.
bool Nemesis::lose(HostServer& host) {
  std::set<HostId> gone = lost_;
  if (reinstalls_.away(host.id())) return false;
  if (!gone.insert(host.id()).second || fleet_.hosts.size() - gone.size() < kHostsMin) return false;
  if (!fleet_.oracle.survives_without(gone)) return false;
  host.lose();
  fleet_.oracle.lost_disk(host.id());
  lost_ = std::move(gone);
  return true;
}

bool Nemesis::is_needed_for_repair(HostServer& host) const {
  return std::ranges::any_of(host.disk().chunks(), [&](const auto& chunk) {
    bool damaged = false, whole = false;
    for (const auto& other : fleet_.hosts) {
      if (other->id() == host.id() || other->lost() || !other->disk().chunks().contains(chunk.first))
        continue;
      (other->disk().whole(chunk.first) ? whole : damaged) = true;
    }
    return damaged && !whole;
  });
}

/// A host's disk is lost, on the condition of lose() but for the hosts that are left: this one comes back.
void Nemesis::wipe(HostServer& host, Rng& rng) {
  std::set<HostId> gone = lost_;
  if (reinstalls_.away(host.id()) || !gone.insert(host.id()).second) return;
  if (!fleet_.oracle.survives_without(gone) || is_needed_for_repair(host)) return;
  const Duration noticed{rng.below(rng.chance(0.3) ? 20'000'000 : 3'000'000'000)};
  const Duration installed{rng.below(rng.chance(0.5) ? 500'000'000 : 8'000'000'000)};
  reinstalls_.begin(host, {noticed, installed, rng.chance(0.5)});
}

/// The gateway hears nothing of the replica before the disk is lost.
void Nemesis::founded(const HostId& host) {
  if (!at_next_birth_ || healed_ || !at_next_birth_->chance(0.4)) return;
  trace_.note("nemesis", "strikes at a birth");
  Rng rng = *std::exchange(at_next_birth_, std::nullopt);
  cut_for({{host, node::kGateway}}, 1s + outage(rng));
  const Duration later{rng.below(rng.chance(0.5) ? 20'000'000 : 2'000'000'000)};
  scheduler_.after(later, [this, host, rng]() mutable {
    if (!healed_) wipe(*this->host(host), rng);
  });
}

void Nemesis::replied(const SessionId& session) {
  if (!at_next_reply_ || healed_) return;
  Rng rng = *std::exchange(at_next_reply_, std::nullopt);
  const std::vector<HostServer*> struck = members(session);
  if (struck.empty()) return;
  trace_.note("nemesis", "strikes after a reply", struck.size());
  if (weather_.weights[static_cast<std::size_t>(Fault::kLoseHost)] > 0 && rng.chance(0.3) &&
      lose(*struck[rng.below(struck.size())]))
    return;
  crash_several(struck, rng);
}

std::vector<HostServer*> Nemesis::members(const SessionId& session) {
  std::vector<HostServer*> members;
  for (const HostId& id : fleet_.oracle.hosts(session)) {
    if (HostServer* member = host(id)) members.push_back(member);
  }
  return members;
}

/// The crash comes while the request is on its way, carried out, or answered.
void Nemesis::transfers(const SessionId& session) {
  if (!at_next_transfer_ || healed_ || !at_next_transfer_->chance(0.4)) return;
  trace_.note("nemesis", "strikes at a transfer");
  Rng rng = *std::exchange(at_next_transfer_, std::nullopt);
  const Duration later{rng.below(rng.chance(0.7) ? 5'000'000 : 50'000'000)};
  scheduler_.after(later, [this, session, rng]() mutable {
    if (healed_) return;
    if (rng.chance(0.3)) return crash_gateway(rng);
    crash_several(members(session), rng);
  });
}

HostServer& Nemesis::busy_host(Rng& rng) {
  std::vector<HostServer*> busy;
  for (const auto& host : fleet_.hosts) {
    if (host->runs_cell()) busy.push_back(host.get());
  }
  return busy.empty() ? any_host(rng) : *busy[rng.below(busy.size())];
}

void Nemesis::stop_host(Rng& rng) {
  // Leases are there for a host agent that stands still while its worker runs on: make that frequent.
  const bool outlasts_lease = rng.chance(0.5);
  HostServer& host = outlasts_lease ? busy_host(rng) : any_host(rng);
  const Duration stopped = outlasts_lease ? 3s + Duration(rng.below(4'000'000'000)) : outage(rng);
  trace_.note(host.id().value, "STOPS");
  host.stop();
  scheduler_.after(stopped, [this, &host] {
    trace_.note(host.id().value, "GOES ON");
    host.resume();
  });
}

void Nemesis::stop_gateway(Rng& rng) {
  trace_.note("gateway", "STOPS");
  fleet_.gateway.stop();
  scheduler_.after(outage_of_gateway(rng), [this] { fleet_.gateway.resume(); });
}

void Nemesis::cut_for(std::vector<std::pair<HostId, HostId>> pairs, Duration duration) {
  for (const auto& [from, to] : pairs) {
    trace_.note(from.value, "CUT", 0,
                [&, source = from, target = to] { return source.value + " to " + target.value; });
    fleet_.network.cut(from, to);
  }
  scheduler_.after(duration, [this, pairs = std::move(pairs)] {
    if (healed_) return;
    for (const auto& [from, to] : pairs) {
      trace_.note(from.value, "MENDED", 0, [&, target = to] { return "to " + target.value; });
      fleet_.network.mend(from, to);
    }
  });
}

void Nemesis::partition(Rng& rng) {
  std::vector<std::pair<HostId, HostId>> pairs;
  const HostId victim = any_host(rng).id();
  std::vector<HostId> others{node::kGateway};
  for (const auto& host : fleet_.hosts) {
    if (host->id() != victim) others.push_back(host->id());
  }
  const auto both = [&](const HostId& a, const HostId& b) {
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  };
  switch (rng.below(6)) {
    case 0:  // one host is cut off from all others
      for (const HostId& other : others) both(victim, other);
      break;
    case 1:  // one host is mute: nobody hears it
      for (const HostId& other : others) pairs.emplace_back(victim, other);
      break;
    case 2:  // one host is deaf: it hears nobody
      for (const HostId& other : others) pairs.emplace_back(other, victim);
      break;
    case 3:  // the gateway and one host are cut off from each other
      both(node::kGateway, victim);
      break;
    case 4: {  // one link is cut, perhaps in one direction only
      const HostId& other = others[rng.below(others.size())];
      pairs.emplace_back(victim, other);
      if (rng.chance(0.5)) pairs.emplace_back(other, victim);
      break;
    }
    default: {  // the fleet falls into two halves
      std::vector<HostId> all = others;
      all.push_back(victim);
      const std::uint64_t side = rng.next();
      for (std::size_t a = 0; a < all.size(); ++a) {
        for (std::size_t b = a + 1; b < all.size(); ++b) {
          if (((side >> a) & 1) != ((side >> b) & 1)) both(all[a], all[b]);
        }
      }
    }
  }
  cut_for(std::move(pairs), outage(rng));
}

void Nemesis::spoil_network(Rng& rng) {
  Quality bad;
  bad.loss = rng.chance(0.6) ? rng.uniform() * 0.3 : 0;
  bad.repeat = rng.chance(0.6) ? rng.uniform() * 0.3 : 0;
  bad.late = rng.uniform() * 0.4;
  bad.late_max = 10ms + Duration(rng.below(rng.chance(0.2) ? 2'000'000'000 : 200'000'000));
  bad.jitter = 1ms + Duration(rng.below(20'000'000));
  trace_.note("nemesis", "bad network", static_cast<std::uint64_t>(bad.loss * 100));
  fleet_.network.set_quality(bad);
  scheduler_.after(outage(rng), [this] { fleet_.network.set_quality({}); });
}

void Nemesis::slow_disk(Rng& rng) {
  HostServer& host = any_host(rng);
  const DiskSpeed slow{10ms + Duration(rng.below(300'000'000)), Duration(rng.below(200'000'000))};
  trace_.note(host.id().value, "slow disk", static_cast<std::uint64_t>(slow.sync.count()));
  host.disk().set_speed(slow);
  scheduler_.after(outage(rng), [&host] { host.disk().set_speed({}); });
}

/// Damages one copy of a chunk of which two good copies remain. With fewer nobody could repair it.
/// Two good copies are left in each session that uses the chunk. Other hosts may have one of an earlier
/// session, and drop it at any moment.
void Nemesis::corrupt_chunk(Rng& rng) {
  HostServer& host = any_host(rng);
  std::vector<std::vector<HostServer*>> groups;
  for (const node::StoredReplica& replica : host.disk().recovered().replicas)
    groups.push_back(members(replica.session));
  for (const auto& [digest, bytes] : host.disk().chunks()) {
    std::ptrdiff_t most = 0;
    const bool enough = std::ranges::all_of(groups, [&, wanted = digest](const auto& group) {
      const auto has = [&](HostServer* one) { return one->disk().chunks().contains(wanted); };
      const auto is_good = [&](HostServer* one) { return one->alive() && one->disk().whole(wanted); };
      const std::ptrdiff_t good = std::ranges::count_if(group, is_good);
      most = std::max(most, good);
      return good >= 3 || std::ranges::count_if(group, has) < 2;  // of another session of the host
    });
    if (!enough || most < 3 || !rng.chance(0.5)) continue;
    trace_.note(host.id().value, "corrupt", digest.low);
    host.disk().corrupt(Digest(digest));
    return;
  }
}

/// Has the transport give a hint about a peer that need not be true.
void Nemesis::hint(Rng& rng) {
  const HostId about = rng.chance(0.2) ? node::kGateway : any_host(rng).id();
  const HostId at = any_host(rng).id();
  if (at != about) fleet_.network.hint(at, about, rng.chance(0.3));
}

/// Drains a host; perhaps removes it as soon as it holds nothing; adds it again later. A host that is lost is
/// removed by force, as somebody would do who knows that it does not come back.
void Nemesis::change_fleet(Rng& rng) {
  const HostId id = any_host(rng).id();
  const std::string path = "/api/banyan/hosts/" + id.value;
  const auto ignore = [](int, const std::string&) {};
  if (reinstalls_.away(id)) return;
  if (lost_.contains(id)) return fleet_.gateway.front().request("DELETE", path + "?force=true", "", ignore);
  const std::string force = rng.chance(0.3) ? "?force=true" : "";
  // What was asked for before all is healed may be carried out after it.
  const auto undone_when_healed = [this, id](int, const std::string&) {
    if (healed_ && !lost_.contains(id)) add_back(id);
  };
  fleet_.gateway.front().request("POST", path + "/drain" + force, "", undone_when_healed);
  const Duration out = 2s + outage(rng) + (rng.chance(0.5) ? Duration(10s) : Duration(0s));
  if (rng.chance(0.5)) {
    scheduler_.after(out / 2, [this, path, undone_when_healed] {
      if (!healed_) fleet_.gateway.front().request("DELETE", path, "", undone_when_healed);
    });
  }
  scheduler_.after(out, [this, id] {
    if (!healed_ && !lost_.contains(id)) add_back(id);
  });
}

void Nemesis::break_device(Rng& rng) {
  HostServer& host = any_host(rng);
  host.devices().break_one(rng);
  host.tell_figures();
  scheduler_.after(outage(rng), [&host] {
    host.devices().repair();
    host.tell_figures();
  });
}

void Nemesis::trouble_store(Rng& rng) {
  StoreTrouble trouble;
  if (rng.chance(0.5)) trouble.slower = Duration(rng.below(3'000'000'000));
  if (trouble.slower == 0s || rng.chance(0.5)) trouble.silent = rng.chance(0.5) ? 1 : rng.uniform();
  fleet_.store->set_trouble(trouble);
  scheduler_.after(outage(rng), [this] { fleet_.store->set_trouble({}); });
}

void Nemesis::add_back(const HostId& host) {
  const std::string body = R"({"host":")" + host.value + R"("})";
  fleet_.gateway.front().request("POST", "/api/banyan/hosts", body, [this, host](int status, auto&) {
    if (status != 204) scheduler_.after(200ms, [this, host] { add_back(host); });
  });
}

void Nemesis::heal() {
  healed_ = true;
  at_next_reply_.reset();
  at_next_transfer_.reset();
  at_next_birth_.reset();
  trace_.note("nemesis", "HEALS");
  fleet_.network.mend_all();
  fleet_.network.set_quality({});
  if (fleet_.store != nullptr) fleet_.store->set_trouble({});
  for (auto& host : fleet_.hosts) {
    host->disk().set_speed({});
    host->disk().set_full(false);
    host->resume();
    if (host->about_to_crash()) host->crash();
    host->start();
    host->devices().repair();
    host->tell_figures();
  }
  fleet_.gateway.resume();
  if (fleet_.gateway.about_to_crash()) fleet_.gateway.crash();
  fleet_.gateway.start();
  std::vector<HostId> left;
  for (const auto& host : fleet_.hosts)
    if (!lost_.contains(host->id())) left.push_back(host->id());
  const bool drains =
      weather_.weights[static_cast<std::size_t>(Fault::kChangeFleet)] > 0 && left.size() > kHostsMin;
  if (drains) drained_ = left[rng_.below(left.size())];
  for (const HostId& host : left)
    if (!reinstalls_.away(host)) add_back(host);
  reinstalls_.hurry();
}

/// A request that comes late must not take the host back: so it is drained when all take part.
void Nemesis::drain_one() {
  if (!drained_) return;
  fleet_.gateway.front().request("POST", "/api/banyan/hosts/" + drained_->value + "/drain?force=true", "",
                                 [this](int status, auto&) {
                                   if (status != 204) scheduler_.after(200ms, [this] { drain_one(); });
                                 });
}

}  // namespace banyan::sim
