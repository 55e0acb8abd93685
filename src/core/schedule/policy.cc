#include "core/schedule/policy.h"

#include <string>

#include "core/schedule/policies.h"

namespace banyan::schedule {

Result<std::unique_ptr<const Placement>> placement_named(std::string_view name) {
  if (name == "least_loaded") return least_loaded();
  return fail(ErrorKind::kNotFound,
              "no placement policy '" + std::string(name) + "'; there is: least_loaded");
}

Result<std::unique_ptr<const ExecutorChoice>> executor_choice_named(std::string_view name) {
  if (name == "last_executor") return last_executor();
  if (name == "least_loaded") return least_loaded_executor();
  return fail(ErrorKind::kNotFound,
              "no executor policy '" + std::string(name) + "'; there are: last_executor, least_loaded");
}

}  // namespace banyan::schedule
