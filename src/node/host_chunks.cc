#include "node/host_chunks.h"

#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kUnusedChunks = 60s;          // stay on the disk for so long
constexpr std::uint64_t kSampleBytes = 2 << 20;  // so much at once says how fast it is
constexpr Duration kStoreSilent = 10s;           // so long it is not asked then
constexpr Duration kFlowEnds = 2s;               // a chunk is asked for again before that
constexpr Duration kScrubEvery = 250ms;          // a chunk; they have 256 KiB or less, most of them
}  // namespace

void HostChunks::found(const std::vector<Digest>& digests) { found_.insert(digests.begin(), digests.end()); }

void HostChunks::uses_known() {
  for (const Digest& digest : std::exchange(found_, {})) unused_since_[digest] = host_.now().mono;
}

void HostChunks::put(const Digest& digest, const Blob& bytes) {
  if (durable_.contains(digest) || !writing_.insert(digest).second) return;
  found_.erase(digest);
  if (!uses_.contains(digest)) unused_since_[digest] = host_.now().mono;
  host_.write_chunk(digest, bytes);
}

void HostChunks::put_in_background(const Digest& digest, const Blob& bytes) {
  if (durable_.contains(digest) || is_being_written(digest)) return;
  // The disk may store it before it does what it was told with the log, such as to drop the chunk.
  if (dropping_.contains(digest)) return put(digest, bytes);
  writing_in_background_.insert(digest);
  found_.erase(digest);
  if (!uses_.contains(digest)) unused_since_[digest] = host_.now().mono;
  host_.emit(StoreChunk{digest, bytes});
}

void HostChunks::capture(const Digest& digest, const Blob& bytes) {
  if (durable_.contains(digest) || is_being_written(digest)) return;
  captured_.add(digest, bytes);
  write_captured();
}

void HostChunks::write_captured() {
  for (const Digest& digest : captured_.take_due()) put_in_background(digest, *captured_.find(digest));
}

/// One that was captured need not be written any more, whoever brought it to the disk.
void HostChunks::note_durable(const Digest& digest) {
  durable_.insert(digest);
  note_changed(digest);
  captured_.on_landed(digest);
  write_captured();
}

bool HostChunks::landed(const Digest& digest) {
  if (writing_.erase(digest) == 0) return false;
  note_durable(digest);
  return true;
}

bool HostChunks::landed_in_background(const Digest& digest) {
  if (writing_in_background_.erase(digest) == 0) return false;
  note_durable(digest);
  return true;
}

void HostChunks::use(const Digest& digest) {
  ++uses_[digest];
  unused_since_.erase(digest);
  found_.erase(digest);
}

void HostChunks::unuse(const Digest& digest) {
  const auto uses = uses_.find(digest);
  if (uses == uses_.end() || --uses->second > 0) return;
  uses_.erase(uses);
  if (captured_.find(digest) != nullptr && !is_being_written(digest)) {
    captured_.drop(digest);  // it never goes to the disk
  } else {
    unused_since_[digest] = host_.now().mono;
  }
}

void HostChunks::drop_unused() {
  for (auto it = unused_since_.begin(); it != unused_since_.end();) {
    const auto unused = it++;
    if (host_.now().mono - unused->second < kUnusedChunks || is_being_written(unused->first)) continue;
    durable_.erase(unused->first);
    captured_.drop(unused->first);
    dropping_.insert(unused->first);
    note_changed(unused->first);
    host_.drop_chunk(unused->first);
    unused_since_.erase(unused);
  }
  write_captured();
}

void HostChunks::read(const Digest& digest) {
  if (reads_.awaited.empty()) {
    reads_.since = host_.now().mono;
    reads_.bytes = 0;
  }
  if (reads_.awaited.insert(digest).second) host_.emit(ReadChunk{digest});
}

void HostChunks::read_in_background(const Digest& digest) {
  if (reads_.awaited.contains(digest) || !reads_.in_background.insert(digest).second) return;
  host_.emit(ReadChunk{.digest = digest, .in_background = true});
}

/// It came to the disk, or is to leave it.
void HostChunks::note_changed(const Digest& digest) {
  if (reads_.contains(digest)) reads_.changed.insert(digest);
}

bool HostChunks::on_read(const Digest& digest, std::optional<std::uint64_t> bytes) {
  const bool changed = reads_.changed.contains(digest);
  // How fast the disk is does not show where others go first.
  const bool timed = reads_.in_background.erase(digest) == 0 && reads_.awaited.erase(digest) > 0;
  if (!reads_.contains(digest)) reads_.changed.erase(digest);
  reads_.bytes += timed ? bytes.value_or(0) : 0;
  if (reads_.bytes > 0 && (reads_.awaited.empty() || reads_.bytes >= kSampleBytes)) {
    speeds_.now().read(reads_.bytes, microseconds(host_.now().mono - reads_.since));
    reads_.since = host_.now().mono;
    reads_.bytes = 0;
  }
  if (changed) return true;
  if (is_being_written(digest)) return true;
  if (bytes) {
    // Known from an earlier life, unless it has left the disk since it was asked for.
    const bool kept = uses_.contains(digest) || unused_since_.contains(digest) || found_.contains(digest);
    if (kept && !dropping_.contains(digest)) note_durable(digest);
    return true;
  }
  return durable_.erase(digest) == 0;  // it is fetched again from a peer
}

void HostChunks::scrub() {
  if (durable_.empty() || !reads_.awaited.empty() || !reads_.in_background.empty() ||
      (scrub_at_ && host_.now().mono < *scrub_at_))
    return;
  scrub_at_ = host_.now().mono + kScrubEvery;
  auto next = durable_.upper_bound(scrubbed_);
  if (next == durable_.end()) next = durable_.begin();
  scrubbed_ = *next;
  read_in_background(scrubbed_);
}

bool HostChunks::store_answers() const {
  return has_store_ && (!store_silent_at_ || host_.now().mono - *store_silent_at_ >= kStoreSilent);
}

void HostChunks::fetch(const Digest& digest, const session::Elsewhere& there) {
  const auto sha256 = there.sha256.find(digest);
  if (!has_store_ || sha256 == there.sha256.end() || !fetching_.insert(digest).second) return;
  host_.emit(FetchChunk{digest, there.key(digest), sha256->second});
}

void HostChunks::on_fetched(const ChunkFetched& said) {
  fetching_.erase(said.digest);
  if (!said.bytes) flows_[kDataStore].asked.erase(said.digest);
  store_silent_at_ = said.bytes || said.denied ? std::nullopt : std::optional(host_.now().mono);
}

void HostChunks::ask(const HostId& peer, const SessionId& session, const Digest& digest) {
  on_asked(peer, digest);
  host_.send(peer, ChunkWanted{.session = session, .digest = digest, .says_lacking = true});
}

void HostChunks::on_asked(const HostId& peer, const Digest& digest) {
  for (auto& [other, flow] : flows_) {  // it did not send it
    if (other != peer && !(other == kDataStore && fetching_.contains(digest))) flow.asked.erase(digest);
  }
  Flow& flow = flows_[peer];
  // What was not sent for so long is not counted as on its way.
  if (flow.asked.empty() || host_.now().mono - flow.last >= kFlowEnds)
    flow = {.since = host_.now().mono, .last = host_.now().mono};
  flow.last = host_.now().mono;
  flow.asked.insert(digest);
}

void HostChunks::on_lacked(const HostId& peer, const Digest& digest) {
  if (const auto flow = flows_.find(peer); flow != flows_.end()) flow->second.asked.erase(digest);
}

std::size_t HostChunks::on_their_way() const {
  std::size_t count = 0;
  for (const auto& [peer, flow] : flows_)
    if (peer != kDataStore && host_.now().mono - flow.last < kFlowEnds) count += flow.asked.size();
  return count;
}

void HostChunks::on_come(const HostId& peer, const Digest& digest, std::uint64_t bytes) {
  const auto found = flows_.find(peer);
  if (found == flows_.end() || found->second.asked.erase(digest) == 0) return;
  Flow& flow = found->second;
  flow.bytes += bytes;
  flow.last = host_.now().mono;
  if (!flow.asked.empty() && (flow.bytes < kSampleBytes || host_.now().mono == flow.since)) return;
  speeds_.now().received(peer, flow.bytes, microseconds(host_.now().mono - flow.since));
  flow.since = host_.now().mono;
  flow.bytes = 0;
}

}  // namespace banyan::node
