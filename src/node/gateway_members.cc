// Which hosts hold a session: opening its replicas, replacing those that are gone, adding what is missing.
//
// Two sets: `members` is what the gateway wants, `committed` what the session's log is known to say. They
// differ only while a change is on its way; quorums are counted over `committed`.

#include <algorithm>
#include <utility>

#include "node/gateway_kernels.h"
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

void GatewaySession::count_replica(const HostId& host, int change) {
  const auto peer = gateway_.hosts().find(host);
  if (peer == gateway_.hosts().end()) return;
  if (change > 0) {
    ++peer->second.assigned;
  } else {
    --peer->second.assigned;
  }
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

void GatewaySession::watch_members() {
  if (!exists_ || !members_noted_) return;
  const auto gone = [&](ReplicaId replica, const MemberRecord& member) {
    return lost_.contains(replica) ||
           gateway_.silence(member.host) >= gateway_.config().timing.replace_after || unable(member.host);
  };
  if (!settled() && members_sent_at_ && gateway_.now().mono - *members_sent_at_ >= kMembersAgain)
    send_members();
  if (agreed_since_ && gateway_.now().mono - *agreed_since_ >= kCopyPatience) {
    const auto lost = std::ranges::find_if(record_.members,
                                           [&](const auto& item) { return gone(item.first, item.second); });
    if (lost != record_.members.end()) {
      gateway_.log(Log::Level::kError, "session " + record_.id.value +
                                           ": some of its values may be lost with host " +
                                           lost->second.host.value);
      settle();
    }
  }
  if (!can_serve()) return;  // nobody could commit a change
  for (const auto& [replica, member] : record_.members) {
    if (!gone(replica, member) || (!settled() && !member.joining)) continue;
    const bool surplus = settled() && record_.members.size() > replicas_wanted();  // of a move
    if (!surplus && replace(replica)) return;
    if (!settled()) {
      if (!member.open && !record_.committed.contains(replica)) return withdraw_members();
      continue;
    }
    // No host is spare. It may come back, unless its host has lost it: that may hold a new one when this one
    // is no member any more.
    if (!surplus && !lost_.contains(replica)) continue;
    if (!unfilled_since_) unfilled_since_ = gateway_.now().mono;
    // It may have been one of those that have what is still being copied.
    if (filled_but(replica) || gateway_.now().mono - *unfilled_since_ >= kCopyPatience) drop_member(replica);
    return;
  }
  unfilled_since_.reset();
  if (!settled() || !filled()) return;
  if (record_.members.size() < replicas_wanted()) add_member();
  // A move is over, perhaps one that an earlier life of the gateway began.
  const Cell* const cell = running();
  const bool calm = cell == nullptr || (cell->executor && cell->executor == executor_host());
  // The next one waits until it is.
  const bool moves = operation_ && operation_->kind == Operation::Kind::kMigrate && member_on(operation_->to);
  if (record_.members.size() > replicas_wanted() && !moves && calm) drop_surplus();
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

std::uint64_t GatewaySession::replicas_wanted() const {
  return std::min<std::uint64_t>(gateway_.config().replicas, gateway_.config().hosts.size());
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
  for (const auto& [replica, member] : wanted) {
    count_replica(member.host, -1);
    leaving_.insert(member.host);
  }
  for (const auto& [replica, host] : record_.committed) {
    const auto kept = wanted.find(replica);
    record_.members[replica] = kept != wanted.end() ? kept->second : MemberRecord{.host = host, .open = true};
    count_replica(host, 1);
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

std::optional<HostId> GatewaySession::spare_host() const {
  placement::Snapshot snapshot{.hosts = {}, .wanted = 1};
  for (const auto& [host, peer] : gateway_.hosts()) {
    const bool taken = std::any_of(record_.committed.begin(), record_.committed.end(),
                                   [&](const auto& member) { return member.second == host; });
    if (gateway_.usable(host) && !taken && !member_on(host) && !leaving_.contains(host) && !why_not_on(host))
      snapshot.hosts.push_back(gateway_.load_of(host));
  }
  const std::vector<HostId> chosen = gateway_.placement().place(snapshot);
  return chosen.empty() ? std::nullopt : std::optional(chosen.front());
}

bool GatewaySession::unable(const HostId& host) const {
  const auto peer = gateway_.hosts().find(host);
  return peer != gateway_.hosts().end() && running() == nullptr &&
         kernel_on(gateway_, host, record_.spec.kernel_name).state == KernelState::kCannot &&
         gateway_.now().mono - peer->second.kernels_since >= gateway_.config().timing.replace_after;
}

/// Its values are pickles of the Python that made them: one of another minor version may not load them.
std::optional<std::string> GatewaySession::why_not_on(const HostId& host) const {
  const std::string& kernel = record_.spec.kernel_name;
  const KernelReport there = kernel_on(gateway_, host, kernel);
  if (there.state != KernelState::kRuns) return there.reason;
  const std::string python = minor_version(there.python);
  std::string others;
  for (const auto& [replica, member] : record_.members) {
    const std::string version = minor_version(kernel_on(gateway_, member.host, kernel).python);
    if (version == python || version.empty() || python.empty()) return std::nullopt;
    others = version;
  }
  if (others.empty()) return std::nullopt;
  return "its Python for this kernel is " + python + ", and the session's values are of Python " + others;
}

bool GatewaySession::replace(ReplicaId replica) {
  const auto host = spare_host();
  if (!host) return false;
  const HostId old = record_.members.at(replica).host;
  gateway_.log(Log::Level::kInfo, "session " + record_.id.value + ": its replica on host " + old.value +
                                      " is replaced by one on host " + host->value);
  remove_member(replica);
  add_member_on(*host);
  return true;
}

bool GatewaySession::add_member() {
  const auto host = spare_host();
  if (!host) return false;
  gateway_.log(Log::Level::kInfo,
               "session " + record_.id.value + ": a replica is added on host " + host->value);
  add_member_on(*host);
  return true;
}

void GatewaySession::remove_member(ReplicaId replica) {
  const HostId host = record_.members.at(replica).host;
  leaving_.insert(host);
  count_replica(host, -1);
  record_.members.erase(replica);
}

/// The record comes first: a later life of the gateway must not use the replica's id again.
void GatewaySession::add_member_on(const HostId& host) {
  // The group's beginning is no longer what is known here: a founder that has not begun is filled like the
  // new one.
  for (auto& [replica, member] : record_.members) member.joining |= !member.open;
  record_.members[{record_.next_replica++}] = {.host = host, .open = false, .joining = true};
  count_replica(host, 1);
  note_members();
}

void GatewaySession::note_members() {
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
