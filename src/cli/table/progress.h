// How far something is, for whoever waits at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace banyan::cli {

/// A bar on stderr, from the moment that something takes longer than half a second; none where stderr is no
/// terminal.
class ProgressBar {
 public:
  /// `total` in bytes.
  ProgressBar(std::string what, std::uint64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(std::uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_at_ = begun_;
  bool terminal_;
  bool shown_ = false;
};

}  // namespace banyan::cli
