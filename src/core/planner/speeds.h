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

/// The samples that a host has learned from, for its next life: by peer or by type, the oldest first.
struct SpeedsRecord {
  std::map<HostId, std::vector<RateSample>> peers;
  std::map<std::string, std::vector<RateSample>> types;
  std::vector<RateSample> any_type;
  std::vector<RateSample> disk;
  std::vector<RateSample> run;
  std::map<std::string, std::vector<RateSample>> serialised;
  std::vector<RateSample> serialised_any;
};

/// A rate for each type. A type that was never seen gets the rate of all types together.
class RatesByType {
 public:
  /// The line to assume until there are samples, as for Rate.
  RatesByType(double units_per_second, double fixed_us) : any_(units_per_second, fixed_us) {}

  void observe(const std::string& type, double units, std::int64_t took_us);
  [[nodiscard]] Estimate of(const std::string& type, double units) const;
  [[nodiscard]] const std::map<std::string, Rate>& known() const { return known_; }
  [[nodiscard]] const Rate& any() const { return any_; }
  void recall(const std::map<std::string, std::vector<RateSample>>& known,
              const std::vector<RateSample>& any);

 private:
  Rate& at(const std::string& type);

  std::map<std::string, Rate> known_;
  Rate any_;
};

/// What a host knows of its speeds. It learns passively: from chunks that came, values that were loaded or
/// serialised, and cells that ran again. Before that it assumes a server of 2020: 1 Gb/s to a peer, a SATA
/// disk.
class Speeds {
 public:
  /// A chunk's bytes came from a peer, `took_us` after the ones before it or after they were asked for.
  void received(const HostId& from, std::uint64_t bytes, std::int64_t took_us);
  /// Chunks were read from this host's disk.
  void read(std::uint64_t bytes, std::int64_t took_us) { observe(disk_, bytes, took_us); }
  /// A value was unpickled. `type`: session::CoVariable::type.
  void loaded(const std::string& type, std::uint64_t bytes, std::int64_t took_us);
  /// A cell ran again, and it took `first_us` the first time. Both times include all that is around the cell,
  /// except for serialising what it made.
  void ran(std::int64_t first_us, std::int64_t took_us) { observe(run_, first_us, took_us); }
  /// Serialising what a cell that ran again made of this type took `took_us`, and `first_us` the first time
  /// (ADR 20). Workers report both figures: a factor above 16 counts as 16, and times under a millisecond are
  /// ignored.
  void serialised(const std::string& type, std::int64_t first_us, std::int64_t took_us);

  /// The time for so many bytes that come in equal parts from all of these peers at once, within a longer
  /// flow: estimates for parts of the bytes add up to the estimate for all.
  [[nodiscard]] Estimate receive(std::uint64_t bytes, std::span<const HostId> peers) const;
  /// The rate of such a flow, in bytes per second.
  [[nodiscard]] double receive_rate(std::span<const HostId> peers) const;
  [[nodiscard]] Estimate read(std::uint64_t bytes) const { return disk_.more(static_cast<double>(bytes)); }
  [[nodiscard]] Estimate load(const std::string& type, std::uint64_t bytes) const;
  [[nodiscard]] Estimate run(std::int64_t first_us) const { return run_.of(static_cast<double>(first_us)); }
  [[nodiscard]] Estimate serialise(const std::string& type, std::int64_t first_us) const;

  [[nodiscard]] SpeedsRecord record() const;
  /// Goes on from such a record. It may be called once, before anything is observed.
  void recall(const SpeedsRecord& record);
  /// How many samples there have been in this life.
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

  /// The rates of loading by type, in bytes.
  [[nodiscard]] const std::map<std::string, Rate>& load_types() const { return load_.known(); }

 private:
  template <class Units>
  void observe(Rate& rate, Units units, std::int64_t took_us) {
    rate.observe(static_cast<double>(units), took_us);
    ++samples_;
  }
  Rate& peer(const HostId& id);
  [[nodiscard]] Rate from(const HostId& peer) const;

  std::map<HostId, Rate> peers_;
  RatesByType load_{300e6, 200};   ///< by bytes
  Rate disk_{400e6, 300};          ///< by bytes
  Rate run_{1e6, 8000};            ///< by microseconds of the first run
  RatesByType serialise_{1e6, 0};  ///< by microseconds of the first run
  std::uint64_t samples_ = 0;
};

}  // namespace banyan::planner
