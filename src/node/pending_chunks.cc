#include "node/pending_chunks.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kAskEvery = 2s;        // each chunk
constexpr std::size_t kAskedAtOnce = 64;  // chunks
}  // namespace

void PendingChunks::add(const ExecutionId& cell, const Digest& digest, std::uint64_t size, bool is_old) {
  Pending pending{.cell = cell,
                  .size = size,
                  .since = host_.now().wall,
                  .asked = is_old ? Time{} : host_.now().mono,
                  .stored_by = {}};
  if (pending_.try_emplace(digest, std::move(pending)).second) bytes_ += size;
}

void PendingChunks::add_all(const session::Session& session) {
  for (const auto& [id, value] : session.co_variables()) add_old(value);
}

void PendingChunks::add_old(const session::CoVariable& value) {
  if (!value.kept || value.bytes() <= host_.sizes().durable_inline) return;
  for (const session::Chunk& block : value.blocks)
    if (!block.bytes) add({}, block.digest, block.size, true);
}

void PendingChunks::on_stored(const session::Session& session, const HostId& host, const Digest& digest) {
  const auto found = pending_.find(digest);
  if (found == pending_.end()) return;
  for (const auto& [replica, where] : session.members())
    if (where == host && host != host_.id()) found->second.stored_by.insert(replica);
  look_at(digest, session);
}

void PendingChunks::forget(const Digest& digest) {
  const auto found = pending_.find(digest);
  if (found == pending_.end()) return;
  bytes_ -= found->second.size;
  pending_.erase(found);
}

void PendingChunks::clear() {
  pending_.clear();
  bytes_ = 0;
}

void PendingChunks::look_at(const Digest& digest, const session::Session& session) {
  const auto found = pending_.find(digest);
  if (found != pending_.end() && is_over(digest, found->second, session)) forget(digest);
}

void PendingChunks::look_at_all(const session::Session& session) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    const auto one = it++;
    look_at(Digest(one->first), session);
  }
}

bool PendingChunks::is_over(const Digest& digest, const Pending& pending,
                            const session::Session& session) const {
  const bool runs = session.running() && session.running()->execution == pending.cell;
  if (!runs && !session.chunks().contains(digest)) return true;
  const auto has_it = [&](const auto& member) {
    return pending.stored_by.contains(member.first) ||
           (member.second == host_.id() && chunks_.durable(digest));
  };
  const auto count = std::ranges::count_if(session.members(), has_it);
  return static_cast<std::size_t>(count) > session.members().size() / 2;
}

std::vector<std::pair<HostId, Digest>> PendingChunks::to_ask(const session::Session& session) {
  std::vector<std::pair<HostId, Digest>> questions;
  std::size_t asked = 0;
  const Time now = host_.now().mono;
  for (auto& [digest, pending] : pending_) {
    if (now - pending.asked < kAskEvery) continue;
    if (++asked > kAskedAtOnce) break;
    pending.asked = now;
    for (const auto& [id, host] : session.members())
      if (host != host_.id() && !pending.stored_by.contains(id)) questions.emplace_back(host, digest);
  }
  return questions;
}

std::uint64_t PendingChunks::captured_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [digest, pending] : pending_)
    if (chunks_.captured(digest) != nullptr) sum += pending.size;
  return sum;
}

std::optional<WallTime> PendingChunks::since() const {
  std::optional<WallTime> first;
  for (const auto& [digest, pending] : pending_)
    if (!first || pending.since.us < first->us) first = pending.since;
  return first;
}

std::optional<api::PendingModel> PendingChunks::model() const {
  const std::optional<WallTime> first = since();
  if (!first) return std::nullopt;
  return api::PendingModel{.bytes = bytes_,
                           .captured_bytes = captured_bytes(),
                           .for_ms = (host_.now().wall.us - first->us) / 1000};
}

}  // namespace banyan::node
