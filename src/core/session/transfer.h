// Which values go along when a session is exported, and what bringing or making them costs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/planner/choice.h"
#include "core/planner/speeds.h"
#include "core/session/questions.h"
#include "core/session/session.h"

namespace banyan::session {

/// How fast a file is written and read again, in bytes per second, when nobody says.
inline constexpr double kFileBytesPerSecond = 80e6;

/// Bytes of a value that always goes along: it takes no room.
inline constexpr std::uint64_t kSmallValue = 64 << 10;

/// Chooses versions by a word. "all": those of every commit. "head": those that head shows, and what cells
/// need that make the others again. "least": of these, the ones that take longer to make again than to bring,
/// and those that have `small` bytes or less. kInvalid names the words.
Result<std::set<CoVariableId>> exported_values(const Session& session, const planner::Speeds& speeds,
                                               const question::Export& wanted,
                                               std::uint64_t small = kSmallValue);

/// How long the bytes of a value are on their way, in microseconds.
using WayOf = std::function<std::int64_t(const CoVariable&)>;

/// A way on which all bytes travel at this rate.
WayOf way_at(double bytes_per_second);

/// What bringing and making each value costs, also of versions whose bytes were left behind. Session and
/// speeds must outlive it.
planner::Costs costs_of(const Session& session, const planner::Speeds& speeds, WayOf way_us,
                        planner::Take how = planner::Take::kCautious);

/// Teaches `speeds` from a cell that ran again. It took `took_us`, which includes `serialised_us` (by type)
/// for serialising what it made; `first` has the same two figures of its first run.
void learn_of_repeat(planner::Speeds& speeds, const Ended& first, std::int64_t took_us,
                     const std::map<std::string, std::int64_t>& serialised_us);

}  // namespace banyan::session
