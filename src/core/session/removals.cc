#include "core/session/removals.h"

#include <nlohmann/json.hpp>

#include "core/session/answers.h"

namespace banyan::session {

Result<std::string> with_removals(std::string_view said, bool force, const std::vector<Removal>& removals) {
  std::vector<answer::Removed> removes;
  std::string named;
  for (const Removal& removal : removals) {
    removes.push_back({removal.name, removal.path});
    named += (named.empty() ? "" : ", ") + removal.path + " (which goes with '" + removal.name + "')";
  }
  if (!removals.empty() && !force)
    return fail(ErrorKind::kDenied, "this would remove from the disk " + named +
                                        ": copy what you need to another place, then say --force");
  nlohmann::json content = nlohmann::json::parse(said, nullptr, false);
  content["removes"] = api::to_json(removes);
  return content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace banyan::session
