#include "core/session/removals.h"

#include <nlohmann/json.hpp>

namespace banyan::session {

Result<std::string> with_removals(std::string_view answer, bool force, const std::vector<Removal>& removals) {
  using nlohmann::json;
  json removes = json::array();
  std::string named;
  for (const Removal& removal : removals) {
    removes.push_back({{"name", removal.name}, {"path", removal.path}});
    named += (named.empty() ? "" : ", ") + removal.path + " (which goes with '" + removal.name + "')";
  }
  if (!removals.empty() && !force)
    return fail(ErrorKind::kDenied, "this would remove from the disk " + named +
                                        ": copy what you need to another place, then say --force");
  json content = json::parse(answer, nullptr, false);
  content["removes"] = std::move(removes);
  return content.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace banyan::session
