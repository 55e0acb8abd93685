// The cell's side of a replica: bid, fence, lease, outputs, commit (ARCHITECTURE.md, "The life of a cell").

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"
#include "base/codec.h"
#include "node/gateway_messages.h"
#include "node/replica.h"

namespace banyan::node {

namespace {

using nlohmann::json;

constexpr Duration kBidAgain = 300ms;
constexpr Duration kCommitAgain = 1s;
constexpr Duration kTryAgain = 50ms;  // no leader took the proposal

std::string text_field(std::string_view object, const char* key) {
  const json parsed = json::parse(object, nullptr, false);
  if (!parsed.is_object()) return {};
  const auto field = parsed.find(key);
  return field != parsed.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::uint64_t count_field(std::string_view object) {
  const json parsed = json::parse(object, nullptr, false);
  if (!parsed.is_object()) return 0;
  const auto field = parsed.find("execution_count");
  return field != parsed.end() && field->is_number_unsigned() ? field->get<std::uint64_t>() : 0;
}

std::string msg_id_of(std::string_view header) {
  const auto parsed = jupyter::parse_header(header);
  return parsed ? parsed->msg_id : std::string();
}

bool says_idle(const jupyter::Message& message) {
  return message.channel == jupyter::Channel::kIopub && text_field(message.header, "msg_type") == "status" &&
         text_field(message.content.view(), "execution_state") == "idle";
}

/// The execute_reply of a cell, or its status.
bool frames_cell(const jupyter::Message& message) {
  if (text_field(message.parent_header, "msg_type") != "execute_request") return false;
  const std::string type = text_field(message.header, "msg_type");
  return message.channel == jupyter::Channel::kShell ? type == "execute_reply" : type == "status";
}

session::Status status_of(std::string_view reply) {
  const std::string status = text_field(reply, "status");
  if (status == "ok") return session::Status::kOk;
  return status == "aborted" ? session::Status::kAborted : session::Status::kError;
}

}  // namespace

void Replica::execute(const Execute& request) {
  if (!session_) {
    waiting_ = request;
    return;
  }
  if (const session::Ended* ended = session_->find(request.execution)) {
    answer_ended(*ended, request.outputs_seen);
    return;
  }
  if (refuse_outdated(request.execution, request.restarts)) return;
  if (cell_ && cell_->execution == request.execution) return attach(request);
  if (request.lead != ReplicaId{} && request.lead != id_) return;
  if (cell_ || session_->running()) {
    waiting_ = request;
    return;
  }
  const bool ready = worker_ && worker_->phase == WorkerPhase::kReady;
  const bool may = ready || (!wants_worker() && !host_.reachable(log_.host_of(session_->executor())));
  const bool yields = request.lead == ReplicaId{} && !may && !request.aborts;
  if (yields) {
    log_.propose(
        session::Propose{.execution = request.execution, .replica = id_, .bid = session::Bid::kYield});
    pump();
    return;
  }
  cell_ = Cell{.execution = request.execution,
               .request = request.request,
               .restarts = request.restarts,
               .aborts = request.aborts,
               .code = text_field(request.request.content.view(), "code"),
               .cell_id = text_field(request.request.metadata, "cellId"),
               .outputs = OutputLog(host_.sizes().journal_max, host_.sizes().session_buffer),
               .bid_at = host_.now().mono};
  bid();
  if (cell_ && !cell_->aborts) tend_worker();
  if (cell_) forward_cell();
  pump();
}

/// The gateway asks for a cell that is here already. A life that has asked before misses nothing: its link
/// loses nothing.
void Replica::attach(const Execute& request) {
  if (std::exchange(cell_->asked, true)) return;
  cell_->sent = request.outputs_seen;
  if (cell_->started) send_outputs();
  if (cell_->input) to_gateway(FromKernel{session_id_, {}, 0, *cell_->input});
}

void Replica::gateway_restarted() {
  waiting_.reset();
  if (cell_) cell_->asked = false;
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

void Replica::bid() {
  const bool taken = log_.propose(session::Propose{.execution = cell_->execution,
                                                   .replica = id_,
                                                   .bid = session::Bid::kLead,
                                                   .code = cell_->code,
                                                   .parent_header = cell_->request.header,
                                                   .cell_id = cell_->cell_id,
                                                   .life = host_.life(),
                                                   .restarts = cell_->restarts,
                                                   .aborts = cell_->aborts});
  if (!taken) log_.campaign_if_lost();
  cell_->repeat_at = host_.now().mono + (taken ? kBidAgain : kTryAgain);
}

void Replica::propose_for_cell() {
  if (cell_->commit) {
    propose_commit_if_stored();
  } else if (!cell_->started) {
    bid();
  }
}

/// The worker of an executor parses the request while the LEAD commits; the fence holds back its user code.
/// Any other replica may not have seen the session's last commits yet: it waits for its LEAD.
void Replica::forward_cell() {
  if (!cell_ || cell_->aborts || cell_->forwarded || cell_->going || cell_->commit) return;
  if (!cell_->started && session_->executor() != id_) return;
  if (!worker_ || worker_->phase != WorkerPhase::kReady || !worker_at_head() || awaits_reads()) return;
  cell_->forwarded = true;
  end_progress();
  host_.emit(ToWorker{worker_->id, cell_->request});
}

void Replica::on_worker(const WorkerFenced& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (!cell_ || cell_->execution != event.execution) {
    refused_.insert(event.execution);
    host_.emit(AnswerFence{event.worker, event.execution, "another replica of the session runs this cell"});
    return;
  }
  cell_->fenced = true;
  go_if_allowed();
  pump();
}

void Replica::go_if_allowed() {
  if (!cell_ || !cell_->started || !cell_->fenced || cell_->going || !lease_.until()) return;
  if (lease_.is_another_held()) return;
  // The bid took long: ask the majority first.
  if (lease_.is_short()) return renew_lease(Lease::Renewal::kSoon);
  cell_->going = true;
  cell_->going_at = host_.now().mono;
  tell_missing();
  tell_ended_work();
  host_.emit(SetLease{worker_->id, lease_.until()});
  host_.emit(AnswerFence{worker_->id, cell_->execution, std::nullopt});
}

void Replica::tell_missing() {
  if (worker_->missing.empty()) return;
  std::map<std::string, std::string> names;  // by the reason: what many have in common is said once
  for (const auto& [name, why] : worker_->missing) {
    std::string& all = names[why];
    all += (all.empty() ? "'" : ", '") + name + "'";
  }
  std::string text;
  for (const auto& [why, all] : names)
    text += "banyan: " + all + " could not be restored on this host: " + why + "\n";
  text += "banyan: run the cell that makes it again, or %checkout --repeat HEAD\n";
  say_to_cell(std::move(text));
  worker_->missing.clear();
}

/// What the session did in the background ended with the process in which it ran.
void Replica::tell_ended_work() {
  if (worker_->since || session_->work().empty()) return;
  std::string all;
  for (const std::string& work : session_->work()) all += (all.empty() ? "" : ", ") + work;
  say_to_cell("banyan: ended with the process in which it ran: " + all +
              ". Variables are as they were when the last cell ended, or the session was moved or "
              "suspended; run the cell again that began it if it is still needed\n");
}

/// On its stderr, among the outputs of the cell that this replica runs.
void Replica::say_to_cell(std::string text) {
  const json note = {{"name", "stderr"}, {"text", std::move(text)}};
  cell_->outputs.add(jupyter::make_message(jupyter::Channel::kIopub, "stream", cell_->request.header,
                                           note.dump(-1, ' ', false, json::error_handler_t::replace),
                                           host_.author(session_id_)));
  send_outputs();
}

void Replica::renew_lease(Lease::Renewal renewal) {
  if (!cell_ || !cell_->started || cell_->commit) return;
  if (!lease_.is_due(renewal)) return;
  const std::uint64_t context = host_.rng().next();
  if (log_.read(context)) {
    lease_.on_asked(context);
  } else if (renewal == Lease::Renewal::kSoon) {
    lease_.on_nobody_asked();
  }
}

void Replica::lease_confirmed(const raft::ReadState& read) {
  if (read.index > log_.applied()) return;  // the next renewal will do
  const std::optional<Time> asked = lease_.take_asked(read.context);
  if (!asked) return;
  if (!cell_ || !cell_->started || !session_ || session_->epoch() != cell_->epoch) return;
  lease_.renew(*asked);
  if (cell_->going && !cell_->delta && worker_) host_.emit(SetLease{worker_->id, lease_.until()});
  go_if_allowed();
}

void Replica::on_worker(FromWorker event) {
  if (!worker_ || worker_->id != event.worker) return;
  const ExecutionId parent{msg_id_of(event.message.parent_header)};
  if (refused_.contains(parent)) return;
  if (cell_ && cell_->execution == parent) {
    take_output(std::move(event.message));
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

void Replica::take_output(jupyter::Message message) {
  if (message.channel == jupyter::Channel::kShell) {
    cell_->reply = std::move(message);
    finish_if_complete();
  } else if (message.channel != jupyter::Channel::kIopub) {
    cell_->input = message;
    if (cell_->asked) to_gateway(FromKernel{session_id_, {}, 0, std::move(message)});
  } else if (says_idle(message)) {
    cell_->idle = true;
    finish_if_complete();
  } else {
    cell_->outputs.add(std::move(message));
    if (cell_->started) send_outputs();
  }
}

/// What the gateway cannot take now stays in the cell's OutputLog, which has a bound, and is sent later.
void Replica::send_outputs(Backlog backlog) {
  const auto may = [&] { return backlog == Backlog::kAdd || !host_.backlogged(kGateway); };
  while (cell_->asked && cell_->sent < cell_->outputs.total() && may()) {
    const std::uint64_t seq = ++cell_->sent;
    if (const jupyter::Message* output = cell_->outputs.find(seq))
      to_gateway(FromKernel{session_id_, cell_->execution, seq, *output});
  }
}

void Replica::output_delivered(const OutputDelivered& ack) {
  if (cell_ && cell_->execution == ack.execution) cell_->outputs.delivered(ack.seq);
}

void Replica::on_worker(WorkerReport event) {
  if (!worker_ || worker_->id != event.worker) return;
  host_.emit(SetLease{worker_->id, std::nullopt});
  if (!cell_ || cell_->execution != event.execution || !cell_->going) {
    worker_->diverged = true;
    return;
  }
  const auto take_large = [&](session::Chunk& chunk) {
    if (!chunk.bytes || chunk.size <= host_.sizes().inline_chunk_max) return;
    cell_->large.emplace(chunk.digest, std::move(*chunk.bytes));
    cell_->stored_by[chunk.digest];
    chunk.bytes.reset();
  };
  for (session::CoVariable& value : event.delta.changed) std::ranges::for_each(value.blocks, take_large);
  if (!worker_->since) worker_->since = CommitId{session_->last().value + 1};
  refuse_unknown_blocks(event.delta);
  cell_->delta = std::move(event.delta);
  cell_->execution_count = event.execution_count;
  if (event.reply) {
    cell_->reply = jupyter::make_message(jupyter::Channel::kShell, "execute_reply", cell_->request.header,
                                         std::move(event.reply->content), host_.author(session_id_));
    cell_->reply->metadata = std::move(event.reply->metadata);
  }
  finish_if_complete();
  pump();
}

/// A worker leaves out blocks of what it shows. User code may have made it say anything.
void Replica::refuse_unknown_blocks(session::Delta& delta) {
  const auto unknown = [&](const session::Chunk& block) {
    return !block.bytes && !session_->chunks().contains(block.digest) && !cell_->large.contains(block.digest);
  };
  std::erase_if(delta.changed, [&](const session::CoVariable& value) {
    if (std::ranges::none_of(value.blocks, unknown)) return false;
    host_.log(Log::Level::kError,
              "session " + session_id_.value + ": a worker named a block that is not there");
    delta.failed.insert(delta.failed.end(), value.names.begin(), value.names.end());
    return true;
  });
}

void Replica::finish_if_complete() {
  if (!cell_ || !cell_->started || cell_->commit || !cell_->reply || !cell_->idle) return;
  if (cell_->fenced && !cell_->delta) return;
  build_commit();
  for (const auto& [digest, bytes] : cell_->large) {
    hold_chunk(cell_->execution, digest);
    chunks_.put(digest, bytes);
  }
  for (const auto& [id, host] : session_->members()) {
    if (id != id_) push_chunks(host);
  }
  propose_commit_if_stored();
}

void Replica::build_commit() {
  stay_awake_for_own();
  const std::string reply(cell_->reply->content.view());
  const std::uint64_t count = cell_->delta ? cell_->execution_count : count_field(reply);
  session::Commit commit;
  commit.execution = cell_->execution;
  commit.epoch = cell_->epoch;
  commit.status = status_of(reply);
  commit.reply = reply;
  commit.reply_metadata = cell_->reply->metadata;
  commit.outputs = cell_->outputs.journal();
  commit.outputs_total = cell_->outputs.total();
  commit.execution_count = count;
  if (cell_->going) commit.runtime_us = microseconds(host_.now().mono - cell_->going_at);
  if (cell_->delta) {
    commit.delta = *cell_->delta;
  } else {
    commit.delta.footprint.work = session_->work();  // a request without code does not look
  }
  if (commit.status == session::Status::kOk) commit.actions = cell_->actions;  // an error takes them back
  commit.asked_history = cell_->asked_history;
  commit.ended_at_us = host_.now().wall.us;
  cell_->commit = std::move(commit);
}

/// What a cell makes beside its %suspend could not be looked at when that was asked; and such a cell does not
/// run again.
void Replica::stay_awake_for_own() {
  if (cell_->may_lose || !cell_->delta || cell_->delta->failed.empty()) return;
  const auto suspends = [](const checkpoint::Action& action) {
    const auto* const suspend = std::get_if<checkpoint::Suspend>(&action);
    return suspend != nullptr && suspend->suspended;
  };
  if (std::erase_if(cell_->actions, suspends) == 0) return;
  say_to_cell("banyan: the session is not suspended: it would lose '" + cell_->delta->failed.front() +
              "', which this cell made: delete what is not needed, or say --force\n");
}

void Replica::push_chunks(const HostId& to) {
  const std::uint64_t part = host_.sizes().chunk_part;
  for (const auto& [digest, bytes] : cell_->large) {
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += part) {
      host_.send(to, ChunkPart{session_id_, digest, bytes.size(), offset,
                               bytes.part(offset, std::min<std::uint64_t>(part, bytes.size() - offset)),
                               cell_->execution});
    }
  }
}

/// Of a commit that waits for a majority, which is another one now: copies on hosts that have left do not
/// count.
void Replica::push_chunks_to_new_members() {
  if (!cell_ || !cell_->commit) return;
  const session::Members& members = session_->members();
  for (auto& [digest, stored] : cell_->stored_by)
    std::erase_if(stored, [&](ReplicaId id) { return !members.contains(id); });
  cell_->lacked = {};
  for (const auto& [id, host] : members) {
    const bool lacks =
        std::ranges::any_of(cell_->stored_by, [&](const auto& item) { return !item.second.contains(id); });
    if (id != id_ && lacks) push_chunks(host);
  }
}

/// P1: what a replied cell refers to is on disk at a majority, like the commit itself.
void Replica::propose_commit_if_stored() {
  if (!cell_ || !cell_->commit) return;
  const Time now = host_.now().mono;
  if (cell_->proposed_at && now - *cell_->proposed_at < kCommitAgain) return;
  cell_->repeat_at = now + kTryAgain;
  const auto lacks = [&](const auto& item) {
    return item.second.size() + (chunks_.durable(item.first) ? 1 : 0) < majority();
  };
  // There may be thousands, each of which comes here when it is stored: from the first that was missing then.
  const auto& chunks = cell_->stored_by;
  const auto missing = std::find_if(chunks.lower_bound(cell_->lacked), chunks.end(), lacks);
  if (missing != chunks.end()) cell_->lacked = missing->first;
  if (missing != chunks.end() || std::ranges::any_of(chunks, lacks)) return;
  if (!log_.propose(*cell_->commit)) return;
  cell_->proposed_at = now;
  cell_->repeat_at = now + kCommitAgain;
}

void Replica::chunk_stored_by(const HostId& peer, const Digest& digest) {
  if (!cell_ || !session_) return;
  const auto entry = cell_->stored_by.find(digest);
  if (entry == cell_->stored_by.end()) return;
  for (const auto& [id, host] : session_->members()) {
    if (host == peer && id != id_) entry->second.insert(id);
  }
  propose_commit_if_stored();
  pump();
}

void Replica::peer_restarted(const HostId& peer) {
  if (!cell_ || !cell_->commit || !session_) return;
  for (const auto& [id, host] : session_->members()) {
    if (host == peer && id != id_) push_chunks(peer);
  }
}

/// The worker that had the cell is gone. What it said of a cell that did not run is void.
void Replica::take_cell_back() {
  cell_->forwarded = cell_->fenced = false;
  if (cell_->going || cell_->commit || cell_->sent > 0) return;
  cell_->outputs = OutputLog(host_.sizes().journal_max, host_.sizes().session_buffer);
  cell_->reply.reset();
  cell_->idle = false;
}

/// The worker died under the cell: the cell ends with an error, the session stands at its last commit.
void Replica::end_by_death(const std::string& reason) {
  if (!cell_ || cell_->commit) return;
  const bool untouched = !cell_->going && cell_->outputs.total() == 0 && launch_.failures < 3;
  if (!cell_->started || untouched) {  // no user code ran: another worker may take it
    take_cell_back();
    return;
  }
  const std::string text = "the kernel died: " + reason + ". Variables are as they were before this cell.";
  json content = {{"ename", "KernelDied"}, {"evalue", text}, {"traceback", {"KernelDied: " + text}}};
  cell_->outputs.add(jupyter::make_message(jupyter::Channel::kIopub, "error", cell_->request.header,
                                           content.dump(), host_.author(session_id_)));
  content["status"] = "error";
  content["execution_count"] = session_->execution_count() + 1;
  cell_->reply = jupyter::make_message(jupyter::Channel::kShell, "execute_reply", cell_->request.header,
                                       content.dump(), host_.author(session_id_));
  cell_->idle = true;
  cell_->delta = session::Delta{};
  cell_->actions.clear();
  cell_->execution_count = session_->execution_count() + 1;
  cell_->large.clear();
  cell_->stored_by.clear();
  send_outputs();
  finish_if_complete();
}

void Replica::drop_cell() {
  if (worker_ && cell_->forwarded) {
    if (!cell_->going) {
      refused_.insert(cell_->execution);
      if (cell_->fenced)
        host_.emit(
            AnswerFence{worker_->id, cell_->execution, "another replica of the session runs this cell"});
    } else if (!cell_->delta) {
      worker_->diverged = true;  // its user code still runs
    }
  }
  cell_.reset();
  lease_.end();
  kill_at_.reset();
  if (worker_ && worker_->diverged) {
    kill_worker();
    launch_worker();
  }
}

/// An earlier life of this host runs it, or did: there will be an end to tell, but nothing to do.
void Replica::leave_to_log() {
  if (cell_->asked && !waiting_) {
    waiting_ = Execute{.session = session_id_,
                       .execution = cell_->execution,
                       .request = cell_->request,
                       .lead = id_,
                       .outputs_seen = cell_->sent,
                       .restarts = cell_->restarts,
                       .aborts = cell_->aborts};
  }
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
  if (!cell_->asked) return;
  send_outputs(Backlog::kAdd);
  answer_ended(ended, cell_->sent);
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
  if (cell_) cell_->input.reset();
  if (cell_ && cell_->going && !kill_at_) kill_at_ = host_.now().mono + host_.timing().interrupt_deadline;
}

}  // namespace banyan::node
