// What can be asked about a session: the questions behind %log, %diff, %undo, `banyan log` and REST. A
// question is a JSON object `{"do": VERB, …}` where it comes in, and one of these types from there on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/api/json.h"

namespace banyan::session::question {

/// A number, 1 or more.
struct Count {
  std::uint64_t value = 1;
};

// What fields mean that several questions have.
inline constexpr std::string_view kAtHead = "a branch, a tag, or a commit's id; HEAD when it is left out";
inline constexpr std::string_view kRepeat =
    "cells may run again for it, whatever they do outside of the session";
inline constexpr std::string_view kForceRemoval = "also where something goes from the disk by it";
inline constexpr std::string_view kForceLoss = "also where something is lost by it";
inline constexpr std::string_view kGpus = "of the host on which the session would be";

// ---- about the history

/// The commits: those of `at` and before, else all, newest first.
struct Log {
  static constexpr std::string_view kName = "log";
  std::optional<std::string> at;
  std::optional<Count> limit;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at", self.at, "a branch, a tag, or a commit's id");
    visit("limit", self.limit, "how many; 20 when it is left out");
  }
};

/// One commit and its variables.
struct Show {
  static constexpr std::string_view kName = "show";
  std::optional<std::string> at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at", self.at, kAtHead);
  }
};

/// What differs between two commits.
struct Diff {
  static constexpr std::string_view kName = "diff";
  std::optional<std::string> from, to;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("from", self.from, "the parent of `to` when it is left out");
    visit("to", self.to, kAtHead);
  }
};

/// Which commits changed a variable.
struct Blame {
  static constexpr std::string_view kName = "blame";
  std::string name;
  std::optional<std::string> at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of the variable");
    visit("at", self.at, kAtHead);
  }
};

/// The variables now.
struct State {
  static constexpr std::string_view kName = "state";
  template <class Self, class Visit>
  static void fields(Self& /*self*/, Visit&& /*visit*/) {}
};

/// Takes back what the last cells did.
struct Undo {
  static constexpr std::string_view kName = "undo";
  std::optional<Count> count;
  std::optional<bool> repeat, force;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("count", self.count, "how many cells");
    visit("repeat", self.repeat, kRepeat);
    visit("force", self.force, kForceRemoval);
  }
};

/// Takes undos back.
struct Redo {
  static constexpr std::string_view kName = "redo";
  std::optional<Count> count;
  std::optional<bool> repeat, force;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("count", self.count, "how many undos");
    visit("repeat", self.repeat, kRepeat);
    visit("force", self.force, kForceRemoval);
  }
};

/// Goes to another commit.
struct CheckOut {
  static constexpr std::string_view kName = "checkout";
  std::optional<std::string> at;
  std::optional<bool> repeat, force;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at", self.at, "a branch, a tag, or a commit's id");
    visit("repeat", self.repeat, kRepeat);
    visit("force", self.force, kForceRemoval);
  }
};

/// Makes, drops or renames a branch, and tells all of them.
struct Branch {
  static constexpr std::string_view kName = "branch";
  std::optional<std::string> name, at, drop, rename;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of a new branch");
    visit("at", self.at, "where it begins; HEAD when it is left out");
    visit("drop", self.drop, "the branch that is not needed any more");
    visit("rename", self.rename, "the new name of the present branch");
  }
};

/// Makes or drops a tag, and tells all of them.
struct Tag {
  static constexpr std::string_view kName = "tag";
  std::optional<std::string> name, at, drop;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name, "of a new tag");
    visit("at", self.at, "what it names; HEAD when it is left out");
    visit("drop", self.drop, "the tag that is not needed any more");
  }
};

/// Gives a commit a message.
struct Describe {
  static constexpr std::string_view kName = "describe";
  std::string message;
  std::optional<std::string> at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("message", self.message, "");
    visit("at", self.at, kAtHead);
  }
};

/// Forgets old commits.
struct Collect {
  static constexpr std::string_view kName = "gc";
  std::optional<Count> keep;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("keep", self.keep, "how many of each line of commits; all when it is left out");
  }
};

/// What the versions of each variable take.
struct Space {
  static constexpr std::string_view kName = "space";
  template <class Self, class Visit>
  static void fields(Self& /*self*/, Visit&& /*visit*/) {}
};

/// A commit as a notebook.
struct Document {
  static constexpr std::string_view kName = "document";
  std::optional<std::string> at;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at", self.at, kAtHead);
  }
};

// ---- about the session as a whole: asked by cells, by the gateway, and by hosts

/// Variables that are always to be copied, and never made again.
struct Copy {
  static constexpr std::string_view kName = "copy";
  std::string names;
  std::optional<bool> always, made_now;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("names", self.names, "with spaces between them; none to ask only");
    visit("always", self.always, "false: not any more");
    visit("made_now", self.made_now, "the cell that asks makes them");
  }
};

/// Ends the session's processes.
struct Suspend {
  static constexpr std::string_view kName = "suspend";
  std::optional<bool> force;
  std::optional<std::uint64_t> gpus;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("force", self.force, kForceLoss);
    visit("gpus", self.gpus, kGpus);
  }
};

/// It has processes again.
struct Resume {
  static constexpr std::string_view kName = "resume";
  template <class Self, class Visit>
  static void fields(Self& /*self*/, Visit&& /*visit*/) {}
};

/// Whether the session can move. Nothing is done yet.
struct Leave {
  static constexpr std::string_view kName = "leave";
  std::optional<bool> force;
  std::optional<std::uint64_t> gpus;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("force", self.force, kForceLoss);
    visit("gpus", self.gpus, kGpus);
  }
};

/// Another replica runs the cells from now on.
struct HandOver {
  static constexpr std::string_view kName = "hand_over";
  std::uint64_t to = 0;
  std::optional<bool> force;
  std::optional<std::uint64_t> gpus;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("to", self.to, "the id of a replica");
    visit("force", self.force, kForceLoss);
    visit("gpus", self.gpus, kGpus);
  }
};

// ---- of which others know the answer

/// Asked by a cell: the session is to be on another host when the cell has ended. The gateway knows the
/// hosts.
struct Migrate {
  static constexpr std::string_view kName = "migrate";
  std::string host;
  std::optional<bool> force;
  std::optional<std::uint64_t> gpus;
  std::optional<std::string> without_gpu;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("host", self.host, "where it is to be");
    visit("force", self.force, kForceLoss);
    visit("gpus", self.gpus, kGpus);
    visit("without_gpu", self.without_gpu, "what would be lost on a host that has no GPU");
  }
};

/// What the cells have put out (cells.h).
struct Cells {
  static constexpr std::string_view kName = "cells";
  std::uint64_t after = 0;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("after", self.after, "`last` of an earlier answer");
  }
};

/// The state of the session, to be imported elsewhere (transfer.h).
struct Export {
  static constexpr std::string_view kName = "export";
  std::optional<std::string> values;
  std::optional<double> bytes_per_s;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("values", self.values, "head, least or all; head when it is left out");
    visit("bytes_per_s", self.bytes_per_s,
          "how fast the values go into a file and out of it again; 80 MB/s when it is left out");
  }
};

/// The replica's worker is to be a view of head, also by running cells again, though it is not the executor:
/// for some seconds.
struct Prepare {
  static constexpr std::string_view kName = "prepare";
  template <class Self, class Visit>
  static void fields(Self& /*self*/, Visit&& /*visit*/) {}
};

}  // namespace banyan::session::question

namespace banyan::session {

/// How many of the questions are about the history. They come first.
inline constexpr std::size_t kAboutHistory = 14;
/// How many the API's description has: those about the history, and then those that magics ask beside them.
inline constexpr std::size_t kDescribed = 17;

/// A question about a session.
using Question =
    std::variant<question::Log, question::Show, question::Diff, question::Blame, question::State,
                 question::Undo, question::Redo, question::CheckOut, question::Branch, question::Tag,
                 question::Describe, question::Collect, question::Space, question::Document, question::Copy,
                 question::Suspend, question::Migrate, question::Resume, question::Leave, question::HandOver,
                 question::Cells, question::Export, question::Prepare>;

/// Takes a question from its JSON text; kInvalid says what can be asked about a history, or which field is to
/// be what.
Result<Question> read_question(std::string_view text);
/// The same for what anybody may ask through REST: kInvalid for a question that is not about the history.
Result<Question> read_history_question(std::string_view text);
/// The JSON text of a question.
std::string text_of(const Question& question);
/// Whether it is to be done whatever that loses.
bool forced(const Question& question);
/// The questions about the history as a JSON Schema. The others that magics ask have their names in `named`,
/// too.
nlohmann::json question_schema(api::Schemas& named);

}  // namespace banyan::session

namespace banyan::api {

/// A count as JSON.
template <>
struct Json<session::question::Count> {
  static nlohmann::json write(const session::question::Count& count) { return count.value; }
  static Result<Done> read(const Reading& from, session::question::Count& into) {
    if (!from.value.is_number_unsigned() || from.value == 0U) return from.is_not("a number, 1 or more");
    into.value = from.value.get<std::uint64_t>();
    return Done{};
  }
  static nlohmann::json schema(Schemas& /*named*/) { return {{"type", "integer"}, {"minimum", 1}}; }
};

}  // namespace banyan::api
