// Places where a test can let this process die: between two steps of which both must take effect, or none.
#pragma once

namespace banyan::runtime {

/// Ends the process by SIGKILL when the folder in the environment variable BANYAN_FAILPOINTS has a file of
/// this name. The file is removed first, so that one process dies, once. Without the variable this does
/// nothing.
void failpoint(const char* name);

}  // namespace banyan::runtime
