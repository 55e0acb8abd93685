// What each kind of store does for BlockingStore, which does what is the same for all.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "port/data_store.h"

namespace banyan::runtime {

/// Notes when the bytes of a value move, from whatever threads move them.
class Meter {
 public:
  Meter() : start_(now()) {}
  /// Some bytes of the value came or went.
  void moved() {
    const std::int64_t at = now();
    std::int64_t none = 0;
    first_.compare_exchange_strong(none, at);
    last_ = at;
  }
  /// What was measured until now.
  [[nodiscard]] port::Transfer finish(port::Transfer::Way way, std::uint64_t bytes) const {
    const std::int64_t end = now();
    std::int64_t idle = end - start_;
    if (first_ != 0) idle = way == port::Transfer::Way::kGet ? first_ - start_ : end - last_;
    return {.way = way, .bytes = bytes, .latency = Duration(idle), .total = Duration(end - start_)};
  }

 private:
  static std::int64_t now() {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  std::int64_t start_;
  std::atomic<std::int64_t> first_ = 0;
  std::atomic<std::int64_t> last_ = 0;
};

/// A value as the store gave it back, not yet checked.
struct Fetched {
  Blob bytes;
  Digest checksum;  ///< what the store keeps beside the bytes
};

/// One kind of store. Blocking; any thread, several at once. Keys are well-formed. Errors as in
/// port::DataStore; a value without a checksum is kCorrupt.
class StoreBackend {
 public:
  virtual ~StoreBackend() = default;
  virtual Result<Done> put(const std::string& key, const Blob& value, const Digest& checksum,
                           Meter& meter) = 0;
  virtual Result<Fetched> get(const std::string& key, Meter& meter) = 0;
  virtual Result<port::StoredValue> head(const std::string& key) = 0;
  virtual Result<Done> remove(const std::string& key) = 0;
  /// In any order; at most kListMax.
  virtual Result<std::vector<port::StoredValue>> list(const std::string& prefix) = 0;
};

/// Most entries of a listing.
inline constexpr std::size_t kListMax = 1'000'000;
/// Most bytes of a value.
inline constexpr std::uint64_t kValueMax = std::uint64_t{64} << 30;

}  // namespace banyan::runtime
