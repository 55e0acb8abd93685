#include "node/upkeep.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kProposeAgain = 300ms;  // what does not show in the log
constexpr Duration kHeardLately = 300ms;   // a member that may get the lead
}  // namespace

void Upkeep::want_restart(std::uint64_t request) {
  restart_ = request;
  proposed_at_.reset();
}

void Upkeep::look(const session::Session& session) {
  if (restart_ && session.last_clear() >= *restart_) restart_.reset();
  if (wanted_members_ && wanted_members_->wish <= session.members_wish()) wanted_members_.reset();
}

bool Upkeep::may_propose() const {
  return !proposed_at_ || host_.now().mono - *proposed_at_ >= kProposeAgain;
}

void Upkeep::propose(const session::Command& command) {
  if (log_.propose(command)) proposed_at_ = host_.now().mono;
}

void Upkeep::tend(const session::Session& session, const ExecutionId& here) {
  propose_restart();
  disown_forgotten_cell(session, here);
  lead(session);
}

void Upkeep::propose_restart() {
  if (restart_ && may_propose()) propose(session::Clear{*restart_});
}

/// A running cell of this replica's that an earlier life of the host agent began: nobody else can tell, for
/// this replica answers its leader.
void Upkeep::disown_forgotten_cell(const session::Session& session, const ExecutionId& here) {
  const auto& running = session.running();
  if (!running || running->executor != log_.id()) return;
  if (running->life == host_.life() && running->execution == here) return;
  if (may_propose())
    propose(session::TakeOver{session.epoch(), "the host agent that ran the cell was restarted"});
}

void Upkeep::lead(const session::Session& session) {
  const std::optional<Time> leading_since = log_.leading_since();
  if (!log_.leads() || !leading_since || !may_propose()) return;
  const Time now = host_.now().mono;
  if (const auto& running = session.running()) {
    // One that has left the members may still end its cell, if it knows the leader. When it does not, it asks
    // for votes for ever: what is heard of it then is no sign that the cell will end.
    const bool is_member = session.members().contains(running->executor);
    if (is_member) executor_left_at_.reset();
    if (!is_member && !executor_left_at_) executor_left_at_ = now;
    const auto heard = is_member ? log_.heard_at(running->executor) : executor_left_at_;
    const Time last = std::max(*leading_since, heard.value_or(Time{}));
    if (running->executor != log_.id() && now - last > host_.timing().executor_silent)
      propose(session::TakeOver{session.epoch(), "the host that ran the cell stopped answering"});
  } else {
    executor_left_at_.reset();
    if (lead_with_executor(session)) proposed_at_ = now;
  }
  if (!wanted_members_ || !may_change(session, *wanted_members_)) return;
  if (log_.propose_members({wanted_members_->members, wanted_members_->wish})) proposed_at_ = now;
}

/// From the moment in which the log has the change nothing is decided without a majority of the wanted
/// members. Where too many of them are gone, the group goes on as it is, and the gateway comes to want
/// others. A group that grows needs one more vote for whatever it decides. When one of its members is gone
/// already, or the one that joins, the loss of another host would leave it without a majority. So it grows
/// only while all are there; one that is gone is replaced instead, which a majority of the old members and of
/// the new ones decides.
bool Upkeep::may_change(const session::Session& session, const ChangeMembers& wanted) const {
  const session::Members& members = session.members();
  // Who joins is in no group yet, and says nothing there: its host counts, in the life that has opened it.
  const auto joiner_heard_at = [&](const HostId& host) {
    const auto life = wanted.lives.find(host);
    return host_.heard_at(host, life == wanted.lives.end() ? std::nullopt : std::optional(life->second));
  };
  const auto is_there = [&](const auto& member) {
    const auto& [replica, host] = member;
    const auto last = members.contains(replica) ? log_.there_at(replica) : joiner_heard_at(host);
    return replica == log_.id() || (last && host_.now().mono - *last < host_.timing().executor_silent);
  };
  const auto there = static_cast<std::size_t>(std::ranges::count_if(wanted.members, is_there));
  const bool grows = wanted.members.size() > members.size();
  return there * 2 > wanted.members.size() && (!grows || std::ranges::all_of(wanted.members, is_there));
}

bool Upkeep::is_done(const session::Session& session) const {
  // An executor that has left the members stays named as one until the next cell.
  const bool gone = log_.are_members_settled() && !session.members().contains(session.executor());
  return at_rest() && !session.running() && (gone || !should_hand_lead(session));
}

/// What the executor proposes then takes no way to another host first.
bool Upkeep::should_hand_lead(const session::Session& session) const {
  const ReplicaId executor = session.executor();
  return log_.leads() && !session.running() && executor != ReplicaId{} && executor != log_.id();
}

bool Upkeep::lead_with_executor(const session::Session& session) {
  if (!should_hand_lead(session)) return false;
  const ReplicaId executor = session.executor();
  const auto heard = log_.heard_at(executor);
  return heard && host_.now().mono - *heard < kHeardLately && log_.hand_lead_to(executor);
}

void Upkeep::on_batch(const session::Session& session) {
  if (std::exchange(lead_taken_, false)) lead_with_executor(session);
}

}  // namespace banyan::node
