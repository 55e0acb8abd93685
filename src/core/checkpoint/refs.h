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

/// The id of a commit as people see it: 32 hex digits, the same on every replica.
std::string full_id(const SessionId& session, CommitId commit);

// ---- what a person does to head, to names, and to the session as a whole. Append only (base/codec.h)
// -----------------------------------------------------------------------------------------------------------

/// Moves head. An undo can be redone until something else changes a variable or moves head.
struct Checkout {
  enum class Step : std::uint8_t { kJump, kUndo, kRedo };
  CommitId commit;
  Step step = Step::kJump;
};
/// Makes a branch at `commit`. It becomes the current one when head is there.
struct MakeBranch {
  std::string name;
  CommitId commit;
};
/// Gives the current branch another name.
struct RenameBranch {
  std::string name;
};
/// Deletes a branch, and no commit.
struct DropBranch {
  std::string name;
};
/// Gives the commit a name that does not move.
struct MakeTag {
  std::string name;
  CommitId commit;
};
/// Deletes a tag.
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
/// Forgets the commits to which no branch, tag or redo leads any more, and of the other commits without a
/// name all but the newest `keep`.
struct Prune {
  std::uint64_t keep = 0;
};

/// Suspends the session (it has no workers until it is resumed or a cell comes), or resumes it.
struct Suspend {
  bool suspended = true;
};
/// Makes a replica the executor.
struct HandOver {
  ReplicaId to;
};
/// Says whether the bytes of these variables always go along, also where their cells could make them again.
struct CopyAlways {
  std::vector<std::string> names;
  bool always = true;
};

using Action = std::variant<Checkout, MakeBranch, RenameBranch, DropBranch, MakeTag, DropTag, Describe, Prune,
                            AllowRepeat, Suspend, HandOver, CopyAlways>;

/// The ids of the tree's commits as people read them: of each the shortest beginning that no other id has, at
/// least 7 digits.
std::map<CommitId, std::string> short_ids(const SessionId& session, const Tree& tree);

/// The names of one session's commits and its head. Branch and tag names have 1 to 100 letters, digits or any
/// of `._/-`, and begin with a letter or digit; a branch and a tag never have the same name.
class Refs {
 public:
  /// The branches with which a session begins. (With these braces in Names, GCC 12 crashes where the codec
  /// counts the fields.)
  static std::map<std::string, CommitId> main_at_root() { return {{"main", CommitId{0}}}; }

  struct Names {
    CommitId head;
    std::optional<std::string> current = "main";
    std::map<std::string, CommitId> branches = main_at_root();
    std::map<std::string, CommitId> tags = {};
    std::map<CommitId, std::string> messages = {};
    std::vector<CommitId> undone =
        {};  ///< the heads that undos have left, the last one at the end: redo returns there
  };

  Refs() = default;
  /// Restores what names() gave.
  explicit Refs(Names names) : names_(std::move(names)) {}
  [[nodiscard]] const Names& names() const { return names_; }

  /// There is a new commit on head. The current branch follows it; where head is not the end of a branch, a
  /// new branch begins. With `ends_redo` what was undone before cannot be redone any more.
  void committed(CommitId commit, bool ends_redo);
  /// There is a new commit where head was before it moved. `branch`, the current one of then, goes on with
  /// it; where there is none (any more), a new branch does.
  void committed_aside(CommitId commit, const std::optional<std::string>& branch);
  /// Performs the whole action or nothing of it. kNotFound, kConflict and kInvalid say what would be
  /// possible.
  Result<Done> perform(const Tree& tree, const Action& action);
  /// The tree has forgotten a commit that nothing here refers to.
  void forgotten(CommitId commit) { names_.messages.erase(commit); }
  /// Whether head, a name or a redo needs the commit.
  [[nodiscard]] bool refers_to(CommitId commit) const;
  /// The commits that Prune forgets, oldest first.
  [[nodiscard]] std::vector<CommitId> to_prune(const Tree& tree, const Prune& prune) const;

  [[nodiscard]] CommitId head() const { return names_.head; }

  /// The commit that a word means: a branch, a tag, the beginning (4 digits or more) of an id, HEAD, or ROOT
  /// (before all cells), each maybe with `~N` for N commits before. kNotFound and kInvalid (several ids begin
  /// so) say which words would be possible.
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
