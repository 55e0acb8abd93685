// What a session's history answers: the questions behind %log, %diff, %undo, `banyan log` and the REST
// resource.
//
// A question is a JSON object `{"do": VERB, …}`, its answer another one; docs/internals/history.md lists
// them. Questions that change something answer with the actions that do it, checked against the session.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/session/session.h"

namespace banyan::session {

/// The code of a cell that no user has sent: it does nothing, and its commit has what changed between cells.
inline constexpr std::string_view kLook = "# changes by code outside of cells";

/// What a question comes to.
struct Answer {
  std::string content;                      ///< a JSON object
  std::vector<checkpoint::Action> actions;  ///< to be put into the log; none for a mere question
  std::vector<std::string> leaves;          ///< variables that lose their values of now when head moves
};

/// Answers a question about the session as it is after the `pending` actions. kInvalid: no such question, a
/// missing or wrong field; kNotFound and kConflict: of a word that names nothing, a name that is taken.
Result<Answer> ask(const Session& session, const std::vector<checkpoint::Action>& pending,
                   std::string_view question);

}  // namespace banyan::session
