#pragma once

namespace banyan {

/// Exit status of a worker whose executor lease has passed.
inline constexpr int kLeaseExpired = 86;

/// Starts the watchdog thread of this process over the lease page behind `fd`: one aligned 64-bit deadline in
/// nanoseconds of CLOCK_MONOTONIC, or 0 for none. The page is mapped; the caller keeps the descriptor. The
/// thread runs until the process ends, needs no GIL and takes no signals. Call it once. Throws
/// std::system_error when the page cannot be mapped.
void start_lease_watchdog(int fd);

/// From now on until `disarm_lease`, the process ends with `kLeaseExpired` once the deadline has passed. That
/// is checked every 50 ms.
void arm_lease();
void disarm_lease();

}  // namespace banyan
