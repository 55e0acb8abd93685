// Who takes part in a group, and how that changes: one voter at a time, or any set through joint consensus.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/raft/types.h"

namespace banyan::raft {

/// What happens to one replica.
enum class ChangeKind : std::uint8_t { kAddVoter, kAddLearner, kRemove };

/// One replica's part in a change.
struct ChangeStep {
  ChangeKind kind = ChangeKind::kAddVoter;
  ReplicaId id;
  friend bool operator==(const ChangeStep&, const ChangeStep&) = default;
};

/// How a change passes.
enum class Transition : std::uint8_t {
  kAuto,           ///< one step alone is made at once, several go through a joint phase that ends by itself
  kJointImplicit,  ///< a joint phase that the leader ends as soon as it took effect
  kJointExplicit,  ///< a joint phase that lasts until an empty Change is proposed
};

/// A change of the membership, as proposed and as stored in the log. With no steps it ends a joint phase.
struct Change {
  Transition transition = Transition::kAuto;
  std::vector<ChangeStep> steps;
  Blob context;  ///< the driver's own bytes, carried along
  friend bool operator==(const Change&, const Change&) = default;
};

/// The membership after `change`; kInvalid when the change does not fit `before` (joint already, not joint,
/// no voter left).
Result<Membership> changed(const Membership& before, const Change& change);

/// Whether a change of the membership is under way.
inline bool is_joint(const Membership& m) { return !m.outgoing.empty(); }
/// Whether `id` has a vote in either half.
bool is_voter(const Membership& m, ReplicaId id);
/// Everybody who receives the log.
std::set<ReplicaId> members(const Membership& m);
/// For people: "1 2 3", "1 2 4 & 1 2 3", "1 2 3 learners 4 5".
std::string to_string(const Membership& m);

}  // namespace banyan::raft
