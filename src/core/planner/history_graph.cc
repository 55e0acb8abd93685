#include "core/planner/history_graph.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <string_view>
#include <unordered_map>  // unordered: looked up by hash, never iterated
#include <unordered_set>  // unordered: looked up by hash, never iterated
#include <utility>

namespace banyan::planner {

namespace {

using Index = HistoryGraph::Index;

struct VersionHash {
  std::size_t operator()(const CoVariableId& version) const {
    return std::hash<CommitId>{}(version.commit) * 31 + version.ordinal;
  }
};

// Walks the commits that lead to a view, and notes what each cell found under the names that it read.
// Versions are numbered as they are met, and a view is a vector of such numbers: maps would make long
// histories slow.
class Building {
 public:
  Building(const Lineage& lineage, Links links)
      : lineage_(lineage), nodes_(lineage.tree.nodes()), links_(links) {
    cells.reserve(nodes_.size());  // most histories are one line, whose cells make a value or two each
    seen_.reserve(nodes_.size());
    versions.reserve(2 * nodes_.size());
    numbers_.reserve(2 * nodes_.size());
  }

  struct Looked {
    CommitId commit;
    Cell cell;
    std::vector<Index> reads;
  };

  /// The target; without links, with each name at the version that its own last change made.
  View wanted(View target) {
    if (links_ == Links::kKept) return target;
    CommitId newest;
    for (const auto& [name, version] : target) newest = std::max(newest, version.commit);
    if (!lineage_.tree.contains(newest)) return target;
    go_to(newest);
    for (auto& [name, version] : target)
      if (const Index own = found(name); own != kNone) version = versions[own];
    return target;
  }

  /// Looks at the commits that made the versions of the view, at all commits before them, and at those that
  /// made what these cells found.
  void run(const View& target) {
    for (const auto& [name, version] : target) number(version);
    for (std::size_t done = 0; done < versions.size();) {
      std::vector<CommitId> pending;
      for (; done < versions.size(); ++done) pending.push_back(versions[done].commit);
      std::ranges::sort(pending, std::greater{});  // the newest first: one walk sees most of the others
      for (const CommitId commit : pending) look_at_line(commit);
    }
    std::ranges::sort(cells, {}, &Looked::commit);
  }

  /// For each version, its place among the cells.
  [[nodiscard]] std::vector<Index> makers() const {
    std::vector<Index> places;
    places.reserve(versions.size());
    for (const CoVariableId& version : versions) {
      const auto cell = std::ranges::lower_bound(cells, version.commit, {}, &Looked::commit);
      places.push_back(static_cast<Index>(cell - cells.begin()));
    }
    return places;
  }

  Index number(const CoVariableId& version) {
    const auto [it, fresh] = numbers_.try_emplace(version, static_cast<Index>(versions.size()));
    if (fresh) versions.push_back(version);
    return it->second;
  }

  std::vector<Looked> cells;  ///< by commit, after run()
  std::vector<CoVariableId> versions;

 private:
  static constexpr Index kNone = HistoryGraph::kNone;

  // Looks at the commit and at those before it that were not looked at yet, oldest first.
  void look_at_line(CommitId commit) {
    std::vector<std::pair<CommitId, const checkpoint::Tree::Node*>> line;
    while (commit.value != 0 && seen_.insert(commit).second) {
      const auto known = nodes_.find(commit);
      line.emplace_back(commit, known == nodes_.end() ? nullptr : &known->second);
      commit = known == nodes_.end() ? CommitId{} : known->second.parent;
    }
    for (const auto& [before, node] : line | std::views::reverse) cells.push_back(look(before, node));
  }

  Looked look(CommitId commit, const checkpoint::Tree::Node* node) {
    Looked looked{.commit = commit, .cell = {}, .reads = {}};
    if (node != nullptr) {
      go_to(node->parent);
      looked.cell = lineage_.cell(commit);
      if (looked.cell.objection.empty()) looked.reads = found_by(looked.cell);
      pass(commit, *node, looked.cell);
      looked.cell.reads.clear();
    }
    if (node == nullptr || node->absorbed) {
      looked.cell = {.reads = {}, .objection = "what was before the cell that made it is not kept any more"};
      looked.reads.clear();
    }
    return looked;
  }

  [[nodiscard]] std::vector<Index> found_by(const Cell& cell) const {
    std::vector<Index> all;
    if (cell.reads_all) {
      all = view_;
    } else {
      all.reserve(cell.reads.size());
      for (const auto& name : cell.reads) all.push_back(found(name));
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    if (!all.empty() && all.back() == kNone) all.pop_back();
    return all;
  }

  // Makes `view_` the view before the next commit. Going to where it is already costs nothing; a later commit
  // of the same line costs what lies between, any other one its whole line.
  void go_to(CommitId commit) {
    std::vector<checkpoint::Tree::Nodes::const_iterator> line;
    for (CommitId from = commit; from != at_; from = line.back()->second.parent) {
      if (from.value == 0) {
        view_.assign(view_.size(), kNone);
        break;
      }
      line.push_back(nodes_.find(from));
    }
    for (const auto& before : line | std::views::reverse)
      pass(before->first, before->second, links_ == Links::kIgnored ? lineage_.cell(before->first) : Cell{});
    at_ = commit;
  }

  // Takes `view_` from the commit's parent to the commit.
  void pass(CommitId commit, const checkpoint::Tree::Node& node, const Cell& cell) {
    for (const auto& name : node.change.unbound) place_of(name) = kNone;
    for (const auto& [name, version] : node.change.bound) {
      Index& bound = place_of(name);
      const bool changed = links_ == Links::kKept || cell.reads_all || cell.reads.contains(name);
      if (changed || bound == kNone) bound = number(version);
    }
    at_ = commit;
  }

  // The version that a name is bound to in the view; kNone when it is unbound. The name must be a text of the
  // tree, because the map keeps no copy of it.
  Index& place_of(std::string_view name) {
    const auto place = names_.try_emplace(name, static_cast<Index>(view_.size())).first->second;
    if (place == view_.size()) view_.push_back(kNone);
    return view_[place];
  }
  [[nodiscard]] Index found(std::string_view name) const {
    const auto place = names_.find(name);
    return place == names_.end() ? kNone : view_[place->second];
  }

  const Lineage& lineage_;
  const checkpoint::Tree::Nodes& nodes_;
  Links links_;
  std::unordered_set<CommitId> seen_;                             // unordered: never iterated
  std::unordered_map<CoVariableId, Index, VersionHash> numbers_;  // unordered: never iterated
  CommitId at_{0};
  std::unordered_map<std::string_view, Index> names_;  // unordered: never iterated; texts of the tree
  std::vector<Index> view_;                            // for each name, the version or kNone
};

}  // namespace

HistoryGraph::HistoryGraph(const View& shown, const Lineage& lineage, Links links) {
  Building all(lineage, links);
  const View target = all.wanted(shown);
  all.run(target);

  // Keep only what leads to the target. The newest cells come first: what they read makes older ones wanted.
  const std::vector<Index> makers = all.makers();
  std::vector<bool> leads(all.versions.size()), makes(all.cells.size());
  const auto want = [&](Index version) { leads[version] = makes[makers[version]] = true; };
  for (const auto& [name, version] : target) want(all.number(version));
  for (std::size_t cell = all.cells.size(); cell-- > 0;) {
    if (makes[cell]) std::ranges::for_each(all.cells[cell].reads, want);
  }

  std::vector<Index> places(all.cells.size(), kNone), renumbered(all.versions.size(), kNone);
  for (Index cell = 0, place = 0; cell < all.cells.size(); ++cell) {
    if (makes[cell]) places[cell] = place++;
  }
  for (Index version = 0; version < all.versions.size(); ++version) {
    if (!leads[version]) continue;
    renumbered[version] = static_cast<Index>(versions_.size());
    versions_.push_back({.id = all.versions[version], .maker = places[makers[version]]});
  }
  for (std::size_t place = 0; place < all.cells.size(); ++place) {
    if (!makes[place]) continue;
    auto& [commit, cell, reads] = all.cells[place];
    for (Index& version : reads) version = renumbered[version];
    cells_.push_back({.commit = commit,
                      .objection = std::move(cell.objection),
                      .runtime_us = cell.runtime_us,
                      .reads = std::move(reads)});
  }
  for (const auto& [name, version] : target) wanted_.push_back(renumbered[all.number(version)]);
  std::ranges::sort(wanted_);
  wanted_.erase(std::ranges::unique(wanted_).begin(), wanted_.end());
}

}  // namespace banyan::planner
