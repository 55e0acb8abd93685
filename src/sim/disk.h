// Virtual disks. A write waits in the machine's memory until a sync makes it durable; a crash keeps some of
// the batches that were on their way, in order and whole, and forgets the others.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "node/stored_replicas.h"
#include "port/disk.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace banyan::sim {

/// How long a sync takes.
struct DiskSpeed {
  Duration sync = 300us;
  Duration jitter = 700us;
};

/// A queue with group commit: what is written while a sync runs waits for the next one.
class SyncQueue {
 public:
  /// `apply` changes what is durable, `acknowledge` tells the writer. A write may be applied after its
  /// writer's life has ended; then nobody is told.
  struct Write {
    Action apply;
    Action acknowledge;
  };
  SyncQueue(Scheduler& scheduler, Rng rng) : scheduler_(scheduler), rng_(rng) {}

  void push(Write write);
  /// The machine crashes: a random number of the oldest writes are applied, the others are dropped, and none
  /// is acknowledged.
  void crash();
  void set_speed(const DiskSpeed& speed) { speed_ = speed; }
  /// Plants the bug of a disk that lies: from now on writes are acknowledged at once.
  void acknowledge_early() { early_ = true; }

 private:
  void sync();

  Scheduler& scheduler_;
  Rng rng_;
  DiskSpeed speed_;
  std::deque<Write> waiting_;
  std::size_t syncing_ = 0;
  std::uint64_t power_ = 0;  ///< counts crashes: a sync of before one has no effect
  bool early_ = false;
};

/// Is told of each batch of a disk at the moment in which it becomes durable.
class DiskWatcher {
 public:
  virtual ~DiskWatcher() = default;
  virtual void durable(const HostId& host, const std::vector<node::DiskWrite>& batch) = 0;
  virtual void broken_contract(const HostId& host, std::string what) = 0;
};

/// The disk of a host. It outlives the lives of the host agent.
class Disk {
 public:
  Disk(Scheduler& scheduler, Rng rng, Trace& trace, HostId host, DiskWatcher& watcher)
      : scheduler_(scheduler),
        rng_(rng),
        trace_(trace),
        host_(std::move(host)),
        watcher_(watcher),
        queue_(scheduler, rng_.fork()),
        background_(scheduler, rng_.fork()) {
    set_speed({});
  }

  [[nodiscard]] node::Recovered recovered() const;
  /// `life`: of the host agent that writes.
  void write(std::vector<node::DiskWrite> batch, Process::Life life, Action acknowledge);
  /// The same for a chunk, in no order with the batches of write().
  void store(node::PutChunk chunk, Process::Life life, Action acknowledge);
  [[nodiscard]] std::optional<Blob> chunk(const Digest& digest) const;
  void crash() {
    queue_.crash();
    background_.crash();
  }
  /// Another disk takes its place, which is empty. The machine is down.
  void replace();
  void set_speed(const DiskSpeed& speed) {
    queue_.set_speed(speed);
    background_.set_speed({.sync = speed.sync, .jitter = 10 * speed.jitter});  // it yields to the other one
  }
  void acknowledge_early() {
    queue_.acknowledge_early();
    background_.acknowledge_early();
  }
  /// Whether the disk is full: then the first write of a host agent fails, which ends that host agent.
  void set_full(bool full) { full_ = full; }
  [[nodiscard]] bool full() const { return full_; }
  /// Damages a stored chunk: from now on it fails its checksum and reads as absent.
  void corrupt(const Digest& digest) { bad_.insert(digest); }
  /// A planted bug: every third chunk is acknowledged and not kept.
  void lose_chunks() { loses_chunks_ = true; }
  [[nodiscard]] const std::map<Digest, Blob>& chunks() const { return chunks_; }
  [[nodiscard]] bool whole(const Digest& digest) const {
    return chunks_.contains(digest) && !bad_.contains(digest);
  }
  /// The life of the host agent that has stored the chunk last; nothing when it is not there.
  [[nodiscard]] std::optional<Process::Life> stored_in(const Digest& digest) const {
    const auto found = stored_in_.find(digest);
    return found == stored_in_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<node::StoredReplica> load(const SessionId& session) {
    trace_.note(host_.value, "loads", session.value.size());
    return replicas_.find(session);
  }
  Duration read_delay() { return 50us + Duration(rng_.below(400'000)); }
  Scheduler& scheduler() { return scheduler_; }

 private:
  void push(SyncQueue& queue, std::vector<node::DiskWrite> batch, Process::Life life, Action acknowledge);
  void apply(const node::DiskWrite& write, Process::Life life);

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  HostId host_;
  DiskWatcher& watcher_;
  SyncQueue queue_;
  SyncQueue background_;
  node::StoredReplicas replicas_;
  bool loses_chunks_ = false;
  std::uint64_t puts_ = 0;  ///< of chunks
  std::map<Digest, Blob> chunks_;
  std::map<Digest, Process::Life> stored_in_;
  std::string speeds_;
  std::set<Digest> bad_;
  bool full_ = false;
};

/// The disk as one life of a host agent sees it.
class DiskPort final : public port::Disk {
 public:
  DiskPort(sim::Disk& disk, Process& process) : disk_(disk), process_(process), life_(process.life()) {}
  Result<node::Recovered> recover() override { return disk_.recovered(); }
  void write(std::vector<node::DiskWrite> batch, std::function<void()> durable) override;
  void store_chunk(const Digest& digest, Blob bytes, std::function<void()> durable) override;
  void load_replica(const SessionId& session,
                    std::function<void(std::optional<node::StoredReplica>)> done) override;
  void read_chunk(const node::ReadChunk& what, std::function<void(std::optional<Blob>)> done) override;

 private:
  [[nodiscard]] bool takes();
  [[nodiscard]] Action told(std::function<void()> durable);

  sim::Disk& disk_;
  Process& process_;
  Process::Life life_;
};

/// The gateway's control store; it outlives the gateway's lives.
class Store {
 public:
  Store(Scheduler& scheduler, Rng rng) : queue_(scheduler, rng) {}
  [[nodiscard]] const std::map<std::string, std::string>& records() const { return records_; }
  void put(std::string key, std::string value, Action acknowledge);
  void crash() { queue_.crash(); }
  void set_speed(const DiskSpeed& speed) { queue_.set_speed(speed); }
  void acknowledge_early() { queue_.acknowledge_early(); }

 private:
  SyncQueue queue_;
  std::map<std::string, std::string> records_;
};

/// The gateway's control store on a virtual disk.
class StorePort final : public port::ControlStore {
 public:
  StorePort(Store& store, Process& process) : store_(store), process_(process), life_(process.life()) {}
  Result<std::map<std::string, std::string>> load() override { return store_.records(); }
  void put(std::string key, std::string value, std::function<void()> durable) override;

 private:
  Store& store_;
  Process& process_;
  Process::Life life_;
};

}  // namespace banyan::sim
