// Chunks between this host and others: what comes part by part, and who waits for one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/host_chunks.h"

namespace banyan::node {

/// Puts chunks together that peers send, confirms them when they are durable, and answers who wants one. Both
/// that it refers to outlive it.
class ChunkExchange {
 public:
  ChunkExchange(HostContext& host, HostChunks& chunks) : host_(host), chunks_(chunks) {}

  /// A part of a chunk has come. Gives back the chunk when it is whole, and is being stored.
  std::optional<Blob> on_part(const HostId& from, const ChunkPart& part);
  /// The data store has answered. True when it has given the chunk, and that is being stored.
  bool on_fetched(const ChunkFetched& said);
  void on_wanted(const HostId& from, const ChunkWanted& wanted);
  /// The disk has answered. Gives back the sessions for which peers are sent the chunk.
  std::vector<SessionId> on_read(const ChunkRead& said);
  /// The chunk is on the disk.
  void on_durable(const Digest& digest);
  /// The peer is another life than before: the rest of what it was sending does not come.
  void on_peer_restarted(const HostId& peer);

 private:
  /// Who waits for a chunk.
  struct Asker {
    HostId host;
    SessionId session;
    bool says_lacking = false;  ///< ChunkWanted::says_lacking
    friend auto operator<=>(const Asker&, const Asker&) = default;
  };
  struct Sender {
    HostId host;
    SessionId session;
    std::uint64_t bytes = 0;
  };

  /// `for_reply`: the reply of a cell may wait for it.
  void store(const Digest& digest, const Blob& bytes, Sender from, bool for_reply);
  void send(const HostId& to, const SessionId& session, const Digest& digest, const Blob& bytes);
  void lacks(const Digest& digest);

  HostContext& host_;
  HostChunks& chunks_;
  std::map<std::pair<HostId, Digest>, std::string> arriving_;  ///< what has come, part by part
  std::map<Digest, std::set<Asker>> asked_for_;
  std::map<Digest, std::vector<Sender>> to_confirm_;  ///< they want to know that it is stored
};

}  // namespace banyan::node
