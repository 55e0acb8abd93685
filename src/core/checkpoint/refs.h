// Branches, tags, and the words by which a person names a commit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/checkpoint/tree.h"

namespace banyan::checkpoint {

/// A commit's id as people see it: 32 hex digits, the same on every replica.
std::string full_id(const SessionId& session, CommitId commit);

// ---- what a person does to head, to names, and to the session as a whole. Append only (base/codec.h)
// -----------------------------------------------------------------------------------------------------------

/// Moves head. An undo can be redone until something else changes a variable or moves head.
struct Checkout {
  enum class Step : std::uint8_t { kJump, kUndo, kRedo };
  CommitId commit;
  Step step = Step::kJump;
};
/// A new branch at `commit`. It becomes the current one when head is there.
struct MakeBranch {
  std::string name;
  CommitId commit;
};
/// Names the current branch anew.
struct RenameBranch {
  std::string name;
};
struct DropBranch {
  std::string name;
};
struct MakeTag {
  std::string name;
  CommitId commit;
};
struct DropTag {
  std::string name;
};
/// Gives the commit a message; an empty one takes it away.
struct Describe {
  CommitId commit;
  std::string message;
};

/// Lets the cells of these commits run again, whatever they do outside of the session.
struct AllowRepeat {
  std::vector<CommitId> commits;
};
/// Forgets the commits that nothing leads to any more, and of the others all that nothing names but the
/// newest `keep`.
struct Prune {
  std::uint64_t keep = 0;
};

/// Whether the session has no workers until it is resumed or a cell comes.
struct Suspend {
  bool suspended = true;
};
/// Makes a replica the executor.
struct HandOver {
  ReplicaId to;
};
/// Whether the bytes of these variables always go along, also where their cells could make them again.
struct CopyAlways {
  std::vector<std::string> names;
  bool always = true;
};

using Action = std::variant<Checkout, MakeBranch, RenameBranch, DropBranch, MakeTag, DropTag, Describe, Prune,
                            AllowRepeat, Suspend, HandOver, CopyAlways>;

/// Ids of the tree's commits as people read them: the shortest beginnings that no other commit has, at least
/// 7 digits.
std::map<CommitId, std::string> short_ids(const SessionId& session, const Tree& tree);

/// The names of one session's commits and its head. Branch and tag names have 1 to 100 letters, digits or any
/// of `._/-`, and begin with a letter or digit; a branch and a tag never have the same name.
class Refs {
 public:
  /// Where a session begins. (With the braces in Names, GCC 12 crashes where the codec counts its fields.)
  static std::map<std::string, CommitId> main_at_root() { return {{"main", CommitId{0}}}; }

  struct Names {
    CommitId head;
    std::optional<std::string> current = "main";
    std::map<std::string, CommitId> branches = main_at_root();
    std::map<std::string, CommitId> tags = {};
    std::map<CommitId, std::string> messages = {};
    std::vector<CommitId> undone = {};  ///< heads that undo has left, the last one at the end
  };

  Refs() = default;
  /// From names().
  explicit Refs(Names names) : names_(std::move(names)) {}
  [[nodiscard]] const Names& names() const { return names_; }

  /// A new commit on head. The current branch follows; where head is no branch's end, a new branch begins
  /// here. `ends_redo`: what was undone before cannot be redone any more.
  void committed(CommitId commit, bool ends_redo);
  /// A new commit where head was before it moved. `branch`, the current one then, goes on with it; a new
  /// branch when there is none (any more).
  void committed_aside(CommitId commit, const std::optional<std::string>& branch);
  /// All of it or nothing. kNotFound, kConflict and kInvalid say what would do.
  Result<Done> perform(const Tree& tree, const Action& action);
  /// The tree has forgotten a commit that nothing here refers to.
  void forgotten(CommitId commit) { names_.messages.erase(commit); }
  /// Whether head, a name or a redo needs the commit.
  [[nodiscard]] bool refers_to(CommitId commit) const;
  /// What Prune forgets, oldest first.
  [[nodiscard]] std::vector<CommitId> to_prune(const Tree& tree, const Prune& prune) const;

  [[nodiscard]] CommitId head() const { return names_.head; }

  /// From a branch, a tag, the beginning (4 digits or more) of an id, HEAD, or ROOT (before all cells), each
  /// with `~N` for N commits before. kNotFound and kInvalid (several commits begin so) say what would do.
  [[nodiscard]] Result<CommitId> resolve(const SessionId& session, const Tree& tree,
                                         std::string_view word) const;

 private:
  Result<Done> act(const Checkout& action);
  Result<Done> act(const MakeBranch& action);
  Result<Done> act(const RenameBranch& action);
  Result<Done> act(const DropBranch& action);
  Result<Done> act(const MakeTag& action);
  Result<Done> act(const DropTag& action);
  Result<Done> act(const Describe& action);
  Result<Done> act(const Prune& action);
  Result<Done> act(const AllowRepeat& action);
  Result<Done> act(const Suspend& action);
  Result<Done> act(const HandOver& action);
  Result<Done> act(const CopyAlways& action);
  void moved(CommitId commit);
  [[nodiscard]] Result<Done> may_be_named(const std::string& name) const;
  [[nodiscard]] std::string fresh_name() const;
  [[nodiscard]] Result<CommitId> named(const SessionId& session, const Tree& tree,
                                       std::string_view word) const;

  Names names_;
};

}  // namespace banyan::checkpoint
