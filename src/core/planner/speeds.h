// What a host has learned of how long the parts of building a view take.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "base/ids.h"
#include "core/planner/rate.h"

namespace banyan::planner {

/// Passively: from chunks that came, values that were loaded and cells that ran again. What it assumes before
/// that is of a server of 2020: 1 Gb/s to a peer, a SATA disk.
class Speeds {
 public:
  /// A chunk's bytes came from a peer, `took_us` after the ones before it or after they were asked for.
  void received(const HostId& from, std::uint64_t bytes, std::int64_t took_us);
  /// Chunks were read from this host's disk.
  void read(std::uint64_t bytes, std::int64_t took_us) { disk_.observe(static_cast<double>(bytes), took_us); }
  /// A value was unpickled. `type`: session::CoVariable::type.
  void loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us);
  /// A cell ran again, with all that is around it; it took `first_us` the first time.
  void ran(std::int64_t first_us, std::int64_t took_us) {
    run_.observe(static_cast<double>(first_us), took_us);
  }

  /// More bytes in equal parts from all of these peers at once. Bytes that are on their way or on the disk
  /// follow each other: what does not depend on their number is waited for once, and left out.
  [[nodiscard]] Estimate receive(std::uint64_t bytes, std::span<const HostId> peers) const;
  /// Bytes per second, of the same.
  [[nodiscard]] double receive_rate(std::span<const HostId> peers) const;
  [[nodiscard]] Estimate read(std::uint64_t bytes) const { return disk_.more(static_cast<double>(bytes)); }
  [[nodiscard]] Estimate load(const std::string& type, std::uint64_t bytes) const;
  [[nodiscard]] Estimate run(std::int64_t first_us) const { return run_.of(static_cast<double>(first_us)); }

  /// By type, bytes.
  [[nodiscard]] const std::map<std::string, Rate>& types() const { return types_; }

 private:
  [[nodiscard]] Rate from(const HostId& peer) const;

  std::map<HostId, Rate> peers_;
  std::map<std::string, Rate> types_;
  Rate any_type_{300e6, 200};
  Rate disk_{400e6, 300};
  Rate run_{1e6, 8000};  ///< of microseconds
};

}  // namespace banyan::planner
