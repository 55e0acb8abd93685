// What questions about a session are answered with (questions.h), as REST, `banyan log` and the magics get
// it; what cells have put out is in cells.h. The JSON follows from these types, and so does its description.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json.h"
#include "core/api/operator.h"
#include "core/checkpoint/refs.h"

namespace banyan::session::answer {

// What fields mean that several answers have.
inline constexpr std::string_view kHead =
    "the id of the commit that the session shows; ROOT before the first";
inline constexpr std::string_view kBranch = "the current branch; null when head is on none";
inline constexpr std::string_view kValueBytes = "of all values that the session keeps";
inline constexpr std::string_view kCommits = "how many there are";

/// A commit, as lists of commits show it. ROOT, which is before all cells, has only the first four fields.
struct Commit {
  static constexpr std::string_view kName = "commit";
  std::string id;
  bool head = false;
  std::vector<std::string> branches, tags;
  std::optional<std::string> parent;
  std::optional<std::vector<std::string>> changed, deleted;
  std::optional<api::Nullable<std::string>> message;
  std::optional<std::string> status;
  // Of its cell.
  std::optional<std::string> code;
  std::optional<std::uint64_t> count;
  std::optional<std::vector<std::string>> failed, effects, begun;
  std::optional<std::uint64_t> gpus;
  std::optional<std::map<std::string, double>> serialised_s;
  std::optional<double> runtime_s;
  std::optional<api::Nullable<std::string>> at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("id", self.id, "");
    visit("head", self.head, "the session shows it");
    visit("branches", self.branches, "that end here");
    visit("tags", self.tags, "");
    visit("parent", self.parent, "");
    visit("changed", self.changed, "variables");
    visit("deleted", self.deleted, "variables");
    visit("message", self.message, "that somebody gave it");
    visit("status", self.status,
          "of its cell: ok, error, aborted or lost; else restart, or forgotten when the cell is too old");
    visit("code", self.code, "");
    visit("count", self.count, "the number in brackets");
    visit("failed", self.failed, "of `changed`, what cannot be serialised");
    visit("effects", self.effects, "what the cell did outside of the session");
    visit("begun", self.begun, "what it began that went on in the background");
    visit("gpus", self.gpus, "that it used");
    visit("serialised_s", self.serialised_s, "seconds that serialising took, by type of value");
    visit("runtime_s", self.runtime_s, "seconds that the cell took");
    visit("at", self.at, "when it ended");
  }
};

/// A variable of a commit.
struct Variable {
  static constexpr std::string_view kName = "variable";
  std::string name;
  std::uint64_t bytes = 0;
  bool saved = false;
  std::vector<std::string> shares_with;
  api::Nullable<std::string> commit;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("bytes", self.bytes, "");
    visit("saved", self.saved, "its value has bytes; otherwise its cell would run again");
    visit("shares_with", self.shares_with, "variables that have objects of it");
    visit("commit", self.commit, "that made this value; null when that is forgotten");
  }
};

/// The commits.
struct Log {
  static constexpr std::string_view kName = "log_answer";
  std::string head;
  api::Nullable<std::string> branch;
  std::vector<Commit> commits;
  std::uint64_t more = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("head", self.head, kHead);
    visit("branch", self.branch, kBranch);
    visit("commits", self.commits, "the newest first");
    visit("more", self.more, "how many older ones are left out");
  }
};

/// One commit and its variables.
struct Show {
  static constexpr std::string_view kName = "show_answer";
  Commit commit;
  std::vector<Variable> variables;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("commit", self.commit, "");
    visit("variables", self.variables, "");
  }
};

/// A variable that differs between two commits.
struct Difference {
  static constexpr std::string_view kName = "difference";
  std::string name;
  std::optional<std::uint64_t> bytes, bytes_before;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("bytes", self.bytes, "in the later one, unless it was deleted");
    visit("bytes_before", self.bytes_before, "in the earlier one, unless it was added");
  }
};

/// What differs between two commits.
struct Diff {
  static constexpr std::string_view kName = "diff_answer";
  std::string from, to;
  std::vector<Difference> added, changed, deleted;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("from", self.from, "");
    visit("to", self.to, "");
    visit("added", self.added, "");
    visit("changed", self.changed, "");
    visit("deleted", self.deleted, "");
  }
};

/// Which commits changed a variable.
struct Blame {
  static constexpr std::string_view kName = "blame_answer";
  std::string name;
  std::vector<Commit> commits;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of the variable");
    visit("commits", self.commits, "that changed it, the newest first");
  }
};

/// The variables now.
struct State {
  static constexpr std::string_view kName = "state_answer";
  std::string head;
  api::Nullable<std::string> branch;
  std::vector<Variable> variables;
  std::uint64_t commits = 0;
  std::uint64_t bytes = 0;
  bool can_redo = false;
  std::optional<api::PendingModel> pending;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("head", self.head, kHead);
    visit("branch", self.branch, kBranch);
    visit("variables", self.variables, "");
    visit("commits", self.commits, kCommits);
    visit("bytes", self.bytes, kValueBytes);
    visit("can_redo", self.can_redo, "an undo can be taken back");
    visit("pending", self.pending, "large values that are still being copied, if there are any");
  }
};

/// A variable that a move, of head or of the session, does not bring along.
using api::Lost;
using Losses = std::vector<Lost>;

/// What goes from the disk with a variable.
struct Removed {
  static constexpr std::string_view kName = "removed_file";
  std::string name, path;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of the variable");
    visit("path", self.path, "");
  }
};

/// Of every question that moves head: undo, redo, checkout.
struct Travel {
  static constexpr std::string_view kName = "travel_answer";
  std::string from, head;
  api::Nullable<std::string> branch;
  std::vector<Commit> commits;
  std::vector<std::string> restores, recomputes, unread, deletes;
  Losses lost;
  std::vector<Commit> repeats;
  std::uint64_t bytes = 0;
  std::optional<std::vector<Removed>> removes;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("from", self.from, "where head was");
    visit("head", self.head, kHead);
    visit("branch", self.branch, kBranch);
    visit("commits", self.commits, "that were undone or redone");
    visit("restores", self.restores, "variables that are loaded");
    visit("recomputes", self.recomputes, "variables that cells make again");
    visit("unread", self.unread, "of `recomputes`, those that are made when something reads them");
    visit("deletes", self.deletes, "variables");
    visit("lost", self.lost, "variables that nothing brings back");
    visit("repeats", self.repeats, "cells that run again");
    visit("bytes", self.bytes, "of what is loaded");
    visit("removes", self.removes, "what goes from the disk");
  }
};

/// A branch, or a tag.
struct Name {
  static constexpr std::string_view kName = "name";
  std::string name, id;
  std::optional<bool> current;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("id", self.id, "of the commit");
    visit("current", self.current, "of a branch: head moves with it");
  }
};

/// The branches; also of a question that makes, renames or drops one.
struct Branches {
  static constexpr std::string_view kName = "branch_answer";
  std::string head;
  api::Nullable<std::string> branch;
  std::vector<Name> branches;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("head", self.head, kHead);
    visit("branch", self.branch, kBranch);
    visit("branches", self.branches, "");
  }
};

/// The tags; also of a question that makes or drops one.
struct Tags {
  static constexpr std::string_view kName = "tag_answer";
  std::vector<Name> tags;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("tags", self.tags, "");
  }
};

/// The commit that got a message.
struct Described {
  static constexpr std::string_view kName = "describe_answer";
  Commit commit;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("commit", self.commit, "");
  }
};

/// What a collection forgets.
struct Collected {
  static constexpr std::string_view kName = "gc_answer";
  std::vector<Commit> forgets;
  std::uint64_t commits = 0, freed = 0, bytes = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("forgets", self.forgets, "commits");
    visit("commits", self.commits, "how many are left");
    visit("freed", self.freed, "bytes that only these had");
    visit("bytes", self.bytes, "of the values that are left");
  }
};

/// The space that all versions of a variable take.
struct Space {
  static constexpr std::string_view kName = "variable_space";
  std::string name;
  std::uint64_t versions = 0, bytes = 0, bytes_at_head = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "");
    visit("versions", self.versions, "how many the session keeps");
    visit("bytes", self.bytes, "of all versions; what they share counts once");
    visit("bytes_at_head", self.bytes_at_head, "of the version that the session shows");
  }
};

/// What the values of each variable take.
struct Spaces {
  static constexpr std::string_view kName = "space_answer";
  std::vector<Space> variables;
  std::uint64_t commits = 0, bytes = 0, limit = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("variables", self.variables, "the largest first");
    visit("commits", self.commits, kCommits);
    visit("bytes", self.bytes, kValueBytes);
    visit("limit", self.limit, "bytes beyond which the oldest commits go");
  }
};

/// The cells up to a commit as a notebook.
struct Document {
  static constexpr std::string_view kName = "document_answer";
  std::string at;
  nlohmann::json notebook;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at", self.at, "the id of the last commit in it");
    visit("notebook", self.notebook, "a notebook of nbformat 4");
  }
};

// ---- about the session as a whole

/// The session has processes again, or will have.
struct Resumed {
  static constexpr std::string_view kName = "resume_answer";
  bool suspended = false;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("suspended", self.suspended, "");
  }
};

/// The session can move.
struct Leaves {
  static constexpr std::string_view kName = "leave_answer";
  Losses lost;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("lost", self.lost, "what it leaves behind");
  }
};

/// Another replica runs the cells from now on.
struct HandedOver {
  static constexpr std::string_view kName = "hand_over_answer";
  std::uint64_t executor = 0;
  Losses lost;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("executor", self.executor, "the id of the replica");
    visit("lost", self.lost, "");
  }
};

/// The session will be on that host.
struct Moves {
  static constexpr std::string_view kName = "migrate_answer";
  std::string host;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "");
  }
};

/// Which variables are always copied.
struct Copied {
  static constexpr std::string_view kName = "copy_answer";
  std::vector<std::string> always;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("always", self.always, "the names of all such variables");
  }
};

/// It is done, and there is nothing to tell.
struct Nothing {
  static constexpr std::string_view kName = "nothing";
  template <class Self, class Visit>
  static void fields(Self& /*self*/, Visit&& /*visit*/) {}
};

/// The answers about the history, as a JSON Schema. Those to the other questions that magics ask have their
/// names in `named`, too.
nlohmann::json schema(api::Schemas& named);

}  // namespace banyan::session::answer

namespace banyan::session {

/// The answer to a question, and what is to be done for it.
struct Answer {
  std::string content;                      ///< a JSON object
  std::vector<checkpoint::Action> actions;  ///< the actions to put into the log; none for a mere question
  std::vector<std::string> leaves;          ///< variables that lose their present values when head moves
};

/// What is said, which is one of the types above, with its actions.
template <class Said>
Answer answer_of(const Said& said, std::vector<checkpoint::Action> actions = {},
                 std::vector<std::string> leaves = {}) {
  return {api::to_text(said), std::move(actions), std::move(leaves)};
}

}  // namespace banyan::session
