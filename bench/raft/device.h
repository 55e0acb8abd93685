// Measures how long the device takes to make a small write durable: every commit waits at least for that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"

namespace banyan::bench {

struct DeviceTimes {
  std::vector<std::uint64_t> in_place;  ///< ns, sorted: 4 KiB over what is there, then fdatasync
  std::vector<std::uint64_t> append;    ///< the same behind the end of a file, as a log does
};

/// Writes `count` times each way into a file of its own in `directory`. kInvalid for a folder that is kept in
/// memory, where nothing is durable.
Result<DeviceTimes> measure_device(const std::filesystem::path& directory, int count);

}  // namespace banyan::bench
