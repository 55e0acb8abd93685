#include "core/checkpoint/tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace banyan::checkpoint {

namespace {
constexpr CommitId kRoot{0};
}

void apply(View& view, const Change& change) {
  for (const auto& name : change.unbound) view.erase(name);
  for (const auto& [name, version] : change.bound) view[name] = version;
}

bool changes_state(const Change& change) {
  return std::ranges::any_of(change.bound, [](const auto& bound) { return bound.first != kShown; }) ||
         std::ranges::any_of(change.unbound, [](const auto& name) { return name != kShown; });
}

Change compose(Change first, const Change& second) {
  for (const auto& [name, version] : second.bound) {
    first.bound[name] = version;
    first.unbound.erase(name);
  }
  for (const auto& name : second.unbound) {
    first.bound.erase(name);
    first.unbound.insert(name);
  }
  return first;
}

Change difference(const View& from, const View& to) {
  Change change;
  for (const auto& [name, version] : to) {
    const auto bound = from.find(name);
    if (bound == from.end() || bound->second != version) change.bound.emplace(name, version);
  }
  for (const auto& [name, version] : from) {
    if (!to.contains(name)) change.unbound.insert(name);
  }
  return change;
}

Result<Tree> Tree::restore(Nodes nodes) {
  Tree tree;
  for (auto& [commit, node] : nodes) {
    if (commit == kRoot || !(node.parent < commit) || !tree.contains(node.parent))
      return fail(ErrorKind::kCorrupt, "commits that are no tree");
    tree.add(commit, node.parent, std::move(node.change));
    tree.nodes_.at(commit).absorbed = node.absorbed;
  }
  return tree;
}

void Tree::count(const Change& change) {
  for (const auto& [name, version] : change.bound) ++bindings_[version];
}

void Tree::add(CommitId commit, CommitId parent, Change change) {
  CHECK(contains(parent), "a commit's parent is unknown");
  CHECK(parent < commit, "a commit's parent is younger than it is");
  count(change);
  const bool fresh = nodes_.emplace(commit, Node{parent, std::move(change), false}).second;
  CHECK(fresh, "a commit is added twice");
}

std::vector<CoVariableId> Tree::forget(CommitId commit) {
  const Node gone = node(commit);
  nodes_.erase(commit);
  std::set<CoVariableId> fewer;
  const auto uncount = [&](const Change& change) {
    for (const auto& [name, version] : change.bound) {
      if (--bindings_.at(version) == 0) fewer.insert(version);
    }
  };
  for (auto it = nodes_.upper_bound(commit); it != nodes_.end(); ++it) {
    Node& child = it->second;
    if (child.parent != commit) continue;
    child.parent = gone.parent;
    child.absorbed = child.absorbed || gone.absorbed || changes_state(gone.change);
    const Change before = std::exchange(child.change, compose(gone.change, child.change));
    count(child.change);
    uncount(before);
  }
  uncount(gone.change);
  std::vector<CoVariableId> vanished;
  for (const auto& version : fewer) {
    const auto left = bindings_.find(version);
    if (left->second > 0) continue;
    bindings_.erase(left);
    vanished.push_back(version);
  }
  return vanished;
}

bool Tree::contains(CommitId commit) const { return commit == kRoot || nodes_.contains(commit); }

const Tree::Node& Tree::node(CommitId commit) const {
  const auto found = nodes_.find(commit);
  CHECK(found != nodes_.end(), "an unknown commit, or the root");
  return found->second;
}

CommitId Tree::parent(CommitId commit) const { return node(commit).parent; }

bool Tree::absorbed(CommitId commit) const { return node(commit).absorbed; }

const Change& Tree::change(CommitId commit) const { return node(commit).change; }

std::vector<CommitId> Tree::children(CommitId commit) const {
  std::vector<CommitId> found;
  for (auto it = nodes_.upper_bound(commit); it != nodes_.end(); ++it) {
    if (it->second.parent == commit) found.push_back(it->first);
  }
  return found;
}

std::vector<CommitId> Tree::commits() const {
  std::vector<CommitId> all;
  all.reserve(nodes_.size());
  for (const auto& [commit, known] : nodes_) all.push_back(commit);
  return all;
}

std::vector<CommitId> Tree::line(CommitId commit) const {
  std::vector<CommitId> line;
  for (; commit != kRoot; commit = node(commit).parent) line.push_back(commit);
  return line;
}

CommitId Tree::meet(CommitId a, CommitId b) const {
  while (a != b) {
    if (a < b) std::swap(a, b);
    a = node(a).parent;  // the younger commit cannot be an ancestor of the older one
  }
  return a;
}

View Tree::view(CommitId commit) const {
  View view;
  std::set<std::string> settled;
  for (; commit != kRoot; commit = node(commit).parent) {
    const Change& change = node(commit).change;
    for (const auto& [name, version] : change.bound) {
      if (settled.insert(name).second) view.emplace(name, version);
    }
    settled.insert(change.unbound.begin(), change.unbound.end());
  }
  return view;
}

std::vector<CommitId> Tree::blame(const std::string& name, CommitId at) const {
  std::vector<CommitId> touched;
  for (; at != kRoot; at = node(at).parent) {
    const Change& change = node(at).change;
    const auto bound = change.bound.find(name);
    const bool by_it = bound != change.bound.end() ? bound->second.commit == at
                                                   : change.unbound.contains(name) && !node(at).absorbed;
    if (by_it) touched.push_back(at);
  }
  return touched;
}

}  // namespace banyan::checkpoint
