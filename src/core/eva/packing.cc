#include "core/eva/packing.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace banyan::eva {

namespace {

/// Of the candidates that still have tasks and fit, the one with the greatest (TNRP, alignment); kNone when
/// there is none or each would lower the TNRP.
template <class Left>
std::uint32_t best_addition(const Groups& groups, const Colocation& instance, const std::vector<std::uint32_t>& candidates,
                            Left left) {
  const double join = groups.awareness().join - 1e-9;  // sums differ in their last bits
  std::uint32_t best = kNone;
  double best_value = instance.value() * (1 - 1e-12);
  double best_alignment = -1;
  for (const std::uint32_t group : candidates) {
    if (left(group) == 0 || !instance.has_room(group)) continue;
    const double value = instance.value_with(group);
    if (value < best_value) continue;
    if (instance.tasks() > 0 && value - instance.value() < join * groups[group].reservation.usd_h) continue;
    const double alignment = instance.alignment(group);
    if (best != kNone && value == best_value && alignment <= best_alignment) continue;
    best = group, best_value = value, best_alignment = alignment;
  }
  return best;
}

/// The instance that the greedy rule builds from what is left.
Colocation build(const Groups& groups, std::uint32_t type, const std::vector<std::uint32_t>& candidates,
                 const std::vector<std::uint32_t>& left) {
  Colocation instance(groups, type);
  for (;;) {
    const std::uint32_t best = best_addition(
        groups, instance, candidates, [&](std::uint32_t group) { return left[group] - instance.count(group); });
    if (best == kNone) return instance;
    instance.add(best);
  }
}

}  // namespace

std::vector<Bin> pack(const Groups& groups, std::vector<std::uint32_t> left) {
  const Catalog& catalog = groups.snapshot().catalog;
  std::vector<Bin> bins;
  for (const std::uint32_t type : by_price_descending(catalog)) {
    const InstanceType& shape = catalog.types[type];
    std::vector<std::uint32_t> candidates;
    double at_most = 0;  // what all of them together could earn
    for (std::uint32_t group = 0; group < groups.size(); ++group) {
      const Profile* profile = groups.profile(group, shape.family);
      if (left[group] == 0 || profile == nullptr || !fits(profile->demand, shape.capacity)) continue;
      candidates.push_back(group);
      at_most += left[group] * groups[group].reservation.usd_h * profile->speed;
    }
    while (covers(at_most, shape.usd_h)) {
      const Colocation instance = build(groups, type, candidates, left);
      if (!covers(instance.value(), shape.usd_h)) break;
      Bin bin{.type = instance.cheapest_type(), .times = kNone, .members = instance.members()};
      for (const GroupCount& member : bin.members)
        bin.times = std::min(bin.times, left[member.group] / member.count);
      for (const GroupCount& member : bin.members) {
        const std::uint32_t placed = bin.times * member.count;
        left[member.group] -= placed;
        at_most -= placed * groups[member.group].reservation.usd_h *
                   groups.profile(member.group, shape.family)->speed;
      }
      bins.push_back(std::move(bin));
    }
  }
  // Each task alone earns its own type's price exactly, so its type's turn places it.
  CHECK(std::all_of(left.begin(), left.end(), [](std::uint32_t tasks) { return tasks == 0; }),
        "a task was left over");
  return bins;
}

void fill(const Groups& groups, std::vector<Bin>& bins, std::vector<std::uint32_t>& left) {
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t group = 0; group < groups.size(); ++group)
    if (left[group] > 0) candidates.push_back(group);
  if (candidates.empty()) return;

  struct Offer {
    Colocation instance;
    std::uint32_t group = kNone;  ///< its best addition
    double value = 0;             ///< with it
  };
  std::vector<Offer> offers;
  const auto refresh = [&](Offer& offer) {
    offer.group = best_addition(groups, offer.instance, candidates, [&](std::uint32_t group) { return left[group]; });
    if (offer.group != kNone) offer.value = offer.instance.value_with(offer.group);
    if (offer.group != kNone && offer.value <= offer.instance.value())
      offer.group = kNone;  // room is for gain
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

Bin bin_of(const Groups& groups, std::uint32_t instance) {
  Bin bin{.type = groups.snapshot().instances[instance].type, .existing = instance};
  for (const std::uint32_t task : groups.on(instance)) {
    const std::uint32_t group = groups.of_task(task);
    const auto known = std::find_if(bin.members.begin(), bin.members.end(),
                                    [&](const GroupCount& member) { return member.group == group; });
    if (known == bin.members.end())
      bin.members.push_back({group, 1});
    else
      ++known->count;
  }
  return bin;
}

}  // namespace banyan::eva
