#include "node/chunk_reads.h"

#include <utility>

namespace banyan::node {

void ChunkReads::ask(const Digest& digest, bool awaited) {
  const auto [entry, is_new] = asked_.try_emplace(digest, awaited);
  if (!is_new && (entry->second || !awaited)) return;
  entry->second = awaited;
  if (awaited) {
    chunks_.read(digest);
  } else {
    chunks_.read_in_background(digest);
  }
}

}  // namespace banyan::node
