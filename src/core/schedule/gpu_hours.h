// For how long each owner's cells have had devices lately.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"

namespace banyan::schedule {

/// Adds up devices times time over the last 24 hours, in steps of an hour. Whose cells have had as much as
/// one owner may have in that time has spent it: further cells wait until enough of it is a day ago. A cell
/// that runs goes on.
class GpuHours {
 public:
  /// `most`: of one device, within a day; 0: any time.
  explicit GpuHours(Duration most) : most_(most) {}

  /// The owner's cells have so many devices from now on.
  void on_has(const std::string& owner, std::uint64_t devices, Time now);
  /// Looks who has spent it by now, once a second. The owners for whom that has ended: their cells may go on.
  [[nodiscard]] std::set<std::string> look(Time now);

  /// Whether the owner had spent it when look() or on_has() was called last.
  [[nodiscard]] bool is_spent(const std::string& owner) const { return spent_.contains(owner); }
  /// When that ends, if none of the owner's cells has a device meanwhile.
  [[nodiscard]] Time ends(const std::string& owner) const;
  /// What the owner's cells have had within the last day, as of look() or on_has().
  [[nodiscard]] Duration used(const std::string& owner) const;
  [[nodiscard]] Duration most() const { return most_; }

 private:
  /// Counted from the clock's zero.
  using Hour = std::int64_t;
  struct Owner {
    std::uint64_t devices = 0;
    Time since;                      ///< what is before is in `hours`
    std::map<Hour, Duration> hours;  ///< devices times time in each
  };
  static void add_up(Owner& owner, Time now);
  static Duration sum(const Owner& owner);

  const Duration most_;
  std::map<std::string, Owner> owners_;
  std::set<std::string> spent_;
  Time looked_at_;
};

}  // namespace banyan::schedule
