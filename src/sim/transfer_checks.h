// Judges exports and imports: what a client took out of a session, and what became of it elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/log_oracle.h"
#include "sim/porter.h"

namespace banyan::sim {

/// An export that ends well has a committed state of its session, of when it was asked for or later, with all
/// values that it is to have. An import that is answered with success is on a majority's disks, and its
/// session begins with exactly the state that was brought. In which namespace the cells run then is judged
/// with all other cells (Checkers), because the LogOracle knows where an imported session begins.
class TransferChecks final : public TransferWitness {
 public:
  /// Whether some host can still give a chunk.
  using Kept = std::function<bool(const Digest&)>;

  /// The oracle outlives it.
  TransferChecks(const LogOracle& oracle, Kept kept, LogOracle::Report report)
      : oracle_(oracle), kept_(std::move(kept)), report_(std::move(report)) {}

  /// Called for each request of an export or an import, when it is on its way.
  void on_step(std::function<void(const SessionId&)> call) { on_step_ = std::move(call); }

  ExportFloor export_begins(const SessionId& session, std::optional<ExecutionId> answered) override;
  void transfer_goes_on(const SessionId& session) override { on_step_(session); }
  void exported(const Exported& box, const ExportFloor& floor) override;
  void chunk_denied(const Exported& box, const Digest& digest) override;
  void imported(const Exported& box, const SessionId& into, const std::string& upload) override;
  void transfer_complains(const std::string& what) override { report_(what); }

  /// Compares what was exported with the logs. To be called when all is quiet.
  void judge();
  /// How many exports and imports have ended well.
  [[nodiscard]] std::uint64_t ended_well() const { return exports_.size() + imports_; }

 private:
  struct Export {
    StateOf state;
    std::optional<std::string> digest;  ///< of the namespace; nothing where some values were left to cells
  };

  const LogOracle& oracle_;
  Kept kept_;
  LogOracle::Report report_;
  std::function<void(const SessionId&)> on_step_ = [](const SessionId&) {};
  std::vector<Export> exports_;
  std::uint64_t imports_ = 0;
};

}  // namespace banyan::sim
