// The simulator alone, for builds without the live adapters.
#include "sim/sim_main.h"

int main(int argc, char** argv) { return banyan::sim::main(argc, argv); }
