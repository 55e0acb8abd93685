// How sessions have their devices and processes: NotebookOS's baselines beside what it proposes.
#pragma once

#include <string_view>

#include "base/result.h"

namespace banyan::schedule {

/// Which of these a session has is said when it is created, by its kernel or by the configuration.
struct SessionPolicy {
  /// The devices of its first cell that needs some are reserved for it until it is suspended or closed.
  bool reserves_devices = false;
  /// It is suspended whenever nothing happens in it, so that each cell begins with a new process and with
  /// what is stored.
  bool rests_at_once = false;
  /// Such a process begins without the libraries that its values need.
  bool begins_bare = false;

  /// "replicated": devices for one cell, processes that stay. "reservation": devices that stay, too. "batch":
  /// both for one cell. "pool": as batch, and processes have their libraries from the start (NotebookOS's
  /// LCP). kInvalid names these.
  static Result<SessionPolicy> parse(std::string_view name);
};

}  // namespace banyan::schedule
