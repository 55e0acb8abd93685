// What a session's history answers: the questions behind %log, %diff, %undo, `banyan log` and the REST
// resource.
//
// docs/internals/history.md lists the answers, which are JSON objects. Questions that change something answer
// with the actions that do it, checked against the session.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/session/answers.h"
#include "core/session/questions.h"
#include "core/session/session.h"

namespace banyan::session {

/// The code of a cell that the gateway itself sends: it does nothing, and its commit has what changed between
/// cells.
inline constexpr std::string_view kLook = "# changes by code outside of cells";

/// Answers a question about the session as it is after the `pending` actions. kInvalid: it is none that a log
/// alone can answer, or a field is wrong. kNotFound: a word names no commit. kConflict: a name is taken, or
/// the session is not in a state for it. kDenied: values would be lost, and the question does not say
/// `force`. `being_copied`: what is still being copied of the session's large values, which its log does not
/// say.
Result<Answer> ask(const Session& session, const std::vector<checkpoint::Action>& pending,
                   const Question& question,
                   const std::optional<api::PendingModel>& being_copied = std::nullopt);
/// The same for the JSON text of a question.
Result<Answer> ask(const Session& session, const std::vector<checkpoint::Action>& pending,
                   std::string_view question);

}  // namespace banyan::session
