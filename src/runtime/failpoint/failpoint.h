// Places where a test has this process die: between two steps that must be all or nothing.
#pragma once

namespace banyan::runtime {

/// Ends the process by SIGKILL when the folder in the environment variable BANYAN_FAILPOINTS has a file of
/// this name. The file goes first: one process dies, once. Without the variable nothing is looked at.
void failpoint(const char* name);

}  // namespace banyan::runtime
