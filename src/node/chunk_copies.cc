#include "node/chunk_copies.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {

/// Bytes of the value that came with it: the others are in the session already.
std::uint64_t new_bytes(const session::CoVariable& value) {
  std::uint64_t sum = 0;
  for (const session::Chunk& chunk : value.blocks) sum += chunk.bytes ? chunk.size : 0;
  return sum;
}

}  // namespace

void ChunkCopies::take(session::Delta& delta, const Limits& limits) {
  for (session::CoVariable& value : delta.changed) {
    const bool awaited = new_bytes(value) <= limits.awaited_max;
    for (session::Chunk& chunk : value.blocks) {
      if (!chunk.bytes || chunk.size <= limits.inline_max) continue;
      std::map<Digest, Blob>& into = awaited ? bytes_ : captured_;
      into.emplace(chunk.digest, *std::exchange(chunk.bytes, std::nullopt));
      if (awaited) stored_by_[chunk.digest];
    }
  }
  // What a large value shares with one that the reply waits for is waited for.
  std::erase_if(captured_, [this](const auto& item) { return bytes_.contains(item.first); });
}

void ChunkCopies::clear() {
  bytes_.clear();
  captured_.clear();
  stored_by_.clear();
  sent_.clear();
}

void ChunkCopies::send(HostContext& host, const HostId& to, const Purpose& purpose) {
  sent_[to].reset();
  std::uint64_t at_once = 0;
  while (at_once < host.sizes().durable_inline) {
    const auto size = send_next(host, to, purpose);
    if (!size) return;
    at_once += *size;
  }
  send_more(host, purpose);
}

void ChunkCopies::send_more(HostContext& host, const Purpose& purpose) {
  const std::uint64_t enough = 2 * host.sizes().link_window;  // what is under way, and what follows it
  for (const auto& [to, last] : sent_)
    while (host.link(to).backlog_bytes() < enough && send_next(host, to, purpose)) continue;
}

std::optional<std::uint64_t> ChunkCopies::send_next(HostContext& host, const HostId& to,
                                                    const Purpose& purpose) {
  std::optional<Digest>& last = sent_.at(to);
  const auto next = last ? bytes_.upper_bound(*last) : bytes_.begin();
  if (next == bytes_.end()) return std::nullopt;
  const auto& [digest, bytes] = *next;
  const std::uint64_t part = host.sizes().chunk_part;
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += part) {
    const std::uint64_t size = std::min<std::uint64_t>(part, bytes.size() - offset);
    host.send(
        to, ChunkPart{purpose.session, digest, bytes.size(), offset, bytes.part(offset, size), purpose.cell});
  }
  last = digest;
  return bytes.size();
}

void ChunkCopies::on_stored(ReplicaId member, const Digest& digest) {
  if (const auto entry = stored_by_.find(digest); entry != stored_by_.end()) entry->second.insert(member);
}

std::vector<ReplicaId> ChunkCopies::on_members(const session::Members& members, ReplicaId self) {
  for (auto& [digest, stored] : stored_by_)
    std::erase_if(stored, [&](ReplicaId id) { return !members.contains(id); });
  std::erase_if(sent_, [&](const auto& item) {
    return std::ranges::none_of(members, [&](const auto& member) { return member.second == item.first; });
  });
  std::vector<ReplicaId> lacking;
  for (const auto& [id, host] : members) {
    const auto lacks = [&](const auto& item) { return !item.second.contains(id); };
    if (id != self && std::ranges::any_of(stored_by_, lacks)) lacking.push_back(id);
  }
  return lacking;
}

bool ChunkCopies::are_safe(std::size_t majority, const HostChunks& here) {
  const auto lacks = [&](const auto& item) {
    return item.second.size() + (here.durable(item.first) ? 1 : 0) < majority;
  };
  // There may be thousands, and this is asked when each is stored: from the first that was not safe then.
  const auto missing = std::find_if(stored_by_.lower_bound(lacked_), stored_by_.end(), lacks);
  if (missing != stored_by_.end()) {
    lacked_ = missing->first;
    return false;
  }
  return std::ranges::none_of(stored_by_, lacks);
}

std::uint64_t ChunkCopies::unsafe_bytes(std::size_t majority, const HostChunks& here) const {
  std::uint64_t sum = 0;
  for (const auto& [digest, stored] : stored_by_)
    if (stored.size() + (here.durable(digest) ? 1 : 0) < majority) sum += bytes_.at(digest).size();
  return sum;
}

}  // namespace banyan::node
