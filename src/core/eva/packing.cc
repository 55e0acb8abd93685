#include "core/eva/packing.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"

namespace banyan::eva {

namespace {

/// The candidate that has tasks left, fits, and brings the greatest (TNRP, suitability); kNone when there is
/// none, or each would lower the TNRP.
template <class Left>
std::uint32_t best_addition(const Colocation& instance, const std::vector<std::uint32_t>& candidates,
                            Left left) {
  std::uint32_t best = kNone;
  double best_value = instance.value() * (1 - 1e-12);
  double best_suitability = -1;
  for (const std::uint32_t group : candidates) {
    if (left(group) == 0 || !instance.has_room(group)) continue;
    const double value = instance.value_with(group);
    if (value < best_value) continue;
    const double suitability = instance.suitability(group);
    if (best != kNone && value == best_value && suitability <= best_suitability) continue;
    best = group, best_value = value, best_suitability = suitability;
  }
  return best;
}

/// The instance that the greedy rule builds from the tasks that are left.
Colocation build(const Groups& groups, std::uint32_t type, const std::vector<std::uint32_t>& candidates,
                 const std::vector<std::uint32_t>& left) {
  Colocation instance(groups, type);
  for (;;) {
    const std::uint32_t best = best_addition(
        instance, candidates, [&](std::uint32_t group) { return left[group] - instance.count(group); });
    if (best == kNone) return instance;
    instance.add(best);
  }
}

/// Runs Algorithm 1 over these types, dearest first, for tasks of the groups `among`. Placed tasks are taken
/// off `left`.
std::vector<Bin> pack_onto(const Groups& groups, std::span<const std::uint32_t> types,
                           std::span<const std::uint32_t> among, std::vector<std::uint32_t>& left) {
  const Catalog& catalog = groups.snapshot().catalog;
  std::vector<Bin> bins;
  std::vector<std::uint32_t> candidates;
  for (const std::uint32_t type : types) {
    const InstanceType& shape = catalog.types[type];
    const auto price = [&](std::uint32_t group) {
      return groups[group].reservation.usd_h * groups.profile(group, shape.family)->speed;
    };
    candidates.clear();
    double at_most = 0;  // what all candidates together could earn
    for (const std::uint32_t group : among) {
      const Profile* profile = groups.profile(group, shape.family);
      if (left[group] == 0 || profile == nullptr || !fits(profile->demand, shape.capacity)) continue;
      candidates.push_back(group);
      at_most += left[group] * price(group);
    }
    while (covers(at_most, shape.usd_h)) {
      const Colocation instance = build(groups, type, candidates, left);
      if (!covers(instance.value(), shape.usd_h)) break;
      Bin bin{.type = instance.cheapest_type(), .times = kNone, .members = instance.members()};
      for (const GroupCount& member : bin.members)
        bin.times = std::min(bin.times, left[member.group] / member.count);
      for (const GroupCount& member : bin.members) {
        left[member.group] -= bin.times * member.count;
        at_most -= bin.times * member.count * price(member.group);
      }
      std::erase_if(candidates, [&](std::uint32_t group) { return left[group] == 0; });
      bins.push_back(std::move(bin));
    }
  }
  return bins;
}

/// What a bin earns: TNRP less price, in $/h.
double net_usd_h(const Groups& groups, const Bin& bin) {
  return Colocation(groups, bin.type, bin.members).value() - groups.snapshot().catalog.types[bin.type].usd_h;
}

/// Replaces instances by several cheaper ones where these gain more from the same tasks. `none` has a 0 for
/// each group; it is scratch space.
std::vector<Bin> split(const Groups& groups, std::span<const std::uint32_t> types, std::vector<Bin> bins,
                       std::vector<std::uint32_t>& none) {
  std::vector<Bin> finer;
  std::vector<std::uint32_t> among;
  for (Bin& bin : bins) {
    const auto cheaper = std::ranges::find(types, bin.type) + 1;
    std::uint32_t tasks = 0;
    among.clear();
    for (const GroupCount& member : bin.members) {
      tasks += none[member.group] = member.count;
      among.push_back(member.group);
    }
    std::vector<Bin> parts;
    if (tasks > 1) parts = pack_onto(groups, {cheaper, types.end()}, among, none);
    bool placed = tasks > 1;
    for (const GroupCount& member : bin.members) placed = std::exchange(none[member.group], 0) == 0 && placed;
    double gain = -net_usd_h(groups, bin);
    for (const Bin& part : parts) gain += part.times * net_usd_h(groups, part);
    if (!placed || gain <= 1e-9) {
      finer.push_back(std::move(bin));
      continue;
    }
    for (Bin& part : parts) {
      part.times *= bin.times;
      finer.push_back(std::move(part));
    }
  }
  return finer;
}

}  // namespace

std::vector<Bin> pack(const Groups& groups, std::vector<std::uint32_t> left) {
  std::vector<std::uint32_t> all(groups.size());
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<std::uint32_t> types = by_price_descending(groups.snapshot().catalog);
  std::vector<Bin> bins = pack_onto(groups, types, all, left);
  // A task alone earns exactly the price of its reservation type, so it is placed at that type's turn at the
  // latest.
  CHECK(std::ranges::all_of(left, [](std::uint32_t tasks) { return tasks == 0; }), "a task was left over");
  return split(groups, types, std::move(bins), left);
}

void fill(const Groups& groups, std::vector<Bin>& bins, std::vector<std::uint32_t>& left) {
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (left[group] > 0) candidates.push_back(group);
  if (candidates.empty()) return;

  struct Offer {
    Colocation instance;
    std::uint32_t group = kNone;  ///< the best task to add
    double value = 0;             ///< the instance's value with it
  };
  std::vector<Offer> offers;
  const auto refresh = [&](Offer& offer) {
    offer.group = best_addition(offer.instance, candidates, [&](std::uint32_t group) { return left[group]; });
    if (offer.group != kNone) offer.value = offer.instance.value_with(offer.group);
    if (offer.group != kNone && offer.value <= offer.instance.value())
      offer.group = kNone;  // a task is added only where that gains something
  };
  for (const Bin& bin : bins) {
    offers.push_back({Colocation(groups, bin.type, bin.members)});
    refresh(offers.back());
  }
  for (;;) {
    Offer* best = nullptr;
    for (Offer& offer : offers)
      if (offer.group != kNone && (best == nullptr || offer.value > best->value)) best = &offer;
    if (best == nullptr) break;
    const std::uint32_t group = best->group;
    best->instance.add(group);
    --left[group];
    refresh(*best);
    if (left[group] > 0) continue;
    for (Offer& offer : offers)
      if (offer.group == group) refresh(offer);
  }
  for (std::size_t b = 0; b < bins.size(); ++b) bins[b].members = offers[b].instance.members();
}

Bin bin_of(const Groups& groups, std::uint32_t instance, std::span<const std::uint32_t> tasks) {
  Bin bin{.type = groups.snapshot().instances[instance].type, .existing = instance};
  for (const std::uint32_t task : tasks) {
    const std::uint32_t group = groups.of_task(task);
    const auto known = std::ranges::find(bin.members, group, &GroupCount::group);
    if (known == bin.members.end())
      bin.members.push_back({group, 1});
    else
      ++known->count;
  }
  return bin;
}

}  // namespace banyan::eva
