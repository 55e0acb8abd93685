#include "core/planner/plan.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

namespace banyan::planner {

namespace {

/// How the reason of a value begins that lacks something it is made of. It is said once, however many cells
/// lie between the value and what is missing.
const std::string kMadeOfOther = "it is made of '";

// What each name was bound to at all commits of one line (a commit and those before it), by binary search.
class Line {
 public:
  Line(const checkpoint::Tree& tree, CommitId tip) : commits_(tree.line(tip)) {
    for (const CommitId commit : commits_) {
      const checkpoint::Change& change = tree.change(commit);
      for (const auto& [name, version] : change.bound) bindings_[name].push_back({commit, version});
      for (const auto& name : change.unbound) bindings_[name].push_back({commit, std::nullopt});
    }
  }

  [[nodiscard]] bool contains(CommitId commit) const {
    return commit.value == 0 || std::ranges::binary_search(commits_, commit, std::greater{});
  }

  /// The namespace as it was at a commit of the line.
  [[nodiscard]] View view(CommitId at) const {
    View view;
    for (const auto& [name, all] : bindings_)
      if (const auto version = newest(all, at)) view.emplace_hint(view.end(), name, *version);
    return view;
  }
  /// The same, of these names only.
  [[nodiscard]] View view(CommitId at, const std::set<std::string>& names) const {
    View view;
    for (const auto& name : names) {
      const auto all = bindings_.find(name);
      if (all == bindings_.end()) continue;
      if (const auto version = newest(all->second, at)) view.emplace_hint(view.end(), name, *version);
    }
    return view;
  }

 private:
  struct Binding {
    CommitId commit;
    std::optional<CoVariableId> version;  // nothing: it was unbound
  };
  using Bindings = std::vector<Binding>;  // of one name, newest first

  static std::optional<CoVariableId> newest(const Bindings& all, CommitId at) {
    const auto found = std::ranges::lower_bound(all, at, std::greater{}, &Binding::commit);
    return found == all.end() ? std::nullopt : found->version;
  }

  std::vector<CommitId> commits_;                  // newest first
  std::map<std::string_view, Bindings> bindings_;  // the names are texts of the tree
};

class Planning {
 public:
  Planning(const View& target, const View& shown, const Lineage& lineage)
      : target_(target), shown_(shown), lineage_(lineage) {
    for (const auto& [name, version] : shown) here_.insert(version);
  }

  /// Plans until no step needs a value that an earlier step takes away: steps() says which values of the
  /// present namespace do not last, and then they count as gone. Each round loses at least one of them, so it
  /// ends.
  Plan run() {
    do {
      cells_.clear();
      plan_ = {};
      collect();
      judge();
      if (too_long()) lose_all();
    } while (!steps());
    return std::move(plan_);
  }

 private:
  struct Candidate {
    Cell cell;
    View inputs;
    std::string objection;
    bool needed = false;
  };

  /// Whether no cell has to run for a version: the namespace has it, or its bytes can be had.
  [[nodiscard]] bool at_hand(const CoVariableId& version) const {
    return here_.contains(version) || lineage_.loadable(version);
  }

  /// Collects every cell that could have to run: those that made wanted versions which are not at hand, those
  /// that made what these cells read and is not at hand, and so on.
  void collect() {
    std::vector<CommitId> pending;
    const auto want = [&](const View& versions) {
      for (const auto& [name, version] : versions) {
        if (!at_hand(version) && cells_.try_emplace(version.commit).second) pending.push_back(version.commit);
      }
    };
    want(target_);
    std::ranges::sort(pending);  // the newest comes first: its line has most of the others
    while (!pending.empty()) {
      const CommitId commit = pending.back();
      pending.pop_back();
      Candidate& candidate = cells_.at(commit);
      const checkpoint::Tree& tree = lineage_.tree;
      if (!tree.contains(commit) || tree.absorbed(commit)) {
        candidate.objection = "what was before the cell that made it is not kept any more";
        continue;
      }
      candidate.cell = lineage_.cell(commit);
      candidate.objection = candidate.cell.objection;
      if (!candidate.objection.empty()) continue;
      const Line& line = line_to(commit);
      const CommitId parent = tree.parent(commit);
      candidate.inputs =
          candidate.cell.reads_all ? line.view(parent) : line.view(parent, candidate.cell.reads);
      want(candidate.inputs);
    }
  }

  /// Decides which of the cells can run (older ones first, because they made what a cell reads), what is
  /// lost, and which cells are needed.
  void judge() {
    for (auto& [commit, candidate] : cells_) {
      for (const auto& [name, version] : candidate.inputs) {
        if (at_hand(version) || !candidate.objection.empty()) continue;
        if (const std::string& why = cells_.at(version.commit).objection; !why.empty())
          candidate.objection = why.starts_with(kMadeOfOther) ? why : kMadeOfOther + name + "': " + why;
      }
    }
    for (const auto& [name, version] : target_) {
      if (at_hand(version)) continue;
      Candidate& candidate = cells_.at(version.commit);
      if (candidate.objection.empty()) {
        candidate.needed = true;
      } else {
        plan_.lost.emplace(version, candidate.objection);
      }
    }
    for (auto it = cells_.rbegin(); it != cells_.rend(); ++it) {
      if (!it->second.needed) continue;
      for (const auto& [name, version] : it->second.inputs) {
        if (!at_hand(version)) cells_.at(version.commit).needed = true;
      }
    }
  }

  /// Whether more would run than anybody may be made to wait for unasked. Cells that their author allows do
  /// not count.
  [[nodiscard]] bool too_long() const {
    std::int64_t sum = 0;
    std::size_t count = 0;
    for (const auto& [commit, candidate] : cells_) {
      if (!candidate.needed || candidate.cell.allowed) continue;
      sum += candidate.cell.runtime_us;
      ++count;
    }
    return sum > kUnaskedMax_us || count > kUnaskedMax;
  }

  void lose_all() {
    for (const auto& [name, version] : target_) {
      if (!at_hand(version)) plan_.lost.emplace(version, "running its cells again takes long");
    }
    for (auto& [commit, candidate] : cells_) candidate.needed = false;
  }

  /// Writes the steps, oldest cell first, while `now` is what the namespace would show. Returns false when a
  /// version that only the present namespace has would not be there where a cell reads it, or in the end.
  /// That version is taken out of `here_`, so that the next round has its cell run.
  bool steps() {
    View now = shown_;
    for (const auto& [commit, candidate] : cells_) {
      if (!candidate.needed) continue;
      Step step{.load = {}, .unbind = {}, .cell = commit};
      std::set<CoVariableId> loads;
      for (const auto& [name, version] : candidate.inputs) {
        if (const auto is = now.find(name); is != now.end() && is->second == version) continue;
        if (lineage_.loadable(version)) {
          loads.insert(version);
        } else if (here_.erase(version) > 0) {
          return false;
        }
      }
      const View before = line_to(commit).view(lineage_.tree.parent(commit));
      for (const auto& [name, version] : before) {
        if (loads.contains(version))
          now[name] = step.load[name] = version;  // with all names that share its objects
      }
      // A cell that asks for a name which did not exist then must not find a later one.
      for (const auto& [name, version] : now) {
        if (!before.contains(name) && (candidate.cell.reads_all || candidate.cell.reads.contains(name)))
          step.unbind.insert(name);
      }
      for (const auto& name : step.unbind) now.erase(name);
      checkpoint::apply(now, lineage_.tree.change(commit));
      plan_.steps.push_back(std::move(step));
    }
    return std::ranges::all_of(target_, [&](const auto& wanted) {
      const auto& [name, version] = wanted;
      if (lineage_.loadable(version)) return true;
      const auto is = now.find(name);
      return (is != now.end() && is->second == version) || here_.erase(version) == 0;
    });
  }

  const Line& line_to(CommitId commit) {
    const auto known = std::ranges::find_if(lines_, [&](const Line& line) { return line.contains(commit); });
    return known != lines_.end() ? *known : lines_.emplace_back(lineage_.tree, commit);
  }

  const View& target_;
  const View& shown_;
  const Lineage& lineage_;
  std::set<CoVariableId> here_;
  std::deque<Line> lines_;
  std::map<CommitId, Candidate> cells_;
  Plan plan_;
};

}  // namespace

Plan plan(const View& target, const View& shown, const Lineage& lineage) {
  return Planning(target, shown, lineage).run();
}

View made_when_read(const View& target, const View& shown, const Lineage& lineage,
                    const std::function<bool(const std::string&, const CoVariableId&)>& may_wait) {
  std::set<CoVariableId> unread, now;
  for (const auto& [name, version] : shown) now.insert(version);
  for (const auto& [name, version] : target) {
    if (!lineage.loadable(version)) (may_wait(name, version) ? unread : now).insert(version);
  }
  for (const CoVariableId& version : now) unread.erase(version);
  if (unread.empty()) return {};
  const Plan whole = plan(target, shown, lineage);
  View waits;
  for (const auto& [name, version] : target)
    if (unread.contains(version) && !whole.lost.contains(version))
      waits.emplace_hint(waits.end(), name, version);
  return waits;
}

}  // namespace banyan::planner
