// What one process shows of a session: names, and the versions that they are bound to there.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/session/session.h"

namespace banyan::view {

using checkpoint::Change;
using checkpoint::CoVariableId;
using checkpoint::View;
using session::Session;

/// Whether the name is bound to that version.
bool shows(const View& view, const std::string& name, const CoVariableId& version);

/// For each version the names that are bound to it, in order.
std::map<CoVariableId, std::vector<std::string>> names_by_version(const View& view);

/// The versions in `wanted` that are not in `shown` under the same name.
std::set<CoVariableId> not_shown(const View& shown, const View& wanted);

/// What a process has under a name when it is no version of any commit: something else has to take its place.
CoVariableId unknown_after(CommitId commit);

/// A cell has run again in a process.
struct Repeated {
  CommitId commit;
  const std::vector<std::string>& made;     ///< names that are what it made of them at first
  const std::vector<std::string>& changed;  ///< other names that it changed
  const std::string& error;                 ///< why it ended otherwise than at first; empty if it did not
};

/// Brings `shown` up to date with that. `loads` says which versions the process can load. Returns why the
/// cell should not run again: it did not make what only it can make, and how it ended otherwise if it did;
/// empty when there is no reason. Without effect on names when the session has forgotten the commit.
std::string note_repeated(View& shown, const Session& session, const Repeated& cell,
                          const std::function<bool(const CoVariableId&)>& loads);

}  // namespace banyan::view
