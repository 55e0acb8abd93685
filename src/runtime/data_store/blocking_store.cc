#include "runtime/data_store/blocking_store.h"

#include <algorithm>

namespace banyan::runtime {

using port::Transfer;

Result<Done> BlockingStore::put(const std::string& key, const Blob& value) {
  if (auto done = port::check_key(key); !done) return done;
  if (value.size() > kValueMax)
    return fail(ErrorKind::kTooLarge, "'" + key + "' has " + std::to_string(value.size()) +
                                          " bytes; a data store takes " + std::to_string(kValueMax));
  const Digest checksum = digest_of(value.view());
  if (const auto named = port::digest_in_key(key); named && *named != checksum)
    return fail(ErrorKind::kInvalid, "the bytes for '" + key + "' have another digest than the key says");
  Meter meter;
  auto done = backend_->put(key, value, checksum, meter);
  if (done && observer_) observer_(meter.finish(Transfer::Way::kPut, value.size()));
  return done;
}

Result<Blob> BlockingStore::get(const std::string& key) {
  if (auto done = port::check_key(key); !done) return tl::unexpected(done.error());
  Meter meter;
  auto fetched = backend_->get(key, meter);
  if (!fetched) return tl::unexpected(fetched.error());
  const Transfer transfer = meter.finish(Transfer::Way::kGet, fetched->bytes.size());
  const Digest found = digest_of(fetched->bytes.view());
  // For a chunk the digest in its key counts. Under another chunk's key, bytes and stored checksum would fit
  // each other.
  const Digest expected = port::digest_in_key(key).value_or(fetched->checksum);
  if (found != expected)
    return fail(ErrorKind::kCorrupt, "'" + key + "' came back damaged: its bytes have the checksum " +
                                         to_hex(found) + " instead of " + to_hex(expected) +
                                         "; put it again from another copy");
  if (observer_) observer_(transfer);
  return std::move(fetched->bytes);
}

Result<port::StoredValue> BlockingStore::head(const std::string& key) {
  if (auto done = port::check_key(key); !done) return tl::unexpected(done.error());
  return backend_->head(key);
}

Result<Done> BlockingStore::remove(const std::string& key) {
  if (auto done = port::check_key(key); !done) return done;
  return backend_->remove(key);
}

Result<std::vector<port::StoredValue>> BlockingStore::list(const std::string& prefix) {
  if (auto done = port::check_prefix(prefix); !done) return tl::unexpected(done.error());
  auto found = backend_->list(prefix);
  if (found) std::ranges::sort(*found, {}, &port::StoredValue::key);
  return found;
}

}  // namespace banyan::runtime
