#include "node/worker_view.h"

#include <algorithm>

#include "core/session/lineage.h"
#include "core/session/transfer.h"
#include "core/view/shown.h"
#include "node/view_costs.h"

namespace banyan::node {

using view::names_by_version;
using view::not_shown;
using view::shows;
using view::unknown_after;

namespace {

constexpr Duration kRepeatSlack = 60s;          // a cell that runs again may take twice its time, and this
constexpr Duration kPlannedAnew = 250ms;        // chunks have come meanwhile
constexpr std::uint64_t kHandedOver = 1 << 20;  // bytes; of fewer the time is that of any message
constexpr std::size_t kNamesShown = 3;
constexpr std::size_t kNameShown = 40;      // bytes
constexpr std::size_t kHistoryShown = 100;  // cells of input history that a fresh worker is told

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

/// The times of a cell that made less than at first are those of less: what is as it was is not told.
bool made_all_again(const WorkerRepeated& event, const session::Session& session) {
  if (!event.changed.empty() || !session.tree().contains(event.commit)) return false;
  return std::ranges::all_of(session.tree().change(event.commit).bound, [&](const auto& bound) {
    return bound.second.commit != event.commit ||
           std::ranges::find(event.made, bound.first) != event.made.end();
  });
}

}  // namespace

WorkerView::WorkerView(const Shared& shared, WorkerId worker)
    : shared_(shared), worker_(worker), launched_at_(shared.host.now().mono) {}

bool WorkerView::is_head(const session::Session& session, bool runs_cells) const {
  if (is_busy() || shown_count_ != session.execution_count()) return false;
  return !(runs_cells && view_.lacks_as_standby()) && view_.is_head(session);
}

/// Large blocks of what the worker shows under these names.
std::set<Digest> WorkerView::blocks_shown(const session::Session& session,
                                          const std::vector<std::string>& names) const {
  std::set<Digest> blocks;
  for (const auto& name : names) {
    const auto shown = view_.shown().find(name);
    if (shown == view_.shown().end() || !session.tree().holds(shown->second)) continue;
    for (const session::Chunk& block : session.co_variable(shown->second).blocks)
      if (!block.bytes) blocks.insert(block.digest);
  }
  return blocks;
}

std::set<std::string> WorkerView::unread() const {
  std::set<std::string> names;
  for (const auto& [name, version] : view_.unread()) names.insert(name);
  return names;
}

/// What is to be shown, with these cells refused.
view::Standing WorkerView::to_show(const Standing& standing, const view::Refused& refused) const {
  return {.session = standing.session,
          .refused = refused,
          .gpus = shared_.host.devices().all().size(),
          .runs_cells = standing.runs_cells,
          .reads = standing.reads,
          .reads_all = standing.callback_waits};
}

/// A view is being built from a moment on that lies within go_on().
ChunkSync::Standing WorkerView::of_chunks(const Standing& standing) const {
  ChunkSync::Standing now = standing.of_chunks;
  now.builds = shared_.build.under_way();
  now.view_is_awaited = shared_.build.is_young() && standing.runs_cells;
  return now;
}

planner::Costs WorkerView::costs(const Standing& standing, planner::Take how) const {
  const auto loads = [this, &session = standing.session](const session::CoVariableId& version) {
    return view_.loads(session, version);
  };
  return view_costs(shared_.speeds.now(), shared_.sync, of_chunks(standing), view_.shown(), loads, how);
}

WorkerView::Next WorkerView::go_on(const Standing& standing) {
  Next next;
  while (true) {
    look_again(standing);
    if (is_head(standing.session, standing.runs_cells)) {
      plan_.step.reset();
      behind_.since.reset();
      next.at_head = true;
      return next;
    }
    if (yields(standing)) return next;
    plan(standing);
    if (plan_.step ? take_step(standing, next) : show_head(standing, next)) return next;
    // Some bytes turned out to be lost: there may be another way, or the worker does without.
  }
}

/// A standby that is to have all values, such as after a resumption, or large ones: it is not to be in the
/// way of the executor, of whose next cell a client may wait already, nor of a peer that has its values from
/// here.
bool WorkerView::yields(const Standing& standing) {
  if (standing.runs_cells) return false;
  const Time now = shared_.host.now().mono;
  const State state = state_of(standing.session);
  if (!behind_.since) behind_.since = now;
  if (std::exchange(behind_.seen, state) != state) behind_.seen_at = now;
  const Timing& timing = shared_.host.timing();
  const Duration age = now - launched_at_;
  if (view_.shown().empty() && age < timing.standby_after) return true;
  // Of a session that was suspended the executor loads as much at the same time.
  if (view_.shown().empty() && age < timing.standby_behind && standing.executor_is_there &&
      has_much_to_load(standing.session))
    return true;
  const Duration behind = now - *behind_.since;
  const bool commits_come = now - behind_.seen_at < timing.standby_after && behind < timing.standby_behind;
  const bool gives =
      standing.gave_at && now - *standing.gave_at < timing.standby_gave && behind < timing.standby_gives;
  return (commits_come || (gives && standing.executor_is_there)) && has_much_to_load(standing.session);
}

bool WorkerView::has_much_to_load(const session::Session& session) const {
  std::uint64_t bytes = 0;
  const session::View target = view_.wanted(session);
  const auto names = names_by_version(target);
  for (const auto& version : not_shown(view_.shown(), target)) {
    const std::set<Digest> shown = blocks_shown(session, names.at(version));
    for (const session::Chunk& block : session.co_variable(version).blocks) {
      bytes += shown.contains(block.digest) ? 0 : block.size;
      if (bytes >= shared_.host.sizes().much_to_load) return true;
    }
  }
  return false;
}

/// What the worker does without is tried again when there is a reason to.
void WorkerView::look_again(const Standing& standing) {
  Repeats& repeats = shared_.repeats;
  const std::uint64_t amended = standing.session.amended();
  const bool asked = std::exchange(repeats.amended, amended) != amended;
  if (asked) repeats.refused.clear();
  const auto here = [&](const session::Chunk& chunk) {
    return chunk.bytes.has_value() || shared_.chunks.durable(chunk.digest);
  };
  const auto again = view_.look_again(to_show(standing, repeats.refused), {.asked = asked, .here = here});
  for (const std::string& name : again) missing_.erase(name);
}

/// Which cells run again before the rest of head is loaded: those that have to, and those that are quicker.
void WorkerView::plan(const Standing& standing) {
  // Another commit or amendment may forget what the plan loads.
  const State state = state_of(standing.session);
  if (plan_.step && plan_.at == state) return;
  const view::Standing to_show = this->to_show(standing, shared_.repeats.refused);
  view_.leave_unread(to_show);
  view::ProcessView::Planned planned = view_.plan(to_show, remade(standing));
  plan_.at = state;
  plan_.step = std::move(planned.step);
  for (auto& [name, why] : planned.without) missing_[name] = std::move(why);
}

const std::set<session::CoVariableId>& WorkerView::remade(const Standing& standing) {
  const Time now = shared_.host.now().mono;
  if (!plan_.remade_until || plan_.at != state_of(standing.session) || now >= *plan_.remade_until) {
    plan_.remade = quicker_to_make(standing);
    // A standby makes nothing; when it takes over it plans at once.
    plan_.remade_until = standing.runs_cells ? std::optional(now + kPlannedAnew) : std::nullopt;
  }
  return plan_.remade;
}

/// What head shows and what leads to it: versions that can be loaded, but are made by cells that run again.
/// Also notes which chunks are needed first, and how long all of it may take.
std::set<session::CoVariableId> WorkerView::quicker_to_make(const Standing& standing) {
  const session::Session& session = standing.session;
  const session::View target = view_.wanted(session);
  const HostContext& host = shared_.host;
  shared_.sync.want_none_first();
  if (!standing.runs_cells) return {};
  planner::Costs costs = this->costs(standing, planner::Take::kCautious);
  std::set<session::CoVariableId> copied;  // always, whatever that costs
  for (const std::string& name : session.copied_always()) {
    if (const auto version = target.find(name); version != target.end()) copied.insert(version->second);
  }
  costs.load = [&copied, cost = std::move(costs.load)](const session::CoVariableId& version) {
    const auto load = cost(version);
    return load && copied.contains(version) ? planner::LoadCost{} : load;
  };
  const std::set<session::CoVariableId> wanted = not_shown(view_.shown(), target);
  std::int64_t loading_us = 0;
  bool all_load = true;
  for (const auto& version : wanted) {
    const auto load = costs.load(version);
    if (load) loading_us += load->way_us + load->here_us;
    all_load &= load.has_value();
  }
  const bool little =
      loading_us < microseconds(host.timing().plan_above) && host.plan() != planner::Strategy::kRunAll;
  if (all_load && (little || host.plan() == planner::Strategy::kLoadAll)) {
    shared_.build.begin(loading_us);
    want_first(session, wanted);
    return {};
  }
  view::Refused refused = shared_.repeats.refused;
  for (const CommitId commit : ran_) refused.emplace(commit, "it ran again already");
  const planner::HistoryGraph graph(target, view_.lineage(to_show(standing, refused)));
  const planner::Choice choice = planner::choose(graph, costs, host.plan());
  shared_.build.begin(planner::time_of(choice, graph, this->costs(standing, planner::Take::kMean)));
  if (!may_run_unasked(choice.runs, session)) {
    want_first(session, wanted);
    return {};
  }
  want_first(session, choice.loads);
  std::set<session::CoVariableId> made;
  for (const auto& version : graph.versions()) {
    const CommitId maker = graph.cells()[version.maker].commit;
    const bool is_copied = copied.contains(version.id) || choice.loads.contains(version.id);
    if (choice.runs.contains(maker) && view_.loads(session, version.id) && !is_copied)
      made.insert(version.id);
  }
  return made;
}

void WorkerView::want_first(const session::Session& session,
                            const std::set<session::CoVariableId>& versions) {
  for (const auto& version : versions) shared_.sync.want_first(session.co_variable(version).blocks);
}

/// Loads what the next cell reads, then has it run. False as show().
bool WorkerView::take_step(const Standing& standing, Next& next) {
  const session::Session& session = standing.session;
  const planner::Step& step = *plan_.step;
  std::set<std::string> unbind = step.unbind;
  std::erase_if(unbind, [&](const std::string& name) { return !view_.shown().contains(name); });
  const std::set<session::CoVariableId> load = not_shown(view_.shown(), step.load);
  if (!load.empty() || !unbind.empty()) {
    ApplyToWorker apply;
    apply.execution_count = shown_count_;
    return show(standing, session::View(step.load), load, unbind, std::move(apply), next);
  }
  const auto cell = session.history().find(step.cell);
  if (cell == session.history().end()) {
    plan_.step.reset();  // planned anew
    return true;
  }
  RepeatOnWorker repeat{.worker = worker_,
                        .commit = step.cell,
                        .code = cell->second.code,
                        .fails = cell->second.status == session::Status::kError,
                        .makes = session::made_by(session, step.cell)};
  for (session::CoVariable& value : repeat.makes) {
    if (!value.kept) continue;
    for (const session::Chunk& block : value.blocks) {
      if (!shared_.sync.is_missing(block.digest)) continue;
      value.kept = false;  // else a commit could refer to it
      repeat.wanted.insert(block.digest);
    }
  }
  shared_.sync.unload_all();
  shared_.build.doing("running cell [" + std::to_string(cell->second.execution_count) + "] again");
  ran_.insert(step.cell);
  repeating_ = {step.cell, shared_.host.now().mono};
  next.effects.emplace_back(std::move(repeat));
  return true;
}

/// False as show().
bool WorkerView::show_head(const Standing& standing, Next& next) {
  const session::View target = view_.wanted(standing.session);
  const std::set<std::string> unbind = view_.behind(standing.session).unbound;
  ApplyToWorker apply;
  apply.execution_count = standing.session.execution_count();
  return show(standing, target, not_shown(view_.shown(), target), unbind, std::move(apply), next);
}

/// Loads versions for all names that the view binds to them. Waits when bytes are still to come. False when
/// some bytes are lost, so that all is to be looked at again.
bool WorkerView::show(const Standing& standing, const session::View& view,
                      const std::set<session::CoVariableId>& load, const std::set<std::string>& unbind,
                      ApplyToWorker apply, Next& next) {
  const session::Session& session = standing.session;
  bool complete = true, reading = false, lost = false;
  std::vector<session::CoVariable> awaited;
  const ChunkSync::Standing of_chunks = this->of_chunks(standing);
  auto all_names = names_by_version(view);
  for (const auto& version : load) {
    session::CoVariable value;
    const std::vector<std::string>& names = all_names[version];
    switch (
        shared_.sync.gather(session.co_variable(version), blocks_shown(session, names), of_chunks, value)) {
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
        view_.on_no_bytes(version);
        plan_.step.reset();
        lost = true;
        break;
    }
  }
  if (lost) return false;
  shared_.build.doing(apply.changed.empty() ? "waiting for " + named(awaited)
                                            : "loading " + named(apply.changed));
  if (!complete) {
    if (standing.runs_cells) want_first(session, load);
    next.waits_for_bytes = true;
    if (apply.changed.empty() || reading) return true;
    apply.execution_count = shown_count_;  // a part, while the rest is on its way
  }
  apply.worker = worker_;
  apply.commit = session.last();
  checkpoint::Change change;
  if (complete) {
    apply.deleted = {unbind.begin(), unbind.end()};
    change.unbound = unbind;
  }
  for (const session::CoVariable& value : apply.changed) {
    for (const std::string& name : value.names) {
      change.bound[name] = view.at(name);
      if (shows(session.view(), name, view.at(name))) missing_.erase(name);  // else it is for a cell to read
    }
    shared_.sync.unload(value.blocks);
  }
  if (apply.execution_count > shown_count_) apply.code = tell_history(session, next);
  applying_ = {apply.commit, std::move(change), shared_.host.now().mono};
  shown_count_ = apply.execution_count;
  next.effects.emplace_back(std::move(apply));
  return true;
}

/// Input history that the worker has not, a cell at a time; the last cell's code is for the coming apply.
std::string WorkerView::tell_history(const session::Session& session, Next& next) const {
  std::vector<const session::Ended*> cells;
  const auto& history = session.history();
  for (auto cell = history.rbegin(); cell != history.rend() && cells.size() < kHistoryShown; ++cell) {
    const session::Ended& ended = cell->second;
    if (ended.commit <= session.cleared()) break;
    if (ended.execution_count == 0 || ended.code.empty()) continue;  // it did not run
    if (ended.execution_count <= shown_count_) break;
    cells.push_back(&ended);
  }
  std::reverse(cells.begin(), cells.end());
  for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
    next.effects.emplace_back(ApplyToWorker{.worker = worker_,
                                            .commit = cells[i]->commit,
                                            .execution_count = cells[i]->execution_count,
                                            .code = cells[i]->code,
                                            .changed = {},
                                            .deleted = {}});
  }
  return cells.empty() ? std::string() : cells.back()->code;
}

void WorkerView::on_committed(const checkpoint::Change& change, std::uint64_t execution_count) {
  view_.on_changed(change);
  shown_count_ = execution_count;
}

bool WorkerView::on_applied(const WorkerApplied& event, const session::Session& session) {
  if (!applying_ || applying_->commit != event.commit) return false;
  learn(event, session);
  view_.on_changed(applying_->change);
  applying_.reset();
  for (const auto& name : event.failed) {
    const auto shown = view_.shown().find(name);
    if (shown == view_.shown().end()) continue;
    view_.on_not_loaded(name, shown->second);
    plan_.step.reset();
  }
  // It has there what it had before; all blocks are sent then.
  for (const auto& name : event.lacking)
    view_.on_changed({.bound = {{name, unknown_after(event.commit)}}, .unbound = {}});
  return true;
}

bool WorkerView::on_repeated(const WorkerRepeated& event, const session::Session& session) {
  if (!repeating_ || repeating_->commit != event.commit) return false;
  const Duration took = shared_.host.now().mono - repeating_->since;
  repeating_.reset();
  plan_.step.reset();
  plan_.remade_until.reset();
  if (const auto cell = session.history().find(event.commit);
      cell != session.history().end() && event.error.empty()) {
    using Times = std::map<std::string, std::int64_t>;
    session::learn_of_repeat(shared_.speeds.now(), cell->second, microseconds(took),
                             made_all_again(event, session) ? event.serialised_us : Times());
  }
  shared_.build.ran_a_cell();
  view_.on_repeated(
      session, {.commit = event.commit, .made = event.made, .changed = event.changed, .error = event.error},
      shared_.repeats.refused);
  return true;
}

void WorkerView::on_exited(const std::string& reason) {
  if (repeating_) shared_.repeats.refused[repeating_->commit] = "its cell ended the process: " + reason;
}

bool WorkerView::give_up_long_repeat(const session::Session& session) {
  if (!repeating_) return false;
  const auto cell = session.history().find(repeating_->commit);
  const Duration first =
      cell == session.history().end() ? Duration() : Duration(cell->second.runtime_us * 1us);
  if (shared_.host.now().mono - repeating_->since < 2 * first + kRepeatSlack) return false;
  shared_.repeats.refused[repeating_->commit] = "running its cell again took too long";
  return true;
}

/// Of what was loaded by this. The values' bytes were handed over together: each has its part of that time.
void WorkerView::learn(const WorkerApplied& event, const session::Session& session) {
  std::map<std::string, session::CoVariableId> loaded;  // by a name
  for (const auto& [name, version] : applying_->change.bound) {
    if (!shows(view_.shown(), name, version) && session.tree().holds(version)) loaded.emplace(name, version);
  }
  for (const auto& name : event.failed) loaded.erase(name);
  for (const auto& name : event.lacking) loaded.erase(name);
  const std::int64_t whole_us = microseconds(shared_.host.now().mono - applying_->since);
  std::int64_t loading_us = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::int64_t> took;
  for (const auto& [name, took_us] : event.took) {
    const auto version = loaded.find(name);
    // User code may have made it say anything.
    if (version == loaded.end() || took_us < 0 || took_us > whole_us - loading_us) continue;
    took[name] = took_us;
    loading_us += took_us;
    bytes += session.co_variable(version->second).bytes();
  }
  const double handing_us =  // of a byte
      bytes < kHandedOver ? 0 : static_cast<double>(whole_us - loading_us) / static_cast<double>(bytes);
  for (const auto& [name, took_us] : took) {
    const session::CoVariable& value = session.co_variable(loaded.at(name));
    const auto handed_us = static_cast<std::int64_t>(handing_us * static_cast<double>(value.bytes()));
    shared_.speeds.now().loaded(value.type, value.bytes(), took_us + handed_us);
  }
  std::set<session::CoVariableId> versions;
  for (const auto& [name, version] : loaded) versions.insert(version);
  std::uint64_t sum = 0;
  for (const auto& version : versions) sum += session.co_variable(version).bytes();
  shared_.build.loaded(versions.size(), sum);
}

}  // namespace banyan::node
