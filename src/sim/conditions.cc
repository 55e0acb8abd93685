#include "sim/conditions.h"

#include <algorithm>

namespace banyan::sim {

namespace {

constexpr std::array<std::string_view, kFaults> kFaultNames{"crash of a host",
                                                            "crash of the gateway",
                                                            "crash of a host in the midst of a step",
                                                            "crash after a reply",
                                                            "crash at a write",
                                                            "loss of power",
                                                            "loss of a host for good",
                                                            "stop of a host",
                                                            "stop of the gateway",
                                                            "partition",
                                                            "bad network",
                                                            "untrue hint",
                                                            "slow disk",
                                                            "corrupt chunk",
                                                            "death of a worker",
                                                            "jump of a wall clock",
                                                            "change of the fleet",
                                                            "faulty device",
                                                            "crash during an export or import",
                                                            "loss of a disk",
                                                            "trouble of the data store"};

/// The weight of each fault where a seed leaves none of them out, in the order of Fault.
constexpr std::array<std::uint64_t, kFaults> kUsual{16, 6, 6, 5, 4, 2, 2, 10, 3, 22, 10,
                                                    6,  8, 5, 8, 6, 6, 0, 0,  0, 0};

Duration up_to(Rng& rng, Duration most) {
  return Duration(rng.below(static_cast<std::uint64_t>(most.count()) + 1));
}

Duration between(Rng& rng, Duration least, Duration most) { return least + up_to(rng, most - least); }

std::uint64_t between(Rng& rng, std::uint64_t least, std::uint64_t most) {
  return least + rng.below(most - least + 1);
}

Weather draw_weather(Rng& rng) {
  Weather weather;
  weather.between = 100ms + up_to(rng, rng.chance(0.7) ? 500ms : 3s);
  weather.quiet = rng.uniform() * 0.6;
  weather.outage_max = between(rng, 500ms, 4500ms);
  weather.storm_max = between(rng, 10s, 50s);
  const double left_out = rng.uniform() * 0.8;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (kUsual.at(i) == 0) continue;
    const std::uint64_t more = rng.chance(0.1) ? 5 : 1;
    weather.weights[i] = rng.chance(left_out) ? 0 : kUsual[i] * more;
  }
  return weather;
}

/// Draws small limits, so that chunks, parts, snapshots and windows matter although the cells are small.
node::Sizes draw_sizes(Rng& rng) {
  node::Sizes sizes;
  sizes.inline_chunk_max = kLargeBlock;
  sizes.chunk_part = rng.chance(0.5) ? 300 : between(rng, 100, 4096);
  sizes.link_window = 64 << 10;
  sizes.compact_entries = rng.chance(0.5) ? 40 : between(rng, 8, 200);
  sizes.compact_bytes = 64 << 10;
  sizes.client_window = 4 << 10;
  return sizes;
}

/// Draws timings that differ little from the usual ones: how long a healed session may take (P4) is counted
/// in timeouts of the usual size.
node::Timing draw_timing(Rng& rng) {
  node::Timing timing;
  timing.interrupt_deadline = 2s;
  timing.replace_after = between(rng, 3s, 8s);
  if (rng.chance(0.5)) timing.plan_above = 0s;
  if (rng.chance(0.8)) timing.hibernate_after = up_to(rng, 600ms);
  if (rng.chance(0.5)) timing.link_resend = between(rng, 60ms, 400ms);
  if (rng.chance(0.3)) timing.host_silent = between(rng, 800ms, 3s);
  if (rng.chance(0.3)) timing.standby_after = up_to(rng, 2s);
  if (rng.chance(0.3)) timing.standby_behind = between(rng, timing.standby_after, 5s);
  return timing;
}

/// Few devices, so that cells wait for them.
void draw_devices(Rng& rng, Conditions& conditions) {
  if (rng.chance(0.6)) return;
  conditions.devices = between(rng, 1, 3);
  conditions.gpus = between(rng, 1, conditions.devices);
  conditions.plan.devices = conditions.devices;
  const bool strikes = rng.chance(0.7) && conditions.weather.weights != decltype(Weather::weights){};
  if (strikes) conditions.weather.weights.at(static_cast<std::size_t>(Fault::kFaultyDevice)) = 8;
}

/// Drawn last, so that a schedule without exports is what it was before there were any.
void draw_transfers(Rng& rng, Conditions& conditions) {
  if (rng.chance(0.6)) return;
  conditions.plan.carries = 0.02 + rng.uniform() * 0.1;
  const bool strikes = rng.chance(0.6) && conditions.weather.weights != decltype(Weather::weights){};
  if (strikes) conditions.weather.weights.at(static_cast<std::size_t>(Fault::kCrashAtTransfer)) = 12;
}

/// Drawn after all that there was before it, for the same reason.
void draw_wipes(Rng& rng, Conditions& conditions) {
  if (rng.chance(0.6) || conditions.weather.weights == decltype(Weather::weights){}) return;
  conditions.weather.weights.at(static_cast<std::size_t>(Fault::kWipeDisk)) = rng.chance(0.3) ? 12 : 4;
}

/// Where sessions are exported: some of their values are so large that they may be left behind, and some
/// clients put what they have exported into a data store.
void draw_exports(Rng& rng, Conditions& conditions) {
  if (conditions.plan.carries == 0) return;
  if (rng.chance(0.5)) conditions.sizes.small_value = between(rng, 20, 1000);
  conditions.store = rng.chance(0.6);
  if (conditions
          .store) {  // many hosts, so that some are without what they could have from the exported session
    conditions.hosts = between(rng, 6, 7);
    conditions.plan.hosts = conditions.hosts;
  }
  const bool strikes =
      conditions.store && rng.chance(0.8) && conditions.weather.weights != decltype(Weather::weights){};
  if (strikes) conditions.weather.weights.at(static_cast<std::size_t>(Fault::kStoreTrouble)) = 10;
}

/// The same. Sessions with values that may be lost are not exported: what an export has of them is known to
/// nobody.
void draw_pending(Rng& rng, Conditions& conditions) {
  const bool carries = conditions.plan.carries > 0;
  if (rng.chance(0.5) || carries) return;
  conditions.pending = true;
  conditions.sizes.durable_inline = between(rng, 0, 600);
  conditions.sizes.background_write = rng.chance(0.5) ? 1 : between(rng, 300, 4000);
  if (rng.chance(0.3)) conditions.sizes.capture_bytes = between(rng, 0, 3000);
}

/// The same. Only few sessions reserve devices, so that some are left for each of them: an export leaves a
/// session behind that has some for ever.
void draw_policy(Rng& rng, Conditions& conditions) {
  if (rng.chance(0.8)) return;
  const bool few = conditions.notebooks <= 2 && conditions.plan.carries == 0;
  const bool reserves = conditions.devices > 0 && few && !conditions.elects;
  conditions.session_policy = reserves ? "reservation" : rng.chance(0.5) ? "batch" : "pool";
}

}  // namespace

std::string_view name_of(Fault fault) { return kFaultNames.at(static_cast<std::size_t>(fault)); }

Conditions draw_conditions(Rng rng, std::uint64_t cells) {
  Conditions conditions;
  conditions.hosts = rng.chance(0.7) ? between(rng, 4, 5) : between(rng, 3, 7);
  conditions.notebooks = rng.chance(0.8) ? between(rng, 1, 3) : between(rng, 4, 8);
  conditions.plan.cells = (cells + conditions.notebooks - 1) / conditions.notebooks;
  conditions.plan.trouble = rng.chance(0.2) ? 0 : rng.uniform() * 0.25;
  conditions.plan.long_cells = rng.chance(0.7);
  conditions.plan.hosts = conditions.hosts;
  conditions.warm = rng.chance(0.3);
  conditions.hosts_register = rng.chance(0.3);
  conditions.timing = draw_timing(rng);
  conditions.sizes = draw_sizes(rng);
  conditions.keep_inline = rng.chance(0.5) ? 400 : between(rng, 0, 2000);
  conditions.keep = rng.chance(0.5) ? 8 << 10 : between(rng, 0, 64 << 10);
  conditions.weather = draw_weather(rng);
  draw_devices(rng, conditions);
  draw_transfers(rng, conditions);
  draw_wipes(rng, conditions);
  draw_exports(rng, conditions);
  conditions.elects = rng.chance(0.1);
  draw_pending(rng, conditions);
  draw_policy(rng, conditions);
  return conditions;
}

}  // namespace banyan::sim
