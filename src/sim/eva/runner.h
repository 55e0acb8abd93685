// Computes cells on all cores, keeps what is done, and goes on from there after an interruption.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "sim/eva/experiment.h"

namespace banyan::sim::eva {

/// Where and how cells are computed.
struct RunnerOptions {
  std::filesystem::path
      directory;  ///< a file for each finished cell; of this build of the program and these lists only
  unsigned threads = 1;
  bool progress = true;  ///< a bar on stderr where that is a terminal, else a line for each cell
};

/// The values of all cells; those with a file in the directory are read instead. kIo when the directory
/// cannot be written.
Result<Values> run_cells(const std::vector<Cell>& cells, const RunnerOptions& options);

}  // namespace banyan::sim::eva
