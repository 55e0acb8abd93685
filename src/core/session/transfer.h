// What of a session goes along when it is exported.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/planner/choice.h"
#include "core/planner/speeds.h"
#include "core/session/session.h"

namespace banyan::session {

/// What is asked of an export.
struct ExportRequest {
  std::string values = "head";     ///< "all", "head" or "least"
  double bytes_per_second = 80e6;  ///< into the file and out of it again: whoever writes it knows better
};

/// Versions by a word: "all" of every commit; "head", those that head shows; "least", those of them (or of
/// what they are made of) that take longer to make again than to bring. kInvalid names the words.
Result<std::set<CoVariableId>> exported_values(const Session& session, const planner::Speeds& speeds,
                                               const ExportRequest& wanted);

/// How long the bytes of a value are on their way, microseconds.
using WayOf = std::function<std::int64_t(const CoVariable&)>;

/// All bytes of a value at this rate.
WayOf way_at(double bytes_per_second);

/// What bringing and making values costs. Also of versions whose bytes were left behind. Session and speeds
/// outlive it.
planner::Costs costs_of(const Session& session, const planner::Speeds& speeds, WayOf way_us,
                        planner::Take how = planner::Take::kCautious);

/// A cell of this session ran again and took `took_us`, in which what it made was serialised: microseconds by
/// type. Speeds learn from how long both were the first time.
void learn_of_repeat(planner::Speeds& speeds, const Ended& first, std::int64_t took_us,
                     const std::map<std::string, std::int64_t>& serialised_us);

/// `{"do": "export", "values": WORD, "bytes_per_s": NUMBER}`
std::string question_of(const ExportRequest& wanted);
/// What such a question asks for; nothing for other questions.
std::optional<ExportRequest> export_wanted(std::string_view question);

}  // namespace banyan::session
