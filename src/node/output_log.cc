#include "node/output_log.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

std::uint64_t OutputLog::add(jupyter::Message message) {
  const std::uint64_t bytes = message.size();
  const bool journal_open = journal_.size() == total_ && journal_bytes_ + bytes <= journal_max_;
  if (journal_open) {
    journal_.push_back(message);
    journal_bytes_ += bytes;
  }
  held_.push_back(std::move(message));
  held_bytes_ += bytes;
  ++total_;
  while (held_bytes_ > held_max_ && held_.size() > 1) {
    held_bytes_ -= held_.front().size();
    held_.pop_front();
  }
  return total_;
}

void OutputLog::delivered(std::uint64_t seq) {
  while (!held_.empty() && total_ - held_.size() + 1 <= seq) {
    held_bytes_ -= held_.front().size();
    held_.pop_front();
  }
}

const jupyter::Message* OutputLog::find(std::uint64_t seq) const {
  const std::uint64_t first_held = total_ - held_.size() + 1;
  if (seq >= first_held && seq <= total_) return &held_[seq - first_held];
  if (seq >= 1 && seq <= journal_.size()) return &journal_[seq - 1];
  return nullptr;
}

std::vector<std::pair<std::uint64_t, const jupyter::Message*>> OutputLog::kept() const {
  std::vector<std::pair<std::uint64_t, const jupyter::Message*>> all;
  for (std::uint64_t seq = 1; seq <= journal_.size(); ++seq) all.emplace_back(seq, &journal_[seq - 1]);
  const std::uint64_t first_held = total_ - held_.size() + 1;
  for (std::uint64_t seq = std::max<std::uint64_t>(first_held, journal_.size() + 1); seq <= total_; ++seq)
    all.emplace_back(seq, &held_[seq - first_held]);
  return all;
}

}  // namespace banyan::node
