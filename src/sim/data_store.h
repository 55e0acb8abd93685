// A data store: it is slow at times, or silent. What it has said it has is there, whole.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "port/chunk_source.h"
#include "sim/plant.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace banyan::sim {

/// What is wrong with a store at the moment.
struct StoreTrouble {
  Duration slower{};  ///< calls take up to so much longer
  double silent = 0;  ///< the share of calls that get no answer. Such a put may have been done
};

/// What stands for the SHA-256 of a value: stores look at no other part of a key than this.
std::string sum_of(std::string_view bytes);

/// The store of all hosts and clients. Nothing is removed from it.
class DataStore {
 public:
  /// Takes what was violated, in words.
  using Report = std::function<void(const std::string& what)>;

  DataStore(Scheduler& scheduler, Rng rng, Trace& trace, Plant plant, Report report)
      : scheduler_(scheduler), rng_(rng), trace_(trace), plant_(plant), report_(std::move(report)) {}

  /// Stores a value. `done` is told whether the store has said that it is there.
  void put(std::string key, std::string value, std::function<void(bool stored)> done);
  /// Reads a chunk, as port::ChunkSource says. Hosts are told of keys that are there, and ask for no others.
  void fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done);
  void set_trouble(const StoreTrouble& trouble) { trouble_ = trouble; }
  /// Whether the key's value is there and has this sum.
  [[nodiscard]] bool has(const std::string& key, const std::string& sum) const;
  /// Whether some value is the chunk.
  [[nodiscard]] bool keeps(const Digest& digest) const;
  /// How many chunks hosts have read.
  [[nodiscard]] std::uint64_t given() const { return given_; }

 private:
  Duration delay();
  [[nodiscard]] node::ChunkFetched look_up(const node::FetchChunk& wanted);

  Scheduler& scheduler_;
  Rng rng_;
  Trace& trace_;
  Plant plant_;
  Report report_;
  StoreTrouble trouble_;
  std::map<std::string, std::string> values_;
  std::uint64_t given_ = 0;
};

/// The store as one life of a host agent reads it.
class ChunkPort final : public port::ChunkSource {
 public:
  ChunkPort(DataStore& store, Process& process) : store_(store), process_(process), life_(process.life()) {}
  void fetch(node::FetchChunk wanted, std::function<void(node::ChunkFetched)> done) override;

 private:
  DataStore& store_;
  Process& process_;
  Process::Life life_;
};

}  // namespace banyan::sim
