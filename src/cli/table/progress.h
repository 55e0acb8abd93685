// Shows how far something is to whoever waits at a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace banyan::cli {

/// A bar on stderr that appears when something takes longer than half a second. There is none where stderr is
/// no terminal. The output of a cell counts as one; it knows \r and no escape sequences, so a line is wiped
/// with spaces.
class ProgressBar {
 public:
  /// `total` is in bytes.
  ProgressBar(std::string what, std::uint64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void advance(std::uint64_t bytes);
  /// Whether somebody would see the bar.
  [[nodiscard]] bool visible() const { return terminal_; }
  /// Shows progress that another process reports: 0 to 100 percent, and the seconds that are left (negative
  /// when unknown).
  void tell(std::uint64_t percent, const std::string& what, double left_s);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool due();
  void draw(double part, const std::string& what, const std::string& amount, double left_s);

  std::string what_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point shown_at_ = begun_;
  bool terminal_;
  std::size_t width_ = 0;  ///< the width of the line that is shown, in bytes
};

}  // namespace banyan::cli
