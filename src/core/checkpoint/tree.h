// The commits of a session as a tree: each says what it changed in its parent's view.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace banyan::checkpoint {

/// One version of a co-variable: the commit that wrote it, and its place among those that the commit wrote.
struct CoVariableId {
  CommitId commit;
  std::uint64_t ordinal = 0;

  friend auto operator<=>(const CoVariableId&, const CoVariableId&) = default;
};

/// The names of a namespace and what each is bound to. Two equal views hold equal variables.
using View = std::map<std::string, CoVariableId>;

/// What a commit did to its parent's view. No name is in both.
struct Change {
  View bound;
  std::set<std::string> unbound;

  friend bool operator==(const Change&, const Change&) = default;
};

/// The name under which a session keeps the values that its cells have shown. It follows undo and checkout
/// like a variable, but a cell that changed nothing else counts as one that has only looked.
constexpr std::string_view kShown = "<Out>";
/// Whether a change binds or unbinds anything other than kShown.
[[nodiscard]] bool changes_state(const Change& change);
/// Makes `view` what it is after `change`.
void apply(View& view, const Change& change);
/// The change that does what `first` and then `second` do.
Change compose(Change first, const Change& second);
/// The change that makes `to` of `from`.
Change difference(const View& from, const View& to);

/// The commits and their changes. Commit 0 is the root, with an empty view; it is always there. A parent's
/// number is lower than those of its children.
class Tree {
 public:
  struct Node {
    CommitId parent;
    Change change;
    bool absorbed = false;  ///< `change` has the changes of forgotten commits before it in it
  };
  using Nodes = std::map<CommitId, Node>;  ///< without the root

  Tree() = default;
  /// Restores what nodes() gave. kCorrupt when that is no tree.
  static Result<Tree> restore(Nodes nodes);
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }

  /// Adds a commit. `parent` must be in the tree, and `commit` must be new and higher.
  void add(CommitId commit, CommitId parent, Change change);
  /// Takes a commit, which is not the root, out of the tree: its children become those of its parent, and
  /// their views stay as they are. Returns the versions that no view holds any more.
  std::vector<CoVariableId> forget(CommitId commit);

  [[nodiscard]] bool contains(CommitId commit) const;
  /// The parent of a commit that is in the tree and not the root.
  [[nodiscard]] CommitId parent(CommitId commit) const;
  [[nodiscard]] const Change& change(CommitId commit) const;
  /// Whether its change has the changes of forgotten commits in it, so that its own cannot be told apart any
  /// more.
  [[nodiscard]] bool absorbed(CommitId commit) const;
  /// The children of a commit, in the order of their numbers.
  [[nodiscard]] std::vector<CommitId> children(CommitId commit) const;
  /// All commits but the root, in the order of their numbers.
  [[nodiscard]] std::vector<CommitId> commits() const;
  /// The commit and those before it, newest first, without the root.
  [[nodiscard]] std::vector<CommitId> line(CommitId commit) const;
  /// The newest commit from which both come.
  [[nodiscard]] CommitId meet(CommitId a, CommitId b) const;

  /// The namespace at a commit, in time that grows with its depth.
  [[nodiscard]] View view(CommitId commit) const;
  /// The commits of the line to `at` that bound or unbound the name, newest first, as far as they are kept.
  [[nodiscard]] std::vector<CommitId> blame(const std::string& name, CommitId at) const;
  /// Whether the view of some commit holds the version.
  [[nodiscard]] bool holds(const CoVariableId& version) const { return bindings_.contains(version); }

 private:
  [[nodiscard]] const Node& node(CommitId commit) const;
  void count(const Change& change);

  Nodes nodes_;
  std::map<CoVariableId, std::size_t> bindings_;  ///< how many names of all changes are bound to it
};

}  // namespace banyan::checkpoint
