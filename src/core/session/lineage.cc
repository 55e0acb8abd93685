#include "core/session/lineage.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

namespace banyan::session {

namespace {

constexpr std::size_t kEffectsNamed = 3;

bool interrupted(const Ended& cell) {
  if (cell.status != Status::kError) return false;
  const auto reply = nlohmann::json::parse(cell.reply, nullptr, false);
  const auto name = reply.is_object() ? reply.find("ename") : reply.end();
  return name != reply.end() && *name == "KeyboardInterrupt";
}

/// The first few texts, for a message.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (std::size_t i = 0; i < texts.size() && i < kEffectsNamed; ++i) all += (i == 0 ? "" : ", ") + texts[i];
  return texts.size() > kEffectsNamed ? all + ", …" : all;
}

std::string objection_to(const Ended& cell, bool allowed, std::uint64_t gpus, CommitId since) {
  if (cell.status == Status::kLost || cell.status == Status::kAborted) return "its cell did not end";
  if (interrupted(cell)) return "its cell was interrupted";
  if (cell.asked_history) return "its cell looks at the history";
  if (allowed) return {};
  // How many GPUs the cell had open says little: a library mostly opens all that its process may use.
  if (cell.footprint.gpus > 0 && gpus == 0) return "its cell used a GPU, and the host has none";
  if (!cell.footprint.begun.empty() && cell.commit < since)
    return "running its cell again would do twice what it has begun (" + joined(cell.footprint.begun) +
           "), and its author has not said %%rerun always";
  if (cell.footprint.effects.empty()) return {};
  const bool forbidden = std::ranges::any_of(
      cell.footprint.effects, [](const std::string& effect) { return effect.ends_with("%rerun never"); });
  return "running its cell again would have side effects (" + joined(cell.footprint.effects) + ")" +
         (forbidden ? "" : ", and its author has not said %%rerun always");
}

}  // namespace

planner::Lineage lineage_of(const Session& session, bool repeats, std::uint64_t gpus, CommitId since) {
  const auto loadable = [&session](const CoVariableId& version) {
    return session.co_variable(version).serialised();
  };
  const auto cell = [&session, repeats, gpus, since](CommitId commit) -> planner::Cell {
    const auto found = session.history().find(commit);
    if (found == session.history().end()) return {.reads = {}, .objection = "its cell is not kept any more"};
    const Ended& ended = found->second;
    const bool allowed = repeats || ended.may_repeat;
    return {.reads = {ended.footprint.reads.begin(), ended.footprint.reads.end()},
            .reads_all = ended.footprint.reads_all,
            .objection = objection_to(ended, allowed, gpus, since),
            .runtime_us = ended.runtime_us,
            .allowed = allowed};
  };
  return {session.tree(), loadable, cell};
}

planner::Lineage lineage_of(const Session& session, std::function<bool(const CoVariableId&)> loadable,
                            const std::map<CommitId, std::string>& cannot_repeat, std::uint64_t gpus,
                            CommitId since) {
  planner::Lineage lineage = lineage_of(session, false, gpus, since);
  lineage.loadable = std::move(loadable);
  lineage.cell = [&cannot_repeat, known = std::move(lineage.cell)](CommitId commit) {
    planner::Cell cell = known(commit);
    if (const auto failed = cannot_repeat.find(commit); failed != cannot_repeat.end())
      cell.objection = failed->second;
    return cell;
  };
  return lineage;
}

checkpoint::Change variables_of(checkpoint::Change change) {
  const std::string shown(checkpoint::kShown);
  change.bound.erase(shown);
  change.unbound.erase(shown);
  return change;
}

bool may_wait(const Session& session, const std::string& name, const CoVariableId& version) {
  return session.co_variable(version).alone && !name.starts_with('<');
}

std::vector<CoVariable> made_by(const Session& session, CommitId commit) {
  std::vector<CoVariable> made;
  std::set<CoVariableId> seen;
  for (const auto& [name, version] : session.tree().change(commit).bound) {
    if (version.commit == commit && seen.insert(version).second) made.push_back(session.co_variable(version));
  }
  return made;
}

}  // namespace banyan::session
