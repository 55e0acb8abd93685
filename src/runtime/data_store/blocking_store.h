// A data store for a caller that may wait. It does what is the same for all kinds of stores.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/data_store/backend.h"

namespace banyan::runtime {

/// Like port::DataStore, with results instead of callbacks. Calls may come from several threads at once. It
/// checks keys, sizes and checksums, and measures transfers.
class BlockingStore {
 public:
  BlockingStore(std::unique_ptr<StoreBackend> backend, port::TransferObserver observer)
      : backend_(std::move(backend)), observer_(std::move(observer)) {}

  Result<Done> put(const std::string& key, const Blob& value);
  Result<Blob> get(const std::string& key);
  Result<port::StoredValue> head(const std::string& key);
  Result<Done> remove(const std::string& key);
  Result<std::vector<port::StoredValue>> list(const std::string& prefix);

 private:
  std::unique_ptr<StoreBackend> backend_;
  port::TransferObserver observer_;
};

}  // namespace banyan::runtime
