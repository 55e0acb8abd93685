#include "core/eva/catalog.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace banyan::eva {

Resources& Resources::operator+=(const Resources& other) {
  for (std::size_t r = 0; r < kResources; ++r) milli[r] += other.milli[r];
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  for (std::size_t r = 0; r < kResources; ++r) milli[r] -= other.milli[r];
  return *this;
}

Resources resources(double gpus, double cpus, double ram_gib) {
  return {{std::llround(gpus * 1000), std::llround(cpus * 1000), std::llround(ram_gib * 1000)}};
}

std::optional<Reservation> reservation(const Catalog& catalog, const Workload& workload) {
  std::optional<Reservation> best;
  for (std::uint32_t t = 0; t < catalog.types.size(); ++t) {
    const InstanceType& type = catalog.types[t];
    const auto& profile = workload.on[type.family];
    if (!profile || !fits(profile->demand, type.capacity)) continue;
    const double usd_h = type.usd_h / profile->speed;
    if (!best || usd_h < best->usd_h) best = Reservation{t, usd_h};
  }
  return best;
}

std::vector<std::uint32_t> by_price_descending(const Catalog& catalog) {
  std::vector<std::uint32_t> order(catalog.types.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(-catalog.types[a].usd_h, a) < std::tuple(-catalog.types[b].usd_h, b);
  });
  return order;
}

}  // namespace banyan::eva
