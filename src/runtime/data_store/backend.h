// What each kind of store does for BlockingStore. BlockingStore itself does what is the same for all kinds.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "port/data_store.h"

namespace banyan::runtime {

/// Notes when the bytes of a value move. Any thread may move them.
class Meter {
 public:
  Meter() : start_(now()) {}
  /// Some bytes of the value have come or gone.
  void moved() {
    const std::int64_t at = now();
    std::int64_t none = 0;
    first_.compare_exchange_strong(none, at);
    last_ = at;
  }
  /// What was measured up to now.
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

/// A value as the store gave it back, before its checksum was compared.
struct Fetched {
  Blob bytes;
  Digest checksum;  ///< the one that the store keeps beside the bytes
};

/// One kind of store. Calls block and may come from several threads at once. Keys are well-formed. Errors are
/// those of port::DataStore; a value without a checksum is kCorrupt.
class StoreBackend {
 public:
  virtual ~StoreBackend() = default;
  virtual Result<Done> put(const std::string& key, const Blob& value, const Digest& checksum,
                           Meter& meter) = 0;
  virtual Result<Fetched> get(const std::string& key, Meter& meter) = 0;
  virtual Result<port::StoredValue> head(const std::string& key) = 0;
  virtual Result<Done> remove(const std::string& key) = 0;
  /// Lists values in any order, at most kListMax.
  virtual Result<std::vector<port::StoredValue>> list(const std::string& prefix) = 0;
};

/// A listing has at most so many entries.
inline constexpr std::size_t kListMax = 1'000'000;
/// A value has at most so many bytes.
inline constexpr std::uint64_t kValueMax = std::uint64_t{64} << 30;

}  // namespace banyan::runtime
