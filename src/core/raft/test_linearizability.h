// For tests: is a history of reads and writes of one register linearizable?
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace banyan::raft {

/// One operation of a client. It happens at one moment from `invoked` to `returned`, both included.
struct RegisterOp {
  enum class Kind : std::uint8_t { kWrite, kRead };
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  Kind kind = Kind::kWrite;
  std::uint64_t value = 0;  ///< each is written once; the register starts as 0
  std::uint64_t invoked = 0;
  std::uint64_t returned = kNever;  ///< kNever: a write of which nobody knows whether it happened
};

/// Whether some order of the operations explains all values that were read. With unique values that needs
/// no search (Gibbons and Korach, Testing Shared Memories, 1997, section 3.2): each value has a zone in which
/// the register must hold it, and the zones must fit side by side. Time: the square of the number of values.
inline bool linearizable(const std::vector<RegisterOp>& history) {
  struct Zone {
    bool written = false;
    std::uint64_t write_invoked = 0;
    std::uint64_t first_return = RegisterOp::kNever;
    std::uint64_t last_invoke = 0;
    [[nodiscard]] bool forward() const { return first_return < last_invoke; }
  };
  std::map<std::uint64_t, Zone> zones;
  zones[0] = {.written = true, .first_return = 0};
  for (const RegisterOp& op : history) {
    Zone& zone = zones[op.value];
    zone.first_return = std::min(zone.first_return, op.returned);
    zone.last_invoke = std::max(zone.last_invoke, op.invoked);
    if (op.kind == RegisterOp::Kind::kWrite) {
      zone.written = true;
      zone.write_invoked = op.invoked;
    }
  }
  // A lost write that nobody read may as well not have happened.
  std::erase_if(zones, [](const auto& entry) { return entry.second.first_return == RegisterOp::kNever; });
  for (const auto& [value, zone] : zones) {
    if (!zone.written || zone.first_return < zone.write_invoked) return false;
    if (!zone.forward()) continue;
    // The register holds `value` from first_return to last_invoke.
    for (const auto& [other_value, other] : zones) {
      if (other_value == value) continue;
      const bool overlaps = zone.first_return < other.last_invoke && other.first_return < zone.last_invoke;
      if (overlaps) return false;
    }
  }
  return true;
}

}  // namespace banyan::raft
