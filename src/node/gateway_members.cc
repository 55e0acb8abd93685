// Which hosts hold a session: opening its replicas, replacing those that are gone, adding what is missing.
//
// Two sets: `members` is what the gateway wants, `committed` what the session's log is known to say. They
// differ only while a change is on its way; quorums are counted over `committed`.

#include <algorithm>
#include <utility>

#include "node/gateway_session.h"

namespace banyan::node {

namespace {
constexpr Duration kMembersAgain = 3s;   // a change that is not committed is asked for again
constexpr Duration kCopyPatience = 60s;  // for a new replica's values, when a host that may have them is gone
}  // namespace

std::optional<ReplicaId> GatewaySession::member_on(const HostId& host) const {
  for (const auto& [replica, member] : record_.members) {
    if (member.host == host) return replica;
  }
  return std::nullopt;
}

void GatewaySession::tell_holds() {
  schedule::SessionHolds holds{.session = record_.id, .kernel = record_.spec.kernel_name, .hosts = {}};
  for (const auto& [replica, member] : record_.members) holds.hosts.insert(member.host);
  gateway_.tell(std::move(holds));
}

/// Opens what no host has reported yet. A replica that was open once is never founded again: it would have
/// forgotten what it voted for and acknowledged.
void GatewaySession::open_replicas(std::optional<HostId> only) {
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
void GatewaySession::send_members() {
  members_sent_at_ = gateway_.now().mono;
  session::Members asked = record_.committed;
  for (const auto& [replica, member] : record_.members) {
    if (!member.open && !record_.committed.contains(replica)) return;
    if (member.joining) asked[replica] = member.host;
  }
  for (const auto& [replica, host] : asked) {
    if (gateway_.usable(host))
      gateway_.send(host, ChangeMembers{record_.id, record_.wanted(), record_.wishes});
  }
}

/// Compares what a new life of a host holds with what it should hold.
void GatewaySession::take_stock(const HostId& host) {
  const ReplicaReport* const report = gateway_.report_of(host, record_.id);
  const auto replica = member_on(host);
  const auto committed_here = [&] {
    return std::any_of(record_.committed.begin(), record_.committed.end(),
                       [&](const auto& member) { return member.second == host; });
  };
  if (!replica) {
    if (report != nullptr && (settled() || !committed_here())) gateway_.send(host, CloseReplica{record_.id});
    return;
  }
  if (report != nullptr && report->replica == *replica) return;
  if (record_.members.at(*replica).open) {
    if (lost_.insert(*replica).second)
      gateway_.log(Log::Level::kError, "session " + record_.id.value + ": host " + host.value +
                                           " has lost its replica; it is replaced");
    return;
  }
  if (report != nullptr) gateway_.send(host, CloseReplica{record_.id});  // of an earlier membership
  if (members_noted_) open_replicas(host);
}

/// Another replica takes its place as soon as there is a host for one.
bool GatewaySession::gone(ReplicaId replica) const {
  const HostId& host = record_.members.at(replica).host;
  return lost_.contains(replica) || gateway_.silence(host) >= gateway_.config().timing.replace_after ||
         unable(host);
}

/// While a change is on its way only a replica that joins by it can be given up for another one.
std::optional<ReplicaId> GatewaySession::gone_member() const {
  for (const auto& [replica, member] : record_.members)
    if ((settled() || member.joining) && gone(replica)) return replica;
  return std::nullopt;
}

/// Somebody could commit a change, and the record has the last one.
bool GatewaySession::members_may_change() const { return exists_ && members_noted_ && can_serve(); }

bool GatewaySession::has_surplus() const {
  return settled() && record_.members.size() > gateway_.replicas_wanted();
}

bool GatewaySession::may_grow() const {
  return settled() && filled() && record_.members.size() < gateway_.replicas_wanted();
}

void GatewaySession::watch_members() {
  if (!exists_ || !members_noted_) return;
  if (!settled() && members_sent_at_ && gateway_.now().mono - *members_sent_at_ >= kMembersAgain)
    send_members();
  if (agreed_since_ && gateway_.now().mono - *agreed_since_ >= kCopyPatience) {
    const auto lost =
        std::ranges::find_if(record_.members, [&](const auto& item) { return gone(item.first); });
    if (lost != record_.members.end()) {
      gateway_.log(Log::Level::kError, "session " + record_.id.value +
                                           ": some of its values may be lost with host " +
                                           lost->second.host.value);
      settle();
    }
  }
  if (!members_may_change()) return;
  if (gone_member()) {
    if (has_surplus()) return drop_gone();  // it need not be replaced
    return want_replica();
  }
  unfilled_since_.reset();
  if (may_grow()) want_replica();
  // A move is over, perhaps one that an earlier life of the gateway began.
  const Cell* const cell = running();
  const bool calm = cell == nullptr || (cell->executor && cell->executor == executor_host());
  // The next one waits until it is.
  const bool moves = operation_ && operation_->kind == Operation::Kind::kMigrate && member_on(operation_->to);
  if (has_surplus() && filled() && !moves && calm) drop_surplus();
}

/// Answered by place or no_host, in the same step.
void GatewaySession::want_replica() {
  schedule::ReplicaWanted wanted{.session = record_.id, .avoid = leaving_};
  for (const auto& [replica, host] : record_.committed) wanted.avoid.insert(host);
  gateway_.tell(std::move(wanted));
}

void GatewaySession::place(const HostId& host) {
  const auto replica = gone_member();
  const bool wanted = members_may_change() && gateway_.usable(host) && !member_on(host) &&
                      (replica ? !has_surplus() : may_grow());
  if (!wanted) return tell_holds();  // not what the scheduler believes since it chose
  const std::string where = " on host " + host.value;
  const std::string whose = "session " + record_.id.value + ": ";
  if (replica) {
    gateway_.log(Log::Level::kInfo, whose + "its replica on host " + record_.members.at(*replica).host.value +
                                        " is replaced by one" + where);
    remove_member(*replica);
  } else {
    gateway_.log(Log::Level::kInfo, whose + "a replica is added" + where);
  }
  add_member_on(host);
}

void GatewaySession::no_host() {
  if (members_may_change()) drop_gone();
}

/// No other host takes the place of a replica that is gone. It may come back, unless its host has lost it:
/// that host may hold a new one when this one is no member any more.
void GatewaySession::drop_gone() {
  for (const auto& [replica, member] : record_.members) {
    if (!gone(replica) || (!settled() && !member.joining)) continue;
    if (!settled()) {
      if (!member.open && !record_.committed.contains(replica)) return withdraw_members();
      continue;
    }
    if (!has_surplus() && !lost_.contains(replica)) continue;
    if (!unfilled_since_) unfilled_since_ = gateway_.now().mono;
    // It may have been one of those that have what is still being copied.
    if (filled_but(replica) || gateway_.now().mono - *unfilled_since_ >= kCopyPatience) drop_member(replica);
    return;
  }
  unfilled_since_.reset();
}

/// All others have what the session's values refer to. Each majority of a group has a host that has a value,
/// as long as it grows by one that has not, and by the next one only when that is filled (P1).
bool GatewaySession::filled_but(ReplicaId replica) const {
  return std::ranges::all_of(record_.members, [&](const auto& item) {
    if (item.first == replica) return true;
    const ReplicaReport* const report = gateway_.report_of(item.second.host, record_.id);
    return report != nullptr && report->replica == item.first && report->complete;
  });
}

void GatewaySession::drop_member(ReplicaId replica) {
  remove_member(replica);
  note_members();
}

/// A new replica was not opened by its host, and there is no host for another one: the members stay who they
/// are, also where the log was told of an earlier wish.
void GatewaySession::withdraw_members() {
  gateway_.log(Log::Level::kWarning, "session " + record_.id.value + ": no host is left for a new replica");
  const std::map<ReplicaId, MemberRecord> wanted = std::exchange(record_.members, {});
  for (const auto& [replica, member] : wanted) leaving_.insert(member.host);
  for (const auto& [replica, host] : record_.committed) {
    const auto kept = wanted.find(replica);
    record_.members[replica] = kept != wanted.end() ? kept->second : MemberRecord{.host = host, .open = true};
    leaving_.erase(host);
  }
  note_members();
}

/// The one that a move was to leave, else the oldest; not where cells run.
void GatewaySession::drop_surplus() {
  const auto may_go = [&](ReplicaId replica) {
    const auto member = record_.members.find(replica);
    return member != record_.members.end() && member->second.host != executor_host();
  };
  if (may_go(record_.leaves)) return drop_member(record_.leaves);
  for (const auto& [replica, member] : record_.members)
    if (may_go(replica)) return drop_member(replica);
}

bool GatewaySession::unable(const HostId& host) const {
  return running() == nullptr &&
         gateway_.cluster().unable_for(host, record_.spec.kernel_name, gateway_.now().mono) >=
             gateway_.config().timing.replace_after;
}

void GatewaySession::remove_member(ReplicaId replica) {
  leaving_.insert(record_.members.at(replica).host);
  record_.members.erase(replica);
}

/// The record comes first: a later life of the gateway must not use the replica's id again.
void GatewaySession::add_member_on(const HostId& host) {
  // The group's beginning is no longer what is known here: a founder that has not begun is filled like the
  // new one.
  for (auto& [replica, member] : record_.members) member.joining |= !member.open;
  record_.members[{record_.next_replica++}] = {.host = host, .open = false, .joining = true};
  note_members();
}

void GatewaySession::note_members() {
  tell_holds();
  members_noted_ = false;
  ++record_.wishes;
  agreed_since_.reset();
  store_members();
}

void GatewaySession::store_members() {
  gateway_.store(session_key(record_.id), to_record(record_), record_.id, MembersNoted{record_.wishes});
}

/// A change is done when the log says so and, where replicas leave, the new ones have what commits refer to:
/// until then those may hold the only other copy (P1). One that is added beside all others is filled later:
/// until then nothing else changes (filled_but).
void GatewaySession::settle_if_done() {
  if (settled()) return;
  bool agreed = false;
  bool complete = true;
  for (const auto& [replica, member] : record_.members) {
    const ReplicaReport* const report = gateway_.report_of(member.host, record_.id);
    const bool agrees = report != nullptr && report->replica == replica &&
                        report->members == record_.wanted() && report->members_wish == record_.wishes;
    agreed |= agrees;
    complete &= !member.joining || (agrees && report->complete);
  }
  if (!agreed) return;
  const bool only_adds = std::ranges::all_of(
      record_.committed, [&](const auto& member) { return record_.members.contains(member.first); });
  if (complete || only_adds) return settle();
  if (agreed_since_) return;
  agreed_since_ = gateway_.now().mono;
  for (const HostId& host : leaving_) cell_host_gone(host);  // they start no cell any more
}

/// The log says what was wanted: the old replicas have no part in the session any more.
void GatewaySession::settle() {
  for (const auto& [replica, host] : record_.committed) leaving_.insert(host);
  record_.committed = record_.wanted();
  record_.fulfilled = record_.wishes;
  for (auto& [replica, member] : record_.members) {
    member.joining = !member.open;
    leaving_.erase(member.host);
  }
  for (const HostId& host : std::exchange(leaving_, {})) {
    gateway_.send(host, CloseReplica{record_.id});
    cell_host_gone(host);
  }
  std::erase_if(lost_, [&](ReplicaId replica) { return !record_.members.contains(replica); });
  members_sent_at_.reset();
  agreed_since_.reset();
  store_record();
}

/// So many replicas have lost their data that what is left can never agree again.
bool GatewaySession::beyond_repair() const {
  const std::size_t voters = record_.committed.size();
  std::size_t lost = 0;
  for (const auto& [replica, host] : record_.committed) lost += lost_.contains(replica) ? 1 : 0;
  return voters - lost < voters / 2 + 1;
}

}  // namespace banyan::node
