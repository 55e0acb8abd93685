// How long cells wait and run, and how they come to their GPUs, counted since the gateway began.
#pragma once

#include <compare>
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
  /// How a cell came to its GPUs.
  struct GpuStart {
    bool at_once = false;  ///< it did not have to wait for any
    bool as_last = false;  ///< on the host of the session's cell before

    friend auto operator<=>(const GpuStart&, const GpuStart&) = default;
  };

  void began(bool has_gpus, Duration waited) { waits_[has_gpus].observe(waited); }
  void ended(session::Status status, bool has_gpus, Duration took) {
    ++ends_[status];
    const bool ran = status == session::Status::kOk || status == session::Status::kError;
    if (ran) takes_[has_gpus].observe(took);
  }
  void got_gpus(const GpuStart& how) { ++gpu_starts_[how]; }
  /// A replica goes to another host.
  void moved() { ++moves_; }

  /// By whether cells have GPUs.
  [[nodiscard]] const std::map<bool, metrics::Histogram>& waits() const { return waits_; }
  [[nodiscard]] const std::map<bool, metrics::Histogram>& takes() const { return takes_; }
  [[nodiscard]] const std::map<session::Status, std::uint64_t>& ends() const { return ends_; }
  [[nodiscard]] const std::map<GpuStart, std::uint64_t>& gpu_starts() const { return gpu_starts_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

 private:
  std::map<bool, metrics::Histogram> waits_, takes_;
  std::map<GpuStart, std::uint64_t> gpu_starts_;
  std::uint64_t moves_ = 0;
  std::map<session::Status, std::uint64_t> ends_;
};

}  // namespace banyan::node
