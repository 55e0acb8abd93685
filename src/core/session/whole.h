// Questions about a session as a whole: whether it may be suspended or leave, who leads it, what is always
// copied.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/session/history.h"

namespace banyan::session {

/// Answers "suspend", "resume", "leave", "hand_over" and "copy" for a session whose head is there; nothing
/// for other questions. kDenied: values would be lost, on a host with `gpus` GPUs where the question says so,
/// and it does not force it.
std::optional<Result<Answer>> ask_about_whole(const Session& session, CommitId head,
                                              const nlohmann::json& question);

/// Whether the session can move as the question `{"do": "migrate", "force": …}` wants, as it is now. Returns
/// the question for the gateway, which knows the hosts: `without_gpu` says why not to one that has none.
/// kDenied.
Result<std::string> may_leave(const Session& session, std::string_view question);

/// Whether it is to be done whatever that loses.
bool forced(std::string_view question);

/// Whether a question is about where the session is: the gateway answers it.
bool for_gateway(std::string_view question);

}  // namespace banyan::session
