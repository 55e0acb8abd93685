// What a replica does with cells: which one it bids for, when that goes to its worker, and how it ends.

#include <utility>

#include "node/gateway_messages.h"
#include "node/replica.h"

namespace banyan::node {

namespace {

std::string msg_id_of(std::string_view header) {
  const auto parsed = jupyter::parse_header(header);
  return parsed ? parsed->msg_id : std::string();
}

/// The execute_reply of a cell, or its status.
bool frames_cell(const jupyter::Message& message) {
  if (text_member(message.parent_header, "msg_type") != "execute_request") return false;
  const std::string type = text_member(message.header, "msg_type");
  return message.channel == jupyter::Channel::kShell ? type == "execute_reply" : type == "status";
}

/// What could not be restored, for the person whose cell comes next.
std::string told_missing(const std::map<std::string, std::string>& missing) {
  std::map<std::string, std::string> names;  // by the reason: what many have in common is said once
  for (const auto& [name, why] : missing) {
    std::string& all = names[why];
    all += (all.empty() ? "'" : ", '") + name + "'";
  }
  std::string text;
  for (const auto& [why, all] : names)
    text += "banyan: " + all + " could not be restored on this host: " + why + "\n";
  return text + "banyan: run the cell that makes it again, or %checkout --repeat HEAD\n";
}

/// What the session did in the background ended with the process in which it ran.
std::string told_ended(const std::vector<std::string>& works) {
  std::string all;
  for (const std::string& work : works) all += (all.empty() ? "" : ", ") + work;
  return "banyan: ended with the process in which it ran: " + all +
         ". Variables are as they were when the last cell ended, or the session was moved or "
         "suspended; run the cell again that began it if it is still needed\n";
}

}  // namespace

void Replica::execute(const Execute& request) {
  if (!session_) {
    if (request.lead != kNoLead) waiting_ = request;
    return;
  }
  if (const session::Ended* ended = session_->find(request.execution)) {
    answer_ended(*ended, request.outputs_seen);
    return;
  }
  if (refuse_outdated(request.execution, request.restarts)) return;
  if (cell_ && cell_->execution() == request.execution) return cell_->on_asked(request);
  if (request.lead != ReplicaId{} && request.lead != id_) return;
  if (cell_ || session_->running()) {
    waiting_ = request;
    return;
  }
  const bool ready = worker_ && worker_->phase == WorkerPhase::kReady;
  const bool may = ready || (!wants_worker() && !host_.reachable(log_.host_of(session_->executor())));
  const bool elects = request.lead == ReplicaId{} && !request.aborts;
  const auto yield = [&] {
    log_.propose(
        session::Propose{.execution = request.execution, .replica = id_, .bid = session::Bid::kYield});
    pump();
  };
  if (elects && !may) return yield();
  auto devices = host_.devices().bind(request.gpus, request.devices);
  if (elects && !devices) return yield();
  if (!devices) {
    const bool busy = devices.error().kind == ErrorKind::kUnavailable;
    return to_gateway(ExecutionDeclined{session_id_, request.execution, devices.error().message, busy});
  }
  cell_.emplace(CellRun::Parts{host_, log_, chunks_, chunk_sync_, lease_}, request, std::move(*devices));
  cell_->bid();
  if (!request.aborts) tend_worker();
  forward_cell();
  pump();
}

void Replica::gateway_restarted() {
  waiting_.reset();
  if (cell_) cell_->outputs.on_gateway_restarted();
}

/// A restart came between the cell and its start: no replica starts it any more, so any may say so.
bool Replica::refuse_outdated(const ExecutionId& execution, std::uint64_t restarts) {
  if (restarts >= session_->last_clear() || session_->find(execution) != nullptr) return false;
  ExecutionEnded answer;
  answer.session = session_id_;
  answer.execution = execution;
  answer.status = session::Status::kAborted;
  to_gateway(std::move(answer));
  return true;
}

/// The worker of an executor parses the request while the LEAD commits; the fence holds back its user code.
/// Any other replica may not have seen the session's last commits yet: it waits for its LEAD.
void Replica::forward_cell() {
  if (!cell_ || cell_->aborts() || cell_->is_forwarded() || cell_->is_going() || cell_->ending.has_commit())
    return;
  if (!cell_->has_started() && session_->executor() != id_) return;
  if (!worker_ || worker_->phase != WorkerPhase::kReady || !worker_at_head() || awaits_reads()) return;
  cell_->forward(worker_->id);
}

void Replica::on_worker(const WorkerFenced& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (!cell_ || cell_->execution() != event.execution) {
    refused_.insert(event.execution);
    host_.emit(AnswerFence{event.worker, event.execution, "another replica of the session runs this cell"});
    return;
  }
  cell_->on_fenced();
  go_if_allowed();
  pump();
}

void Replica::go_if_allowed() {
  if (!cell_ || !cell_->may_go()) return;
  if (const auto missing = worker_->view.take_missing(); !missing.empty())
    cell_->outputs.say(told_missing(missing));
  if (!worker_->view.since() && !session_->work().empty()) cell_->outputs.say(told_ended(session_->work()));
  cell_->go(worker_->id);
}

void Replica::lease_confirmed(const raft::ReadState& read) {
  if (read.index > log_.applied()) return;  // the next renewal will do
  const std::optional<Time> asked = lease_.take_asked(read.context);
  if (!asked) return;
  if (!cell_ || !cell_->has_started() || !session_ || session_->epoch() != cell_->epoch()) return;
  lease_.renew(*asked);
  if (cell_->runs_user_code() && worker_) host_.emit(SetLease{worker_->id, lease_.until()});
  go_if_allowed();
}

void Replica::on_worker(FromWorker event) {
  if (!worker_ || worker_->id != event.worker) return;
  const ExecutionId parent{msg_id_of(event.message.parent_header)};
  if (refused_.contains(parent)) return;
  if (cell_ && cell_->execution() == parent) {
    cell_->on_message(std::move(event.message), *session_);
  } else if (frames_cell(event.message)) {
    // Of a cell that was committed by its report. The gateway has had its end.
  } else if (speaks_for_session(parent.value)) {
    beside_.say(std::move(event.message));
  }
  pump();
}

/// Answers to requests, and what the executor's threads and widgets say between cells. What a standby's
/// worker says by itself (its start, objects that print while they are loaded) is nobody's output.
bool Replica::speaks_for_session(const std::string& parent) const {
  if (beside_.answers(parent)) return true;
  return !parent.empty() && session_ && session_->executor() == id_;
}

void Replica::output_delivered(const OutputDelivered& ack) {
  if (cell_ && cell_->execution() == ack.execution) cell_->outputs.on_delivered(ack.seq);
}

void Replica::on_worker(WorkerReport event) {
  if (!worker_ || worker_->id != event.worker) return;
  host_.emit(SetLease{worker_->id, std::nullopt});
  if (!cell_ || cell_->execution() != event.execution || !cell_->is_going()) {
    worker_->diverged = true;
    return;
  }
  worker_->view.on_ran(CommitId{session_->last().value + 1});
  cell_->on_report(std::move(event), *session_);
  pump();
}

void Replica::chunk_stored_by(const HostId& peer, const Digest& digest) {
  if (!cell_ || !session_) return;
  if (cell_->ending.on_chunk_stored(peer, digest, *session_)) pump();
}

void Replica::peer_restarted(const HostId& peer) {
  if (cell_ && session_) cell_->ending.on_peer_restarted(peer, *session_);
}

/// The worker died under the cell: the cell ends with an error, the session stands at its last commit. Where
/// no user code ran, another worker may take it.
void Replica::end_by_death(const std::string& reason) {
  if (!cell_ || cell_->ending.has_commit()) return;
  const bool untouched = !cell_->is_going() && cell_->outputs.log().total() == 0 && launch_.failures < 3;
  if (!cell_->has_started() || untouched) {
    cell_->take_back();
  } else {
    cell_->on_death(reason, *session_);
  }
}

void Replica::drop_cell() {
  if (worker_ && cell_->is_forwarded()) {
    if (!cell_->is_going()) {
      refused_.insert(cell_->execution());
      if (cell_->is_fenced())
        host_.emit(
            AnswerFence{worker_->id, cell_->execution(), "another replica of the session runs this cell"});
    } else if (!cell_->ending.has_reported()) {
      worker_->diverged = true;  // its user code still runs
    }
  }
  HostDevices::Grant devices = cell_->take_devices();
  if (!devices.devices().empty()) host_.report_soon(session_id_);
  cell_.reset();
  lease_.end();
  kill_at_.reset();
  if (worker_ && worker_->diverged) {
    host_.devices().keep_until_exit(worker_->id, std::move(devices));
    kill_worker();
    launch_worker();
  }
}

/// An earlier life of this host runs it, or did: there will be an end to tell, but nothing to do.
void Replica::leave_to_log() {
  if (cell_->outputs.is_asked() && !waiting_) waiting_ = cell_->order();
  drop_cell();
}

void Replica::answer_ended(const session::Ended& ended, std::uint64_t outputs_seen) {
  for (std::uint64_t seq = outputs_seen + 1; seq <= ended.outputs.size(); ++seq)
    to_gateway(FromKernel{session_id_, ended.execution, seq, ended.outputs[seq - 1]});
  ExecutionEnded answer;
  answer.session = session_id_;
  answer.execution = ended.execution;
  answer.status = ended.status;
  answer.outputs = ended.outputs_total;
  answer.reply = jupyter::make_message(jupyter::Channel::kShell, "execute_reply", ended.parent_header,
                                       ended.reply, host_.author(session_id_));
  if (!ended.reply_metadata.empty()) answer.reply.metadata = ended.reply_metadata;
  answer.reason = ended.reason;
  answer.execution_count = ended.execution_count;
  answer.commit = ended.commit;
  to_gateway(std::move(answer));
}

/// The end of the cell that is here, for the gateway that has its outputs up to now.
void Replica::answer_own(const session::Ended& ended) {
  if (!cell_->outputs.is_asked()) return;
  cell_->outputs.send(CellOutputs::Backlog::kAdd);
  answer_ended(ended, cell_->outputs.sent());
}

void Replica::start_waiting_cell() {
  if (!waiting_ || cell_ || !session_ || session_->running()) return;
  const Execute next = std::move(*waiting_);
  waiting_.reset();
  execute(next);
}

void Replica::interrupt() {
  if (!worker_ || worker_->phase != WorkerPhase::kReady) return;
  host_.emit(StopWorker{worker_->id, Stop::kInterrupt});
  if (cell_) cell_->on_input();
  if (cell_ && cell_->is_going() && !kill_at_)
    kill_at_ = host_.now().mono + host_.timing().interrupt_deadline;
}

}  // namespace banyan::node
