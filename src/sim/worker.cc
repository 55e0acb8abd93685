#include "sim/worker.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/overloaded.h"
#include "core/jupyter/json_text.h"
#include "sim/json_field.h"

namespace banyan::sim {

namespace {
constexpr Duration kLeasePoll = 50ms;  // docs/internals/worker.md, "Fence and lease"

std::string error_content(const std::string& error) {
  const std::size_t colon = error.find(": ");
  const std::string name = error.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : error.substr(colon + 2);
  return R"("ename":")" + name + R"(","evalue":")" + value + R"(","traceback":[])";
}
}  // namespace

Worker::Worker(WorkerHome home, Rng rng, WorkerSerial serial, node::LaunchWorker request, Tell tell)
    : home_(std::move(home)),
      rng_(rng),
      serial_(serial),
      request_(std::move(request)),
      tell_(std::move(tell)) {}

void Worker::boot() {
  const Duration took = 20ms + Duration(rng_.below(150'000'000));
  home_.scheduler.after(took, [self = shared_from_this()] {
    if (self->dead()) return;
    if (self->rng_.chance(0.01)) return self->die("could not start (exit status 1)");
    self->phase_ = Phase::kIdle;
    self->tell(Way::kState, node::WorkerReady{self->request_.worker, 1000 + self->serial_});
    self->go_on();
  });
}

void Worker::later(Duration delay, void (Worker::*then)()) {
  home_.scheduler.after(delay, [self = shared_from_this(), then] {
    if (!self->dead()) (self.get()->*then)();
  });
}

void Worker::tell(Way way, node::HostEvent event) {
  const auto index = static_cast<std::size_t>(way);
  const Duration delay = 20us + Duration(rng_.below(rng_.chance(0.05) ? 4'000'000 : 150'000));
  TrueTime& last = busy_until_[index];
  last = std::max(last, home_.scheduler.now() + delay);
  home_.scheduler.after(last - home_.scheduler.now(),
                        [self = shared_from_this(), index, event = std::move(event)]() mutable {
                          if (!self->cut_off_[index]) self->tell_(std::move(event));
                        });
}

jupyter::Message Worker::message(jupyter::Channel channel, std::string_view type, std::string_view parent,
                                 std::string content) {
  const std::string id = "w" + std::to_string(serial_) + "-" + std::to_string(++messages_);
  return jupyter::make_message(channel, type, parent, std::move(content),
                               {request_.session.value, id, home_.clock.read(home_.scheduler.now()).wall});
}

void Worker::iopub(std::string_view type, std::string content, bool output) {
  jupyter::Message made = message(jupyter::Channel::kIopub, type, cell_->parent_header, std::move(content));
  if (output) cell_->outputs.push_back(text_of(made.header, "msg_id"));
  tell(Way::kIopub, node::FromWorker{request_.worker, std::move(made)});
}

void Worker::send(jupyter::Message message) {
  if (dead()) return;
  requests_.push_back(std::move(message));
  go_on();
}

void Worker::apply(node::ApplyToWorker view) {
  if (dead()) return;
  if (phase_ == Phase::kFenced) return apply_now(view);
  views_.push_back(std::move(view));
  go_on();
}

void Worker::go_on() {
  while (phase_ == Phase::kIdle) {
    if (!views_.empty()) {
      const auto order = std::move(views_.front());
      views_.pop_front();
      std::visit(Overloaded{[&](const node::ApplyToWorker& view) { apply_now(view); },
                            [&](const node::RepeatOnWorker& cell) { repeat_now(cell); },
                            [&](const node::AskReads& question) { say_reads(question); },
                            [&](const node::AskRemovals& question) {  // no variable stands for a folder here
                              tell(Way::kState, node::WorkerRemoves{request_.worker, question.request, {}});
                            }},
                 order);
      if (dead()) return;
    } else if (!requests_.empty()) {
      const jupyter::Message request = std::move(requests_.front());
      requests_.pop_front();
      begin_request(request);
    } else {
      home_.witness.worker_idle(request_.session, home_.host, serial_, variables_.text());
      return;
    }
  }
}

void Worker::apply_now(const node::ApplyToWorker& view) {
  node::WorkerApplied applied{request_.worker, view.commit, {}, {}};
  bool lose = home_.plant == Plant::kViewLosesValue && rng_.chance(0.2);
  for (const session::CoVariable& value : view.changed) {
    if (std::exchange(lose, false)) continue;
    const bool whole =
        std::ranges::all_of(value.blocks, [](const auto& block) { return block.bytes.has_value(); });
    if (!whole && rng_.chance(0.1)) {  // as if a thread had changed the value that has the other blocks
      applied.lacking.insert(applied.lacking.end(), value.names.begin(), value.names.end());
      continue;
    }
    switch (variables_.load(value)) {
      case Namespace::Loaded::kWhole:  // often with a time as if loading took longer than running the cell
        applied.took.emplace(value.names.front(), rng_.below(400'000));
        break;
      case Namespace::Loaded::kBroken:
        applied.failed.insert(applied.failed.end(), value.names.begin(), value.names.end());
        break;
      case Namespace::Loaded::kLacking:
        applied.lacking.insert(applied.lacking.end(), value.names.begin(), value.names.end());
        break;
    }
  }
  if (home_.plant != Plant::kViewKeepsDeleted) {
    for (const std::string& name : view.deleted) variables_.forget(name);
  }
  count_ = view.execution_count;
  home_.trace.note(home_.host.value, "apply", view.commit.value, [&] {
    return "w" + std::to_string(serial_) + " commit " + std::to_string(view.commit.value) + " count " +
           std::to_string(count_) + " now " + variables_.text();
  });
  tell(Way::kState, std::move(applied));
}

void Worker::repeat(node::RepeatOnWorker cell) {
  if (dead()) return;
  views_.push_back(std::move(cell));
  go_on();
}

void Worker::ask_reads(node::AskReads question) {
  if (dead()) return;
  views_.push_back(std::move(question));
  go_on();
}

void Worker::ask_removals(node::AskRemovals question) {
  if (dead()) return;
  views_.push_back(std::move(question));
  go_on();
}

/// A statement may read every variable that it names, except one that it only binds.
void Worker::say_reads(const node::AskReads& question) {
  using Op = Statement::Op;
  std::set<std::string> read;
  for (const Statement& statement : parse_code(question.code).value_or(std::vector<Statement>{})) {
    const bool binds = statement.op == Op::kSet || statement.op == Op::kBig || statement.op == Op::kUnserial;
    read.insert(statement.op == Op::kAlias || binds ? statement.other : statement.name);
  }
  node::WorkerReads reads{request_.worker, question.execution, {}};
  std::ranges::copy_if(question.names, std::back_inserter(reads.names),
                       [&](const std::string& name) { return read.contains(name); });
  tell(Way::kState, std::move(reads));
}

void Worker::repeat_now(const node::RepeatOnWorker& cell) {
  using Op = Statement::Op;
  node::WorkerRepeated repeated{request_.worker, cell.commit, {}, {}, {}, {}};
  std::optional<std::string> error;
  for (const Statement& statement : parse_code(cell.code).value_or(std::vector<Statement>{})) {
    if (statement.op == Op::kCrash) return die("killed by signal 11 (segmentation fault)");
    if (error = variables_.run(statement); error) break;
  }
  if (error.has_value() != cell.fails) repeated.error = error.value_or("it ended without an error");
  Namespace::Repeated what = variables_.repeated(cell.makes, cell.wanted);
  repeated.made = std::move(what.made);
  repeated.changed = std::move(what.changed);
  repeated.blocks = std::move(what.blocks);
  home_.trace.note(home_.host.value, "repeat", cell.commit.value, [&] {
    return "w" + std::to_string(serial_) + " commit " + std::to_string(cell.commit.value) + " [" + cell.code +
           "] " + repeated.error + " now " + variables_.text();
  });
  tell(Way::kState, std::move(repeated));
}

void Worker::begin_request(const jupyter::Message& request) {
  const std::string type = text_of(request.header, "msg_type");
  if (type != "execute_request") return answer_plainly(request, type);
  cell_ = Cell{};
  cell_->execution = {text_of(request.header, "msg_id")};
  cell_->parent_header = request.header;
  iopub("status", R"({"execution_state":"busy"})", false);
  const std::string code = text_of(request.content.view(), "code");
  auto statements = parse_code(code);
  ++count_;
  iopub("execute_input", R"({"code":")" + code + R"(","execution_count":)" + std::to_string(count_) + "}",
        true);
  phase_ = Phase::kPreparing;
  if (statements) cell_->statements = std::move(*statements);
  later(200us + Duration(rng_.below(300'000)), &Worker::announce);
}

/// Answers a request that runs no user code.
void Worker::answer_plainly(const jupyter::Message& request, std::string_view type) {
  const auto status = [&](const char* state) {
    tell(Way::kIopub, node::FromWorker{request_.worker,
                                       message(jupyter::Channel::kIopub, "status", request.header,
                                               std::string(R"({"execution_state":")") + state + R"("})")});
  };
  status("busy");
  std::string answer(type);
  if (const std::size_t at = answer.find("_request"); at != std::string::npos) {
    answer.replace(at, std::string::npos, "_reply");
    const std::string content =
        type == "kernel_info_request"
            ? R"({"status":"ok","protocol_version":"5.4","implementation":"model","implementation_version":"1",)"
              R"("language_info":{"name":"python","version":"3.11"},"banner":"model","help_links":[]})"
            : R"({"status":"ok"})";
    tell(Way::kShell, node::FromWorker{request_.worker,
                                       message(jupyter::Channel::kShell, answer, request.header, content)});
  }
  status("idle");
}

void Worker::announce() {
  if (home_.plant == Plant::kFenceIgnored) {
    tell(Way::kState, node::WorkerFenced{request_.worker, cell_->execution});
    return run_user_code();
  }
  phase_ = Phase::kFenced;
  tell(Way::kState, node::WorkerFenced{request_.worker, cell_->execution});
}

void Worker::answer_fence(const node::AnswerFence& answer) {
  if (phase_ != Phase::kFenced || answer.execution != cell_->execution) return;
  home_.trace.note(home_.host.value, answer.refusal ? "refused" : "go", 0, [&] {
    return "w" + std::to_string(serial_) + " " + answer.execution.value + " " + answer.refusal.value_or("");
  });
  cell_->devices = answer.devices;
  if (home_.plant == Plant::kDeviceShared) {
    cell_->devices.clear();
    for (std::size_t i = 0; i < answer.devices.size(); ++i)
      cell_->devices.insert({"gpu" + std::to_string(i)});
  }
  if (!answer.refusal || home_.plant == Plant::kRefusalIgnored) return run_user_code();
  const std::string fields = error_content("NotStarted: " + *answer.refusal);
  iopub("error", "{" + fields + "}", true);
  cell_->reply = reply_of(R"("status":"error",)" + fields);
  reply();
}

void Worker::run_user_code() {
  phase_ = Phase::kRunning;
  cell_->before = variables_.text();
  cell_->reads = variables_.reached(cell_->statements);
  home_.witness.user_code_starts(request_.session, cell_->execution, home_.host, serial_, cell_->before,
                                 cell_->devices);
  home_.trace.note(home_.host.value, "runs", cell_->statements.size(), [&] {
    return "w" + std::to_string(serial_) + " " + cell_->execution.value + " [" + code_of(cell_->statements) +
           "] in " + variables_.text();
  });
  if (home_.plant != Plant::kLeaseIgnored) watch_lease();
  if (cell_->interrupted) return raise("KeyboardInterrupt: ");
  run_next_statement();
}

void Worker::watch_lease() {
  if (phase_ != Phase::kRunning) return;
  if (lease_ && home_.clock.mono(home_.scheduler.now()) > *lease_)
    return die("its lease ended (exit status 86)");
  home_.scheduler.after(kLeasePoll, [self = shared_from_this(), execution = cell_->execution] {
    if (self->phase_ == Phase::kRunning && self->cell_->execution == execution) self->watch_lease();
  });
}

void Worker::run_next_statement() {
  using Op = Statement::Op;
  if (cell_->next == cell_->statements.size()) return end_user_code("");
  Statement& statement = cell_->statements[cell_->next];
  Duration took = 30us + Duration(rng_.below(200'000));
  if (statement.op == Op::kUndo || statement.op == Op::kRedo) {
    cell_->asks = true;
    ++cell_->next;
    const std::string verb = statement.op == Op::kUndo ? "undo" : "redo";
    tell(Way::kState, node::WorkerAsks{request_.worker, R"({"do":")" + verb + R"(","count":)" +
                                                            std::to_string(statement.number) + "}"});
    return;
  }
  if (statement.op == Op::kCrash) return die("killed by signal 11 (segmentation fault)");
  if (statement.op == Op::kSleep || statement.op == Op::kStubborn) {
    took = std::chrono::milliseconds(statement.number);
  } else if (statement.op == Op::kPrint && statement.number > 0) {
    iopub("stream", R"({"name":"stdout","text":"line )" + std::to_string(cell_->outputs.size()) + R"("})",
          true);
    if (--statement.number > 0) --cell_->next;
  } else if (const auto error = variables_.run(statement)) {
    return end_user_code(*error);
  }
  ++cell_->next;
  home_.scheduler.after(took, [self = shared_from_this(), step = ++cell_->step,
                               execution = cell_->execution] {
    if (self->phase_ != Phase::kRunning || self->cell_->execution != execution || self->cell_->step != step)
      return;
    if (self->cell_->interrupted) return self->raise("KeyboardInterrupt: ");
    self->run_next_statement();
  });
}

/// Goes on after a question about the history. As in Python an interrupt waits for the answer, and a refusal
/// is an exception.
void Worker::answer(const node::AnswerWorker& answer) {
  if (phase_ != Phase::kRunning || !std::exchange(cell_->asks, false)) return;
  if (!answer.answer) return raise("HistoryError: refused");
  if (cell_->interrupted) return raise("KeyboardInterrupt: ");
  run_next_statement();
}

void Worker::interrupt() {
  if (!cell_ || dead()) return;
  cell_->interrupted = true;
  if (phase_ != Phase::kRunning || cell_->next == 0) return;
  if (cell_->statements[cell_->next - 1].op == Statement::Op::kSleep) raise("KeyboardInterrupt: ");
}

void Worker::raise(const std::string& what) {
  ++cell_->step;
  end_user_code(what);
}

void Worker::end_user_code(const std::string& error) {
  session::Delta delta = variables_.delta();
  delta.footprint.reads = cell_->reads;
  if (!delta.failed.empty())
    iopub("stream", R"({"name":"stderr","text":"cannot be serialised: )" + delta.failed.front() + R"("})",
          true);
  if (!error.empty()) iopub("error", "{" + error_content(error) + "}", true);
  if (home_.plant == Plant::kReportLosesChange && !delta.changed.empty() && rng_.chance(0.2))
    delta.changed.pop_back();
  if (home_.plant == Plant::kCaptureTorn && rng_.chance(0.2)) {
    for (session::CoVariable& value : delta.changed)
      for (session::Chunk& block : value.blocks)
        if (block.bytes && block.size > kLargeBlock) block.bytes = Blob(std::string(block.size, '?'));
  }
  home_.trace.note(home_.host.value, "ran", delta.changed.size(), [&] {
    return "w" + std::to_string(serial_) + " " + cell_->execution.value + " " + error + " now " +
           variables_.text();
  });
  if (rng_.chance(0.5)) uses_.insert(cell_->devices.begin(), cell_->devices.end());
  home_.witness.user_code_ends(request_.session, cell_->execution, serial_,
                               {variables_.text(), cell_->outputs, uses_});
  // Where values may be missing, what the cell did to the others counts.
  const bool some_may_lack = request_.spec.durability == session::Durability::kAsync;
  const std::string before =
      some_may_lack ? R"(,"before":")" + digest_of_namespace(cell_->before) + R"(")" : std::string();
  cell_->reply = reply_of(
      (error.empty() ? std::string(R"("status":"ok")") : R"("status":"error",)" + error_content(error)) +
      R"(,"after":")" + variables_.digest() + R"(")" + before);
  node::WorkerReport report{request_.worker, cell_->execution, count_, std::move(delta), {}, uses()};
  if (rng_.chance(0.8)) {  // in the other cases it is as if the reply could not be packed
    report.reply = {cell_->reply, "{}"};
    iopub("status", R"({"execution_state":"idle"})", false);
  }
  tell(Way::kState, std::move(report));
  phase_ = Phase::kReplying;
  later(100us + Duration(rng_.below(900'000)), &Worker::reply);
}

std::string Worker::reply_of(const std::string& status_fields) const {
  return "{" + status_fields + R"(,"execution_count":)" + std::to_string(count_) +
         R"(,"user_expressions":{},"payload":[]})";
}

void Worker::reply() {
  tell(Way::kShell, node::FromWorker{request_.worker, message(jupyter::Channel::kShell, "execute_reply",
                                                              cell_->parent_header, cell_->reply)});
  iopub("status", R"({"execution_state":"idle"})", false);
  cell_.reset();
  phase_ = Phase::kIdle;
  go_on();
}

std::set<DeviceId> Worker::uses() const {
  return home_.plant == Plant::kDeviceUseUntold ? std::set<DeviceId>() : uses_;
}

void Worker::die(const std::string& reason) {
  if (dead()) return;
  phase_ = Phase::kDead;
  home_.trace.note(home_.host.value, "dies", serial_,
                   [&] { return "w" + std::to_string(serial_) + " " + reason; });
  home_.witness.worker_died(request_.session, serial_);
  for (bool& cut_off : cut_off_) cut_off = rng_.chance(0.5);
  if (reason.empty()) return;
  home_.scheduler.after(100us + Duration(rng_.below(20'000'000)), [self = shared_from_this(), reason] {
    self->tell_(node::WorkerExited{self->request_.worker, reason});
  });
}

}  // namespace banyan::sim
