// Changes of the membership: refused while another one is under way, in effect once applied.
//
// A replica acts on a change only when a restart would find it committed (apply_limit()), so a crash
// never takes it back to a membership that the group has left behind.
#include "base/check.h"
#include "base/codec.h"
#include "core/raft/raft.h"

namespace banyan::raft {

Result<Done> Raft::check_change(const Leader& leader, const Blob& data) const {
  const auto change = decode<Change>(data.view());
  if (!change) return tl::unexpected(change.error());
  if (config_.change_check == ChangeCheck::kByDriver) return Done{};
  if (leader.pending_change > in_effect_)
    return fail(ErrorKind::kConflict,
                "a change of the membership is under way; try again when it is applied");
  if (auto after = changed(membership_, *change); !after) return tl::unexpected(after.error());
  return Done{};
}

Membership Raft::membership_at(Index index) const {
  Membership membership = snapshot_.membership;
  for (auto at = log_.change_after(snapshot_.index); at && *at <= index; at = log_.change_after(*at)) {
    const auto change = decode<Change>(log_.at(*at).data.view());
    CHECK(change.has_value(), "a change was not decodable although its leader had checked it");
    if (auto after = changed(membership, *change)) membership = *std::move(after);
  }
  return membership;
}

void Raft::apply_changes(Index upto) {
  while (const auto at = log_.change_after(in_effect_)) {
    if (*at > upto) break;
    in_effect_ = *at;
    const auto change = decode<Change>(log_.at(*at).data.view());
    CHECK(change.has_value(), "a change was not decodable although its leader had checked it");
    if (auto after = changed(membership_, *change)) switch_membership(*std::move(after));
  }
  in_effect_ = std::max(in_effect_, upto);
  leave_joint_if_due();
}

void Raft::switch_membership(Membership membership) {
  membership_ = std::move(membership);
  auto* leader = std::get_if<Leader>(&role_);
  if (leader == nullptr) return;
  if (!is_voter(membership_, config_.id) && config_.on_removal == OnRemoval::kStepDown)
    return become_follower(term_, kNobody);
  const std::set<ReplicaId> ids = members(membership_);
  std::erase_if(leader->peers, [&](const auto& peer) { return !ids.contains(peer.first); });
  for (const ReplicaId id : ids) {
    Progress fresh;
    fresh.next = log_.last() + 1;
    // A new member counts as alive at first, or check-quorum could depose the leader that adds it.
    fresh.heard = true;
    fresh.heard_tick = ticks_;
    leader->peers.emplace(id, fresh);
  }
  if (!is_voter(membership_, leader->transfer_to)) leader->transfer_to = kNobody;
  // The new quorum may have reached more than the old one.
  advance_commit(*leader);
  confirm_reads(*leader);
}

/// Ends a joint phase by itself where the change asked for that. A new leader does what its predecessor
/// began.
void Raft::leave_joint_if_due() {
  auto* leader = std::get_if<Leader>(&role_);
  if (leader == nullptr || !membership_.auto_leave) return;
  if (leader->pending_change > in_effect_) return;
  leader->pending_change = append_own(*leader, EntryType::kChange, Blob(encode(Change{}))).index;
}

}  // namespace banyan::raft
