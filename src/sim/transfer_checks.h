// Judges exports and imports: what a client took out of a session, and what became of it elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/data_store.h"
#include "sim/log_oracle.h"
#include "sim/porter.h"

namespace banyan::sim {

/// An export that ends well has a committed state of its session, of when it was asked for or later, with all
/// values that it is to have. An import that is answered with success is on a majority's disks, and its
/// session begins with exactly the state that was brought. In which namespace the cells run then is judged
/// with all other cells (Checkers), because the LogOracle knows where an imported session begins.
class TransferChecks final : public TransferWitness {
 public:
  /// What one host has of a chunk.
  struct Place {
    HostId host;
    Process::Life life = 0;  ///< of its host agent now
    bool here = false;       ///< it is on the disk, or the disk was lost and had it perhaps
    bool known = false;      ///< it is on the disk, and this life of the host agent has put it there
    bool damaged = false;
  };
  /// Asks all hosts for a chunk.
  using Places = std::function<std::vector<Place>(const Digest&)>;

  /// Both outlive it; `store` is nullptr where there is none.
  TransferChecks(const LogOracle& oracle, const DataStore* store, Places places, LogOracle::Report report)
      : oracle_(oracle), store_(store), places_(std::move(places)), report_(std::move(report)) {}

  /// Called for each request of an export or an import, when it is on its way.
  void on_step(std::function<void(const SessionId&)> call) { on_step_ = std::move(call); }

  ExportFloor export_begins(const SessionId& session, std::optional<ExecutionId> answered) override;
  void transfer_goes_on(const SessionId& session) override { on_step_(session); }
  void exported(const Exported& box, const ExportFloor& floor) override;
  void chunk_denied(const Exported& box, const Digest& digest) override;
  void chunk_brought(const SessionId& into, const std::string& upload, const Digest& digest) override;
  bool may_ask_again(const SessionId& into, const std::string& upload, const std::string& said) override;
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

  [[nodiscard]] bool kept(const Digest& digest) const;

  const LogOracle& oracle_;
  const DataStore* store_;
  Places places_;
  LogOracle::Report report_;
  std::function<void(const SessionId&)> on_step_ = [](const SessionId&) {};
  std::vector<Export> exports_;
  /// For each import and chunk that was brought for it: which hosts have it, and in which life.
  std::map<std::pair<std::string, Digest>, std::map<HostId, Process::Life>> brought_;
  std::uint64_t imports_ = 0;
};

}  // namespace banyan::sim
