// The chunks of one replica without the replica, for tests: the test ends cells with values, answers for the
// disk, and sees what is asked of whom.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "node/chunk_sync.h"

namespace banyan::node {

/// By the place that was asked.
using Asked = std::map<HostId, std::set<Digest>>;

/// The chunks of a replica on h1 whose session has members on h1, h2 and h3.
class ChunkSyncs : public testing::Test {
 protected:
  ChunkSyncs() { advance(1h); }

  static Digest digest(int number) { return digest_of("value " + std::to_string(number)); }

  /// A cell ends with a value of these chunks, whose bytes are not here.
  void commit(const std::vector<int>& numbers) {
    const ExecutionId cell{"c" + std::to_string(++cells_)};
    session_.apply(session::Propose{.execution = cell, .replica = kHere});
    session::Commit ending{.execution = cell, .epoch = session_.epoch()};
    session::CoVariable value{.names = {"x" + std::to_string(cells_)}};
    value.parts = {static_cast<std::uint32_t>(numbers.size())};
    for (const int number : numbers) value.blocks.push_back({.digest = digest(number), .size = 100'000});
    ending.delta.changed = {std::move(value)};
    for (const session::Event& event : session_.apply(std::move(ending)))
      if (const auto* moved = std::get_if<session::ValuesMoved>(&event)) sync_.follow(*moved, session_);
  }
  /// The same, and the disk has none of them: it is time to ask others.
  void want(const std::vector<int>& numbers) {
    commit(numbers);
    sync_.fetch(standing());
    disk_has_nothing();
    advance(100ms);
  }
  /// The session is one that was restored from a backup: a data store has these chunks.
  void restore_from_store(const std::vector<int>& numbers) {
    session::Elsewhere store{.prefix = "p/", .sha256 = {}};
    for (const int number : numbers) store.sha256[digest(number)] = std::string(64, 'a');
    auto restored = session::Session::restore(session_.snapshot_from(store));
    ASSERT_TRUE(restored);
    session_ = std::move(*restored);
    sync_.adopt(session_);
  }

  ChunkSync::Standing standing() const {
    return {.session = session_,
            .self = kHere,
            .leader = leader_,
            .leaders_host = leader_ == kOther  ? kH2
                            : leader_ == kHere ? kH1
                                               : HostId{},
            .executors_host = executors_host_,
            .peers = peers_,
            .has_lead = has_lead_,
            .runs_cells = runs_cells_,
            .builds = builds_,
            .view_is_awaited = builds_};
  }
  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  /// The disk answers what it was asked: it has none of that.
  void disk_has_nothing() {
    for (const HostEffect& effect : host_.finish()) {
      const auto* read = std::get_if<ReadChunk>(&effect);
      if (read == nullptr) continue;
      chunks_.on_read(read->digest, std::nullopt);
      if (sync_.on_read(read->digest)) sync_.on_not_found(read->digest, standing());
    }
  }
  /// Asks for what is due, and says what was asked of whom.
  Asked fetch() {
    sync_.fetch(standing());
    return sent();
  }
  /// What was asked of whom since the last call.
  Asked sent() {
    Asked asked;
    for (auto effects = host_.finish(); !effects.empty(); effects = host_.finish()) {
      for (HostEffect& effect : effects) {
        if (auto* const frame = std::get_if<SendFrame>(&effect)) {
          for (const PeerMessage& message : deliver(*frame))
            if (const auto* wanted = std::get_if<ChunkWanted>(&message))
              asked[frame->to].insert(wanted->digest);
        } else if (const auto* const read = std::get_if<FetchChunk>(&effect)) {
          asked[kDataStore].insert(read->digest);
        }
      }
    }
    return asked;
  }
  static std::set<Digest> all_of(const Asked& asked) {
    std::set<Digest> all;
    for (const auto& [place, digests] : asked) all.insert(digests.begin(), digests.end());
    return all;
  }
  /// Peers send 100 kB/s.
  void slow_down() {
    for (const HostId& peer : peers_)
      for (int s = 1; s <= 20; ++s) speeds_.now().received(peer, 100'000ULL * s, 1'000'000LL * s);
  }
  /// The chunk comes from a peer and lands on the disk. True if it was missing.
  bool come(int number) {
    chunks_.put(digest(number), Blob("value"));
    EXPECT_TRUE(chunks_.landed(digest(number)));
    return sync_.on_durable(digest(number));
  }

  /// Whether a chunk that is on the disk is still there when what nothing uses has left it.
  bool stays(int number) {
    chunks_.uses_known();
    for (int minute = 0; minute < 30; ++minute, advance(1min)) chunks_.drop_unused();
    return chunks_.durable(digest(number));
  }

  static inline const ReplicaId kHere{1}, kOther{2}, kThird{3};
  static inline const HostId kH1{"h1"}, kH2{"h2"}, kH3{"h3"};

  HostContext host_{{.id = kH1, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HostSpeeds speeds_{host_};
  HostChunks chunks_{host_, speeds_, true};
  session::Session session_{{"s"}, {}, {{kHere, kH1}, {kOther, kH2}, {kThird, kH3}}};
  ChunkSync sync_{host_, chunks_, speeds_, {"s"}};
  ReplicaId leader_ = kOther;
  std::vector<HostId> peers_{kH2, kH3};
  HostId executors_host_;
  bool has_lead_ = false;
  bool runs_cells_ = true;
  bool builds_ = false;

 private:
  std::vector<PeerMessage> deliver(SendFrame& frame) {
    Link& link = links_.try_emplace(frame.to, Incarnation{7}, host_.timing(), host_.sizes()).first->second;
    std::vector<PeerMessage> messages =
        link.receive(std::get<LinkFrame>(std::move(frame.frame)), now_.mono).messages;
    while (auto answer = link.poll(now_.mono)) host_.link(frame.to).receive(std::move(*answer), now_.mono);
    return messages;
  }

  Now now_{};
  std::map<HostId, Link> links_;
  int cells_ = 0;
};

}  // namespace banyan::node
