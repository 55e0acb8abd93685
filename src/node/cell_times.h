// How long cells wait and run, counted since the gateway began.
#pragma once

#include <cstdint>
#include <map>

#include "core/metrics/histogram.h"
#include "core/session/command.h"

namespace banyan::node {

/// A cell waits from when the gateway accepts it until there is a sign that it runs (NotebookOS's
/// interactivity delay), and takes until its end (task completion time). Of a cell that earlier lives of the
/// gateway accepted the wait counts from the beginning of this one. Cells of the gateway's own do not count.
class CellTimes {
 public:
  void began(bool has_gpus, Duration waited) { waits_[has_gpus].observe(waited); }
  void ended(session::Status status, bool has_gpus, Duration took) {
    ++ends_[status];
    const bool ran = status == session::Status::kOk || status == session::Status::kError;
    if (ran) takes_[has_gpus].observe(took);
  }

  /// By whether cells have GPUs.
  [[nodiscard]] const std::map<bool, metrics::Histogram>& waits() const { return waits_; }
  [[nodiscard]] const std::map<bool, metrics::Histogram>& takes() const { return takes_; }
  [[nodiscard]] const std::map<session::Status, std::uint64_t>& ends() const { return ends_; }

 private:
  std::map<bool, metrics::Histogram> waits_, takes_;
  std::map<session::Status, std::uint64_t> ends_;
};

}  // namespace banyan::node
