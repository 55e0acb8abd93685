// `banyan sim eva`: the tables and figures of Eva's paper.
#pragma once

namespace banyan::sim::eva {

/// Runs the command with options as `banyan sim eva --help` lists them; argv[0] is skipped. Returns 0 when
/// done, 1 when something failed, 2 for wrong options.
int main(int argc, char** argv);

}  // namespace banyan::sim::eva
