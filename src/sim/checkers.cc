#include "sim/checkers.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "sim/json_field.h"

namespace banyan::sim {

namespace {
constexpr std::size_t kViolationsMax =
    20;  // the first ones tell the most; later ones mostly follow from them

bool made_by_a_worker(const std::string& msg_id) { return msg_id.starts_with("w"); }
}  // namespace

Checkers::Checkers(const Scheduler& scheduler, Trace& trace)
    : scheduler_(scheduler),
      trace_(trace),
      oracle_(values_, [this](const std::string& what) { violation("log: " + what); }) {}

void Checkers::violation(const std::string& what) {
  trace_.note("checker", "VIOLATION", 0, [&] { return what; });
  if (violations_.size() >= kViolationsMax) return;
  char at[32];
  std::snprintf(at, sizeof at, "at %.3f s: ", static_cast<double>(scheduler_.now().count()) / 1e9);
  violations_.push_back(at + what);
}

void Checkers::user_code_starts(const SessionId& session, const ExecutionId& execution, const HostId& host,
                                WorkerSerial worker, const std::string& before,
                                const std::set<DeviceId>& devices) {
  Run started{.session = session, .host = host, .worker = worker, .before = values_.note_namespace(before)};
  if (durable_inline_) started.stored = values_.on_majority(oracle_.hosts(session));
  excused_.try_emplace(session);
  const auto [run, fresh] = runs_.try_emplace(execution, std::move(started));
  if (!fresh)
    violation("P2: " + execution.value + " starts twice, on " + run->second.host.value + " and on " +
              host.value);
  if (!oracle_.lead_durable(session, execution))
    violation("P2: " + execution.value + " starts on " + host.value +
              " before its LEAD is on a majority's disks");
  if (const auto other = running_.find(session); other != running_.end() && other->second.first != worker &&
                                                 oracle_.of_last_session(session, other->second.second))
    violation("P3: " + execution.value + " starts on " + host.value + " while " + other->second.second.value +
              " still runs elsewhere");
  running_[session] = {worker, execution};
  const auto asked = asked_.find(execution);
  const std::uint64_t gpus = asked == asked_.end() ? gpus_ : asked->second;
  const auto is_new = [&](const DeviceId& device) {
    const auto used = used_.find({host, device});
    return used == used_.end() || used->second.first != worker;
  };
  const bool has_others = devices.size() > gpus && std::ranges::any_of(devices, is_new);
  if (devices.size() < gpus || has_others)
    violation("devices: " + execution.value + " starts on " + host.value + " with " +
              std::to_string(devices.size()) + " devices and not with " + std::to_string(gpus));
  for (const DeviceId& device : devices) {
    const auto [other, free] = used_.try_emplace({host, device}, worker, execution);
    if (!free && other->second.first != worker)
      violation("devices: " + execution.value + " starts on " + device.value + " of " + host.value +
                ", which " + other->second.second.value + " still uses");
    other->second = {worker, execution};
  }
}

void Checkers::devices_are_free(const WorkerSerial& worker, const std::set<DeviceId>& but) {
  std::erase_if(used_, [&](const auto& item) {
    return item.second.first == worker && !but.contains(item.first.second);
  });
}

/// A library mostly goes on with a device until its process ends.
void Checkers::user_code_ends(const SessionId& session, const ExecutionId& execution, WorkerSerial worker,
                              UserCodeEnd end) {
  end.after = values_.note_namespace(end.after);
  if (const auto run = runs_.find(execution); run != runs_.end() && run->second.worker == worker)
    run->second.end = end;
  if (const auto now = running_.find(session); now != running_.end() && now->second.first == worker)
    running_.erase(now);
  devices_are_free(worker, end.uses);
}

void Checkers::worker_died(const SessionId& session, WorkerSerial worker) {
  if (const auto now = running_.find(session); now != running_.end() && now->second.first == worker)
    running_.erase(now);
  idle_[session].erase(worker);
  devices_are_free(worker, {});
}

void Checkers::host_crashed(const HostId& host) {
  if (!durable_inline_) return;
  for (auto& [session, excused] : excused_) {
    const std::vector<HostId> holders = oracle_.holders(session);
    if (std::ranges::find(holders, host) == holders.end()) continue;
    std::ranges::set_difference(values_.chunks(), values_.on_majority(oracle_.hosts(session)),
                                std::inserter(excused, excused.end()));
  }
}

void Checkers::worker_idle(const SessionId& session, const HostId& host, WorkerSerial worker,
                           const std::string& variables) {
  idle_[session][worker] = {host, values_.note_namespace(variables)};
}

void Checkers::replied(const CellRecord& cell) {
  if (cell.replies > 1 && !cell.gateway_died && cell.repeats_sent == 0)
    violation("P4: " + cell.execution.value + " is answered twice");
  if (cell.status == "ok" && !oracle_.commit_durable(cell.session, cell.execution))
    violation("P1: " + cell.execution.value + " is answered ok before its commit is on a majority's disks");
  on_reply_(cell.session);
}

void Checkers::judge(const Notebook& notebook) {
  std::string notes;
  for (const ExecutionId& id : notebook.order()) {
    const CellRecord& cell = notebook.cells().at(id);
    notes += cell.notes;
    if (durable_inline_ && !cell.deleted) missing_is_named(cell, notes);
    if (cell.replies == 0) {
      violation("P4: " + id.value + " [" + cell.code + "] is never answered");
    } else if (!cell.deleted) {
      // The log of a deleted session may be gone before it was known that the cell's end is committed.
      judge_cell(cell);
    }
  }
}

void Checkers::judge_cell(const CellRecord& cell) {
  const auto found = runs_.find(cell.execution);
  const Run* run = found == runs_.end() ? nullptr : &found->second;
  const CommittedCell* committed = oracle_.find(cell.session, cell.execution);
  judge_outcome(cell, run, committed);
  judge_outputs(cell, run, committed);
  if (run != nullptr) judge_run(cell, *run, committed);
}

void Checkers::judge_outcome(const CellRecord& cell, const Run* run, const CommittedCell* committed) {
  const std::string& id = cell.execution.value;
  if (committed != nullptr && !committed->ended) return violation("P4: " + id + " never ends in the log");
  if (cell.status == "ok") {
    if (committed == nullptr || committed->ended != session::Status::kOk)
      return violation("P1: " + id + " is answered ok and is not so in the committed log");
    if (text_of(cell.reply, "after") != text_of(committed->reply, "after"))
      violation("P1: " + id + " is answered otherwise than committed");
  } else if (cell.status == "aborted") {
    if (run != nullptr) violation("P4: " + id + " is answered aborted, but its code ran");
    if (committed != nullptr && committed->ended != session::Status::kAborted)
      violation("P4: " + id + " is answered aborted, but the log says it started");
  } else if (cell.status == "error") {
    if (committed == nullptr && run != nullptr) violation("P4: " + id + " ran without a place in the log");
    if (committed != nullptr && committed->ended == session::Status::kOk)
      violation("P4: " + id + " is answered with an error but committed ok: " + cell.reply);
  } else {
    violation("P4: " + id + " is answered with status '" + cell.status + "'");
  }
}

void Checkers::judge_run(const CellRecord& cell, const Run& run, const CommittedCell* committed) {
  const std::string& id = cell.execution.value;
  if (committed == nullptr)
    return violation("P2: " + id + " ran, but no committed LEAD says so; " + oracle_.progress(run.session));
  if (committed->executor != run.host)
    violation("P3: " + id + " ran on " + run.host.value + ", but " + committed->executor.value +
              " had won it");
  if (const auto why = wrong_in(run.before, committed->state_before, run.stored); why && !cell.told_missing)
    violation("P1: " + id + " ran in a namespace that is not the session's at its start" + *why);
  if (const std::string after = text_of(committed->reply, "after"); !after.empty()) {
    if (!run.end || run.end->after != after) violation("P1: " + id + " is committed otherwise than it ran");
  }
}

/// What is wrong with a namespace that is to be the session's; nothing when it is as it may be: a large value
/// may be missing that no majority has on its disks.
std::optional<std::string> Checkers::wrong_in(const std::string& seen, const std::string& session,
                                              const std::set<Digest>& stored) const {
  if (session.empty() || seen == session) return std::nullopt;
  if (!durable_inline_) return "";
  const auto has = values_.variables(seen), wanted = values_.variables(session);
  if (!has || !wanted) return "";
  const auto missing = missing_in(*has, *wanted);
  if (!missing) return ": some values are others";
  constexpr std::uint64_t kPickle = 32;  // a value has so many bytes at most beside its buffer
  for (const std::string& name : *missing) {
    const auto large = large_value(wanted->at(name));
    if (!large || large->bytes + kPickle <= *durable_inline_)
      return ": " + name + " is missing, which is small";
    if (stored.contains(large->chunk)) return ": " + name + " is missing, which a majority has";
  }
  return std::nullopt;
}

/// Whoever's cell ran without a value has been told so, then or before.
void Checkers::missing_is_named(const CellRecord& cell, const std::string& notes) {
  const auto run = runs_.find(cell.execution);
  const CommittedCell* const committed = oracle_.find(cell.session, cell.execution);
  if (run == runs_.end() || committed == nullptr) return;
  const auto has = values_.variables(run->second.before), wanted = values_.variables(committed->state_before);
  if (!has || !wanted) return;
  const auto missing = missing_in(*has, *wanted);
  for (const std::string& name : missing.value_or(std::set<std::string>())) {
    if (notes.find("'" + name + "'") == std::string::npos)
      violation("P1: " + cell.execution.value + " ran without " + name + ", and nobody was told");
  }
}

void Checkers::judge_outputs(const CellRecord& cell, const Run* run, const CommittedCell* committed) {
  const std::string& id = cell.execution.value;
  // After the death of a gateway, and for a request that was sent again, repetition is allowed, a gap is not.
  const bool may_repeat = cell.gateway_died || cell.repeats_sent > 0;
  std::set<std::string> once;
  std::vector<std::string> seen;
  for (const std::string& output : cell.outputs) {
    if (!once.insert(output).second) {
      if (!may_repeat) violation("P4: " + id + ": output " + output + " arrives twice");
    } else if (made_by_a_worker(output)) {
      seen.push_back(output);
    }
  }
  if (run == nullptr || !run->end || committed == nullptr) return;
  // Only a worker's own reply has `after`. Without it the worker died, and with it may have gone some
  // outputs.
  const bool reported = !text_of(committed->reply, "after").empty();
  const std::vector<std::string>& made = run->end->outputs;
  std::size_t at = 0;
  for (const std::string& output : seen) {
    const auto found = std::find(made.begin() + static_cast<std::ptrdiff_t>(at), made.end(), output);
    if (found == made.end())
      return violation("P4: " + id + ": output " + output + " arrives out of order, or is not this run's");
    const auto place = static_cast<std::size_t>(found - made.begin());
    if (reported && place != at)
      return violation("P4: " + id + ": output " + made[at] + " is missing before " + output);
    at = place + 1;
  }
  if (reported && at != made.size())
    violation("P4: " + id + ": " + std::to_string(made.size() - at) + " outputs are missing at the end");
}

/// Nothing is broken any more, and all that is shown has been copied.
void Checkers::judge_stored(const SessionId& session, const Variables& shown,
                            const std::set<Digest>& stored) {
  const std::set<Digest>& excused = excused_[session];
  for (const auto& [name, value] : shown) {
    const auto large = large_value(value);
    if (large && durable_inline_ && !stored.contains(large->chunk) && !excused.contains(large->chunk))
      violation("P1: " + name + " of session " + session.value + " is on no majority's disks");
  }
}

void Checkers::judge_replicas(const SessionId& session, bool warm, const std::optional<HostId>& whole) {
  for (const std::string& host : oracle_.laggards(session))
    violation("replicas: " + host + " does not hold the end of the log of session " + session.value);
  const std::string state = oracle_.state(session);
  const std::set<Digest> stored =
      durable_inline_ ? values_.on_majority(oracle_.hosts(session)) : std::set<Digest>();
  std::size_t workers = 0;
  for (const HostId& host : oracle_.hosts(session)) {
    std::size_t alike = 0;
    for (const auto& [worker, idle] : idle_[session]) {
      if (idle.host != host) continue;
      ++alike;
      const bool has_all = !whole || *whole == host;
      if (const auto why = wrong_in(idle.digest, state, stored); why && has_all)
        violation("replicas: the worker of session " + session.value + " on " + host.value +
                  " is not a view of head" + *why);
      judge_stored(session, values_.variables(idle.digest).value_or(Variables()), stored);
    }
    workers += alike;
    if (oracle_.suspended(session) && alike > 0)
      violation("replicas: session " + session.value + " is suspended and has a worker on " + host.value);
    if (!oracle_.suspended(session) && alike != 1 && !(warm && alike == 0))
      violation("replicas: session " + session.value + " has " + std::to_string(alike) + " idle workers on " +
                host.value);
  }
  if (workers == 0 && !oracle_.suspended(session))
    violation("replicas: session " + session.value + " has no worker");
}

}  // namespace banyan::sim
