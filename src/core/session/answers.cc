#include "core/session/answers.h"

namespace banyan::session::answer {

namespace {
template <class... Types>
nlohmann::json any_of(api::Schemas& named) {
  return {{"anyOf", {api::Json<Types>::schema(named)...}}};
}
}  // namespace

nlohmann::json schema(api::Schemas& named) {
  (void)any_of<api::Suspended, Moves, Copied>(named);
  return any_of<Log, Show, Diff, Blame, State, Travel, Branches, Tags, Described, Collected, Spaces,
                Document>(named);
}

}  // namespace banyan::session::answer
