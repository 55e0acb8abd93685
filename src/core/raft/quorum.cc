#include "core/raft/quorum.h"

#include <algorithm>
#include <vector>

namespace banyan::raft {
namespace {

std::uint64_t majority_reached(const std::set<ReplicaId>& voters,
                               const std::function<std::uint64_t(ReplicaId)>& reached) {
  std::vector<std::uint64_t> values;
  values.reserve(voters.size());
  for (const ReplicaId id : voters) values.push_back(reached(id));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(voters.size() / 2);
  std::nth_element(values.begin(), middle, values.end(), std::greater<>());
  return *middle;
}

Tally majority_tally(const std::set<ReplicaId>& voters, const std::map<ReplicaId, bool>& granted) {
  std::size_t yes = 0;
  std::size_t no = 0;
  for (const ReplicaId id : voters) {
    const auto vote = granted.find(id);
    if (vote != granted.end()) ++(vote->second ? yes : no);
  }
  const std::size_t needed = voters.size() / 2 + 1;
  if (yes >= needed) return Tally::kWon;
  return voters.size() - no < needed ? Tally::kLost : Tally::kPending;
}

}  // namespace

std::uint64_t quorum_reached(const Membership& m, const std::function<std::uint64_t(ReplicaId)>& reached) {
  if (m.voters.empty()) return 0;
  const std::uint64_t incoming = majority_reached(m.voters, reached);
  return m.outgoing.empty() ? incoming : std::min(incoming, majority_reached(m.outgoing, reached));
}

Tally tally(const Membership& m, const std::map<ReplicaId, bool>& granted) {
  const Tally incoming = majority_tally(m.voters, granted);
  const Tally outgoing = m.outgoing.empty() ? Tally::kWon : majority_tally(m.outgoing, granted);
  if (incoming == Tally::kLost || outgoing == Tally::kLost) return Tally::kLost;
  return incoming == Tally::kWon && outgoing == Tally::kWon ? Tally::kWon : Tally::kPending;
}

}  // namespace banyan::raft
