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

/// How long one request may take, and how often a failed one is made again. With the defaults a store that
/// does not answer is given up about two minutes after the call.
struct RequestLimits {
  int attempts = 5;
  Duration connect = 5s;
  Duration answer = 20s;  ///< without a byte moving; a slow but moving transfer gets more time, by its size
  Duration pause =
      100ms;  ///< before the second attempt; it doubles each time, and is drawn from [half, whole]
  Duration pause_max = 5s;  ///< no pause is longer
};

/// What a store is opened with.
struct StoreOptions {
  /// Settings that are laid over the environment, such as a configuration's table: AWS_ACCESS_KEY_ID,
  /// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, REDIS_PASSWORD, TMPDIR.
  std::map<std::string, std::string> settings = {};
  /// Called for each finished transfer: on the loop by data_store_at's stores, on the caller's thread by
  /// blocking ones.
  port::TransferObserver observer = {};
  RequestLimits limits = {};
  /// How many bytes a part of a large value in S3 has, unless there would be more than 10,000 parts. S3 wants
  /// at least 5 MiB.
  std::uint64_t s3_part_bytes = std::uint64_t{16} << 20;
  /// Ends what is under way with kUnavailable. For blocking stores only: those of data_store_at() end it when
  /// they are destroyed.
  std::stop_token stop = {};

  /// A setting, or else the environment variable of that name; nothing when it is absent or empty.
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const;
  /// The directory for large values that were got, which lie in files without a name: TMPDIR, or else
  /// /var/tmp.
  [[nodiscard]] std::filesystem::path scratch_directory() const;
};

}  // namespace banyan::runtime
