// `banyan sim eva`: the tables and figures of Eva's paper.
#pragma once

namespace banyan::sim::eva {

/// Options as `banyan sim eva --help` lists them; argv[0] is skipped. 0: done, 1: something failed, 2: wrong
/// options.
int main(int argc, char** argv);

}  // namespace banyan::sim::eva
