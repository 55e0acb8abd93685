// A data store as a host's source of chunks.
#pragma once

#include <memory>

#include "port/chunk_source.h"
#include "port/data_store.h"
#include "port/drivers.h"

namespace banyan::runtime {

/// Reads chunks by their keys and checks their bytes before it hands them on.
class StoreChunks : public port::ChunkSource {
 public:
  /// `log` is told when the store ceases to answer, when it answers again, and which chunks it lacks.
  StoreChunks(std::unique_ptr<port::DataStore> store, port::LogSink log)
      : store_(std::move(store)), log_(std::move(log)) {}

  void fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) override;

 private:
  void answers(bool now, const std::string& trouble);

  std::unique_ptr<port::DataStore> store_;
  port::LogSink log_;
  bool answers_ = true;
};

}  // namespace banyan::runtime
