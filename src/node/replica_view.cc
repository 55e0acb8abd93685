#include "node/replica_view.h"

#include <set>
#include <string>
#include <utility>

namespace banyan::node {

/// Else a standby may be the next one.
bool ReplicaView::executor_is_there() const {
  const ReplicaId executor = core_.session->executor();
  return core_.session->members().contains(executor) && core_.host.reachable(core_.log.host_of(executor));
}

ChunkSync::Standing ReplicaView::of_chunks() const {
  const CellRun* const cell = cells_.cell();
  return {.session = *core_.session,
          .self = core_.id,
          .leader = core_.log.leader(),
          .leaders_host = core_.log.host_of(core_.log.leader()),
          .executors_host = core_.log.host_of(core_.session->executor()),
          .peers = core_.log.peers(),
          .has_lead = cell != nullptr && cell->has_started(),
          .runs_cells = cells_.runs_cells(),
          .builds = worker_.build().under_way(),
          .view_is_awaited = worker_.build().is_young() && cells_.runs_cells()};
}

void ReplicaView::sync() {
  if (!core_.session || !worker_.is_ready() || worker_.view().is_busy()) return;
  if (worker_.has_diverged()) return cells_.replace_worker();
  CellRun* const cell = cells_.cell();
  if (cell != nullptr && cell->is_forwarded()) return;
  WorkerView::Next next =
      worker_.view().go_on({.session = *core_.session,
                            .runs_cells = cells_.runs_cells(),
                            .executor_is_there = executor_is_there(),
                            .gave_at = gave_at_,
                            .callback_waits = parts_.beside.callback_waits(),
                            .reads = cell != nullptr ? cell->reads.names() : std::set<std::string>(),
                            .of_chunks = of_chunks()});
  if (next.waits_for_bytes && cell != nullptr)
    cell->ask_reads(*worker_.id(), cell->reads.ask_early(worker_.view().unread()));
  for (HostEffect& effect : next.effects) core_.host.emit(std::move(effect));
  if (!next.at_head) return;
  if (worker_.build().end()) {
    core_.report_soon();
    parts_.sync.want_none_first();
  }
  parts_.sync.unload_all();
  if (parts_.beside.some_wait()) send_early_requests();
  cells_.forward();
}

void ReplicaView::tick() {
  if (!core_.session) return;
  if (worker_.exists() && worker_.view().give_up_long_repeat(*core_.session)) cells_.replace_worker();
  parts_.sync.fetch(of_chunks());
  sync();
  tell_progress();
}

void ReplicaView::prepare() {
  cells_.prepare();
  sync();
}

// ---- the worker

void ReplicaView::on_ready(const WorkerReady& event) {
  worker_.on_ready(event);
  send_early_requests();
  sync();
}

void ReplicaView::on_applied(const WorkerApplied& event) {
  if (worker_.view().on_applied(event, *core_.session)) sync();
}

void ReplicaView::on_repeated(const WorkerRepeated& event) {
  if (worker_.view().on_repeated(event, *core_.session)) sync();
}

void ReplicaView::on_reads(const WorkerReads& event) {
  CellRun* const cell = cells_.cell();
  if (cell == nullptr || cell->execution() != event.execution || !cell->reads.on_answer(event.names)) return;
  sync();
}

/// Whoever waits for a cell sees what it waits for.
void ReplicaView::tell_progress() {
  CellRun* const cell = cells_.cell();
  if (!worker_.exists() || cell == nullptr) return;
  if (!cell->has_started() || cell->is_forwarded() || cell->is_going()) return;
  if (const auto shown = worker_.build().progress())
    cell->outputs.show_progress("restores the session", *shown);
}

void ReplicaView::to_kernel(jupyter::Message message) {
  parts_.beside.note(message);
  if (CellRun* const cell = cells_.cell(); cell != nullptr && message.channel == jupyter::Channel::kStdin)
    cell->on_input();
  if (takes(message)) {
    core_.host.emit(ToWorker{*worker_.id(), std::move(message)});
  } else if (parts_.beside.keep(std::move(message))) {
    sync();  // it may read what is to be made
  }
}

/// What is for a comm waits until the worker has the values that it belongs to: before that there is no such
/// comm, and the page that shows it would be told so.
bool ReplicaView::takes(const jupyter::Message& message) const {
  if (!worker_.is_ready()) return false;
  const auto header = jupyter::parse_header(message.header);
  const bool needs_values = header && header->msg_type.starts_with("comm_");
  const CellRun* const cell = std::as_const(cells_).cell();
  if (!needs_values || (cell != nullptr && cell->is_forwarded())) return true;
  return cells_.is_worker_at_head() && (!calls_back(message) || worker_.view().unread().empty());
}

void ReplicaView::send_early_requests() {
  const auto takes = [this](const jupyter::Message& message) { return this->takes(message); };
  for (jupyter::Message& message : parts_.beside.take_if(takes))
    core_.host.emit(ToWorker{*worker_.id(), std::move(message)});
}

}  // namespace banyan::node
