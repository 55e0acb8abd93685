// Files and folders that go from the disk with the values that stand for them, such as a TemporaryDirectory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace banyan::session {

/// What a worker removes from the disk when a variable loses its value.
struct Removal {
  std::string name;  ///< the variable
  std::string path;

  friend bool operator==(const Removal&, const Removal&) = default;
};

/// Completes the answer to a question that moves head: its `removes` has what the move removes from the disk.
/// kDenied when there is such a thing and it is not forced.
Result<std::string> with_removals(std::string_view said, bool force, const std::vector<Removal>& removals);

}  // namespace banyan::session
