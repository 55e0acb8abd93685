// How fast exported files travel, by the place where they lie. It is learned from exports and imports, and
// kept for the next ones.
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

/// What is known of the speeds. It learns passively: nothing is sent in order to measure. Until it has
/// learned something it assumes 80 MB/s into a file and out of it again.
class FileWays {
 public:
  /// Begins with what `file` remembers. A file that is missing or damaged remembers nothing.
  explicit FileWays(std::filesystem::path file);
  /// The path of banyan/ways.json in $XDG_CACHE_HOME or ~/.cache; empty without a home, and then nothing is
  /// remembered.
  static std::filesystem::path file_of_user();

  /// Learns that so many bytes of chunks went from a session into a file at that place, or back. `place` has
  /// no secrets. It is written to the file; where that fails, only this process remembers it.
  void wrote(const std::string& place, std::uint64_t bytes, Duration took) { note(place, 0, bytes, took); }
  void read(const std::string& place, std::uint64_t bytes, Duration took) { note(place, 1, bytes, took); }

  /// The speed of going into a file and out of it again.
  [[nodiscard]] double bytes_per_second(const std::string& place) const;
  /// From how many exports and imports that was learned.
  [[nodiscard]] std::uint64_t samples(const std::string& place) const;

 private:
  struct Sample {
    std::uint64_t bytes = 0;
    std::int64_t took_us = 0;
  };
  /// The samples of both directions, oldest first.
  using Samples = std::array<std::vector<Sample>, 2>;

  void note(const std::string& place, std::size_t way, std::uint64_t bytes, Duration took);
  void save() const;

  std::filesystem::path file_;
  std::map<std::string, Samples> places_;
};

}  // namespace banyan::cli
