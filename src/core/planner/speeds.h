// What a host has learned of how long the parts of building a view take.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/planner/rate.h"

namespace banyan::planner {

/// What it has learned from, for a later life of the host: by peer, by type, from the oldest sample on.
struct SpeedsRecord {
  std::map<HostId, std::vector<RateSample>> peers;
  std::map<std::string, std::vector<RateSample>> types;
  std::vector<RateSample> any_type;
  std::vector<RateSample> disk;
  std::vector<RateSample> run;
};

/// Passively: from chunks that came, values that were loaded and cells that ran again. What it assumes before
/// that is of a server of 2020: 1 Gb/s to a peer, a SATA disk.
class Speeds {
 public:
  /// A chunk's bytes came from a peer, `took_us` after the ones before it or after they were asked for.
  void received(const HostId& from, std::uint64_t bytes, std::int64_t took_us);
  /// Chunks were read from this host's disk.
  void read(std::uint64_t bytes, std::int64_t took_us) { observe(disk_, bytes, took_us); }
  /// A value was unpickled. `type`: session::CoVariable::type.
  void loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us);
  /// A cell ran again, with all that is around it; it took `first_us` the first time.
  void ran(std::int64_t first_us, std::int64_t took_us) { observe(run_, first_us, took_us); }

  /// More bytes in equal parts from all of these peers at once, among others that come or are read: estimates
  /// for parts of them add up.
  [[nodiscard]] Estimate receive(std::uint64_t bytes, std::span<const HostId> peers) const;
  /// Bytes per second, of the same.
  [[nodiscard]] double receive_rate(std::span<const HostId> peers) const;
  [[nodiscard]] Estimate read(std::uint64_t bytes) const { return disk_.more(static_cast<double>(bytes)); }
  [[nodiscard]] Estimate load(const std::string& type, std::uint64_t bytes) const;
  [[nodiscard]] Estimate run(std::int64_t first_us) const { return run_.of(static_cast<double>(first_us)); }

  [[nodiscard]] SpeedsRecord record() const;
  /// Goes on from there. Once, before anything is observed.
  void recall(const SpeedsRecord& record);
  /// How many samples there have been in this life.
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

  /// By type, bytes.
  [[nodiscard]] const std::map<std::string, Rate>& types() const { return types_; }

 private:
  template <class Units>
  void observe(Rate& rate, Units units, std::int64_t took_us) {
    rate.observe(static_cast<double>(units), took_us);
    ++samples_;
  }
  Rate& peer(const HostId& id);
  Rate& type(const std::string& name);
  [[nodiscard]] Rate from(const HostId& peer) const;

  std::map<HostId, Rate> peers_;
  std::map<std::string, Rate> types_;
  Rate any_type_{300e6, 200};
  Rate disk_{400e6, 300};
  Rate run_{1e6, 8000};  ///< of microseconds
  std::uint64_t samples_ = 0;
};

}  // namespace banyan::planner
