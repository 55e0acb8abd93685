#include <algorithm>
#include <utility>

#include "sim/worker.h"

namespace banyan::sim {

Launcher::Launcher(WorkerHome home, Rng rng, Process& process, std::function<void(node::HostEvent)> deliver)
    : home_(std::move(home)),
      rng_(rng),
      process_(process),
      life_(process.life()),
      deliver_(std::move(deliver)) {}

Launcher::~Launcher() {
  for (auto& [id, worker] : workers_) worker->die("");
}

void Launcher::launch(node::LaunchWorker request) {
  if (!process_.lets_out()) return;
  const WorkerId id = request.worker;
  const WorkerSerial serial = rng_.next() >> 20;
  auto tell = [process = &process_, life = life_, deliver = deliver_](node::HostEvent event) {
    process->enter(life, [deliver, event = std::move(event)]() mutable { deliver(std::move(event)); });
  };
  const auto worker =
      std::make_shared<Worker>(home_, rng_.fork(), serial, std::move(request), std::move(tell));
  workers_[id] = worker;
  worker->boot();
}

void Launcher::with(WorkerId id, const std::function<void(Worker&)>& action) {
  const auto found = workers_.find(id);
  if (found == workers_.end() || !process_.lets_out()) return;
  if (!found->second->dead()) action(*found->second);
  if (found->second->dead()) workers_.erase(id);
}

void Launcher::stop(WorkerId worker, node::Stop how) {
  with(worker, [&](Worker& w) { how == node::Stop::kKill ? w.die("killed by signal 9") : w.interrupt(); });
}
void Launcher::send(WorkerId worker, jupyter::Message message) {
  with(worker, [&](Worker& w) { w.send(std::move(message)); });
}
void Launcher::answer_fence(node::AnswerFence answer) {
  with(answer.worker, [&](Worker& w) { w.answer_fence(answer); });
}
void Launcher::answer(node::AnswerWorker answer) {
  with(answer.worker, [&](Worker& w) { w.answer(answer); });
}
void Launcher::ask_reads(node::AskReads question) {
  with(question.worker, [&](Worker& w) { w.ask_reads(std::move(question)); });
}

void Launcher::ask_removals(node::AskRemovals question) {
  with(question.worker, [&](Worker& w) { w.ask_removals(std::move(question)); });
}

void Launcher::repeat(node::RepeatOnWorker cell) {
  with(cell.worker, [&](Worker& w) { w.repeat(std::move(cell)); });
}
void Launcher::apply(node::ApplyToWorker view) {
  with(view.worker, [&](Worker& w) { w.apply(std::move(view)); });
}
void Launcher::set_lease(WorkerId worker, std::optional<Time> deadline) {
  with(worker, [&](Worker& w) { w.set_lease(deadline); });
}

bool Launcher::runs_cell() const {
  return std::ranges::any_of(workers_, [](const auto& item) { return item.second->runs_cell(); });
}

std::map<WorkerId, std::set<DeviceId>> Launcher::uses() const {
  std::map<WorkerId, std::set<DeviceId>> all;
  for (const auto& [id, worker] : workers_)
    if (auto devices = worker->uses(); !worker->dead() && !devices.empty())
      all.emplace(id, std::move(devices));
  return all;
}

void Launcher::kill_one(Rng& rng) {
  if (workers_.empty()) return;
  auto chosen = workers_.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(rng.below(workers_.size())));
  chosen->second->die("killed by signal 9 (out of memory)");
}

}  // namespace banyan::sim
