#include "sim/eva/cluster.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/eva/columns.h"
#include "sim/eva/state.h"

namespace banyan::sim::eva {

namespace {

constexpr std::int64_t kKill_s = 1;

class Cluster {
 public:
  Cluster(const JobList& list, const Policy& policy, const Conditions& conditions)
      : list_(list),
        policy_(policy),
        conditions_(conditions),
        workloads_(list.workloads),
        learned_(kinds(), conditions.default_throughput),
        profiled_(kinds()) {
    for (std::uint32_t w = 0; w < workloads_.size(); ++w) {
      workloads_[w].kind = conditions.names == Names::kVariant ? w : list.bases[w];
      prices_.push_back(reservation(list.catalog, workloads_[w])->usd_h);
    }
    for (std::uint32_t a = 0; a < kinds(); ++a)
      for (std::uint32_t b = 0; b < kinds(); ++b) profiled_.record(a, {{b}}, truth(a, b));
    for (std::uint32_t j = 0; j < list.jobs.size(); ++j) {
      jobs_.push_back({.first_task = static_cast<std::uint32_t>(tasks_.size()), .tasks = list.jobs[j].tasks});
      tasks_.insert(tasks_.end(), list.jobs[j].tasks, {.job = j});
      agenda_.at(list.jobs[j].arrival_s, EventKind::kArrival, j);
    }
  }

  Outcome run() {
    if (!jobs_.empty()) agenda_.at(next_round(list_.jobs[0].arrival_s), EventKind::kRound, 0);
    while (!agenda_.empty()) {
      const std::int64_t at_s = agenda_.next().at_s;
      count_time(at_s);
      while (!agenda_.empty() && agenda_.next().at_s == at_s) handle(agenda_.take());
      launch_what_can();
      end_what_is_empty();
      update_throughputs();
    }
    return outcome();
  }

 private:
  // What is true of the world: kinds, interference, delays, demands.

  [[nodiscard]] std::uint32_t kinds() const {
    return static_cast<std::uint32_t>(conditions_.names == Names::kBase ? base_workloads().size()
                                                                        : list_.workloads.size());
  }
  [[nodiscard]] std::uint32_t kind(std::uint32_t task) const {
    return workloads_[list_.jobs[tasks_[task].job].workload].kind;
  }
  /// The true throughput of one kind beside another.
  [[nodiscard]] double truth(std::uint32_t kind, std::uint32_t neighbour) const {
    if (conditions_.uniform_pair) return *conditions_.uniform_pair;
    if (conditions_.names == Names::kBase) return measured_pair(kind, neighbour);
    return measured_pair(list_.bases[kind], list_.bases[neighbour]);
  }
  [[nodiscard]] const BaseWorkload& base(std::uint32_t job) const {
    return base_workloads()[list_.bases[list_.jobs[job].workload]];
  }
  [[nodiscard]] std::int64_t scaled(std::int64_t delay_s) const {
    return std::llround(static_cast<double>(delay_s) * conditions_.migration_scale);
  }
  [[nodiscard]] const Resources& demand(std::uint32_t task, std::uint32_t type) const {
    return list_.workloads[list_.jobs[tasks_[task].job].workload]
        .on[list_.catalog.types[type].family]
        ->demand;
  }
  [[nodiscard]] std::int64_t next_round(std::int64_t after_s) const {
    return (after_s + conditions_.round_s - 1) / conditions_.round_s * conditions_.round_s;
  }
  template <class Do>
  void each_task(std::uint32_t job, Do act) const {
    for (std::uint32_t i = 0; i < jobs_[job].tasks; ++i) act(jobs_[job].first_task + i);
  }
  template <class Is>
  [[nodiscard]] bool all_tasks(std::uint32_t job, Is is) const {
    bool all = true;
    each_task(job, [&](std::uint32_t task) { all = all && is(tasks_[task]); });
    return all;
  }

  // What happens: one handler for each event.

  void handle(const Event& event) {
    now_s_ = event.at_s;
    switch (event.kind) {
      case EventKind::kArrival:
        alive_.push_back(event.subject);
        count_event();
        return;
      case EventKind::kRound:
        round();
        return;
      case EventKind::kCompletion:
        if (event.version == jobs_[event.subject].prediction) complete(event.subject);
        return;
      case EventKind::kOther:
        break;
    }
    quiet_ = false;
    switch (event.step) {
      case Step::kReady:
        instances_[event.subject].ready = true;
        return;
      case Step::kLaunched:
        launched(event.subject);
        return;
      case Step::kStarted:
        if (event.version == jobs_[event.subject].start) set_running(event.subject, true);
        return;
      case Step::kKilled:
        killed(event.subject);
        return;
      case Step::kUploaded:
        uploaded(event.subject);
        return;
      case Step::kTerminated:
        terminated(event.subject);
        return;
      case Step::kNone:
        return;
    }
  }

  void count_event() {
    if (history_.events++ == 0) history_.first_event_s = static_cast<double>(now_s_);
    history_.last_event_s = static_cast<double>(now_s_);
    quiet_ = false;
  }

  void launched(std::uint32_t task) {
    SimTask& it = tasks_[task];
    it.phase = TaskPhase::kActive;
    SimInstance& instance = instances_[it.instance];
    instance.images |= 1U << list_.bases[list_.jobs[it.job].workload];
    instance.changed = instance.unseen = true;
    if (!all_tasks(it.job, [](const SimTask& other) { return other.phase == TaskPhase::kActive; })) return;
    SimJob& job = jobs_[it.job];
    job.moving = false;
    agenda_.at(now_s_ + scaled(base(it.job).init_s), Step::kStarted, it.job, ++job.start);
  }

  void killed(std::uint32_t task) {
    SimTask& it = tasks_[task];
    if (jobs_[it.job].done) return;
    set_running(it.job, false);
    ++jobs_[it.job].start;
    it.phase = TaskPhase::kUploading;
    instances_[it.instance].changed = instances_[it.instance].unseen = true;
    agenda_.at(now_s_ + scaled(base(it.job).upload_s), Step::kUploaded, task);
  }

  void uploaded(std::uint32_t task) {
    if (!jobs_[tasks_[task].job].done) leave(task);
  }

  void leave(std::uint32_t task) {
    SimTask& it = tasks_[task];
    SimInstance& instance = instances_[it.instance];
    std::erase(instance.tasks, task);
    instance.changed = instance.unseen = true;
    it.instance = kNone;
    it.phase = TaskPhase::kAbsent;
  }

  void complete(std::uint32_t job) {
    SimJob& it = jobs_[job];
    settle_progress(it);
    it.done = true;
    it.running = false;
    it.end_s = now_s_;
    each_task(job, [&](std::uint32_t task) {
      if (tasks_[task].instance != kNone) leave(task);
      tasks_[task].to_launch = false;
    });
    std::erase(alive_, job);
    count_event();
  }

  void terminated(std::uint32_t instance) {
    const SimInstance& it = instances_[instance];
    const auto billed_s = static_cast<double>(now_s_ - it.acquired_s);
    if (billed_s > 0) {
      cost_usd_ += list_.catalog.types[it.type].usd_h * billed_s / 3600;
      instance_s_ += billed_s;
    }
    std::erase(up_, instance);
  }

  // What follows once all events of a moment are handled.

  void launch_what_can() {
    std::erase_if(waiting_, [&](std::uint32_t task) {
      SimTask& it = tasks_[task];
      if (!it.to_launch) return true;
      if (!all_tasks(it.job, [](const SimTask& other) {
            return other.phase == TaskPhase::kAbsent || other.instance == other.assigned;
          }))
        return false;
      if (it.instance != kNone) return false;
      SimInstance& instance = instances_[it.assigned];
      if (!instance.ready) return false;
      Resources room = list_.catalog.types[instance.type].capacity;
      for (const std::uint32_t other : instance.tasks) room -= demand(other, instance.type);
      if (!fits(demand(task, instance.type), room)) return false;
      it.to_launch = false;
      it.instance = it.assigned;
      it.phase = TaskPhase::kLoading;
      instance.tasks.push_back(task);
      const BaseWorkload& kind = base(it.job);
      const bool built = (instance.images >> list_.bases[list_.jobs[it.job].workload] & 1U) != 0;
      agenda_.at(now_s_ + scaled(kind.fetch_s) + (built ? 0 : scaled(kind.build_s)), Step::kLaunched, task);
      return true;
    });
  }

  void end_what_is_empty() {
    for (const std::uint32_t i : up_) {
      SimInstance& instance = instances_[i];
      if (!instance.released || instance.terminating || !instance.tasks.empty()) continue;
      instance.terminating = true;
      agenda_.at(now_s_ + ec2_delays()[instance.type].terminate_s, Step::kTerminated, i);
    }
  }

  void update_throughputs() {
    stale_.clear();
    for (const std::uint32_t i : up_) {
      SimInstance& instance = instances_[i];
      if (!std::exchange(instance.changed, false)) continue;
      for (const std::uint32_t task : instance.tasks) stale_.push_back(tasks_[task].job);
    }
    for (const std::uint32_t job : stale_) {
      if (!jobs_[job].running) continue;
      const double rate = job_throughput(job);
      if (rate != jobs_[job].rate) predict(job, rate);
    }
  }

  [[nodiscard]] double throughput(std::uint32_t task) const {
    const std::uint32_t own = kind(task);
    double product = 1;
    for (const std::uint32_t other : instances_[tasks_[task].instance].tasks)
      if (other != task && tasks_[other].phase == TaskPhase::kActive) product *= truth(own, kind(other));
    return product;
  }
  /// A job is as slow as its slowest task.
  [[nodiscard]] double job_throughput(std::uint32_t job) const {
    double slowest = 1;
    each_task(job, [&](std::uint32_t task) { slowest = std::min(slowest, throughput(task)); });
    return slowest;
  }

  void settle_progress(SimJob& job) const {
    if (!job.running) return;
    job.progress_s += job.rate * static_cast<double>(now_s_ - job.since_s);
    job.ran_s += now_s_ - job.since_s;
    job.since_s = now_s_;
  }

  void set_running(std::uint32_t job, bool running) {
    SimJob& it = jobs_[job];
    settle_progress(it);
    it.running = running;
    it.since_s = now_s_;
    ++it.prediction;
    if (running) predict(job, job_throughput(job));
  }

  void predict(std::uint32_t job, double rate) {
    SimJob& it = jobs_[job];
    settle_progress(it);
    it.rate = rate;
    const double left_s = std::max(0.0, list_.jobs[job].work_s - it.progress_s) / rate;
    agenda_.at(now_s_ + std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(left_s - 1e-6))),
               EventKind::kCompletion, job, ++it.prediction);
  }

  // Rounds of the scheduler.

  void round() {
    if (!alive_.empty()) {
      observe();
      ++rounds_;
      // Equal snapshots give equal plans. While `quiet_`, nothing has happened since a plan that changed
      // nothing, so the next plan would change nothing either.
      if (!quiet_ || policy_.watches_time() || learned_.revision() != planned_revision_) schedule();
    } else {
      for (const std::uint32_t i : up_) instances_[i].released = true;
    }
    if (alive_.empty() && up_.empty()) {
      if (arrived_all()) return;
      agenda_.at(next_round(std::max(now_s_ + 1, list_.jobs[next_arrival()].arrival_s)), EventKind::kRound,
                 0);
    } else {
      agenda_.at(now_s_ + conditions_.round_s, EventKind::kRound, 0);
    }
  }

  [[nodiscard]] std::size_t next_arrival() const {
    std::size_t next = 0;
    while (next < jobs_.size() && list_.jobs[next].arrival_s <= now_s_) ++next;
    return next;
  }
  [[nodiscard]] bool arrived_all() const { return list_.jobs.back().arrival_s <= now_s_; }

  /// Lets the throughput table learn from the monitor: from instances on which all tasks make progress.
  void observe() {
    std::vector<std::pair<std::uint32_t, Observation>> of_jobs;  // what was seen of jobs with several tasks
    for (const std::uint32_t i : up_) {
      SimInstance& instance = instances_[i];
      if (!instance.unseen || instance.tasks.size() < 2) continue;
      if (!std::ranges::all_of(instance.tasks,
                               [&](std::uint32_t task) { return tasks_[task].phase == TaskPhase::kActive; }))
        continue;
      instance.unseen = false;
      for (const std::uint32_t task : instance.tasks) {
        Observation seen{.kind = kind(task), .neighbours = {}};
        for (const std::uint32_t other : instance.tasks)
          if (other != task) seen.neighbours.push_back(kind(other));
        std::ranges::sort(seen.neighbours);
        if (jobs_[tasks_[task].job].tasks > 1)
          of_jobs.emplace_back(tasks_[task].job, std::move(seen));
        else
          learned_.record(seen.kind, seen.neighbours, throughput(task));
      }
    }
    std::ranges::sort(of_jobs, {}, &std::pair<std::uint32_t, Observation>::first);
    for (std::size_t begin = 0; begin < of_jobs.size();) {
      const std::uint32_t job = of_jobs[begin].first;
      std::vector<Observation> tasks;
      for (; begin < of_jobs.size() && of_jobs[begin].first == job; ++begin)
        tasks.push_back(std::move(of_jobs[begin].second));
      learned_.record_job(tasks, job_throughput(job));
    }
  }

  void schedule() {
    std::vector<Instance> instances;
    std::vector<std::uint32_t> instance_of;  // by an instance's index in the snapshot
    std::vector<std::uint32_t> index_of(instances_.size(), kNone);
    for (const std::uint32_t i : up_) {
      if (instances_[i].released) continue;
      index_of[i] = static_cast<std::uint32_t>(instances.size());
      instances.push_back({i, instances_[i].type});
      instance_of.push_back(i);
    }
    std::vector<Task> tasks;
    for (const std::uint32_t j : alive_) {
      const BaseWorkload& kind = base(j);
      const double delay_s = static_cast<double>(scaled(kind.fetch_s) + scaled(kind.build_s) +
                                                 scaled(kind.init_s) + scaled(kind.upload_s));
      SimJob copy = jobs_[j];
      settle_progress(copy);
      each_task(j, [&](std::uint32_t task) {
        const std::uint32_t workload = list_.jobs[j].workload;
        tasks.push_back(
            {.id = task,
             .workload = workload,
             .job_tasks = jobs_[j].tasks,
             .instance = tasks_[task].assigned == kNone ? kNone : index_of[tasks_[task].assigned],
             .pinned = jobs_[j].moving,
             .move_usd = static_cast<float>(delay_s / 3600 * prices_[workload]),
             .remaining_s = std::max(1.0, list_.jobs[j].work_s - static_cast<double>(copy.ran_s))});
      });
    }
    history_.full_reconfigurations = full_;
    const Snapshot snapshot{.catalog = list_.catalog,
                            .workloads = workloads_,
                            .instances = instances,
                            .tasks = tasks,
                            .throughputs = learned_,
                            .profiled = &profiled_,
                            .history = history_,
                            .now_s = static_cast<double>(now_s_)};
    const Plan plan = policy_.plan(snapshot);
    planned_revision_ = learned_.revision();
    quiet_ = true;
    if (plan.full) ++full_;
    if (conditions_.bound_every != 0 && plans_++ % conditions_.bound_every == 0) {
      const Groups groups(snapshot, {.interference = false});
      planned_usd_h_ += price_usd_h(list_.catalog, plan);
      bound_usd_h_ += relax(groups, groups.counts(), 0).bound_usd_h;
    }
    apply(snapshot, plan, instance_of);
  }

  void apply(const Snapshot& snapshot, const Plan& plan, const std::vector<std::uint32_t>& instance_of) {
    if (const auto wrong = fault(snapshot, plan)) CHECK(false, *wrong);
    std::vector<bool> kept(instances_.size());
    for (const PlannedInstance& planned : plan.instances) {
      const bool hired = planned.existing == kNone;
      const std::uint32_t instance = hired ? hire(planned.type) : instance_of[planned.existing];
      if (!hired) kept[instance] = true;
      for (const std::uint32_t at : plan.tasks_of(planned))
        assign(static_cast<std::uint32_t>(snapshot.tasks[at].id), instance);
    }
    for (const std::uint32_t i : instance_of) {
      if (kept[i]) continue;
      instances_[i].released = true;
      quiet_ = false;
    }
  }

  std::uint32_t hire(std::uint32_t type) {
    const auto instance = static_cast<std::uint32_t>(instances_.size());
    const TypeDelays& delays = ec2_delays()[type];
    instances_.push_back({.type = type, .acquired_s = now_s_ + delays.acquire_s});
    up_.push_back(instance);
    agenda_.at(now_s_ + delays.acquire_s + delays.set_up_s, Step::kReady, instance);
    quiet_ = false;
    return instance;
  }

  void assign(std::uint32_t task, std::uint32_t instance) {
    SimTask& it = tasks_[task];
    if (it.assigned == instance) return;
    quiet_ = false;
    if (it.assigned != kNone) ++migrations_;
    it.assigned = instance;
    if (std::exchange(jobs_[it.job].moving, true)) return;
    // When one task moves, the whole job stops and starts again.
    each_task(it.job, [&](std::uint32_t other) {
      if (tasks_[other].phase == TaskPhase::kActive) agenda_.at(now_s_ + kKill_s, Step::kKilled, other);
      if (!std::exchange(tasks_[other].to_launch, true)) waiting_.push_back(other);
    });
  }

  // What is counted for the outcome.

  void count_time(std::int64_t until_s) {
    for (const std::uint32_t i : up_)
      if (instances_[i].acquired_s <= now_s_)
        task_s_ += static_cast<double>(instances_[i].tasks.size()) * static_cast<double>(until_s - now_s_);
  }

  [[nodiscard]] Outcome outcome() const {
    Outcome out{.cost_usd = cost_usd_,
                .instances = instances_.size(),
                .rounds = rounds_,
                .full = full_,
                .end_s = static_cast<double>(now_s_)};
    const auto jobs = static_cast<double>(jobs_.size());
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const auto taken_s = static_cast<double>(jobs_[j].end_s - list_.jobs[j].arrival_s);
      const auto ran_s = static_cast<double>(jobs_[j].ran_s);
      out.jct_h += taken_s / 3600 / jobs;
      out.idle_h += (taken_s - ran_s) / 3600 / jobs;
      out.throughput += (ran_s > 0 ? jobs_[j].progress_s / ran_s : 1) / jobs;
    }
    out.price_to_bound = bound_usd_h_ > 0 ? planned_usd_h_ / bound_usd_h_ : 0;
    out.tasks_per_instance = instance_s_ > 0 ? task_s_ / instance_s_ : 0;
    out.migrations_per_task =
        tasks_.empty() ? 0 : static_cast<double>(migrations_) / static_cast<double>(tasks_.size());
    return out;
  }

  const JobList& list_;
  const Policy& policy_;
  const Conditions conditions_;
  std::vector<Workload> workloads_;
  ThroughputTable learned_;
  ThroughputTable profiled_;
  std::vector<double> prices_;  ///< reservation prices by workload
  std::int64_t now_s_ = 0;
  Agenda agenda_;
  std::vector<SimJob> jobs_;
  std::vector<SimTask> tasks_;
  std::vector<SimInstance> instances_;
  std::vector<std::uint32_t> alive_;    ///< jobs that have arrived and not ended
  std::vector<std::uint32_t> up_;       ///< instances that have not ended
  std::vector<std::uint32_t> waiting_;  ///< tasks that are to be launched
  std::vector<std::uint32_t> stale_;
  History history_;
  bool quiet_ = false;  ///< nothing has happened since the last plan, which changed nothing
  std::uint64_t planned_revision_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t full_ = 0;
  std::uint64_t migrations_ = 0;
  double cost_usd_ = 0;
  double instance_s_ = 0;
  double task_s_ = 0;
  std::uint64_t plans_ = 0;
  double planned_usd_h_ = 0, bound_usd_h_ = 0;  ///< sums over the plans of which a bound was proven
};

}  // namespace

Outcome simulate(const JobList& list, const Policy& policy, const Conditions& conditions) {
  return Cluster(list, policy, conditions).run();
}

}  // namespace banyan::sim::eva
