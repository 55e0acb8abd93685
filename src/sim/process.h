// A daemon's process: it lives several lives, and it may be stopped for a while (SIGSTOP) and go on.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/scheduler.h"

namespace banyan::sim {

/// Everything that leads into a process passes here. What was meant for an earlier life is dropped; what
/// arrives while the process is stopped waits until it goes on.
class Process {
 public:
  using Life = std::uint64_t;

  [[nodiscard]] bool alive() const { return alive_; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// The current life, or the last one.
  [[nodiscard]] Life life() const { return life_; }

  Life begin() {
    alive_ = true;
    return ++life_;
  }
  void end() {
    alive_ = stopped_ = false;
    waiting_.clear();
    effects_left_.reset();
  }
  /// Lets the process die in the midst of a step: so many more effects get out, and none after them.
  void break_after(std::uint64_t effects) {
    if (alive_) effects_left_ = effects;
  }
  [[nodiscard]] bool breaks() const { return effects_left_.has_value(); }
  /// Whether the next effect gets out. It is asked once for each effect.
  bool lets_out() {
    if (!alive_) return false;
    if (!effects_left_) return true;
    if (*effects_left_ == 0) return false;
    --*effects_left_;
    return true;
  }
  /// Whether no effect gets out any more: the process is to end.
  [[nodiscard]] bool broken() const { return effects_left_ == 0; }
  void stop() { stopped_ = alive_; }
  /// Lets the process go on, with everything that arrived meanwhile.
  void resume() {
    stopped_ = false;
    while (!waiting_.empty() && !stopped_) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      enter(next.life, std::move(next.action));
    }
  }
  void enter(Life life, Action action) {
    if (!alive_ || life != life_) return;
    if (stopped_) {
      waiting_.push_back({life, std::move(action)});
    } else {
      action();
    }
  }

 private:
  struct Waiting {
    Life life;
    Action action;
  };
  bool alive_ = false;
  bool stopped_ = false;
  Life life_ = 0;
  std::deque<Waiting> waiting_;
  std::optional<std::uint64_t> effects_left_;
};

}  // namespace banyan::sim
