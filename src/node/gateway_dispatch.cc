#include "node/gateway_dispatch.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace banyan::node {

namespace {

constexpr Duration kPatience = 3s;    // for a sign that the replica that was asked runs the cell
constexpr Duration kBackoff = 200ms;  // when everybody has declined; grows by a quarter, as in NotebookOS
constexpr Duration kBackoffMax = 5s;
constexpr int kRoundsMax = 5;  // rounds in which everybody declines, as in NotebookOS

}  // namespace

void Dispatch::begin(Execute cell) {
  asked_ = Asked{.cell = std::move(cell)};
  ask();
}

void Dispatch::end() {
  asked_.reset();
  gateway_.tell(schedule::CellEnded{record_.id});
}

void Dispatch::ask_anew() {
  gateway_.tell(schedule::CellEnded{record_.id});  // else its own booking would count against its host
  asked_->passed_over.clear();
  ask();
}

void Dispatch::ask() {
  asked_->at = gateway_.now().mono;
  asked_->again_at.reset();
  asked_->executor.reset();
  if (gateway_.config().election == Election::kAll) return ask_all();

  const std::optional<HostId> last = last_.host();
  schedule::CellWaits waits{.session = record_.id, .execution = asked_->cell.execution, .replicas = {}};
  for (const auto& [replica, host] : members_.voters().may_be_asked(asked_->passed_over)) {
    const ReplicaReport* const report = reports_.on(host);
    const bool filled = report != nullptr && (report->complete || reports_.shows_head(host));
    waits.replicas.push_back({replica, host, last == host, filled && reports_.worker_ready(host)});
  }
  // A host that is drained gets no cells, but for those of sessions that run there until they can move.
  const auto continues = [&](const schedule::EligibleReplica& one) {
    return one.executed_last || !gateway_.cluster().draining(one.host);
  };
  if (std::ranges::any_of(waits.replicas, continues)) std::erase_if(waits.replicas, std::not_fn(continues));
  if (waits.replicas.empty()) {
    ask_later();
    return gateway_.tell(schedule::CellEnded{record_.id});
  }
  asked_->lead.reset();
  gateway_.tell(std::move(waits));
}

/// Nobody is left who may be asked in this round: a new one begins after a while.
void Dispatch::ask_later() {
  Duration& backoff = asked_->backoff;
  backoff = backoff == Duration::zero() ? kBackoff : std::min(backoff * 5 / 4, kBackoffMax);
  asked_->passed_over.clear();
  asked_->lead.reset();
  asked_->again_at = gateway_.now().mono + backoff;
}

/// The way of the NotebookOS paper: every replica proposes LEAD or YIELD by what it knows itself.
void Dispatch::ask_all() {
  for (const auto& [replica, host] : members_.voters().may_be_asked({})) send({}, host);
}

void Dispatch::send(ReplicaId lead, const HostId& host) {
  asked_->sent = true;
  asked_->holders.insert(host);
  asked_->cell.lead = lead;
  gateway_.send(host, asked_->cell);
}

/// What has changed since the scheduler chose is looked at again: the step may have lost that host meanwhile.
bool Dispatch::on_start(const schedule::StartCell& decision) {
  if (!chooses() || !is(decision.execution)) return false;
  const session::Members eligible = members_.voters().may_be_asked(asked_->passed_over);
  const auto chosen = eligible.find(decision.replica);
  if (chosen == eligible.end()) {
    ask();
    return false;
  }
  asked_->lead = chosen->second;
  send(decision.replica, *asked_->lead);
  return true;
}

bool Dispatch::on_declined(const HostId& host) {
  if (asked_->executor) return false;
  asked_->holders.erase(host);
  asked_->passed_over.insert(host);
  if (chooses() || (asked_->lead && asked_->lead != host)) return false;  // somebody else is asked since
  if (!asked_->lead && !asked_->holders.empty()) return false;
  if (!members_.voters().may_be_asked(asked_->passed_over).empty()) {
    ask();
    return false;
  }
  if (++asked_->rounds >= kRoundsMax && asked_->holders.empty()) return true;
  ask_later();
  return false;
}

void Dispatch::on_report(const ReplicaReport& report) {
  if (!asked_ || report.running != asked_->cell.execution || asked_->executor) return;
  const auto executor = record_.committed.find(report.executor);
  if (executor == record_.committed.end() || !gateway_.usable(executor->second)) return;
  asked_->executor = executor->second;
  asked_->again_at.reset();
  gateway_.tell(schedule::CellRuns{record_.id, *asked_->executor});
  // It may run for an earlier life of the gateway, and tells only those who ask.
  if (!asked_->holders.contains(*asked_->executor)) send(report.executor, *asked_->executor);
}

void Dispatch::on_output(const HostId& host, std::uint64_t number) {
  asked_->cell.outputs_seen = std::max(asked_->cell.outputs_seen, number);
  if (asked_->executor == host) return;
  asked_->executor = host;
  gateway_.tell(schedule::CellRuns{record_.id, host});
}

/// The next replica is asked at once. If the cell runs already, the log says so, and the other replica
/// answers when it has ended.
void Dispatch::on_host_gone(const HostId& host) {
  if (this->host() != host) return;
  asked_->passed_over.insert(host);
  ask();
}

void Dispatch::on_host_restarted(const HostId& host) {
  if (asked_) asked_->holders.erase(host);
  on_host_gone(host);
}

void Dispatch::watch() {
  if (!asked_ || (asked_->executor && gateway_.usable(*asked_->executor))) return;
  const Time now = gateway_.now().mono;
  if (asked_->again_at) {
    if (*asked_->again_at <= now) ask();
    return;
  }
  const bool silent = now - asked_->at >= kPatience;
  const bool gone = asked_->lead && !gateway_.usable(*asked_->lead);
  if (!silent && !gone) return;
  if (asked_->lead) asked_->passed_over.insert(*asked_->lead);
  ask();
}

bool Dispatch::chooses() const {
  return asked_ && gateway_.config().election == Election::kPreselect && !asked_->lead && !asked_->executor &&
         !asked_->again_at;
}

std::optional<HostId> Dispatch::executor() const { return asked_ ? asked_->executor : std::nullopt; }

std::optional<HostId> Dispatch::host() const {
  if (!asked_) return std::nullopt;
  return asked_->executor ? asked_->executor : asked_->lead;
}

}  // namespace banyan::node
