#include "node/worker_life.h"

#include <algorithm>
#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kStartPauseMax = 10s;

/// Of the values at head, by their types; none where the session says itself where modules are, or that it
/// wants none.
std::set<std::string> libraries_of(const session::Session& session) {
  std::set<std::string> libraries;
  const auto ahead = session.spec().env.find(std::string(session::kImportAhead));
  if (ahead != session.spec().env.end() && ahead->second == "0") return libraries;
  for (const auto& [name, version] : session.view()) {
    if (name == "<sys.path>") return {};
    const std::string& type = session.co_variable(version).type;
    if (const auto dot = type.find('.'); dot != std::string::npos) libraries.insert(type.substr(0, dot));
  }
  return libraries;
}
}  // namespace

std::optional<WorkerId> WorkerLife::id() const { return worker_ ? std::optional(worker_->id) : std::nullopt; }

void WorkerLife::refuse(const ExecutionId& execution, bool fenced) {
  worker_->refused.insert(execution);
  if (fenced)
    parts_.core.host.emit(
        AnswerFence{worker_->id, execution, "another replica of the session runs this cell"});
}

void WorkerLife::interrupt(std::optional<Duration> killed_after) {
  parts_.core.host.emit(StopWorker{worker_->id, Stop::kInterrupt});
  if (killed_after && !kill_at_) kill_at_ = parts_.core.host.now().mono + *killed_after;
}

void WorkerLife::tick() {
  if (!kill_at_ || parts_.core.host.now().mono < *kill_at_) return;
  kill_at_.reset();
  if (worker_) parts_.core.host.emit(StopWorker{worker_->id, Stop::kKill});
}

void WorkerLife::on_ready(const WorkerReady& event) {
  worker_->ready = true;
  worker_->pid = event.pid;
  failures_ = 0;
  parts_.core.report_soon();
}

void WorkerLife::launch(bool wanted) {
  ReplicaCore& core = parts_.core;
  next_at_.reset();
  if (worker_) return;
  if (!core.joined()) {
    next_at_ = core.host.now().mono;  // as soon as it has
    return;
  }
  if (!wanted) return;
  const WorkerId id = core.host.fresh_worker();
  worker_.emplace(
      Worker{.id = id,
             .view = {{core.host, parts_.chunks, parts_.speeds, parts_.sync, build_, repeats_}, id},
             .refused = {}});
  session::Spec spec = core.session->spec();
  // With the session's id it seeds the generators of random numbers: all views agree until the next restart.
  spec.env["BANYAN_SEED"] = std::to_string(core.session->cleared().value);
  core.host.emit(LaunchWorker{id, core.session_id, std::move(spec), libraries_of(*core.session)});
}

void WorkerLife::kill() {
  if (!worker_) return;
  parts_.core.host.emit(StopWorker{worker_->id, Stop::kKill});
  gone();
  if (!next_at_) next_at_ = parts_.core.host.now().mono;
}

bool WorkerLife::on_exited(const WorkerExited& event) {
  parts_.core.host.log(Log::Level::kWarning,
                       "session " + parts_.core.session_id.value + ": worker " + event.reason);
  last_death_ = event.reason;
  worker_->view.on_exited(event.reason);
  if (!worker_->ready) ++failures_;
  gone();
  const Duration pause =
      failures_ == 0 ? 0ms : std::min<Duration>(100ms * (1 << std::min(failures_, 7)), kStartPauseMax);
  next_at_ = parts_.core.host.now().mono + pause;
  return pause == Duration::zero();
}

void WorkerLife::gone() {
  worker_.reset();
  kill_at_.reset();
  build_.stop();
  parts_.questions.worker_is_gone();
  parts_.sync.worker_is_gone();
}

}  // namespace banyan::node
