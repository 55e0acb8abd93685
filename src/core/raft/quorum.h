// What a majority of each half of a membership agrees on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "core/raft/types.h"

namespace banyan::raft {

/// The largest value that a quorum has reached, where `reached` gives each voter's. In joint consensus a
/// quorum is a majority of both halves. 0 without voters.
std::uint64_t quorum_reached(const Membership& m, const std::function<std::uint64_t(ReplicaId)>& reached);

/// How a vote stands.
enum class Tally : std::uint8_t { kPending, kWon, kLost };

/// The state of a vote, where a voter without an entry in `granted` has not answered.
Tally tally(const Membership& m, const std::map<ReplicaId, bool>& granted);

}  // namespace banyan::raft
