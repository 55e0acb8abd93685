// What a store is opened with besides its URL.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "port/data_store.h"

namespace banyan::runtime {

/// How long one request may take, and how often a failed one is made again. The defaults give a store that
/// does not answer up about two minutes after the call.
struct RequestLimits {
  int attempts = 5;
  Duration connect = 5s;
  Duration answer = 20s;    ///< without a byte moving; a slow but moving transfer has longer, by its size
  Duration pause = 100ms;   ///< before the second attempt; doubles with each, and is drawn from [half, whole]
  Duration pause_max = 5s;  ///< of one pause
};

/// What a store is opened with.
struct StoreOptions {
  /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, REDIS_PASSWORD, TMPDIR: laid
  /// over the environment, such as a configuration's table.
  std::map<std::string, std::string> settings = {};
  /// Called for each finished transfer: on the loop by data_store_at's stores, on the caller's thread by
  /// blocking ones.
  port::TransferObserver observer = {};
  RequestLimits limits = {};
  /// The bytes of a part of a large value in S3, unless it would have more than 10,000; S3 wants 5 MiB or
  /// more.
  std::uint64_t s3_part_bytes = std::uint64_t{16} << 20;
  /// Ends what is under way, with kUnavailable. Not for data_store_at, whose stores end it when destroyed.
  std::stop_token stop = {};

  /// A setting, else the environment's variable of that name; nothing when it is absent or empty.
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const;
  /// Where large values lie that were got, in files without a name: TMPDIR, else /var/tmp.
  [[nodiscard]] std::filesystem::path scratch_directory() const;
};

}  // namespace banyan::runtime
