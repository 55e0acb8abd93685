#include "core/raft/reads.h"

namespace banyan::raft {
namespace {
constexpr std::size_t kRoundsKept = 64;
}

std::uint64_t Reads::start_round(std::uint64_t tick) {
  ++round_;
  // Of the rounds within one tick the last proves the most, and very old ones prove nothing: few are kept.
  if (!rounds_.empty() && rounds_.back().tick == tick) rounds_.pop_back();
  if (rounds_.size() == kRoundsKept) rounds_.pop_front();
  rounds_.push_back({round_, tick});
  return round_;
}

std::vector<PendingRead> Reads::confirm(std::uint64_t round) {
  while (!rounds_.empty() && rounds_.front().number <= round) {
    confirmed_tick_ = rounds_.front().tick;
    rounds_.pop_front();
  }
  std::vector<PendingRead> proven;
  while (!waiting_.empty() && waiting_.front().round <= round) {
    proven.push_back(waiting_.front().read);
    waiting_.pop_front();
  }
  return proven;
}

}  // namespace banyan::raft
