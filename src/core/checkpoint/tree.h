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

/// One version of a co-variable: the commit that wrote it and its place there.
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

/// What a session keeps of the values that its cells have shown, as one name: it follows undo and checkout,
/// but a cell that changed nothing else has only looked.
constexpr std::string_view kShown = "<Out>";
/// Whether it binds or unbinds anything but that.
[[nodiscard]] bool changes_state(const Change& change);
/// `view` as it is after `change`.
void apply(View& view, const Change& change);
/// `first` and then `second` in one.
Change compose(Change first, const Change& second);
/// What makes a view of `from` one of `to`.
Change difference(const View& from, const View& to);

/// Commit 0 is the root, with an empty view; it is always there. A parent's number is lower than its
/// children's.
class Tree {
 public:
  struct Node {
    CommitId parent;
    Change change;
    bool absorbed = false;  ///< the change is also that of commits before it, which were forgotten
  };
  using Nodes = std::map<CommitId, Node>;  ///< without the root

  Tree() = default;
  /// From nodes(); kCorrupt when these are no tree.
  static Result<Tree> restore(Nodes nodes);
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }

  /// `parent` is known, `commit` is new and higher.
  void add(CommitId commit, CommitId parent, Change change);
  /// Takes a commit out: its children become those of its parent, and their views stay as they are. Not the
  /// root. Returns the versions that no view holds any more.
  std::vector<CoVariableId> forget(CommitId commit);

  [[nodiscard]] bool contains(CommitId commit) const;
  /// Of a commit that is known and not the root.
  [[nodiscard]] CommitId parent(CommitId commit) const;
  [[nodiscard]] const Change& change(CommitId commit) const;
  /// Its change is also that of commits before it, which were forgotten: it cannot be told apart any more.
  [[nodiscard]] bool absorbed(CommitId commit) const;
  /// In the order of their numbers.
  [[nodiscard]] std::vector<CommitId> children(CommitId commit) const;
  /// All but the root, in the order of their numbers.
  [[nodiscard]] std::vector<CommitId> commits() const;
  /// The commit and those before it, newest first, without the root.
  [[nodiscard]] std::vector<CommitId> line(CommitId commit) const;
  /// The newest commit that both come from.
  [[nodiscard]] CommitId meet(CommitId a, CommitId b) const;

  /// The namespace at a commit, in time that grows with its depth.
  [[nodiscard]] View view(CommitId commit) const;
  /// The commits of its line that bound or unbound the name, newest first, as far as they are known.
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
