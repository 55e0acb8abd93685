// A host's disk: the logs of all its replicas on one device, and the chunks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "node/host_events.h"

namespace banyan::port {

/// A batch becomes durable as a whole, and batches do in the order of the calls of write(). Callbacks run on
/// the owner's thread, never inside the call. A write that fails ends the daemon (after EIO no second fsync
/// can be trusted), so it is not reported here.
class Disk {
 public:
  virtual ~Disk() = default;
  /// Reads everything that the disk holds except the chunks' bytes. Called once, before any write.
  virtual Result<node::Recovered> recover() = 0;
  virtual void write(std::vector<node::DiskWrite> batch, std::function<void()> durable) = 0;
  /// Stores a chunk for which nobody waits. It has no order with the batches of write(), which do not wait
  /// for it.
  virtual void store_chunk(const Digest& digest, Blob bytes, std::function<void()> durable) = 0;
  /// Reads a replica as the writes before this call left it; nothing when there is none, or it cannot be
  /// read.
  virtual void load_replica(const SessionId& session,
                            std::function<void(std::optional<node::StoredReplica>)> done) = 0;
  /// Reads a chunk; nothing when it is not there or fails its checksum.
  virtual void read_chunk(const node::ReadChunk& what, std::function<void(std::optional<Blob>)> done) = 0;
};

/// The gateway's control store: small records, durable in the order of the calls.
class ControlStore {
 public:
  virtual ~ControlStore() = default;
  virtual Result<std::map<std::string, std::string>> load() = 0;
  /// Writes a record; an empty value deletes it.
  virtual void put(std::string key, std::string value, std::function<void()> durable) = 0;
};

}  // namespace banyan::port
