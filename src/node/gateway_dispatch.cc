#include "node/gateway_dispatch.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {

constexpr Duration kPatience = 3s;  // for a sign that the replica that was asked runs the cell; a cell that
                                    // is kept is offered again after so long

}  // namespace

void Dispatch::begin(Execute cell, bool may_have_begun) {
  asked_ = Asked{.cell = std::move(cell), .may_have_begun = may_have_begun};
  offer();
}

void Dispatch::end() {
  asked_.reset();
  gateway_.tell(schedule::CellEnded{record_.id});
}

void Dispatch::offer_anew() {
  gateway_.tell(schedule::CellEnded{record_.id});
  offer();
}

void Dispatch::offer(std::optional<std::string> declined) {
  asked_->phase = Phase::kOffered;
  asked_->at = gateway_.now().mono;
  asked_->lead.reset();
  asked_->executor.reset();
  asked_->offered_to = record_.committed;
  if (asked_->cell.gpus > 0 && !members_.voters().can_serve()) return wait_for_majority();
  const std::optional<HostId> last = last_.host();
  schedule::CellWaits waits{.session = record_.id,
                            .offer = ++offers_,
                            .demand = {.gpus = asked_->cell.gpus},
                            .replicas = {},
                            .declined = std::move(declined),
                            .may_begin = !asked_->holders.empty()};
  if (const ReplicaReport* const newest = reports_.newest(); newest != nullptr && newest->move_us > 0)
    waits.move_takes = std::chrono::microseconds(newest->move_us);
  for (const auto& [replica, host] : record_.committed) {
    if (!members_.voters().can_run(replica, host)) continue;
    const ReplicaReport* const report = reports_.on(host);
    const bool filled = report != nullptr && (report->complete || reports_.shows_head(host));
    waits.replicas.push_back({.replica = replica,
                              .host = host,
                              .executed_last = last == host,
                              .worker_ready = filled && reports_.worker_ready(host),
                              .leaves = !record_.member_on(host)});
  }
  gateway_.tell(std::move(waits));
}

/// A host would hold the devices for a cell that cannot begin. watch() offers it again.
void Dispatch::wait_for_majority() {
  asked_->phase = Phase::kKept;
  asked_->has_waited = true;
  gateway_.tell(schedule::CellEnded{record_.id});
  if (!waits()) ask_log();
}

void Dispatch::pass_over(const HostId& host) { gateway_.tell(schedule::CellPassedOver{record_.id, host}); }

void Dispatch::send(ReplicaId lead, const HostId& host) {
  asked_->sent = true;
  asked_->holders.insert(host);
  asked_->cell.lead = lead;
  gateway_.send(host, asked_->cell);
}

void Dispatch::on_decision(const schedule::CellDecision& decision) {
  if (std::holds_alternative<schedule::AskAgain>(decision.what)) {
    if (asked_ && asked_->phase == Phase::kKept) offer();
    return;
  }
  if (!answers(decision)) return;
  if (const auto* const chosen = std::get_if<schedule::StartCell>(&decision.what)) return start(*chosen);
  asked_->phase = Phase::kKept;
  asked_->has_waited = true;
  if (!waits()) ask_log();
}

/// What has changed since the scheduler chose is looked at again: the step may have lost that host meanwhile.
void Dispatch::start(const schedule::StartCell& decision) {
  session::Members able;
  for (const ReplicaId replica : decision.replicas) {
    const auto member = record_.committed.find(replica);
    if (member != record_.committed.end() && members_.voters().can_run(replica, member->second))
      able.insert(*member);
  }
  if (able.empty()) return offer();
  asked_->phase = Phase::kAsked;
  asked_->elects = decision.elect;
  if (!decision.elect) asked_->lead = able.begin()->second;
  asked_->cell.devices = decision.devices;
  if (!decision.devices.empty() && !asked_->sent)
    gateway_.cell_times().got_gpus({.at_once = !asked_->has_waited, .as_last = last_.host() == asked_->lead});
  for (const auto& [replica, host] : able) send(decision.elect ? ReplicaId{} : replica, host);
}

/// The cell may have run, and whoever ran it may be gone. What the log says of it is not to wait until
/// somebody can be asked to run it.
void Dispatch::ask_log() const {
  const Execute& cell = asked_->cell;
  const Execute question{.session = cell.session,
                         .execution = cell.execution,
                         .request = {},
                         .lead = kNoLead,
                         .outputs_seen = cell.outputs_seen,
                         .restarts = cell.restarts};
  for (const auto& [replica, host] : record_.committed)
    if (members_.voters().can_run(replica, host)) gateway_.send(host, question);
}

void Dispatch::on_declined(const HostId& host, const ExecutionDeclined& answer) {
  if (asked_->executor) return;
  asked_->holders.erase(host);
  if (asked_->phase != Phase::kAsked) return;
  pass_over(host);
  if (asked_->lead && asked_->lead != host) return;  // somebody else is asked since
  if (!asked_->lead && !asked_->holders.empty()) return;
  offer(answer.busy ? std::nullopt : std::optional(answer.reason));
}

void Dispatch::on_report(const ReplicaReport& report) {
  if (!asked_ || report.running != asked_->cell.execution || asked_->executor) return;
  const auto executor = record_.committed.find(report.executor);
  if (executor == record_.committed.end() || !gateway_.usable(executor->second)) return;
  note_executor(executor->second);
  // It may run for an earlier life of the gateway, and tells only those who ask.
  if (!asked_->holders.contains(*asked_->executor)) send(report.executor, *asked_->executor);
}

void Dispatch::on_output(const HostId& host, std::uint64_t number) {
  asked_->cell.outputs_seen = std::max(asked_->cell.outputs_seen, number);
  if (asked_->executor != host) note_executor(host);
}

void Dispatch::note_executor(const HostId& host) {
  asked_->executor = host;
  asked_->phase = Phase::kAsked;
  gateway_.tell(schedule::CellRuns{record_.id, host});
}

/// The next replica is asked at once. If the cell runs already, the log says so, and the other replica
/// answers when it has ended.
void Dispatch::on_host_gone(const HostId& host) {
  if (this->host() != host) return;
  pass_over(host);
  offer();
}

void Dispatch::on_host_restarted(const HostId& host) {
  if (asked_ && asked_->holders.erase(host) != 0) asked_->may_have_begun = true;
  on_host_gone(host);
}

void Dispatch::watch() {
  if (!asked_ || (asked_->executor && gateway_.usable(*asked_->executor))) return;
  const bool silent = gateway_.now().mono - asked_->at >= kPatience;
  if (asked_->phase == Phase::kKept) {
    // Other replicas may be able to run it by now.
    if (silent || asked_->offered_to != record_.committed) offer();
    return;
  }
  const bool gone = asked_->lead && !gateway_.usable(*asked_->lead);
  if (!silent && !gone) return;
  if (asked_->lead) pass_over(*asked_->lead);
  // All have yielded, as far as they were asked: the log waits for the others.
  const bool yielded = std::exchange(asked_->elects, false) && !asked_->executor;
  offer(yielded ? std::optional<std::string>("no replica of the session has begun to run it") : std::nullopt);
}

std::optional<HostId> Dispatch::executor() const { return asked_ ? asked_->executor : std::nullopt; }

std::optional<HostId> Dispatch::host() const {
  if (!asked_) return std::nullopt;
  return asked_->executor ? asked_->executor : asked_->lead;
}

}  // namespace banyan::node
