// Which replica is asked to run the cell at the head of the queue, and who is asked next when that one is
// gone or declines. Asking twice is safe: the log lets a cell start once.

#include <algorithm>
#include <functional>
#include <utility>

#include "node/gateway_messages.h"
#include "node/gateway_session.h"

namespace banyan::node {

namespace {

constexpr Duration kPatience = 3s;    // for a sign that the replica that was asked runs the cell
constexpr Duration kBackoff = 200ms;  // when everybody has declined; grows by a quarter, as in NotebookOS
constexpr Duration kBackoffMax = 5s;
constexpr int kRoundsMax = 5;           // rounds in which everybody declines, as in NotebookOS
constexpr Duration kOutageGrace = 10s;  // hosts restart faster than this

}  // namespace

void GatewaySession::dispatch() {
  if (queue_.empty() || !exists_ || restarting_) return;
  Cell& cell = queue_.front();
  if (cell.asked || !can_serve()) return;
  ask(cell);
}

void GatewaySession::ask(Cell& cell) {
  const Time now = gateway_.now().mono;
  cell.asked = true;
  cell.asked_at = now;
  cell.ask_at.reset();
  cell.executor.reset();
  if (gateway_.config().election == Election::kAll) return ask_all(cell);

  const std::optional<HostId> last = last_executor();
  schedule::CellWaits waits{.session = record_.id, .execution = cell.execution, .replicas = {}};
  for (const auto& [replica, host] : members_.may_be_asked(cell.passed_over)) {
    const ReplicaReport* const report = gateway_.report_of(host, record_.id);
    const bool filled = report != nullptr && (report->complete || shows_head(host));
    waits.replicas.push_back({replica, host, last == host, filled && members_.worker_ready(host)});
  }
  // A host that is drained gets no cells, but for those of sessions that run there until they can move.
  const auto goes_on = [&](const schedule::EligibleReplica& one) {
    return one.executed_last || !gateway_.cluster().draining(one.host);
  };
  if (std::ranges::any_of(waits.replicas, goes_on)) std::erase_if(waits.replicas, std::not_fn(goes_on));
  if (waits.replicas.empty()) {
    cell.passed_over.clear();
    cell.lead.reset();
    cell.backoff = cell.backoff == Duration::zero() ? kBackoff : std::min(cell.backoff * 5 / 4, kBackoffMax);
    cell.ask_at = now + cell.backoff;
    return gateway_.tell(schedule::CellEnded{record_.id});
  }
  cell.lead.reset();
  gateway_.tell(std::move(waits));
}

/// What has changed since the scheduler chose is looked at again: the step may have lost that host meanwhile.
void GatewaySession::start(const schedule::StartCell& decision) {
  Cell* const cell = running();
  if (!chooses_executor() || cell->execution != decision.execution) return;
  const session::Members eligible = members_.may_be_asked(cell->passed_over);
  const auto chosen = eligible.find(decision.replica);
  if (chosen == eligible.end()) return ask(*cell);
  cell->lead = chosen->second;
  send_execute(*cell, decision.replica, *cell->lead);
  route_waiting();
}

/// The scheduler is about to say which replica is asked to run the cell.
bool GatewaySession::chooses_executor() const {
  const Cell* const cell = running();
  return cell != nullptr && cell->asked && gateway_.config().election == Election::kPreselect &&
         !cell->lead && !cell->executor && !cell->ask_at;
}

/// The paper's way: every replica proposes LEAD or YIELD by what it knows itself.
void GatewaySession::ask_all(Cell& cell) {
  for (const auto& [replica, host] : members_.may_be_asked({})) send_execute(cell, {}, host);
}

void GatewaySession::send_execute(Cell& cell, ReplicaId lead, const HostId& host) {
  cell.may_have_started = true;
  cell.holders.insert(host);
  gateway_.send(host, Execute{.session = record_.id,
                              .execution = cell.execution,
                              .request = cell.record.request,
                              .lead = lead,
                              .outputs_seen = cell.seen,
                              .restarts = cell.record.restarts,
                              .aborts = cell.record.aborts});
}

void GatewaySession::declined(const HostId& host, const ExecutionDeclined& answer) {
  Cell* const cell = running();
  if (cell == nullptr || cell->execution != answer.execution || cell->executor) return;
  cell->holders.erase(host);
  cell->passed_over.insert(host);
  if (chooses_executor() || (cell->lead && cell->lead != host)) return;  // somebody else is asked since
  if (!cell->lead && !cell->holders.empty()) return;
  if (!members_.may_be_asked(cell->passed_over).empty()) return ask(*cell);
  ++cell->rounds;
  if (cell->rounds >= kRoundsMax && cell->holders.empty()) {
    Cell refused = std::move(*cell);
    queue_.pop_front();
    gateway_.tell(schedule::CellEnded{record_.id});
    judge(std::move(refused), {"NoExecutor", "No replica of the session can run the cell now (" +
                                                 answer.reason + "). It was not run; run it again later."});
    return dispatch();
  }
  cell->passed_over.clear();
  cell->lead.reset();
  cell->backoff = cell->backoff == Duration::zero() ? kBackoff : std::min(cell->backoff * 5 / 4, kBackoffMax);
  cell->ask_at = gateway_.now().mono + cell->backoff;
}

/// Looks after the cell that was sent: whoever was asked must show that it runs it, and stay up.
void GatewaySession::watch_cell() {
  dispatch();
  Cell* const cell = running();
  if (cell == nullptr) return;
  const Time now = gateway_.now().mono;
  if (cell->executor && gateway_.usable(*cell->executor)) return;
  if (cell->ask_at) {
    if (*cell->ask_at <= now) ask(*cell);
    return;
  }
  const bool silent = now - cell->asked_at >= kPatience;
  const bool gone = cell->lead && !gateway_.usable(*cell->lead);
  if (!silent && !gone) return;
  if (cell->lead) cell->passed_over.insert(*cell->lead);
  ask(*cell);
}

void GatewaySession::watch_quorum() {
  if (can_serve()) {
    outage_since_.reset();
    if (Cell* const cell = running()) cell->outage_told = false;
    return;
  }
  if (!outage_since_) outage_since_ = gateway_.now().mono;
  if (!outage()) return;
  // What was never sent cannot have started: it is refused. The rest waits for what the log says.
  std::deque<Cell> waiting = std::exchange(queue_, {});
  for (Cell& cell : waiting) {
    if (cell.may_have_started) {
      queue_.push_back(std::move(cell));
    } else {
      judge(std::move(cell), outage_verdict());
    }
  }
  if (queue_.empty() || queue_.front().outage_told) return;
  Cell& cell = queue_.front();
  cell.outage_told = true;
  clients_.publish(note("[banyan: " + reason() + " This cell may have run; how it ended will show then.]\n",
                        cell.record.request.header, gateway_.author(record_.id)));
}

bool GatewaySession::outage() const {
  return outage_since_ && !can_serve() && gateway_.now().mono - *outage_since_ >= kOutageGrace;
}

Verdict GatewaySession::outage_verdict() const { return {"NoQuorum", reason() + " The cell was not run."}; }

}  // namespace banyan::node
