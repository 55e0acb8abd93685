// How fast exported files travel, by where they lie: learned from exports and imports, kept for the next
// ones.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/planner/rate.h"

namespace banyan::cli {

/// Passively: nothing is sent in order to measure. Assumed until then: 80 MB/s into a file and out of it
/// again.
class FileWays {
 public:
  /// What `file` remembers. Nothing, where it is not there or is damaged.
  explicit FileWays(std::filesystem::path file);
  /// $XDG_CACHE_HOME or ~/.cache, banyan/ways.json; empty without a home: then nothing is remembered.
  static std::filesystem::path file_of_user();

  /// So many bytes of chunks went from a session into a file at that place, or back; `place` has no secrets.
  /// Writes it down; where that fails, it is forgotten with this process.
  void wrote(const std::string& place, std::uint64_t bytes, Duration took) { note(place, 0, bytes, took); }
  void read(const std::string& place, std::uint64_t bytes, Duration took) { note(place, 1, bytes, took); }

  /// Into a file and out of it again.
  [[nodiscard]] double bytes_per_second(const std::string& place) const;
  /// How many exports and imports that is learned from.
  [[nodiscard]] std::uint64_t samples(const std::string& place) const;

 private:
  struct Sample {
    std::uint64_t bytes = 0;
    std::int64_t took_us = 0;
  };
  /// Both ways, oldest first.
  using Samples = std::array<std::vector<Sample>, 2>;

  void note(const std::string& place, std::size_t way, std::uint64_t bytes, Duration took);
  void save() const;

  std::filesystem::path file_;
  std::map<std::string, Samples> places_;
};

}  // namespace banyan::cli
