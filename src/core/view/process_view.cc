#include "core/view/process_view.h"

#include <algorithm>
#include <utility>

namespace banyan::view {

View ProcessView::wanted(const Session& session) const {
  View view = session.view();
  for (const auto& [name, without] : without_) {
    if (shows(view, name, without.version)) view.erase(name);
  }
  return view;
}

Change ProcessView::behind(const Session& session) const {
  Change change = checkpoint::difference(shown_, wanted(session));
  std::erase_if(change.unbound, [&](const std::string& name) { return is_left_alone(session, name); });
  return change;
}

/// Not one whose bytes were only left behind: an older value is not to pass for a newer one.
bool ProcessView::is_left_alone(const Session& session, const std::string& name) const {
  const auto shown = shown_.find(name);
  const auto without = without_.find(name);
  const auto live = [&](const CoVariableId& version) {
    return session.tree().holds(version) && session.co_variable(version).parts.empty();
  };
  return shown != shown_.end() && without != without_.end() && without->second.because != Because::kUnread &&
         shows(session.view(), name, without->second.version) && live(without->second.version) &&
         live(shown->second);
}

View ProcessView::unread() const {
  View names;
  for (const auto& [name, without] : without_)
    if (without.because == Because::kUnread) names.emplace(name, without.version);
  return names;
}

std::map<std::string, std::string> ProcessView::lost() const {
  std::map<std::string, std::string> names;
  for (const auto& [name, without] : without_)
    if (without.because == Because::kLost) names.emplace(name, without.why);
  return names;
}

bool ProcessView::lacks_as_standby() const {
  return std::ranges::any_of(without_,
                             [](const auto& item) { return item.second.because == Because::kStandby; });
}

bool ProcessView::loads(const Session& session, const CoVariableId& version) const {
  return session.co_variable(version).serialised() && !unloadable_.contains(version);
}

planner::Lineage ProcessView::lineage(const Standing& standing) const {
  return lineage(standing, [this, &session = standing.session](const CoVariableId& version) {
    return loads(session, version);
  });
}

planner::Lineage ProcessView::lineage(const Standing& standing, Loads loads) const {
  planner::Lineage lineage = session::lineage_of(standing.session, std::move(loads), standing.refused,
                                                 standing.gpus, since_.value_or(session::kNoCell));
  lineage.cell = [this, &session = standing.session, known = std::move(lineage.cell)](CommitId commit) {
    planner::Cell cell = known(commit);
    if (ran_again_twice(session, commit))
      cell.objection = "its cell ran again twice, and other cells that ran again undid that";
    return cell;
  };
  return lineage;
}

bool ProcessView::ran_again_twice(const Session& session, CommitId commit) const {
  const auto found = repeated_.times.find(commit);
  return found != repeated_.times.end() && found->second >= 2 && repeated_.last == session.last();
}

std::set<std::string> ProcessView::look_again(const Standing& standing, const Hope& hope) {
  const Session& session = standing.session;
  const std::size_t failed = unloadable_.size();
  if (hope.asked) forget_failures();
  // Also what cells read that would have to run again.
  std::erase_if(unloadable_, [&](const auto& item) {
    const auto& [version, until] = item;
    return !session.tree().holds(version) ||
           (until == Until::kHere && std::ranges::all_of(session.co_variable(version).blocks, hope.here));
  });
  const bool some_load = hope.asked || unloadable_.size() < failed;
  std::set<std::string> again;
  std::erase_if(without_, [&](const auto& item) {
    const auto& [name, without] = item;
    if (shows(shown_, name, without.version)) return true;  // made for another one
    const bool is_wanted = shows(session.view(), name, without.version);
    if (is_wanted && !some_load && waits(standing, name, without.because)) return false;
    unloadable_.erase(without.version);
    again.insert(name);
    return true;
  });
  return again;
}

/// Whether there is no reason of its own to try it again.
bool ProcessView::waits(const Standing& standing, const std::string& name, Because because) const {
  return because == Because::kLost || (because == Because::kUnread && !is_needed_now(standing, name)) ||
         !standing.runs_cells;
}

/// A thread says to nobody what it reads.
bool ProcessView::is_needed_now(const Standing& standing, const std::string& name) const {
  const bool works = since_ && !standing.session.work().empty();
  return works || standing.reads_all || standing.reads.contains(name);
}

/// Cells that take long do not run again for values that nobody looks at.
void ProcessView::leave_unread(const Standing& standing) {
  if (!standing.runs_cells) return;
  const View waiting = planner::made_when_read(wanted(standing.session), shown_, lineage(standing),
                                               [&](const std::string& name, const CoVariableId& version) {
                                                 return session::may_wait(standing.session, name, version) &&
                                                        !is_needed_now(standing, name);
                                               });
  for (const auto& [name, version] : waiting) without_[name] = {version, Because::kUnread, {}};
}

ProcessView::Planned ProcessView::plan(const Standing& standing, const std::set<CoVariableId>& made) {
  const View target = wanted(standing.session);
  if (!made.empty()) {
    if (auto planned = plan_with(standing, target, made)) return std::move(*planned);
  }
  return plan_with(standing, target, {}).value_or(Planned{});
}

/// With versions that are not loaded, though they can be: nothing when one of them could not be made either.
std::optional<ProcessView::Planned> ProcessView::plan_with(const Standing& standing, const View& target,
                                                           const std::set<CoVariableId>& made) {
  const auto loads_here = [&](const CoVariableId& version) {
    return loads(standing.session, version) && !made.contains(version);
  };
  std::map<CoVariableId, std::string> not_loaded;
  for (const auto& version : not_shown(shown_, target)) {
    if (!loads_here(version)) not_loaded.emplace(version, "it cannot be copied");
  }
  if (not_loaded.empty()) return Planned{};
  if (!standing.runs_cells) return Planned{.step = {}, .without = do_without(standing, not_loaded)};
  planner::Plan plan = planner::plan(target, shown_, lineage(standing, loads_here));
  if (std::ranges::any_of(plan.lost, [&](const auto& lost) { return made.contains(lost.first); })) return {};
  Planned planned{.step = {}, .without = do_without(standing, plan.lost)};
  if (!plan.steps.empty()) planned.step = std::move(plan.steps.front());
  return planned;
}

std::map<std::string, std::string> ProcessView::do_without(
    const Standing& standing, const std::map<CoVariableId, std::string>& versions) {
  std::map<std::string, std::string> names;
  for (const auto& [name, version] : standing.session.view()) {
    const auto found = versions.find(version);
    if (found == versions.end()) continue;
    without_[name] = {version, standing.runs_cells ? Because::kLost : Because::kStandby, found->second};
    names[name] = found->second;
  }
  return names;
}

void ProcessView::forget_failures() {
  unloadable_.clear();
  repeated_.times.clear();
}

void ProcessView::on_ran(CommitId commit) {
  if (!since_) since_ = commit;
}

void ProcessView::on_emptied() {
  repeated_.times.clear();
  shown_.clear();
  without_.clear();
}

void ProcessView::on_not_loaded(const std::string& name, CoVariableId version) {
  unloadable_[version] = Until::kAsked;
  shown_.erase(name);
}

void ProcessView::on_repeated(const Session& session, const Repeated& cell, Refused& refused) {
  const std::string why = note_repeated(shown_, session, cell,
                                        [&](const CoVariableId& version) { return loads(session, version); });
  if (!why.empty()) refused[cell.commit] = why;
  if (std::exchange(repeated_.last, session.last()) != session.last()) repeated_.times.clear();
  ++repeated_.times[cell.commit];
}

}  // namespace banyan::view
