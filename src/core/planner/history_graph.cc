#include "core/planner/history_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace banyan::planner {

namespace {

using Index = HistoryGraph::Index;

// All commits of some lines: what they read, by the numbers of the versions that they found.
class Building {
 public:
  Building(const Lineage& lineage, Links links) : lineage_(lineage), links_(links) {}

  struct Looked {
    Cell cell;
    std::vector<Index> reads;
  };

  /// The target, as it is without links.
  View wanted(View target) {
    if (links_ == Links::kKept) return target;
    CommitId newest;
    for (const auto& [name, version] : target) newest = std::max(newest, version.commit);
    if (!lineage_.tree.contains(newest)) return target;
    go_to(newest);
    for (auto& [name, version] : target)
      if (const auto own = view_.find(name); own != view_.end()) version = versions[own->second];
    return target;
  }

  /// What made the versions of the view, all before it, and what made the versions that these found.
  void run(const View& target) {
    for (const auto& [name, version] : target) number(version);
    for (std::size_t seen = 0; seen < versions.size();) {
      std::set<CommitId> pending;
      for (; seen < versions.size(); ++seen)
        if (!cells.contains(versions[seen].commit)) pending.insert(versions[seen].commit);
      for (const CommitId commit : lines_of(pending)) cells.emplace_hint(cells.end(), commit, look(commit));
    }
  }

  Index number(const CoVariableId& version) {
    // Most are newer than all before.
    const auto it = numbers_.try_emplace(numbers_.end(), version, static_cast<Index>(versions.size()));
    if (it->second == versions.size()) versions.push_back(version);
    return it->second;
  }

  std::map<CommitId, Looked> cells;
  std::vector<CoVariableId> versions;

 private:
  [[nodiscard]] std::set<CommitId> lines_of(const std::set<CommitId>& commits) const {
    std::set<CommitId> found;
    for (CommitId commit : commits) {
      found.insert(commit);
      if (!lineage_.tree.contains(commit)) continue;
      for (commit = lineage_.tree.parent(commit); commit.value != 0; commit = lineage_.tree.parent(commit))
        if (cells.contains(commit) || !found.insert(commit).second) break;
    }
    return found;
  }

  Looked look(CommitId commit) {
    const checkpoint::Tree& tree = lineage_.tree;
    Looked looked;
    if (!tree.contains(commit) || tree.absorbed(commit)) {
      looked.cell.objection = "what was before the cell that made it is not kept any more";
      return looked;
    }
    looked.cell = lineage_.cell(commit);
    if (!looked.cell.objection.empty()) return looked;
    go_to(tree.parent(commit));
    if (looked.cell.reads_all) {
      for (const auto& [name, version] : view_) looked.reads.push_back(version);
    } else {
      for (const auto& name : looked.cell.reads)
        if (const auto it = view_.find(name); it != view_.end()) looked.reads.push_back(it->second);
    }
    looked.cell.reads.clear();
    std::ranges::sort(looked.reads);
    looked.reads.erase(std::ranges::unique(looked.reads).begin(), looked.reads.end());
    return looked;
  }

  // From a commit to its child costs the change; to any other one its line.
  void go_to(CommitId commit) {
    std::vector<CommitId> line;
    CommitId from = commit;
    for (; from != at_ && from.value != 0; from = lineage_.tree.parent(from)) line.push_back(from);
    if (from != at_) view_.clear();
    for (auto it = line.rbegin(); it != line.rend(); ++it) {
      const checkpoint::Change& change = lineage_.tree.change(*it);
      for (const auto& name : change.unbound) view_.erase(name);
      if (links_ == Links::kIgnored) {
        const Cell cell = lineage_.cell(*it);
        for (const auto& [name, version] : change.bound)
          if (cell.reads_all || cell.reads.contains(name) || !view_.contains(name))
            view_[name] = number(version);
      } else {
        for (const auto& [name, version] : change.bound) view_[name] = number(version);
      }
    }
    at_ = commit;
  }

  const Lineage& lineage_;
  Links links_;
  std::map<CoVariableId, Index> numbers_;
  CommitId at_{0};
  std::map<std::string, Index> view_;
};

}  // namespace

HistoryGraph::HistoryGraph(const View& shown, const Lineage& lineage, Links links) {
  Building all(lineage, links);
  const View target = all.wanted(shown);
  all.run(target);

  // Only what leads to the target, newest first.
  std::vector<bool> leads(all.versions.size());
  std::set<CommitId> makers;
  const auto want = [&](Index version) {
    if (!leads[version]) makers.insert(all.versions[version].commit);
    leads[version] = true;
  };
  for (const auto& [name, version] : target) want(all.number(version));
  for (auto it = all.cells.rbegin(); it != all.cells.rend(); ++it) {
    if (!makers.contains(it->first)) continue;
    for (const Index version : it->second.reads) want(version);
  }

  std::map<CommitId, Index> places;
  for (const CommitId commit : makers)
    places.emplace_hint(places.end(), commit, static_cast<Index>(places.size()));
  std::vector<Index> renumbered(all.versions.size(), kNone);
  for (Index version = 0; version < all.versions.size(); ++version) {
    if (!leads[version]) continue;
    renumbered[version] = static_cast<Index>(versions_.size());
    const CoVariableId& id = all.versions[version];
    versions_.push_back({.id = id, .maker = places.at(id.commit)});
  }
  for (const auto& [commit, place] : places) {
    auto& [cell, reads] = all.cells.at(commit);
    for (Index& version : reads) version = renumbered[version];
    cells_.push_back({.commit = commit,
                      .objection = std::move(cell.objection),
                      .runtime_us = cell.runtime_us,
                      .reads = std::move(reads)});
  }
  std::set<Index> wanted;
  for (const auto& [name, version] : target) wanted.insert(renumbered[all.number(version)]);
  wanted_.assign(wanted.begin(), wanted.end());
}

}  // namespace banyan::planner
