#include "node/gateway_membership.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace banyan::node {

namespace {
constexpr Duration kMembersAgain = 3s;   // a change that is not committed is asked for again
constexpr Duration kCopyPatience = 60s;  // for a new replica's values, when a host that may have them is gone
/// The group may have been told of one that is open, and may have taken it although nobody has said so yet.
void give_up(SessionRecord& record, ReplicaId replica, const MemberRecord& member) {
  if (member.open && !record.committed.contains(replica)) record.given_up[replica] = member.host;
}

}  // namespace

Membership::Membership(GatewayContext& gateway, SessionRecord& record)
    : gateway_(gateway), record_(record), voters_(gateway, record) {
  tell_holds();
}

void Membership::log(Log::Level level, const std::string& text) const {
  gateway_.log(level, "session " + record_.id.value + ": " + text);
}

void Membership::tell_holds() {
  schedule::SessionHolds holds{.session = record_.id, .kind = gateway_.kind_of(record_.spec), .hosts = {}};
  for (const auto& [replica, member] : record_.members) holds.hosts.insert(member.host);
  gateway_.tell(std::move(holds));
}

/// Opens what no host has reported yet. A replica that was open once is never founded again: it would have
/// forgotten what it voted for and acknowledged.
void Membership::open_replicas(std::optional<HostId> only) {
  for (const auto& [replica, member] : record_.members) {
    if (member.open || (only && member.host != *only)) continue;
    gateway_.send(member.host, OpenReplica{.session = record_.id,
                                           .replica = replica,
                                           .spec = record_.spec,
                                           .members = member.joining ? record_.wanted() : record_.committed,
                                           .origin = member.joining ? Origin::kJoining : Origin::kFounding,
                                           .founding = record_.founding});
  }
}

/// Not before each new replica is open: its host may never open it, and the gateway may choose another one. A
/// log that named it would count a voter that does not exist.
void Membership::send_members() {
  sent_at_ = gateway_.now().mono;
  session::Members asked = record_.committed;
  std::map<HostId, Incarnation> lives;
  asked.insert(record_.given_up.begin(), record_.given_up.end());
  for (const auto& [replica, member] : record_.members) {
    if (!member.open && !record_.committed.contains(replica)) return;
    if (!member.joining) continue;
    asked[replica] = member.host;
    const bool is_there = gateway_.usable(member.host) && !voters_.is_lost(replica);
    lives[member.host] =
        is_there ? gateway_.link(member.host).peer_life().value_or(Incarnation{}) : Incarnation{};
  }
  for (const auto& [replica, host] : asked) {
    if (gateway_.usable(host))
      gateway_.send(host, ChangeMembers{record_.id, record_.wanted(), record_.wishes, lives});
  }
}

/// Compares what the host holds with what it should hold, and asks it again for a change that it may not have
/// heard of.
void Membership::on_new_life(const HostId& host) {
  take_stock(host);
  if (!settled() && noted_) send_members();
}

void Membership::take_stock(const HostId& host) {
  const ReplicaReport* const report = gateway_.report_of(host, record_.id);
  const auto replica = record_.member_on(host);
  if (!replica) {
    if (report != nullptr && !record_.names(host)) gateway_.send(host, CloseReplica{record_.id});
    return;
  }
  if (report != nullptr && report->replica == *replica) return;
  if (record_.members.at(*replica).open) {
    if (voters_.lose(*replica))
      log(Log::Level::kError, "host " + host.value + " has lost its replica; it is replaced");
    return;
  }
  if (report != nullptr) gateway_.send(host, CloseReplica{record_.id});  // of an earlier membership
  if (noted_) open_replicas(host);
}

/// A replica that is counted and was not reported may be there all the same: it may have voted, and
/// acknowledged what is committed now. So it must not begin anew under its id. Of two members it may: each
/// majority has both, so that the other one has forgotten nothing, and without it the session could not
/// begin. One that joins is not named by the log before it was reported.
void Membership::on_removed(const HostId& host) {
  const auto replica = record_.member_on(host);
  if (!replica || !record_.committed.contains(*replica) || record_.committed.size() == 2) return;
  MemberRecord& member = record_.members.at(*replica);
  if (std::exchange(member.open, true)) return;
  member.joining &= !settled();
  gateway_.store(session_key(record_.id), to_record(record_));
}

void Membership::on_noted(std::uint64_t wish) {
  if (wish != record_.wishes) return;
  noted_ = true;
  open_replicas(std::nullopt);
  send_members();
}

std::optional<Membership::Departed> Membership::on_report(const HostId& host, const ReplicaReport& report) {
  const auto found = record_.members.find(report.replica);
  if (found == record_.members.end() || found->second.host != host) {
    // It leaves when the log says so.
    if (record_.committed.contains(report.replica) || record_.given_up.contains(report.replica))
      return std::nullopt;
    // The host has opened what an earlier life of the gateway asked it for, after it had told this one what
    // it held. What it was asked for since it has ignored.
    gateway_.send(host, CloseReplica{record_.id, report.replica});
    if (noted()) on_noted(record_.wishes);
    return std::nullopt;
  }
  MemberRecord& member = found->second;
  if (!member.open) {
    member.open = true;
    member.joining &= !settled();
    // That it is open comes first: a later life of the gateway must not open it again, once it may have
    // voted.
    if (settled()) {
      gateway_.store(session_key(record_.id), to_record(record_));
    } else {
      noted_ = false;
      store_noted();
    }
  }
  return settle_if_done();
}

/// Another replica takes its place as soon as there is a host for one. One whose host cannot run the kernel
/// waits until no cell would miss it.
bool Membership::gone(ReplicaId replica, const SessionActivity& activity) const {
  return voters_.is_away(replica) || (!activity.runs_cell && voters_.is_unable(replica));
}

/// While a change takes somebody out, only a replica that joins by it can be given up for another one.
std::optional<ReplicaId> Membership::gone_member(const SessionActivity& activity) const {
  for (const auto& [replica, member] : record_.members)
    if ((settled() || member.joining) && gone(replica, activity)) return replica;
  return std::nullopt;
}

/// A group does not grow while one of its members is gone (Upkeep): the replica that joins takes its place.
std::optional<ReplicaId> Membership::gone_beside_joining(const SessionActivity& activity) const {
  if (!record_.only_adds() || record_.members.size() == record_.committed.size()) return std::nullopt;
  for (const auto& [replica, member] : record_.members)
    if (record_.committed.contains(replica) && gone(replica, activity)) return replica;
  return std::nullopt;
}

bool Membership::has_surplus() const {
  return settled() && record_.members.size() > gateway_.replicas_wanted();
}

bool Membership::may_grow() const {
  return settled() && record_.members.size() < gateway_.replicas_wanted() && filled_but({});
}

Membership::Departed Membership::watch(const SessionActivity& activity) {
  if (!noted_) return {};
  if (!settled() && sent_at_ && gateway_.now().mono - *sent_at_ >= kMembersAgain) send_members();
  if (agreed_since_ && gateway_.now().mono - *agreed_since_ >= kCopyPatience) {
    const auto lost =
        std::ranges::find_if(record_.members, [&](const auto& item) { return gone(item.first, activity); });
    if (lost != record_.members.end()) {
      log(Log::Level::kError, "some of its values may be lost with host " + lost->second.host.value);
      return settle();  // what is missing now is looked at next time, by an activity of then
    }
  }
  if (may_change()) repair(activity);
  return {};
}

void Membership::repair(const SessionActivity& activity) {
  if (gone_member(activity)) {
    if (has_surplus()) return drop_gone(activity);  // it need not be replaced
    return want_replica();
  }
  if (const auto replica = gone_beside_joining(activity)) return drop(*replica);
  if (!settled() && !voters_.wanted_can_agree())
    return withdraw("too many of the hosts that are to hold it are away");
  unfilled_since_.reset();
  if (may_grow()) want_replica();
  // A move is over, perhaps one that an earlier life of the gateway began. The next one waits until it is.
  const bool moves = activity.moves_to && record_.member_on(*activity.moves_to);
  if (has_surplus() && filled_but({}) && !moves && activity.executor_known) drop_surplus(activity);
}

/// Answered by on_place or on_no_host, in the same step. A host that is booked for a move which has not come
/// so far may be the only one that is left.
void Membership::want_replica() {
  tell_holds();
  schedule::ReplicaWanted wanted{.session = record_.id, .avoid = leaving_};
  for (const auto& [replica, host] : record_.committed) wanted.avoid.insert(host);
  for (const auto& [replica, host] : record_.given_up) wanted.avoid.insert(host);
  wanting_ = true;
  gateway_.tell(std::move(wanted));
}

void Membership::on_place(const HostId& host, const SessionActivity& activity) {
  wanting_ = false;
  const auto replica = gone_member(activity);
  const bool wanted = may_change() && gateway_.usable(host) && !record_.member_on(host) &&
                      (replica ? !has_surplus() : may_grow());
  if (!wanted) return tell_holds();  // takes back what the scheduler booked when it chose
  if (replica) {
    log(Log::Level::kInfo, "its replica on host " + record_.members.at(*replica).host.value +
                               " is replaced by one on host " + host.value);
    remove(*replica);
  } else {
    log(Log::Level::kInfo, "a replica is added on host " + host.value);
  }
  add_on(host);
}

void Membership::on_no_host(const SessionActivity& activity) {
  wanting_ = false;
  if (may_change()) drop_gone(activity);
}

/// No other host takes the place of a replica that is gone. It may come back, unless its host has lost it:
/// that host may hold a new one when this one is no member any more.
void Membership::drop_gone(const SessionActivity& activity) {
  for (const auto& [replica, member] : record_.members) {
    if (!gone(replica, activity) || (!settled() && !member.joining)) continue;
    if (!settled()) {
      // A group does not grow by one that is gone (Upkeep).
      const bool never_joins =
          !member.open || voters_.is_lost(replica) || !voters_.wanted_can_agree() || record_.only_adds();
      if (never_joins && !record_.committed.contains(replica))
        return withdraw("no host is left for a new replica");
      continue;
    }
    if (!has_surplus() && !voters_.is_lost(replica)) continue;
    if (!unfilled_since_) unfilled_since_ = gateway_.now().mono;
    // It may have been one of those that have what is still being copied.
    if (filled_but(replica) || gateway_.now().mono - *unfilled_since_ >= kCopyPatience) drop(replica);
    return;
  }
  unfilled_since_.reset();
}

/// All others have what the session's values refer to. Each majority of a group has a host that has a value,
/// as long as it grows by one that has not, and by the next one only when that is filled (P1).
bool Membership::filled_but(ReplicaId replica) const {
  return std::ranges::all_of(record_.members, [&](const auto& item) {
    if (item.first == replica) return true;
    const ReplicaReport* const report = gateway_.report_of(item.second.host, record_.id);
    return report != nullptr && report->replica == item.first && report->complete;
  });
}

/// When another replica leaves than the one that a move was to leave, that one stays, and the scheduler may
/// try again.
void Membership::drop(ReplicaId replica) {
  const bool instead = replica != record_.leaves;
  remove(replica);
  note();
  if (instead) gateway_.tell(schedule::MoveFailed{record_.id, "another replica had to leave first", true});
}

/// A new replica was not opened by its host, or has lost its data since, and there is no host for another
/// one; or a majority of those that are wanted is away. The members stay who they are, also where the log was
/// told of an earlier wish.
void Membership::withdraw(const std::string& why) {
  log(Log::Level::kWarning, why + ": its members stay who they are");
  const std::map<ReplicaId, MemberRecord> wanted = std::exchange(record_.members, {});
  for (const auto& [replica, member] : wanted) {
    leaving_.insert(member.host);
    give_up(record_, replica, member);
  }
  for (const auto& [replica, host] : record_.committed) {
    const auto kept = wanted.find(replica);
    record_.members[replica] = kept != wanted.end() ? kept->second : MemberRecord{.host = host, .open = true};
    leaving_.erase(host);
    record_.given_up.erase(replica);
    // It may have come back without its data while nobody wanted it.
    if (gateway_.usable(host)) take_stock(host);
  }
  note();
}

/// The one that a move was to leave, else one on a host that is drained, else the oldest; not where cells
/// run.
void Membership::drop_surplus(const SessionActivity& activity) {
  const auto may_go = [&](ReplicaId replica) {
    const auto member = record_.members.find(replica);
    return member != record_.members.end() && member->second.host != activity.executor;
  };
  if (may_go(record_.leaves)) return drop(record_.leaves);
  std::vector<ReplicaId> others;  // those on hosts that are drained first
  for (const auto& [replica, member] : record_.members)
    if (may_go(replica)) others.push_back(replica);
  if (others.empty()) return;
  const auto drained = std::ranges::find_if(others, [&](ReplicaId replica) {
    return gateway_.cluster().draining(record_.members.at(replica).host);
  });
  drop(drained != others.end() ? *drained : others.front());
}

void Membership::remove(ReplicaId replica) {
  const MemberRecord& member = record_.members.at(replica);
  leaving_.insert(member.host);
  give_up(record_, replica, member);
  record_.members.erase(replica);
}

/// The record comes first: a later life of the gateway must not use the replica's id again.
void Membership::add_on(const HostId& host) {
  // The group's beginning is no longer what is known here: a founder that has not begun is filled like the
  // new one.
  for (auto& [replica, member] : record_.members) member.joining |= !member.open;
  record_.members[{record_.next_replica++}] = {.host = host, .open = false, .joining = true};
  note();
}

void Membership::move_to(const HostId& host, ReplicaId leaves) {
  record_.leaves = leaves;
  gateway_.cell_times().moved();
  add_on(host);
}

void Membership::move_back(const HostId& host) {
  if (const auto replica = record_.member_on(host)) record_.leaves = *replica;
}

std::set<HostId> Membership::holders() const {
  std::set<HostId> hosts = leaving_;
  for (const auto& [replica, host] : record_.committed) hosts.insert(host);
  for (const auto& [replica, host] : record_.given_up) hosts.insert(host);
  for (const auto& [replica, member] : record_.members) hosts.insert(member.host);
  return hosts;
}

void Membership::note() {
  tell_holds();
  noted_ = false;
  ++record_.wishes;
  agreed_since_.reset();
  store_noted();
}

/// The change goes on when it is durable (on_noted).
void Membership::store_noted() {
  gateway_.store(session_key(record_.id), to_record(record_), record_.id, MembersNoted{record_.wishes});
}

/// A change is done when the log says so and, where replicas leave, the new ones have what commits refer to:
/// until then those may hold the only other copy (P1). A majority of the new members must say so: who does
/// not know that the change is committed still counts over the old ones, and they are closed then. One that
/// is added beside all others is filled later: until then nothing else changes (filled_but).
Membership::Departed Membership::settle_if_done() {
  if (settled()) return {};
  std::size_t agreed = 0;
  bool complete = true;
  for (const auto& [replica, member] : record_.members) {
    const ReplicaReport* const report = gateway_.report_of(member.host, record_.id);
    const bool agrees = report != nullptr && report->replica == replica &&
                        report->members == record_.wanted() && report->members_wish == record_.wishes;
    agreed += agrees ? 1 : 0;
    complete &= !member.joining || (agrees && report->complete);
  }
  if (agreed * 2 <= record_.members.size()) return {};
  if (complete || record_.only_adds()) return settle();
  if (agreed_since_) return {};
  agreed_since_ = gateway_.now().mono;
  return leaving_;
}

/// The log says what was wanted: the old replicas have no part in the session any more.
Membership::Departed Membership::settle() {
  for (const auto& [replica, host] : record_.committed) leaving_.insert(host);
  for (const auto& [replica, host] : std::exchange(record_.given_up, {})) leaving_.insert(host);
  record_.committed = record_.wanted();
  record_.fulfilled = record_.wishes;
  for (auto& [replica, member] : record_.members) {
    member.joining = !member.open;
    leaving_.erase(member.host);
  }
  for (const HostId& host : leaving_) gateway_.send(host, CloseReplica{record_.id});
  voters_.on_settled();
  sent_at_.reset();
  agreed_since_.reset();
  gateway_.store(session_key(record_.id), to_record(record_));
  return std::exchange(leaving_, {});
}

}  // namespace banyan::node
