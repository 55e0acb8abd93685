#include "core/schedule/policy.h"

#include <string>

#include "base/bytes.h"
#include "core/schedule/policies.h"

namespace banyan::schedule {

std::uint64_t draw_of(const SessionId& session) { return digest_of(session.value).low; }

Result<std::unique_ptr<const Placement>> placement_named(std::string_view name) {
  if (name == "least_loaded") return least_loaded();
  if (name == "fewest_busy_gpus") return fewest_busy_gpus();
  if (name == "packed") return packed();
  if (name == "spread") return spread();
  if (name == "random") return at_random();
  return fail(ErrorKind::kNotFound,
              "no placement policy '" + std::string(name) +
                  "'; there are: least_loaded, fewest_busy_gpus, packed, spread, random");
}

Result<std::unique_ptr<const ExecutorChoice>> executor_choice_named(std::string_view name) {
  if (name == "last_executor") return last_executor();
  if (name == "least_loaded") return least_loaded_executor();
  return fail(ErrorKind::kNotFound,
              "no executor policy '" + std::string(name) + "'; there are: last_executor, least_loaded");
}

}  // namespace banyan::schedule
