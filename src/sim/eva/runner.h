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
      directory;  ///< has a file for each finished cell; for this build of the program and these lists only
  unsigned threads = 1;
  bool progress = true;  ///< show a bar on stderr where that is a terminal, or else a line for each cell
};

/// Computes the values of all cells, except for those that have a file in the directory, which is read. kIo
/// when the directory cannot be written.
Result<Values> run_cells(const std::vector<Cell>& cells, const RunnerOptions& options);

}  // namespace banyan::sim::eva
