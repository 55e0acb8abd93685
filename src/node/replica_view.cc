// A replica's worker as a view of head: when to look at it, and what its cell and its client are told
// meanwhile.

#include <utility>

#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr Duration kPreparedFor = 5s;
}  // namespace

/// A worker that has diverged shows what is in no log.
bool Replica::worker_at_head() const {
  return session_ && worker_ && !worker_->diverged && worker_->view.is_head(*session_, runs_cells());
}

/// Other replicas are to be able to take over, not to repeat what costs time.
bool Replica::runs_cells() const {
  return session_->executor() == id_ || (cell_ && cell_->has_started()) || preparing();
}

/// Else a standby may be the next one.
bool Replica::executor_is_there() const {
  const ReplicaId executor = session_->executor();
  return session_->members().contains(executor) && host_.reachable(log_.host_of(executor));
}

void Replica::sync_view() {
  if (!worker_ || worker_->phase != WorkerPhase::kReady || worker_->view.is_busy()) return;
  if (worker_->diverged) {
    kill_worker();
    launch_worker();
    return;
  }
  if (cell_ && cell_->is_forwarded()) return;
  WorkerView::Next next =
      worker_->view.go_on({.session = *session_,
                           .runs_cells = runs_cells(),
                           .executor_is_there = executor_is_there(),
                           .gave_at = gave_at_,
                           .callback_waits = beside_.callback_waits(),
                           .reads = cell_ ? cell_->reads.names() : std::set<std::string>(),
                           .of_chunks = standing()});
  if (next.waits_for_bytes && cell_) ask_reads(cell_->reads.ask_early(worker_->view.unread()));
  for (HostEffect& effect : next.effects) host_.emit(std::move(effect));
  if (!next.at_head) return;
  if (build_.end()) {
    host_.report_soon(session_id_);
    chunk_sync_.want_none_first();
  }
  chunk_sync_.unload_all();
  if (beside_.some_wait()) send_early_requests();
  forward_cell();
}

void Replica::on_worker(const WorkerApplied& event) {
  if (!worker_ || worker_->id != event.worker || !worker_->view.on_applied(event, *session_)) return;
  sync_view();
  pump();
}

void Replica::on_worker(const WorkerRepeated& event) {
  if (!worker_ || worker_->id != event.worker || !worker_->view.on_repeated(event, *session_)) return;
  sync_view();
  pump();
}

/// Whether the worker is still to say which of the values that are made when something reads them the cell
/// may read.
bool Replica::awaits_reads() {
  if (!cell_->reads.is_asking()) ask_reads(cell_->reads.ask(worker_->view.unread()));
  return cell_->reads.is_asking();
}

void Replica::ask_reads(const std::set<std::string>& names) {
  if (names.empty()) return;
  host_.emit(
      AskReads{worker_->id, cell_->execution(), cell_->code_and_expressions(), {names.begin(), names.end()}});
}

void Replica::on_worker(const WorkerReads& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (!cell_ || cell_->execution() != event.execution || !cell_->reads.on_answer(event.names)) return;
  sync_view();
  pump();
}

/// Whoever waits for a cell sees what it waits for.
void Replica::tell_progress() {
  if (!cell_ || !cell_->has_started() || cell_->is_forwarded() || cell_->is_going()) return;
  if (const auto shown = build_.progress()) cell_->outputs.show_progress(*shown);
}

/// The executor is to change soon.
void Replica::prepare() {
  preparing_until_ = host_.now().mono + kPreparedFor;
  if (!session_) return;
  tend_worker();
  sync_view();
}

bool Replica::preparing() const { return preparing_until_ && host_.now().mono < *preparing_until_; }

}  // namespace banyan::node
