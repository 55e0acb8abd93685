// What of a session goes along when it is exported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/planner/choice.h"
#include "core/planner/speeds.h"
#include "core/session/session.h"

namespace banyan::session {

/// Versions by a word: "all" of every commit; "head", those that head shows; "least", those of them (or of
/// what they are made of) that take longer to make again than to bring. kInvalid names the words.
Result<std::set<CoVariableId>> exported_values(const Session& session, const planner::Speeds& speeds,
                                               std::string_view which);

/// How long the bytes of a value are on their way, microseconds.
using WayOf = std::function<std::int64_t(const CoVariable&)>;

/// All bytes of a value at this rate.
WayOf way_at(double bytes_per_second);

/// What bringing and making values costs. Also of versions whose bytes were left behind. Session and speeds
/// outlive it.
planner::Costs costs_of(const Session& session, const planner::Speeds& speeds, WayOf way_us,
                        planner::Take how = planner::Take::kCautious);

/// The word of a question `{"do": "export", "values": WORD}`; nothing for other questions.
std::optional<std::string> export_wanted(std::string_view question);

}  // namespace banyan::session
