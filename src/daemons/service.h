// What the two daemons have in common: log lines, signals, an identity for this life.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.h"
#include "node/gateway_events.h"
#include "runtime/loop/loop.h"

namespace banyan::daemons {

/// Drawn from the operating system at the start of a daemon.
struct Life {
  Incarnation incarnation;
  std::uint64_t seed = 0;
};
Life draw_life();

/// Writes a line of the node's to the daemon's log (stderr).
void write_log(const node::Log& line);
/// Sets the log up for a daemon of this name.
void start_log(const std::string& name);
/// Prints `reason` as the daemon's last words and ends the process with status 1.
[[noreturn]] void die(const std::string& reason);
/// Stops the loop on SIGTERM and SIGINT; with a `farewell`, after that and a moment for what it began.
void stop_on_signals(runtime::Loop& loop, std::function<void()> farewell = {});

/// Gives free memory back to the system, where it is much: glibc keeps what sessions leave that have gone or
/// hibernate. Some milliseconds; for a timer.
void return_free_memory();

}  // namespace banyan::daemons
