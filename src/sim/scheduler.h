// True time and what happens when. Events of equal time run in the order in which they were scheduled, so a
// schedule is the same on every machine.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"

namespace banyan::sim {

/// True time since the start of the schedule. No node sees it: each has a clock of its own (clock.h).
using TrueTime = Duration;

/// A callable that runs once and is never copied.
class Action {
 public:
  template <std::invocable F>
  Action(F f) : body_(std::make_unique<Body<F>>(std::move(f))) {}  // NOLINT(google-explicit-constructor)
  void operator()() { body_->run(); }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    virtual void run() = 0;
  };
  template <class F>
  struct Body final : Base {
    explicit Body(F f) : call(std::move(f)) {}
    void run() override { call(); }
    F call;
  };
  std::unique_ptr<Base> body_;
};

/// The event queue of one schedule.
class Scheduler {
 public:
  [[nodiscard]] TrueTime now() const { return now_; }
  /// Runs `action` once `delay` has passed; a negative delay counts as none.
  void after(Duration delay, Action action);
  /// Runs the next event; false when there is none.
  bool run_next();
  /// Runs all events up to and including `end`, and moves the time there.
  void run_until(TrueTime end);
  [[nodiscard]] std::uint64_t executed() const { return executed_; }

 private:
  struct Item {
    TrueTime at;
    std::uint64_t order;
    Action action;
  };
  static bool later(const Item& a, const Item& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }

  TrueTime now_{};
  std::uint64_t scheduled_ = 0;
  std::uint64_t executed_ = 0;
  std::vector<Item> heap_;
};

}  // namespace banyan::sim
