// For commands that end in order when they are interrupted.
#pragma once

#include <csignal>

namespace banyan::cli {

/// While one lives, SIGINT and SIGTERM only set a mark. There may be one at a time.
class StopSignals {
 public:
  StopSignals() {
    stopped_ = 0;
    interrupt_ = std::signal(SIGINT, [](int) { stopped_ = 1; });
    terminate_ = std::signal(SIGTERM, [](int) { stopped_ = 1; });
  }
  ~StopSignals() {
    (void)std::signal(SIGINT, interrupt_);
    (void)std::signal(SIGTERM, terminate_);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Whether a signal has come since the last StopSignals was made.
  [[nodiscard]] static bool came() { return stopped_ != 0; }

 private:
  static inline volatile std::sig_atomic_t stopped_ = 0;
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

}  // namespace banyan::cli
