// Keeping the namespace of a replica's worker a view of head: what to load, and which cells to run again.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/lineage.h"
#include "core/session/transfer.h"
#include "node/replica.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kRepeatSlack = 60s;  // a cell that runs again may take twice its time, and this
constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kNameShown = 40;      // bytes
constexpr std::size_t kHistoryShown = 100;  // cells of input history that a fresh worker is told

std::vector<std::string> names_of(const session::View& view, const session::CoVariableId& version) {
  std::vector<std::string> names;
  for (const auto& [name, bound] : view) {
    if (bound == version) names.push_back(name);
  }
  return names;
}

/// For a person.
std::string named(const std::vector<session::CoVariable>& values) {
  std::string text;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const session::CoVariable& value : values) {
    bytes += value.bytes();
    for (const std::string& name : value.names) {
      if (name.starts_with('<') || ++count > kNamesShown) continue;
      text += (text.empty() ? "" : ", ") + name.substr(0, kNameShown);
    }
  }
  if (count > kNamesShown) text += " and " + std::to_string(count - kNamesShown) + " more";
  return (text.empty() ? "values" : text) + " (" + std::to_string(bytes / 1'000'000) + " MB)";
}

/// What a worker has under a name, when it is no version of any commit: something else has to take its place.
session::CoVariableId unknown_after(CommitId commit) {
  return {commit, std::numeric_limits<std::uint64_t>::max()};
}

bool shows(const session::View& view, const std::string& name, const session::CoVariableId& version) {
  const auto found = view.find(name);
  return found != view.end() && found->second == version;
}

/// What a client asks to be worked out after the cell, as lines of code.
std::string expressions_in(const jupyter::Message& request) {
  const json content = json::parse(request.content.view(), nullptr, false);
  std::string code;
  if (!content.is_object()) return code;
  for (const json& expression : content.value("user_expressions", json::object()))
    if (expression.is_string()) code += "\n" + expression.get<std::string>();
  return code;
}

}  // namespace

bool Replica::worker_at_head() const {
  if (!session_ || worker_->applying || worker_->repeating || worker_->diverged) return false;
  if (worker_->shown_count != session_->execution_count()) return false;
  const auto untried = [](const auto& item) { return item.second.why == Worker::Because::kStandby; };
  if (runs_cells() && std::ranges::any_of(worker_->without, untried)) return false;
  const session::View target = view_to_show();
  return std::ranges::all_of(
             target, [&](const auto& want) { return shows(worker_->view, want.first, want.second); }) &&
         std::ranges::all_of(worker_->view, [&](const auto& shown) {
           return shows(target, shown.first, shown.second) || left_alone(shown.first);
         });
}

/// Other replicas are to be able to take over, not to repeat what costs time.
bool Replica::runs_cells() const {
  return session_->executor() == id_ || (cell_ && cell_->started) || preparing();
}

bool Replica::loadable(const session::CoVariableId& version) const {
  return session_->co_variable(version).serialised() && !worker_->unloadable.contains(version);
}

/// The view of head, but for what the worker does without.
session::View Replica::view_to_show() const {
  session::View view = session_->view();
  for (const auto& [name, without] : worker_->without) {
    if (shows(view, name, without.version)) view.erase(name);
  }
  return view;
}

/// A live object that no commit holds stays where nothing brings back what should be in its place. Not one
/// whose bytes were only left behind: an older value is not to pass for a newer one.
bool Replica::left_alone(const std::string& name) const {
  const auto shown = worker_->view.find(name);
  const auto without = worker_->without.find(name);
  const auto live = [&](const session::CoVariableId& version) {
    return session_->tree().holds(version) && session_->co_variable(version).parts.empty();
  };
  return shown != worker_->view.end() && without != worker_->without.end() &&
         without->second.why != Worker::Because::kUnread &&
         shows(session_->view(), name, without->second.version) && live(without->second.version) &&
         live(shown->second);
}

/// Large blocks of what the worker shows under these names.
std::set<Digest> Replica::blocks_shown(const std::vector<std::string>& names) const {
  std::set<Digest> blocks;
  for (const auto& name : names) {
    const auto shown = worker_->view.find(name);
    if (shown == worker_->view.end() || !session_->tree().holds(shown->second)) continue;
    for (const session::Chunk& block : session_->co_variable(shown->second).blocks)
      if (!block.bytes) blocks.insert(block.digest);
  }
  return blocks;
}

void Replica::sync_view() {
  if (!worker_ || worker_->phase != WorkerPhase::kReady || worker_->applying || worker_->repeating) return;
  if (worker_->diverged) {
    kill_worker();
    launch_worker();
    return;
  }
  if (cell_ && cell_->forwarded) return;
  look_again();
  if (worker_at_head()) {
    if (build_.end()) {
      host_.report_soon(session_id_);
      chunk_sync_.want_none_first();
    }
    chunk_sync_.unload_all();
    worker_->step.reset();
    worker_->behind_since.reset();
    if (beside_.some_wait()) send_early_requests();
    forward_cell();
    return;
  }
  if (yields()) return;
  plan_view();
  if (worker_->step) {
    take_step();
  } else {
    show_head();
  }
}

/// A standby that is to have all values, such as after a resumption, or large ones: it is not to be in the
/// way of the executor, of whose next cell a client may wait already, nor of a peer that has its values from
/// here.
bool Replica::yields() {
  if (runs_cells()) return false;
  const Time now = host_.now().mono;
  const std::pair state(session_->last(), session_->amended());
  if (!worker_->behind_since) worker_->behind_since = now;
  if (std::exchange(worker_->seen, state) != state) worker_->seen_at = now;
  const Timing& timing = host_.timing();
  if (worker_->view.empty() && now - worker_->launched_at < timing.standby_after) return true;
  const Duration behind = now - *worker_->behind_since;
  const bool commits_come = now - worker_->seen_at < timing.standby_after && behind < timing.standby_behind;
  const bool gives = gave_at_ && now - *gave_at_ < timing.standby_gave && behind < timing.standby_gives;
  return (commits_come || (gives && executor_is_there())) && has_much_to_load();
}

/// Else a standby may be the next one.
bool Replica::executor_is_there() const {
  const ReplicaId executor = session_->executor();
  return session_->members().contains(executor) && host_.reachable(log_.host_of(executor));
}

bool Replica::has_much_to_load() const {
  std::uint64_t bytes = 0;
  const session::View target = view_to_show();
  for (const auto& version : not_shown(target)) {
    const std::set<Digest> shown = blocks_shown(names_of(target, version));
    for (const session::Chunk& block : session_->co_variable(version).blocks) {
      bytes += shown.contains(block.digest) ? 0 : block.size;
      if (bytes >= host_.sizes().much_to_load) return true;
    }
  }
  return false;
}

/// What the worker does without is tried again when there is a reason to.
void Replica::look_again() {
  const bool asked_again = std::exchange(amended_seen_, session_->amended()) != session_->amended();
  if (asked_again) cannot_repeat_.clear();
  const auto here = [&](const session::Chunk& chunk) {
    return chunk.bytes.has_value() || chunks_.durable(chunk.digest);
  };
  // Also what cells read that would have to run again.
  const auto loads_now = [&](const auto& item) {
    const auto& [version, until] = item;
    return !session_->tree().holds(version) || asked_again ||
           (until == Worker::Until::kChunks &&
            std::ranges::all_of(session_->co_variable(version).blocks, here));
  };
  const bool hope = std::erase_if(worker_->unloadable, loads_now) > 0 || asked_again;
  std::erase_if(worker_->without, [&](const auto& item) {
    const auto& [name, without] = item;
    if (shows(worker_->view, name, without.version)) return true;  // made for another one
    const bool wanted = shows(session_->view(), name, without.version);
    const bool waits = without.why == Worker::Because::kLost ||
                       (without.why == Worker::Because::kUnread && !needed_now(name)) || !runs_cells();
    if (wanted && !hope && waits) return false;
    worker_->unloadable.erase(without.version);
    worker_->missing.erase(name);
    return true;
  });
}

void Replica::do_without(const session::CoVariableId& version, const std::string& why) {
  for (const std::string& name : names_of(session_->view(), version)) {
    worker_->without[name] = {version, runs_cells() ? Worker::Because::kLost : Worker::Because::kStandby};
    worker_->missing[name] = why;
  }
}

/// Which cells run again before the rest of head is loaded: those that have to, and those that are quicker.
void Replica::plan_view() {
  // Another commit or amendment may forget what the plan loads.
  const std::pair state(session_->last(), session_->amended());
  if (worker_->step && worker_->planned_at == state) return;
  worker_->step.reset();
  leave_unread(view_to_show());
  const session::View target = view_to_show();
  const std::set<session::CoVariableId>& made = remade(target);
  worker_->planned_at = state;
  if (made.empty() || !plan_with(target, made)) plan_with(target, {});
}

/// Cells that take long do not run again for values that nobody looks at.
void Replica::leave_unread(const session::View& target) {
  if (!runs_cells()) return;
  const auto loads = [this](const session::CoVariableId& version) { return loadable(version); };
  const session::View waits =
      planner::made_when_read(target, worker_->view,
                              session::lineage_of(*session_, loads, cannot_repeat_, host_.gpus(),
                                                  worker_->since.value_or(session::kNoCell)),
                              [this](const std::string& name, const session::CoVariableId& version) {
                                return session::may_wait(*session_, name, version) && !needed_now(name);
                              });
  for (const auto& [name, version] : waits) worker_->without[name] = {version, Worker::Because::kUnread};
}

/// A thread says to nobody what it reads.
bool Replica::needed_now(const std::string& name) const {
  const bool works = worker_->since && !session_->work().empty();
  return works || beside_.callback_waits() || (cell_ && cell_->reads.contains(name));
}

std::set<std::string> Replica::unread() const {
  std::set<std::string> names;
  for (const auto& [name, without] : worker_->without)
    if (without.why == Worker::Because::kUnread) names.insert(name);
  return names;
}

/// Whether the worker is still to say which of the values that are made when something reads them the cell
/// may read: it knows the functions that the cell calls.
bool Replica::awaits_reads() {
  if (cell_->asking) return true;
  std::set<std::string> names = unread();
  for (const std::string& name : cell_->asked_of) names.erase(name);
  if (names.empty()) return false;
  ask_reads(names);
  cell_->asked_of.merge(names);
  return true;
}

/// What the cell names itself is known before the functions are there that it calls: its cells run again
/// while other values are on their way.
void Replica::ask_early() {
  if (!cell_ || cell_->asked_early || cell_->asking) return;
  const std::set<std::string> names = unread();
  if (names.empty()) return;
  cell_->asked_early = true;
  ask_reads(names);
}

void Replica::ask_reads(const std::set<std::string>& names) {
  cell_->asking = true;
  host_.emit(AskReads{worker_->id,
                      cell_->execution,
                      cell_->code + expressions_in(cell_->request),
                      {names.begin(), names.end()}});
}

void Replica::on_worker(const WorkerReads& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (!cell_ || cell_->execution != event.execution || !cell_->asking) return;
  cell_->asking = false;
  cell_->reads.insert(event.names.begin(), event.names.end());
  sync_view();
  pump();
}

/// With versions that are not loaded, though they can be: false when one of them could not be made either.
bool Replica::plan_with(const session::View& target, const std::set<session::CoVariableId>& made) {
  const auto loads = [&](const session::CoVariableId& version) {
    return loadable(version) && !made.contains(version);
  };
  std::set<session::CoVariableId> wanted;
  for (const auto& [name, version] : target) {
    if (!shows(worker_->view, name, version) && !loads(version)) wanted.insert(version);
  }
  if (wanted.empty()) return true;
  if (!runs_cells()) {
    for (const auto& version : wanted) do_without(version, "it cannot be copied");
    return true;
  }
  planner::Plan plan = planner::plan(target, worker_->view,
                                     session::lineage_of(*session_, loads, cannot_repeat_, host_.gpus(),
                                                         worker_->since.value_or(session::kNoCell)));
  if (std::ranges::any_of(plan.lost, [&](const auto& lost) { return made.contains(lost.first); }))
    return false;
  for (const auto& [version, why] : plan.lost) do_without(version, why);
  if (!plan.steps.empty()) worker_->step = std::move(plan.steps.front());  // then another plan: it may fail
  return true;
}

/// Loads what the next cell reads, then has it run.
void Replica::take_step() {
  const planner::Step& step = *worker_->step;
  std::set<std::string> unbind = step.unbind;
  std::erase_if(unbind, [&](const std::string& name) { return !worker_->view.contains(name); });
  const std::set<session::CoVariableId> load = not_shown(step.load);
  if (!load.empty() || !unbind.empty()) {
    ApplyToWorker apply;
    apply.execution_count = worker_->shown_count;
    return show(step.load, load, unbind, std::move(apply));
  }
  const auto cell = session_->history().find(step.cell);
  if (cell == session_->history().end()) return worker_->step.reset();  // planned anew
  RepeatOnWorker repeat{.worker = worker_->id,
                        .commit = step.cell,
                        .code = cell->second.code,
                        .fails = cell->second.status == session::Status::kError,
                        .makes = session::made_by(*session_, step.cell)};
  for (session::CoVariable& value : repeat.makes) {
    const auto here = [this](const session::Chunk& block) { return !chunk_sync_.is_missing(block.digest); };
    value.kept = value.kept && std::ranges::all_of(value.blocks, here);  // else a commit could refer to it
  }
  chunk_sync_.unload_all();
  build_.doing("running cell [" + std::to_string(cell->second.execution_count) + "] again");
  worker_->ran.insert(step.cell);
  worker_->repeating = step.cell;
  worker_->repeating_since = host_.now().mono;
  host_.emit(std::move(repeat));
}

void Replica::show_head() {
  const session::View target = view_to_show();
  std::set<std::string> unbind = checkpoint::difference(worker_->view, target).unbound;
  std::erase_if(unbind, [&](const std::string& name) { return left_alone(name); });
  ApplyToWorker apply;
  apply.execution_count = session_->execution_count();
  show(target, not_shown(target), unbind, std::move(apply));
}

/// Versions in it that a name does not show.
std::set<session::CoVariableId> Replica::not_shown(const session::View& view) const {
  std::set<session::CoVariableId> versions;
  for (const auto& [name, version] : view) {
    if (!shows(worker_->view, name, version)) versions.insert(version);
  }
  return versions;
}

/// Loads versions for all names that the view binds to them. Waits when bytes are still to come.
void Replica::show(const session::View& view, const std::set<session::CoVariableId>& load,
                   const std::set<std::string>& unbind, ApplyToWorker apply) {
  bool complete = true, reading = false, lost = false;
  std::vector<session::CoVariable> awaited;
  const ChunkSync::Standing standing = this->standing();
  for (const auto& version : load) {
    session::CoVariable value;
    const std::vector<std::string> names = names_of(view, version);
    switch (chunk_sync_.gather(session_->co_variable(version), blocks_shown(names), standing, value)) {
      case ChunkSync::Gathered::kWhole:
        value.names = names;
        apply.changed.push_back(std::move(value));
        break;
      case ChunkSync::Gathered::kReading:
        reading = true;
        [[fallthrough]];
      case ChunkSync::Gathered::kNotYet:
        complete = false;
        value.names = names;
        awaited.push_back(std::move(value));
        break;
      case ChunkSync::Gathered::kLost:
        worker_->unloadable[version] = Worker::Until::kChunks;
        worker_->step.reset();  // another way, or without them
        lost = true;
        break;
    }
  }
  if (lost) return sync_view();
  build_.doing(apply.changed.empty() ? "waiting for " + named(awaited) : "loading " + named(apply.changed));
  if (!complete) {
    if (runs_cells()) want_first(load);
    ask_early();
    if (apply.changed.empty() || reading) return;
    apply.execution_count = worker_->shown_count;  // a part, while the rest is on its way
  }
  apply.worker = worker_->id;
  apply.commit = session_->last();
  worker_->applying_view = worker_->view;
  if (complete) {
    apply.deleted = {unbind.begin(), unbind.end()};
    for (const auto& name : unbind) worker_->applying_view.erase(name);
  }
  for (const session::CoVariable& value : apply.changed) {
    for (const std::string& name : value.names) {
      worker_->applying_view[name] = view.at(name);
      worker_->missing.erase(name);
    }
    chunk_sync_.unload(value.blocks);
  }
  if (apply.execution_count > worker_->shown_count) apply.code = tell_history();
  worker_->applying = apply.commit;
  worker_->applying_since = host_.now().mono;
  worker_->shown_count = apply.execution_count;
  host_.emit(std::move(apply));
}

/// Input history that the worker has not, a cell at a time; the last cell's code is for the coming apply.
std::string Replica::tell_history() {
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
  return cells.empty() ? std::string() : cells.back()->code;
}

void Replica::on_worker(const WorkerApplied& event) {
  if (!worker_ || worker_->id != event.worker || worker_->applying != event.commit) return;
  worker_->applying.reset();
  learn(event);
  worker_->view = std::move(worker_->applying_view);
  for (const auto& name : event.failed) {
    const auto shown = worker_->view.find(name);
    if (shown == worker_->view.end()) continue;
    worker_->unloadable[shown->second] = Worker::Until::kAmended;
    worker_->view.erase(shown);
    worker_->step.reset();
  }
  // It has there what it had before; all blocks are sent then.
  for (const auto& name : event.lacking) worker_->view[name] = unknown_after(event.commit);
  sync_view();
  pump();
}

/// Nobody sees that it runs, and nobody would stop it.
void Replica::end_long_repeat() {
  if (!worker_ || !worker_->repeating) return;
  const auto cell = session_->history().find(*worker_->repeating);
  const Duration first =
      cell == session_->history().end() ? Duration() : Duration(cell->second.runtime_us * 1us);
  if (host_.now().mono - worker_->repeating_since < 2 * first + kRepeatSlack) return;
  cannot_repeat_[*worker_->repeating] = "running its cell again took too long";
  kill_worker();
  launch_worker();
}

/// Else its times are of less than the cell's first ones are of: what is as before is not told.
bool Replica::made_all_again(const WorkerRepeated& event) const {
  if (!event.changed.empty() || !session_->tree().contains(event.commit)) return false;
  return std::ranges::all_of(session_->tree().change(event.commit).bound, [&](const auto& bound) {
    return bound.second.commit != event.commit ||
           std::ranges::find(event.made, bound.first) != event.made.end();
  });
}

void Replica::on_worker(const WorkerRepeated& event) {
  if (!worker_ || worker_->id != event.worker || worker_->repeating != event.commit) return;
  worker_->repeating.reset();
  worker_->step.reset();
  worker_->remade_until.reset();
  if (const auto cell = session_->history().find(event.commit);
      cell != session_->history().end() && event.error.empty()) {
    using Times = std::map<std::string, std::int64_t>;
    session::learn_of_repeat(speeds_.now(), cell->second,
                             microseconds(host_.now().mono - worker_->repeating_since),
                             made_all_again(event) ? event.serialised_us : Times());
  }
  build_.ran_a_cell();
  for (const auto& name : event.changed) worker_->view[name] = unknown_after(event.commit);
  std::string error = event.error;
  if (session_->tree().contains(event.commit)) {
    const checkpoint::Change& change = session_->tree().change(event.commit);
    for (const auto& [name, version] : change.bound) {
      if (version.commit != event.commit) continue;  // of commits that it has taken in since
      // What it bound to an equal value is no change.
      const bool made =
          std::ranges::find(event.made, name) != event.made.end() || shows(worker_->view, name, version);
      worker_->view[name] = made ? version : unknown_after(event.commit);
      if (!made && !loadable(version) && error.empty())
        error = "running its cell again did not make the same of it";
    }
    for (const auto& name : change.unbound) {
      if (worker_->view.erase(name) > 0 && !error.empty()) worker_->view[name] = unknown_after(event.commit);
    }
  }
  if (!error.empty()) cannot_repeat_[event.commit] = error;
  sync_view();
  pump();
}

}  // namespace banyan::node
