// What is for hire and what wants to run: instance types with prices, workloads with demands.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace banyan::eva {

/// Every vector of resources has GPUs, CPUs and GiB of RAM, in this order.
constexpr std::size_t kResources = 3;

/// Amounts of each resource in thousandths: integers, so that sums are exact and "fits" has no tolerance.
struct Resources {
  std::array<std::int64_t, kResources> milli{};

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  friend auto operator<=>(const Resources&, const Resources&) = default;
};
/// Resources from amounts in whole units, rounded to thousandths.
Resources resources(double gpus, double cpus, double ram_gib);
/// True when no resource of `demand` is above that of `room`.
inline bool fits(const Resources& demand, const Resources& room) {
  for (std::size_t r = 0; r < kResources; ++r)
    if (demand.milli[r] > room.milli[r]) return false;
  return true;
}

/// An instance type of the catalog. A family shares hardware: a task has one demand for all its types.
struct InstanceType {
  std::string name;
  std::uint32_t family = 0;  ///< index into Catalog::families
  Resources capacity;
  double usd_h = 0;
};

/// What is for hire.
struct Catalog {
  std::vector<std::string> families;
  std::vector<InstanceType> types;
};

/// How a task of a workload runs on a family.
struct Profile {
  Resources demand;
  double speed = 1;  ///< its throughput alone there, relative to the reference family
};

/// Tasks with equal demands and equal interference.
struct Workload {
  std::string name;
  std::uint32_t kind = 0;  ///< its row in the throughput table; variants of a program share one
  std::vector<std::optional<Profile>> on;  ///< by family; nullopt where it cannot run
};

/// The reservation price RP(τ): what the cheapest type costs that runs the task alone, for each unit of
/// throughput there (Eva, EuroSys'25, §4.2; with speeds, its extension to heterogeneous resources).
struct Reservation {
  std::uint32_t type = 0;
  double usd_h = 0;
};

/// The reservation price of a workload. Of equal prices the first in the catalog counts. nullopt when it fits
/// no type.
std::optional<Reservation> reservation(const Catalog& catalog, const Workload& workload);

/// Indices of the types, dearest first; types of equal price are in the order of the catalog.
std::vector<std::uint32_t> by_price_descending(const Catalog& catalog);

/// Whether a value covers a price. Sums of prices and of values may differ in their last bits, which does not
/// count.
inline bool covers(double value_usd_h, double price_usd_h) { return value_usd_h >= price_usd_h * (1 - 1e-9); }

}  // namespace banyan::eva
