#include "core/raft/progress.h"

#include <algorithm>

namespace banyan::raft {

void Inflight::add(Index last, std::uint64_t bytes) {
  sent_.push_back({last, bytes});
  bytes_ += bytes;
}

void Inflight::answered(Index match) {
  while (!sent_.empty() && sent_.front().last <= match) {
    bytes_ -= sent_.front().bytes;
    sent_.pop_front();
  }
}

void Inflight::clear() {
  sent_.clear();
  bytes_ = 0;
}

bool Inflight::full(const Config& limits) const {
  if (sent_.empty()) return false;
  return sent_.size() >= static_cast<std::size_t>(limits.max_inflight_messages) ||
         bytes_ >= limits.max_inflight_bytes;
}

void Progress::probe() {
  // A member that was sent a snapshot is probed right after it: it mostly has it, even when its answer was
  // lost.
  next = std::max(match, snapshot) + 1;
  flow = Flow::kProbe;
  paused = false;
  nudge = false;
  sent_commit = std::min(sent_commit, next - 1);
  snapshot = {};
  inflight.clear();
}

void Progress::replicate() {
  probe();
  flow = Flow::kReplicate;
  next = match + 1;
}

void Progress::await_snapshot(Index index, std::uint64_t tick) {
  flow = Flow::kSnapshot;
  snapshot = index;
  snapshot_tick = tick;
  next = index + 1;
}

bool Progress::advance(Index index) {
  if (index <= match) return false;
  match = index;
  next = std::max(next, match + 1);
  inflight.answered(match);
  return true;
}

bool Progress::step_back(Index prev, Index hint) {
  if (flow == Flow::kReplicate) {
    if (prev <= match) return false;
    probe();
    return true;
  }
  // The probe that is out has next - 1 as its prev; a rejection of another one is old.
  if (flow != Flow::kProbe || next - 1 != prev) return false;
  next = std::max(std::min(prev, hint + 1), match + 1);
  sent_commit = std::min(sent_commit, next - 1);
  paused = false;
  return true;
}

bool Progress::blocked(const Config& limits) const {
  if (flow == Flow::kProbe) return paused;
  return flow == Flow::kSnapshot || inflight.full(limits);
}

}  // namespace banyan::raft
