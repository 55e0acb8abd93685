// Branches, tags, and the words by which a person names a commit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/checkpoint/tree.h"

namespace banyan::checkpoint {

/// A commit's id as people see it: 32 hex digits, the same on every replica.
std::string full_id(const SessionId& session, CommitId commit);

/// The names of one session's commits and its head. Branch and tag names have 1 to 100 letters, digits or any
/// of
/// `._/-`, and do not begin with one of these; a branch and a tag never have the same name.
class Refs {
 public:
  explicit Refs(SessionId session) : session_(std::move(session)) {}

  /// A new commit on head. The current branch follows; where head is no branch's end, a new branch begins
  /// here.
  void committed(CommitId commit);
  /// Head moves. A branch that ends at the commit becomes the current one, the current one first.
  void moved(CommitId commit);

  /// A new branch at `commit`. It becomes the current one when head is there. kInvalid: no such name;
  /// kConflict: taken.
  Result<Done> branch(const std::string& name, CommitId commit);
  /// Names the current branch anew. kConflict also when head is on none.
  Result<Done> rename(const std::string& name);
  /// kNotFound: no such branch; kConflict: it is the current one.
  Result<Done> drop_branch(const std::string& name);
  Result<Done> tag(const std::string& name, CommitId commit);
  Result<Done> drop_tag(const std::string& name);

  [[nodiscard]] CommitId head() const { return head_; }
  [[nodiscard]] const std::optional<std::string>& current() const { return current_; }
  [[nodiscard]] const std::map<std::string, CommitId>& branches() const { return branches_; }
  [[nodiscard]] const std::map<std::string, CommitId>& tags() const { return tags_; }

  /// The shortest beginning of the commit's id that no other commit of the tree has; at least 7 digits.
  [[nodiscard]] std::string short_id(const Tree& tree, CommitId commit) const;
  /// From a branch, a tag, the beginning (4 digits or more) of an id, or HEAD, each with `~N` for N commits
  /// before. kNotFound and kInvalid (several commits begin so) say what would do.
  [[nodiscard]] Result<CommitId> resolve(const Tree& tree, std::string_view word) const;

 private:
  [[nodiscard]] Result<Done> may_be_named(const std::string& name) const;
  [[nodiscard]] std::string fresh_name() const;
  [[nodiscard]] Result<CommitId> named(const Tree& tree, std::string_view word) const;

  SessionId session_;
  CommitId head_;
  std::optional<std::string> current_ = "main";
  std::map<std::string, CommitId> branches_ = {{"main", CommitId{0}}};
  std::map<std::string, CommitId> tags_;
};

}  // namespace banyan::checkpoint
