// The chunks of this host: which are on its disk, who uses them, and how fast they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "node/captured_chunks.h"
#include "node/host_context.h"
#include "node/host_speeds.h"

namespace banyan::node {

/// Shared by all replicas of a host. A chunk is stored once, whichever sessions use it. A chunk without uses
/// stays on the disk for a while: a replica that replays its log passes states that do not use what the last
/// one does.
class HostChunks {
 public:
  /// Both outlive this. `has_store`: there is a data store to read chunks from.
  HostChunks(HostContext& host, HostSpeeds& speeds, bool has_store)
      : host_(host), speeds_(speeds), has_store_(has_store), captured_(host.sizes().background_write) {}

  // On the disk.
  [[nodiscard]] bool durable(const Digest& digest) const { return durable_.contains(digest); }
  /// From an earlier life: those that nothing uses leave the disk like any other, from when all that uses
  /// them is known.
  void found(const std::vector<Digest>& digests);
  void uses_known();
  /// Stores a chunk unless it is there, in one batch, and in order, with what this step writes to the log.
  void put(const Digest& digest, const Blob& bytes);
  /// The same for one for which nobody waits: commits that come later may be on the disk before it.
  void put_in_background(const Digest& digest, const Blob& bytes);
  /// Keeps a chunk that is used in memory, unless it is on the disk. It goes there in the background.
  void capture(const Digest& digest, const Blob& bytes);
  /// The bytes of a chunk that was captured and is not on the disk yet; nullptr for any other.
  [[nodiscard]] const Blob* captured(const Digest& digest) const { return captured_.find(digest); }
  /// Bytes of all these.
  [[nodiscard]] std::uint64_t captured_bytes() const { return captured_.bytes(); }
  [[nodiscard]] bool is_being_written(const Digest& digest) const {
    return writing_.contains(digest) || writing_in_background_.contains(digest);
  }
  /// A chunk that was put is on the disk. False when it was not put.
  [[nodiscard]] bool landed(const Digest& digest);
  /// The same for one that was put in the background.
  [[nodiscard]] bool landed_in_background(const Digest& digest);
  /// A chunk that was dropped is gone from the disk.
  void dropped(const Digest& digest) { dropping_.erase(digest); }
  /// Counts a use of the chunk by a session.
  void use(const Digest& digest);
  void unuse(const Digest& digest);
  /// Called often: drops chunks that nothing has used for a while.
  void drop_unused();
  /// Asks the disk once; the answer comes as ChunkRead.
  void read(const Digest& digest);
  /// The same where nobody waits for it.
  void read_in_background(const Digest& digest);
  /// `bytes`: how many were read; nothing when it was not found. False when a chunk that was there is lost or
  /// damaged.
  bool on_read(const Digest& digest, std::optional<std::uint64_t> bytes);
  /// Reads the chunks one after another, again and again, a little at a time: what is damaged is found before
  /// it is needed. Called often.
  void scrub();

  // From a data store.
  [[nodiscard]] bool has_store() const { return has_store_; }
  /// Whether there is a data store to ask, and it was not silent just now.
  [[nodiscard]] bool store_answers() const;
  /// Asks the data store, if it is not asked already; the answer comes as ChunkFetched.
  void fetch(const Digest& digest, const session::Elsewhere& there);
  [[nodiscard]] bool fetching(const Digest& digest) const { return fetching_.contains(digest); }
  void on_fetched(const ChunkFetched& said);

  // From peers.
  /// Asks a peer, for a replica of the session.
  void ask(const HostId& peer, const SessionId& session, const Digest& digest);
  /// A replica has asked a peer, or a data store, for it.
  void on_asked(const HostId& peer, const Digest& digest);
  /// The peer has not got it.
  void on_lacked(const HostId& peer, const Digest& digest);
  /// Of peers, by all replicas, and may still come.
  [[nodiscard]] std::size_t on_their_way() const;
  /// A peer has sent it, and it is stored.
  void on_come(const HostId& peer, const Digest& digest, std::uint64_t bytes);

 private:
  void write_captured();
  void note_durable(const Digest& digest);
  void note_changed(const Digest& digest);

  /// What the disk was asked for and has not answered.
  struct Reads {
    std::set<Digest> awaited;
    std::set<Digest> in_background;
    std::set<Digest> changed;  ///< since they were asked for: the answer may say what was before
    Time since;                ///< bytes are counted
    std::uint64_t bytes = 0;
    [[nodiscard]] bool contains(const Digest& digest) const {
      return awaited.contains(digest) || in_background.contains(digest);
    }
  };
  /// Chunks on their way from one place.
  struct Flow {
    Time since;  ///< its bytes are counted
    Time last;   ///< it was asked, or sent something
    std::uint64_t bytes = 0;
    std::set<Digest> asked;
  };

  HostContext& host_;
  HostSpeeds& speeds_;
  const bool has_store_;
  std::set<Digest> durable_;
  std::set<Digest> writing_;
  std::set<Digest> writing_in_background_;
  std::set<Digest> dropping_;  ///< the disk has not said that it is gone
  CapturedChunks captured_;
  std::map<Digest, std::uint64_t> uses_;
  std::map<Digest, Time> unused_since_;
  std::set<Digest> found_;  ///< of an earlier life; nothing has used them yet
  Reads reads_;
  Digest scrubbed_;  ///< the last one
  std::optional<Time> scrub_at_;
  std::set<Digest> fetching_;
  std::optional<Time> store_silent_at_;
  std::map<HostId, Flow> flows_;
};

}  // namespace banyan::node
