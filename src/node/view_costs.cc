#include "node/view_costs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/session/transfer.h"

namespace banyan::node {

namespace {

/// Bytes that are not here come from the other hosts, all at once as far as the way goes, or from a data
/// store.
std::int64_t way_us(const planner::Speeds& speeds, const ChunkSync& chunks,
                    const ChunkSync::Standing& standing, const session::CoVariable& value,
                    planner::Take how) {
  std::uint64_t stored = 0, missing = 0, here = 0;
  Duration wait{};
  for (const session::Chunk& block : value.blocks) {
    if (block.bytes || chunks.is_loaded(block.digest)) continue;
    wait = std::max(wait, chunks.left_to_wait(block.digest, standing));
    const bool is_missing = chunks.is_missing(block.digest);
    (!is_missing ? here : chunks.asks_store_first(block.digest, standing) ? stored : missing) += block.size;
  }
  std::int64_t sum = microseconds(wait);
  if (stored > 0) sum += speeds.receive(stored, std::array{kDataStore}).taken_us(how);
  if (missing > 0) sum += speeds.receive(missing, standing.peers).taken_us(how);
  if (here > 0) sum += speeds.read(here).taken_us(how);
  return sum;
}

}  // namespace

planner::Costs view_costs(const planner::Speeds& speeds, const ChunkSync& chunks,
                          const ChunkSync::Standing& standing, const session::View& shown,
                          std::function<bool(const session::CoVariableId&)> loads, planner::Take how) {
  std::set<session::CoVariableId> there;
  for (const auto& [name, version] : shown) there.insert(version);
  planner::Costs costs = session::costs_of(
      standing.session, speeds,
      [&speeds, &chunks, standing, how](const session::CoVariable& value) {
        return way_us(speeds, chunks, standing, value, how);
      },
      how);
  costs.load = [there = std::move(there), loads = std::move(loads), cost = std::move(costs.load)](
                   const session::CoVariableId& version) -> std::optional<planner::LoadCost> {
    if (there.contains(version)) return planner::LoadCost{};
    return loads(version) ? cost(version) : std::nullopt;
  };
  return costs;
}

bool may_run_unasked(const std::set<CommitId>& cells, const session::Session& session) {
  std::int64_t sum_us = 0;
  std::size_t count = 0;
  for (const CommitId commit : cells) {
    const auto cell = session.history().find(commit);
    if (cell == session.history().end() || cell->second.may_repeat) continue;
    sum_us += std::clamp<std::int64_t>(cell->second.runtime_us, 0, 2 * planner::kUnaskedMax_us);
    ++count;
  }
  return sum_us <= planner::kUnaskedMax_us && count <= planner::kUnaskedMax;
}

}  // namespace banyan::node
