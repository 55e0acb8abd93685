#include "core/schedule/session_policy.h"

#include <string>

namespace banyan::schedule {

Result<SessionPolicy> SessionPolicy::parse(std::string_view name) {
  if (name == "replicated") return SessionPolicy{};
  if (name == "reservation") return SessionPolicy{.reserves_devices = true};
  if (name == "batch") return SessionPolicy{.rests_at_once = true, .begins_bare = true};
  if (name == "pool") return SessionPolicy{.rests_at_once = true};
  return fail(ErrorKind::kInvalid, "there is no session policy '" + std::string(name) +
                                       "'; there are: batch, pool, replicated, reservation");
}

}  // namespace banyan::schedule
