// A daemon's process: it lives several lives, and it may be stopped for a while (SIGSTOP) and go on.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/scheduler.h"

namespace banyan::sim {

/// What leads into a process passes here. What was meant for an earlier life is dropped; what arrives while
/// the process is stopped waits.
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
  /// It dies in the midst of a step: so many more effects get out, and none after them.
  void break_after(std::uint64_t effects) {
    if (alive_) effects_left_ = effects;
  }
  [[nodiscard]] bool breaks() const { return effects_left_.has_value(); }
  /// Asked for each effect: whether it gets out.
  bool lets_out() {
    if (!alive_) return false;
    if (!effects_left_) return true;
    if (*effects_left_ == 0) return false;
    --*effects_left_;
    return true;
  }
  /// None of its effects gets out any more: it is to end.
  [[nodiscard]] bool broken() const { return effects_left_ == 0; }
  void stop() { stopped_ = alive_; }
  /// Goes on, with everything that arrived meanwhile.
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
