// Questions about a session as a whole: whether it may be suspended or leave, who leads it, what is always
// copied.
#pragma once

#include "core/session/history.h"

namespace banyan::session {

// Answers about a session whose head is `head`. kDenied when values would be lost and the question does not
// say `force`.

/// Suspends the session.
Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Suspend& asked);
/// Ends its suspension.
Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Resume& asked);
/// Says whether it can move.
Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Leave& asked);
/// Makes another replica the executor.
Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::HandOver& asked);
/// Changes which variables are always copied.
Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Copy& asked);

/// Whether the session, as it is now, can move as is asked; kDenied names what would be lost. Returns the
/// question for the gateway, which knows the hosts: its `without_gpu` says what would be lost on a host that
/// has no GPU.
Result<question::Migrate> may_leave(const Session& session, question::Migrate asked);

}  // namespace banyan::session
