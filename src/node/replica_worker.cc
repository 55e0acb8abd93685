// The worker's side of a replica: its life, and keeping its namespace a view of head.

#include <algorithm>
#include <utility>

#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr std::size_t kEarlyRequestsMax = 256;
constexpr std::size_t kAskedMax = 256;
constexpr std::size_t kHistoryShown = 100;  // cells of input history that a fresh worker is told
constexpr Duration kBackoffMax = 10s;
}  // namespace

std::optional<WorkerId> Replica::worker() const {
  return worker_ ? std::optional(worker_->id) : std::nullopt;
}

void Replica::launch_worker() {
  launch_at_.reset();
  if (worker_) return;
  if (!session_) {  // a joining replica learns what to run from its first snapshot
    launch_at_ = host_.now().mono + 50ms;
    return;
  }
  worker_ = Worker{.id = host_.fresh_worker(), .launched_at = host_.now().mono};
  host_.emit(LaunchWorker{worker_->id, session_id_, session_->spec()});
}

void Replica::kill_worker() {
  if (!worker_) return;
  host_.emit(StopWorker{worker_->id, Stop::kKill});
  worker_.reset();
  refused_.clear();
  reading_chunks_.clear();
  loaded_chunks_.clear();
  if (cell_) take_cell_back();
  if (!launch_at_) launch_at_ = host_.now().mono;
}

void Replica::worker_ready(const WorkerReady& event) {
  if (!worker_ || worker_->id != event.worker) return;
  worker_->phase = WorkerPhase::kReady;
  worker_->pid = event.pid;
  launch_failures_ = 0;
  while (!early_requests_.empty()) {
    host_.emit(ToWorker{worker_->id, std::move(early_requests_.front())});
    early_requests_.pop_front();
  }
  if (session_) sync_view();
  pump();
}

void Replica::worker_exited(const WorkerExited& event) {
  if (!worker_ || worker_->id != event.worker) return;
  const bool never_ready = worker_->phase == WorkerPhase::kStarting;
  host_.log(Log::Level::kWarning, "session " + session_id_.value + ": worker " + event.reason);
  last_death_ = event.reason;
  worker_.reset();
  refused_.clear();
  reading_chunks_.clear();
  loaded_chunks_.clear();
  if (never_ready) ++launch_failures_;
  const Duration backoff =
      launch_failures_ == 0 ? 0ms
                            : std::min<Duration>(100ms * (1 << std::min(launch_failures_, 7)), kBackoffMax);
  end_by_death(event.reason);
  if (cell_) take_cell_back();
  launch_at_ = host_.now().mono + backoff;
  if (backoff == Duration::zero()) launch_worker();
  pump();
}

void Replica::to_kernel(jupyter::Message message) {
  if (const auto header = jupyter::parse_header(message.header)) asked_.push_back(header->msg_id);
  if (asked_.size() > kAskedMax) asked_.pop_front();
  if (cell_ && message.channel == jupyter::Channel::kStdin) cell_->input.reset();
  if (worker_ && worker_->phase == WorkerPhase::kReady) {
    host_.emit(ToWorker{worker_->id, std::move(message)});
  } else if (early_requests_.size() < kEarlyRequestsMax) {
    early_requests_.push_back(std::move(message));
  }
}

bool Replica::worker_at_head() const {
  return session_ && !worker_->applying && !worker_->diverged && worker_->view == session_->view() &&
         worker_->shown_count == session_->execution_count();
}

/// Those of its names that are bound to the version at head.
std::vector<std::string> Replica::names_at_head(const session::CoVariableId& version) const {
  std::vector<std::string> names;
  for (const auto& [name, bound] : session_->view()) {
    if (bound == version) names.push_back(name);
  }
  return names;
}

/// Large blocks of what the worker shows under these names.
std::set<Digest> Replica::blocks_shown(const std::vector<std::string>& names) const {
  std::set<Digest> blocks;
  for (const auto& name : names) {
    const auto shown = worker_->view.find(name);
    if (shown == worker_->view.end() || worker_->absent.contains(shown->second)) continue;
    if (!session_->tree().holds(shown->second)) continue;
    for (const session::Chunk& block : session_->co_variable(shown->second).blocks)
      if (!block.bytes) blocks.insert(block.digest);
  }
  return blocks;
}

void Replica::sync_view() {
  if (!worker_ || worker_->phase != WorkerPhase::kReady || worker_->applying) return;
  if (worker_->diverged) {
    kill_worker();
    launch_worker();
    return;
  }
  if (cell_ && cell_->forwarded) return;
  look_for_absent();
  if (worker_at_head()) {
    loaded_chunks_.clear();
    forward_cell();
    return;
  }
  const checkpoint::Change step = checkpoint::difference(worker_->view, session_->view());
  ApplyToWorker apply{.worker = worker_->id,
                      .commit = session_->last(),
                      .execution_count = session_->execution_count(),
                      .code = {},
                      .changed = {},
                      .deleted = {step.unbound.begin(), step.unbound.end()}};
  bool complete = true;
  std::set<session::CoVariableId> load, absent;
  for (const auto& [name, version] : step.bound) load.insert(version);
  for (const auto& id : load) {
    session::CoVariable value;
    switch (gather(session_->co_variable(id), blocks_shown(names_at_head(id)), value)) {
      case Gathered::kWhole:
        value.names = names_at_head(id);
        apply.changed.push_back(std::move(value));
        break;
      case Gathered::kNotYet:
        complete = false;
        break;
      case Gathered::kLost:
        absent.insert(id);
        break;
    }
  }
  if (!complete) return;
  for (const auto& value : apply.changed) {
    for (const auto& name : value.names) worker_->missing.erase(name);
  }
  for (const auto& name : apply.deleted) worker_->missing.erase(name);
  for (const auto& id : absent) {  // an older value must not stand for it
    const std::vector<std::string> names = names_at_head(id);
    apply.deleted.insert(apply.deleted.end(), names.begin(), names.end());
    worker_->missing.insert(names.begin(), names.end());
  }
  worker_->absent.merge(absent);
  // Input history first, a cell at a time; the last cell rides with the values.
  std::vector<const session::Ended*> cells;
  const auto& history = session_->history();
  for (auto cell = history.rbegin(); cell != history.rend() && cells.size() < kHistoryShown; ++cell) {
    const session::Ended& ended = cell->second;
    if (ended.commit <= session_->cleared()) break;
    if (ended.execution_count == 0 || ended.code.empty()) continue;  // it did not run
    if (ended.execution_count <= worker_->shown_count) break;
    cells.push_back(&ended);
  }
  std::reverse(cells.begin(), cells.end());
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    host_.emit(ApplyToWorker{.worker = worker_->id,
                             .commit = cells[i]->commit,
                             .execution_count = cells[i]->execution_count,
                             .code = cells[i]->code,
                             .changed = {},
                             .deleted = {}});
  }
  if (!cells.empty()) apply.code = cells.back()->code;
  worker_->applying = apply.commit;
  worker_->applying_view = session_->view();
  worker_->shown_count = apply.execution_count;
  loaded_chunks_.clear();
  host_.emit(std::move(apply));
}

void Replica::worker_applied(const WorkerApplied& event) {
  if (!worker_ || worker_->id != event.worker || worker_->applying != event.commit) return;
  worker_->applying.reset();
  worker_->view = std::move(worker_->applying_view);
  worker_->missing.insert(event.failed.begin(), event.failed.end());
  for (const auto& name : event.lacking) worker_->view.erase(name);  // then all its blocks are sent
  sync_view();
  pump();
}

/// What the worker had to do without is loaded once a peer has sent it.
void Replica::look_for_absent() {
  std::erase_if(worker_->absent, [&](const session::CoVariableId& id) {
    const std::vector<std::string> names = names_at_head(id);
    if (names.empty()) return true;
    const session::CoVariable& value = session_->co_variable(id);
    const auto here = [&](const session::Chunk& chunk) {
      return chunk.bytes.has_value() || host_.chunk_durable(chunk.digest);
    };
    if (!std::ranges::all_of(value.blocks, here)) return false;
    for (const auto& name : names) {
      worker_->view.erase(name);
      worker_->missing.erase(name);
    }
    return true;
  });
}

}  // namespace banyan::node
