#include "runtime/data_store/store_chunks.h"

#include <utility>

#include "runtime/data_store/sigv4.h"

namespace banyan::runtime {

void StoreChunks::fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) {
  std::string key = wanted.key;
  store_->get(std::move(key), [this, wanted = std::move(wanted), done = std::move(done)](Result<Blob> bytes) {
    const bool silent =
        !bytes && bytes.error().kind != ErrorKind::kNotFound && bytes.error().kind != ErrorKind::kCorrupt;
    answers(!silent, silent ? bytes.error().message : "");
    if (silent) return done({.digest = wanted.digest, .key = wanted.key, .bytes = {}});
    const bool whole =
        bytes && digest_of(bytes->view()) == wanted.digest && sha256_hex(bytes->view()) == wanted.sha256;
    if (whole) return done({.digest = wanted.digest, .key = wanted.key, .bytes = std::move(*bytes)});
    log_({node::Log::Level::kError, "the data store does not have " + wanted.key +
                                        (bytes ? " as it was put there" : ": " + bytes.error().message)});
    done({.digest = wanted.digest, .key = wanted.key, .bytes = {}, .denied = true});
  });
}

/// Logs when the store ceases to answer and when it answers again: one line is enough for a trouble that goes
/// on.
void StoreChunks::answers(bool now, const std::string& trouble) {
  if (now == answers_) return;
  answers_ = now;
  if (now) {
    log_({node::Log::Level::kInfo, "the data store answers again"});
  } else {
    log_({node::Log::Level::kWarning, "the data store gives no chunks, peers are asked: " + trouble});
  }
}

}  // namespace banyan::runtime
