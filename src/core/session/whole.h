// Questions about a session as a whole: whether it may be suspended or leave, who leads it, what is always
// copied.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/session/history.h"

namespace banyan::session {

/// Answers "suspend", "resume", "leave", "hand_over" and "copy" about a session whose head is `head`; nothing
/// for other questions. kDenied when values would be lost and the question does not say `force`. A question
/// may give the number of `gpus` of the host that the session would be on.
std::optional<Result<Answer>> ask_about_whole(const Session& session, CommitId head,
                                              const nlohmann::json& question);

/// Whether the session, as it is now, can move as the question `{"do": "migrate", "force": …}` wants; kDenied
/// names what would be lost. Returns the question for the gateway, which knows the hosts: its `without_gpu`
/// says what would be lost on a host that has no GPU.
Result<std::string> may_leave(const Session& session, std::string_view question);

/// Whether the question says `force`: it is to be done whatever that loses.
bool forced(std::string_view question);

/// Whether the gateway, and not a replica, answers the question, because it is about where the session is.
bool for_gateway(std::string_view question);

}  // namespace banyan::session
