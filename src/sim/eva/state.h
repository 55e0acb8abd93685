// The state of the simulated cloud at a moment.
#pragma once

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "core/eva/fleet.h"

namespace banyan::sim::eva {

/// Where a task is in its life.
enum class TaskPhase {
  kAbsent,     ///< it is on no instance: queued, or between two
  kLoading,    ///< it is being fetched and built: it holds its place and disturbs nobody
  kActive,     ///< it initialises or runs: it disturbs its neighbours
  kUploading,  ///< it was killed and uploads its checkpoint: it holds its place
};

/// One task of a job.
struct SimTask {
  std::uint32_t job = 0;
  std::uint32_t assigned = banyan::eva::kNone;  ///< the instance that the scheduler wants it on
  std::uint32_t instance = banyan::eva::kNone;  ///< where it holds a place
  TaskPhase phase = TaskPhase::kAbsent;
  bool to_launch = false;
};

/// A job and its progress.
struct SimJob {
  std::uint32_t first_task = 0;
  std::uint32_t tasks = 1;
  bool done = false;
  bool moving = false;   ///< it is being launched or moved, and the scheduler must leave it alone
  bool running = false;  ///< it makes progress
  double progress_s = 0;
  double rate = 0;  ///< its rate of progress since `since_s`
  std::int64_t since_s = 0;
  std::int64_t ran_s = 0;        ///< how long it has been running
  std::uint32_t start = 0;       ///< counts starts: an event of an earlier start is void
  std::uint32_t prediction = 0;  ///< counts predictions of its end: an earlier one is void
  std::int64_t end_s = 0;
};

/// An instance, from its request to its end.
struct SimInstance {
  std::uint32_t type = 0;
  std::int64_t acquired_s = 0;  ///< when billing starts
  bool ready = false;
  bool released = false;  ///< it gets no more tasks and ends when it is empty
  bool terminating = false;
  bool changed = true;               ///< its active tasks have changed, so that throughputs are stale
  bool unseen = true;                ///< the monitor has not reported these co-located tasks yet
  std::uint32_t images = 0;          ///< the base workloads that were built here, a bit for each
  std::vector<std::uint32_t> tasks;  ///< the tasks that hold a place
};

/// The kinds of events. Events of one moment happen in the order of the enumerators.
enum class EventKind : std::uint8_t { kOther, kArrival, kRound, kCompletion };
/// What happens when an event is of the kind kOther.
enum class Step : std::uint8_t { kNone, kReady, kLaunched, kStarted, kKilled, kUploaded, kTerminated };

/// Something that will happen.
struct Event {
  std::int64_t at_s = 0;
  EventKind kind = EventKind::kOther;
  std::uint64_t order = 0;  ///< counts events as they are planned
  Step step = Step::kNone;
  std::uint32_t subject = 0;  ///< a job, a task or an instance
  std::uint32_t version = 0;  ///< the event is void when its subject has another one by then

  friend bool operator>(const Event& a, const Event& b) {
    return std::tie(a.at_s, a.kind, a.order) > std::tie(b.at_s, b.kind, b.order);
  }
};

/// The events to come, the next one first.
class Agenda {
 public:
  void at(std::int64_t at_s, EventKind kind, std::uint32_t subject, std::uint32_t version = 0) {
    events_.push({at_s, kind, planned_++, Step::kNone, subject, version});
  }
  void at(std::int64_t at_s, Step step, std::uint32_t subject, std::uint32_t version = 0) {
    events_.push({at_s, EventKind::kOther, planned_++, step, subject, version});
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const Event& next() const { return events_.top(); }
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t planned_ = 0;
};

}  // namespace banyan::sim::eva
