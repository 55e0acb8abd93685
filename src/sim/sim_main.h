// `banyan sim`: runs seeded schedules on all cores and says which seeds break a promise.
#pragma once

namespace banyan::sim {

/// Options as `banyan sim --help` lists them; argv[0] is skipped. 0 when no promise was broken, 1 when one
/// was, 2 for wrong options.
int main(int argc, char** argv);

}  // namespace banyan::sim
