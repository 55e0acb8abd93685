#include "sim/scheduler.h"

#include <algorithm>

namespace banyan::sim {

void Scheduler::after(Duration delay, Action action) {
  heap_.push_back({now_ + std::max(delay, Duration::zero()), scheduled_++, std::move(action)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool Scheduler::run_next() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Item item = std::move(heap_.back());
  heap_.pop_back();
  now_ = item.at;
  ++executed_;
  item.action();
  return true;
}

void Scheduler::run_until(TrueTime end) {
  while (!heap_.empty() && heap_.front().at <= end) run_next();
  now_ = std::max(now_, end);
}

}  // namespace banyan::sim
