// What of a session goes along when it is exported.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/planner/choice.h"
#include "core/session/session.h"

namespace banyan::session {

/// Versions by a word: "all" of every commit; "head", those that head shows; "least", those of them (or of
/// what they are made of) that take longer to make again than to bring. kInvalid names the words.
Result<std::set<CoVariableId>> exported_values(const Session& session, std::string_view which);

/// What bringing and making values costs: packing, writing, reading and unpickling at an assumed rate,
/// the way at `bytes_per_second`; running a cell again takes as long as it took. Also of versions whose bytes
/// were left behind. The session outlives it.
planner::Costs costs_of(const Session& session, double bytes_per_second);

/// The word of a question `{"do": "export", "values": WORD}`; nothing for other questions.
std::optional<std::string> export_wanted(std::string_view question);

}  // namespace banyan::session
