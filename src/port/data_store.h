// The data store: exported sessions and chunks, outside of the hosts that run them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace banyan::port {

/// A value as a listing shows it.
struct StoredValue {
  std::string key;
  std::uint64_t bytes = 0;  ///< the size of the value, without what the store keeps beside it

  friend bool operator==(const StoredValue&, const StoredValue&) = default;
};

/// What was measured of one finished put or get, from which a planner learns a store's speed. Nothing is sent
/// in order to measure.
struct Transfer {
  /// Which way the value went.
  enum class Way { kPut, kGet };

  Way way = Way::kPut;
  std::uint64_t bytes = 0;
  Duration latency{};  ///< the part of `total` in which nothing of the value moved: until the first byte of a
                       ///< get came, or from the last byte of a put to its acknowledgement
  Duration total{};  ///< from the start of the work to its end, with retries and without the queue before it
};

/// Takes what was measured. Transfers that failed are not reported.
using TransferObserver = std::function<void(const Transfer&)>;

/// Values by key. Calls do not block; callbacks run on the owner's thread, never inside the call, and not
/// after the store was destroyed. Each call ends within a bounded time, whatever the store does. Calls that
/// are under way at the same time may take effect in any order.
///
/// A put is visible whole or not at all. Each value has a checksum in the store: bytes that fail it are
/// kCorrupt and are never handed out; nothing is deleted because of it.
///
/// Errors: kInvalid (a bad key, a missing bucket), kDenied (wrong credentials), kTooLarge, kUnavailable (the
/// store is down, too slow or busy, after several tries), kCorrupt, kIo (a disk is full or broken).
class DataStore {
 public:
  virtual ~DataStore() = default;
  /// Stores a value in place of the one that the key may have.
  virtual void put(std::string key, Blob value, std::function<void(Result<Done>)> done) = 0;
  /// Gets the value of a key. kNotFound. A large value lies in a mapped file of its own, not in memory.
  virtual void get(std::string key, std::function<void(Result<Blob>)> done) = 0;
  /// Gets the size of a key's value without looking at the bytes. kNotFound.
  virtual void head(std::string key, std::function<void(Result<StoredValue>)> done) = 0;
  /// Removes a value; a key without one is no error.
  virtual void remove(std::string key, std::function<void(Result<Done>)> done) = 0;
  /// All values whose keys begin with `prefix`, sorted by key. kTooLarge beyond a million.
  virtual void list(std::string prefix, std::function<void(Result<std::vector<StoredValue>>)> done) = 0;
};

/// Keys are paths of 1 to 512 printable ASCII characters without space, quotes, `\` and `*`. Their parts,
/// between single slashes, have at most 200 characters and do not begin with a dot. kInvalid says what is
/// wrong.
Result<Done> check_key(std::string_view key);
/// Checks the beginning of keys by the same rules; it may also be empty or end with a slash.
Result<Done> check_prefix(std::string_view prefix);

/// The key of a chunk: "chunks/ab/ab12…", the digest in hex.
std::string chunk_key(const Digest& digest);
/// The digest in a chunk's key; nothing for another key. Stores check the bytes of such a key against it.
std::optional<Digest> digest_in_key(std::string_view key);

}  // namespace banyan::port
