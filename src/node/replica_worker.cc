// The worker of a replica: its life, and requests that are no cells.

#include <algorithm>
#include <utility>

#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr Duration kStartPauseMax = 10s;

/// Of the values at head, by their types; none where the session says itself where modules are.
std::set<std::string> libraries_of(const session::Session& session) {
  std::set<std::string> libraries;
  for (const auto& [name, version] : session.view()) {
    if (name == "<sys.path>") return {};
    const std::string& type = session.co_variable(version).type;
    if (const auto dot = type.find('.'); dot != std::string::npos) libraries.insert(type.substr(0, dot));
  }
  return libraries;
}
}  // namespace

std::optional<WorkerId> Replica::worker() const {
  return worker_ ? std::optional(worker_->id) : std::nullopt;
}

void Replica::launch_worker() {
  launch_.at.reset();
  if (worker_) return;
  if (!joined()) {
    launch_.at = host_.now().mono;  // as soon as it has: pump()
    return;
  }
  if (!wants_worker()) return;
  const WorkerId id = host_.fresh_worker();
  worker_.emplace(Worker{.id = id, .view = {{host_, chunks_, speeds_, chunk_sync_, build_, repeats_}, id}});
  session::Spec spec = session_->spec();
  // With the session's id it seeds the generators of random numbers: all views agree until the next restart.
  spec.env["BANYAN_SEED"] = std::to_string(session_->cleared().value);
  host_.emit(LaunchWorker{worker_->id, session_id_, std::move(spec), libraries_of(*session_)});
}

/// Before that a joining replica has at most an old state, which says neither what its worker may begin with
/// nor whether it is to have one.
bool Replica::joined() const { return session_ && session_->members().contains(id_); }

/// A warm standby has none. Until somebody is the executor anybody may become it.
bool Replica::wants_worker() const {
  if (cell_) return true;
  if (session_->suspended()) return false;
  if (preparing()) return true;
  return session_->spec().standbys == session::Standbys::kHot || session_->executor() == ReplicaId{} ||
         session_->executor() == id_;
}

void Replica::tend_worker() {
  if (!session_) return;
  if (worker_ && !wants_worker()) {
    kill_worker();
    launch_.at.reset();
    host_.report_soon(session_id_);
  } else if (!worker_ && !launch_.at && wants_worker()) {
    launch_worker();
  }
}

void Replica::kill_worker() {
  if (!worker_) return;
  if (cell_ && cell_->is_going()) host_.devices().keep_until_exit(worker_->id, cell_->take_devices());
  host_.emit(StopWorker{worker_->id, Stop::kKill});
  worker_is_gone();
  if (cell_) cell_->take_back();
  if (!launch_.at) launch_.at = host_.now().mono;
}

void Replica::worker_is_gone() {
  worker_.reset();
  build_.stop();
  if (cell_) cell_->on_worker_gone();
  questions_.worker_is_gone();
  refused_.clear();
  chunk_sync_.worker_is_gone();
}

void Replica::on_worker(const WorkerReady& event) {
  if (!worker_ || worker_->id != event.worker) return;
  worker_->phase = WorkerPhase::kReady;
  worker_->pid = event.pid;
  host_.report_soon(session_id_);
  launch_.failures = 0;
  send_early_requests();
  if (session_) sync_view();
  pump();
}

void Replica::on_worker(const WorkerExited& event) {
  if (!worker_ || worker_->id != event.worker) return;
  const bool never_ready = worker_->phase == WorkerPhase::kStarting;
  host_.log(Log::Level::kWarning, "session " + session_id_.value + ": worker " + event.reason);
  launch_.last_death = event.reason;
  worker_->view.on_exited(event.reason);
  worker_is_gone();
  if (never_ready) ++launch_.failures;
  const Duration backoff =
      launch_.failures == 0
          ? 0ms
          : std::min<Duration>(100ms * (1 << std::min(launch_.failures, 7)), kStartPauseMax);
  end_by_death(event.reason);
  if (cell_) cell_->take_back();
  launch_.at = host_.now().mono + backoff;
  if (backoff == Duration::zero()) launch_worker();
  pump();
}

void Replica::to_kernel(jupyter::Message message) {
  beside_.note(message);
  if (cell_ && message.channel == jupyter::Channel::kStdin) cell_->on_input();
  if (takes(message)) {
    host_.emit(ToWorker{worker_->id, std::move(message)});
  } else if (beside_.keep(std::move(message)) && session_ && worker_ &&
             worker_->phase == WorkerPhase::kReady) {
    sync_view();  // it may read what is to be made
  }
}

/// What is for a comm waits until the worker has the values that it belongs to: before that there is no such
/// comm, and the page that shows it would be told so.
bool Replica::takes(const jupyter::Message& message) const {
  if (!worker_ || worker_->phase != WorkerPhase::kReady) return false;
  const auto header = jupyter::parse_header(message.header);
  const bool needs_values = header && header->msg_type.starts_with("comm_");
  if (!needs_values || (cell_ && cell_->is_forwarded())) return true;
  return worker_at_head() && (!calls_back(message) || worker_->view.unread().empty());
}

void Replica::send_early_requests() {
  const auto takes = [this](const jupyter::Message& message) { return this->takes(message); };
  for (jupyter::Message& message : beside_.take_if(takes))
    host_.emit(ToWorker{worker_->id, std::move(message)});
}

}  // namespace banyan::node
