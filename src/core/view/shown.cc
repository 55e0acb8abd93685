#include "core/view/shown.h"

#include <algorithm>
#include <limits>

#include "base/find.h"

namespace banyan::view {

bool shows(const View& view, const std::string& name, const CoVariableId& version) {
  const auto found = view.find(name);
  return found != view.end() && found->second == version;
}

std::map<CoVariableId, std::vector<std::string>> names_by_version(const View& view) {
  std::map<CoVariableId, std::vector<std::string>> names;
  for (const auto& [name, version] : view) names[version].push_back(name);
  return names;
}

std::set<CoVariableId> not_shown(const View& shown, const View& wanted) {
  std::set<CoVariableId> versions;
  for (const auto& [name, version] : wanted) {
    if (!shows(shown, name, version)) versions.insert(version);
  }
  return versions;
}

CoVariableId unknown_after(CommitId commit) { return {commit, std::numeric_limits<std::uint64_t>::max()}; }

std::string note_repeated(View& shown, const Session& session, const Repeated& cell,
                          const std::function<bool(const CoVariableId&)>& loads) {
  const CoVariableId unknown = unknown_after(cell.commit);
  for (const auto& name : cell.changed) shown[name] = unknown;
  if (!session.tree().contains(cell.commit)) return cell.error;
  // Bytes are compared. Of what has none only the cell's end can tell that it is the same.
  const auto is_made = [&](const std::string& name, const CoVariableId& version) {
    if (std::ranges::find(cell.made, name) == cell.made.end()) return false;
    const session::CoVariable* const value = find_in(session.co_variables(), version);
    return cell.error.empty() || (value != nullptr && !value->blocks.empty());
  };
  std::string why;
  const checkpoint::Change& change = session.tree().change(cell.commit);
  for (const auto& [name, version] : change.bound) {
    if (version.commit != cell.commit) continue;  // of a commit that it has taken in since
    // What it bound to an equal value is no change.
    const bool same = is_made(name, version) || shows(shown, name, version);
    shown[name] = same ? version : unknown;
    if (same || !why.empty() || loads(version)) continue;
    why = cell.error.empty() ? "running its cell again did not make the same of it" : cell.error;
  }
  for (const auto& name : change.unbound) {
    if (shown.erase(name) > 0 && !cell.error.empty()) shown[name] = unknown;
  }
  return why;
}

}  // namespace banyan::view
