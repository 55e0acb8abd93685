#include "node/replica_cells.h"

#include <algorithm>
#include <utility>

#include "node/cell_answers.h"
#include "node/gateway_messages.h"

namespace banyan::node {

namespace {

constexpr Duration kPreparedFor = 5s;
constexpr Duration kMakesWayWithin = 10s;  // a process under a cell, when another cell has its devices

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

/// " (cell [3] made it)"; empty where that is not known any more.
std::string told_maker(const session::Session& session, const std::string& name) {
  const auto version = session.view().find(name);
  if (version == session.view().end()) return {};
  const auto maker = session.history().find(version->second.commit);
  if (maker == session.history().end() || maker->second.execution_count == 0) return {};
  return " (cell [" + std::to_string(maker->second.execution_count) + "] made it)";
}

/// What could not be restored, for the person whose cell comes next.
std::string told_missing(const std::map<std::string, std::string>& missing, const session::Session& session) {
  std::map<std::string, std::string> names;  // by the reason: what many have in common is said once
  for (const auto& [name, why] : missing) {
    std::string& all = names[told_maker(session, name) + ": " + why];
    all += (all.empty() ? "'" : ", '") + name + "'";
  }
  std::string text;
  for (const auto& [why, all] : names)
    text += "banyan: " + all + " could not be restored on this host" + why + "\n";
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

std::string names_of(const std::set<DeviceId>& devices) {
  std::string all;
  for (const DeviceId& device : devices) all += (all.empty() ? "" : ", ") + device.value;
  return all;
}

/// The session's process uses devices that a cell of another session has.
std::string told_in_the_way(const std::string& devices) {
  return "banyan: this session's process uses a GPU that another session's cell has now (" + devices +
         "): it is ended in " + std::to_string(kMakesWayWithin / 1s) +
         " s, and this cell with it, unless the cell has ended by then. A cell that uses GPUs asks for them, "
         "as with %%gpus 1\n";
}

/// What the session's cells made is in memory until it is on the disk, and there is to be no more of that for
/// now. Sessions without such values are not held back.
bool waits_for_room(const ReplicaCells::Parts& parts, CellRun& cell) {
  const std::uint64_t captured = parts.chunks.captured_bytes(), most = parts.core.host.sizes().capture_bytes;
  if (captured <= most || parts.pending.captured_bytes() == 0) return false;
  const std::string left = std::to_string((captured - most) / 1'000'000) + " MB of values of earlier cells";
  cell.outputs.show_progress("makes room before the cell begins",
                             {.what = "writing " + left + " to the disk",
                              .percent = std::min<std::uint64_t>(100 * most / captured, 100)});
  return true;
}

/// Whether the worker is still to say which of the values that are made when something reads them the cell
/// may read.
bool awaits_reads(CellRun& cell, const WorkerLife& worker) {
  if (!cell.reads.is_asking()) cell.ask_reads(*worker.id(), cell.reads.ask(worker.view().unread()));
  return cell.reads.is_asking();
}

}  // namespace

void ReplicaCells::execute(const Execute& request) {
  if (!core_.session) {
    if (request.lead != kNoLead) waiting_ = request;
    return;
  }
  const session::Session& session = *core_.session;
  if (const session::Ended* ended = session.find(request.execution))
    return answer_ended(core_.host, core_.session_id, *ended, request.outputs_seen);
  if (refuse_outdated(request.execution, request.restarts)) return;
  if (cell_ && cell_->execution() == request.execution) return cell_->on_asked(request);
  if (request.lead != ReplicaId{} && request.lead != core_.id) return;
  if (cell_ || session.running()) {
    waiting_ = request;
    return;
  }
  // Where none is wanted (the session is suspended, or this standby is warm) the executor bids, or somebody
  // in its place.
  const bool in_place =
      session.executor() == core_.id || !core_.host.reachable(core_.log.host_of(session.executor()));
  const bool may = worker_.is_ready() || (!wants_worker() && in_place);
  const bool elects = request.lead == ReplicaId{} && !request.aborts;
  const auto yield = [&] {
    core_.log.propose(
        session::Propose{.execution = request.execution, .replica = core_.id, .bid = session::Bid::kYield});
  };
  if (elects && !may) return yield();
  auto devices = core_.host.devices().bind({.session = core_.session_id,
                                            .gpus = request.gpus,
                                            .preferred = request.devices,
                                            .worker = worker_.id()});
  if (elects && !devices) return yield();
  if (!devices) {
    const bool busy = devices.error().kind == ErrorKind::kUnavailable;
    return core_.to_gateway(
        ExecutionDeclined{core_.session_id, request.execution, devices.error().message, busy});
  }
  cell_.emplace(
      CellRun::Parts{core_.host, core_.log, parts_.chunks, parts_.sync, parts_.pending, parts_.lease},
      request, std::move(*devices));
  cell_->bid();
  if (cell_->needs_new_process()) replace_worker();
  if (!request.aborts) tend_worker();
  forward();
}

void ReplicaCells::interrupt() {
  if (!worker_.is_ready()) return;
  const bool going = cell_ && cell_->is_going();
  worker_.interrupt(going ? std::optional(core_.host.timing().interrupt_deadline) : std::nullopt);
  if (cell_) cell_->on_input();
}

void ReplicaCells::on_delivered(const OutputDelivered& ack) {
  if (cell_ && cell_->execution() == ack.execution) cell_->outputs.on_delivered(ack.seq);
}

void ReplicaCells::on_gateway_restarted() {
  waiting_.reset();
  if (cell_) cell_->outputs.on_gateway_restarted();
}

void ReplicaCells::prepare() {
  preparing_until_ = core_.host.now().mono + kPreparedFor;
  tend_worker();
}

bool ReplicaCells::is_preparing() const {
  return preparing_until_ && core_.host.now().mono < *preparing_until_;
}

// ---- from the worker

void ReplicaCells::on_fenced(const WorkerFenced& event) {
  if (!cell_ || cell_->execution() != event.execution) return worker_.refuse(event.execution, true);
  cell_->on_fenced();
  go_if_allowed();
}

void ReplicaCells::on_message(FromWorker event) {
  const ExecutionId parent{msg_id_of(event.message.parent_header)};
  if (worker_.refuses(parent)) return;
  if (cell_ && cell_->execution() == parent) {
    cell_->on_message(std::move(event.message), *core_.session);
  } else if (frames_cell(event.message)) {
    // Of a cell that was committed by its report. The gateway has had its end.
  } else if (speaks_for_session(parent.value)) {
    parts_.beside.say(std::move(event.message));
  }
}

/// Answers to requests, and what the executor's threads and widgets say between cells. What a standby's
/// worker says by itself (its start, objects that print while they are loaded) is nobody's output.
bool ReplicaCells::speaks_for_session(const std::string& parent) const {
  if (parts_.beside.answers(parent)) return true;
  return !parent.empty() && core_.session && core_.session->executor() == core_.id;
}

void ReplicaCells::on_report(WorkerReport event) {
  core_.host.emit(SetLease{event.worker, std::nullopt});
  core_.host.devices().on_uses(event.worker, core_.session_id, event.uses);
  if (!cell_ || cell_->execution() != event.execution || !cell_->is_going()) return worker_.diverge();
  worker_.view().on_ran(CommitId{core_.session->last().value + 1});
  cell_->on_report(std::move(event), *core_.session);
}

void ReplicaCells::on_exited(const WorkerExited& event) {
  const bool at_once = worker_.on_exited(event);
  if (cell_) cell_->on_worker_gone();
  end_by_death(event.reason);
  if (cell_) cell_->take_back();
  if (at_once) launch_worker();
}

/// The worker died under the cell: the cell ends with an error, the session stands at its last commit. Where
/// no user code ran, another worker may take it.
void ReplicaCells::end_by_death(const std::string& reason) {
  if (!cell_ || cell_->ending.has_commit()) return;
  const bool untouched = !cell_->is_going() && cell_->outputs.log().total() == 0 && !worker_.fails_to_start();
  if (!cell_->has_started() || untouched) {
    cell_->take_back();
  } else {
    cell_->on_death(reason, *core_.session);
  }
}

// ---- from the log

bool ReplicaCells::on_started(const session::Started& event) {
  const bool here = event.executor == core_.id;
  if (!here) on_lead_gone();
  if (!cell_ || cell_->execution() != event.execution) return false;
  if (!here) {
    drop();  // the gateway hears it from there
    return false;
  }
  if (event.life != core_.host.life()) {
    leave_to_log();
    return false;
  }
  cell_->on_started(event.epoch);
  if (cell_->is_forwarded() && !is_worker_at_head()) {  // commits came in between: the cell must see them
    if (worker_.exists()) worker_.diverge();
    replace_worker();
  }
  parts_.lease.begin(cell_->bid_at());
  cell_->outputs.send();
  return true;
}

void ReplicaCells::go_on() {
  go_if_allowed();
  if (worker_.fails_to_start() && !worker_.exists())
    end_by_death("its worker cannot start: " + worker_.last_death());
  // A blank cell has no fence: its worker may have ended it already.
  if (cell_) cell_->finish_if_complete(*core_.session);
}

void ReplicaCells::on_bid_lost(const session::BidLost& event) {
  if (!cell_ || event.replica != core_.id || cell_->execution() != event.execution) return;
  const auto& running = core_.session->running();
  if (const session::Ended* ended = core_.session->find(event.execution)) {
    answer_own(*ended);
    drop();
  } else if (refuse_outdated(cell_->execution(), cell_->restarts())) {
    drop();
  } else if (running && running->execution == event.execution) {
    drop();  // another replica runs it
  } else {
    cell_->on_bid_lost();
  }
}

void ReplicaCells::on_all_yielded(const session::AllYielded& event) {
  core_.to_gateway(
      ExecutionDeclined{core_.session_id, event.execution, "no replica of the session can run a cell now"});
  if (cell_ && cell_->execution() == event.execution) drop();
}

bool ReplicaCells::on_ended(const session::CellEnded& event) {
  const session::Ended& ended = *core_.session->find(event.execution);
  const bool lost = event.status == session::Status::kLost;
  if (!cell_ || cell_->execution() != event.execution) {
    if (lost) answer_ended(core_.host, core_.session_id, ended, 0);
    return false;
  }
  const bool has_it = worker_.exists() && cell_->is_forwarded();  // and not an earlier worker
  if (event.executor == core_.id && !lost) {
    if (has_it && !worker_.has_diverged() && cell_->ending.has_reported())
      worker_.view().on_committed(event.change, core_.session->execution_count());
    cell_->outputs.send();
  } else if (has_it) {
    worker_.diverge();
  }
  answer_own(ended);
  drop();
  return true;
}

void ReplicaCells::on_lead_gone() {
  if (!worker_.exists() || !worker_.view().since()) return;
  worker_.view().on_lead_gone();
  if (!core_.session->work().empty()) replace_worker();
}

void ReplicaCells::on_cleared() {
  if (cell_) {
    (void)refuse_outdated(cell_->execution(), cell_->restarts());
    drop();
  }
  if (waiting_) (void)refuse_outdated(waiting_->execution, waiting_->restarts);
  waiting_.reset();
  parts_.beside.drop_all();
  worker_.forget_failures();
  replace_worker();
}

std::optional<session::Started> ReplicaCells::on_adopted() {
  if (!cell_) return std::nullopt;
  if (const session::Ended* const ended = core_.session->find(cell_->execution())) {
    if (worker_.exists() && cell_->is_forwarded()) worker_.diverge();
    answer_own(*ended);
    drop();
    return std::nullopt;
  }
  const auto& running = core_.session->running();
  if (cell_->has_started() || !running || running->execution != cell_->execution()) return std::nullopt;
  return session::Started{running->execution, running->epoch, running->executor, running->life};
}

void ReplicaCells::on_lease_read(const raft::ReadState& read) {
  if (read.index > core_.log.applied()) return;  // the next renewal will do
  const std::optional<Time> asked = parts_.lease.take_asked(read.context);
  if (!asked) return;
  if (!cell_ || !cell_->has_started() || !core_.session || core_.session->epoch() != cell_->epoch()) return;
  parts_.lease.renew(*asked);
  if (cell_->runs_user_code() && worker_.exists())
    core_.host.emit(SetLease{*worker_.id(), parts_.lease.until()});
  go_if_allowed();
}

// ---- on the way

/// The worker of an executor parses the request while the LEAD commits; the fence holds back its user code.
/// Any other replica may not have seen the session's last commits yet: it waits for its LEAD.
void ReplicaCells::forward() {
  if (!cell_ || cell_->aborts() || cell_->is_forwarded() || cell_->is_going() || cell_->ending.has_commit())
    return;
  if (!cell_->has_started() && core_.session->executor() != core_.id) return;
  if (!worker_.is_ready()) return;
  // What a worker says of a cell that it was refused is not heard, so that the cell would never end there.
  if (worker_.refuses(cell_->execution())) return replace_worker();
  if (!is_worker_at_head() || awaits_reads(*cell_, worker_)) return;
  cell_->forward(*worker_.id());
}

void ReplicaCells::go_if_allowed() {
  if (!cell_ || !cell_->may_go() || !core_.host.devices().are_clear(cell_->devices(), *worker_.id())) return;
  if (waits_for_room(parts_, *cell_)) return;
  const auto& works = core_.session->work();
  if (const auto missing = worker_.view().take_missing(); !missing.empty())
    cell_->outputs.say(told_missing(missing, *core_.session));
  if (!worker_.view().since() && !works.empty()) cell_->outputs.say(told_ended(works));
  cell_->go(*worker_.id());
}

void ReplicaCells::start_waiting() {
  if (!waiting_ || cell_ || !core_.session || core_.session->running()) return;
  const Execute next = std::move(*waiting_);
  waiting_.reset();
  execute(next);
}

void ReplicaCells::tick() {
  start_waiting();
  if (cell_) {
    cell_->repeat_if_due(*core_.session);
    if (cell_->has_started()) cell_->outputs.send();
    cell_->renew_lease(Lease::Renewal::kInTime);
    go_if_allowed();
    if (cell_->runs_user_code() && parts_.lease.is_over()) {
      worker_.set_last_death("its host was cut off from the session's majority");
      end_worker();
      end_by_death(worker_.last_death());
    }
  }
  worker_.tick();
  tend_worker();
}

/// A restart came between the cell and its start: no replica starts it any more, so any may say so.
bool ReplicaCells::refuse_outdated(const ExecutionId& execution, std::uint64_t restarts) const {
  if (restarts >= core_.session->last_clear() || core_.session->find(execution) != nullptr) return false;
  answer_aborted(core_.host, core_.session_id, execution);
  return true;
}

/// The end of the cell that is here, for the gateway that has its outputs up to now. When it ran elsewhere
/// the log has its outputs: what the worker here has said of it already is of no run.
void ReplicaCells::answer_own(const session::Ended& ended) {
  if (!cell_->outputs.is_asked()) return;
  if (cell_->has_started()) cell_->outputs.send(CellOutputs::Backlog::kAdd);
  answer_ended(core_.host, core_.session_id, ended, cell_->outputs.sent());
}

/// An earlier life of this host runs it, or did: there will be an end to tell, but nothing to do.
void ReplicaCells::leave_to_log() {
  if (cell_->outputs.is_asked() && !waiting_) waiting_ = cell_->order();
  drop();
}

void ReplicaCells::drop() {
  if (worker_.exists() && cell_->is_forwarded()) {
    if (!cell_->is_going()) {
      worker_.refuse(cell_->execution(), cell_->is_fenced());
    } else if (!cell_->ending.has_reported()) {
      worker_.diverge();  // its user code still runs
    }
  }
  HostDevices::Grant devices = cell_->take_devices();
  if (!devices.devices().empty()) core_.report_soon();
  cell_.reset();
  parts_.lease.end();
  worker_.call_off_kill();
  if (worker_.exists() && worker_.has_diverged()) {
    core_.host.devices().keep_until_exit(*worker_.id(), std::move(devices));
    replace_worker();
  }
}

// ---- its worker

/// A warm standby has none. Until somebody is the executor anybody may become it.
bool ReplicaCells::wants_worker() const {
  const session::Session& session = *core_.session;
  if (cell_) return true;
  if (session.suspended()) return false;
  if (is_preparing()) return true;
  return session.spec().standbys == session::Standbys::kHot || session.executor() == ReplicaId{} ||
         session.executor() == core_.id;
}

bool ReplicaCells::runs_cells() const {
  return core_.session->executor() == core_.id || (cell_ && cell_->has_started()) || is_preparing();
}

bool ReplicaCells::is_worker_at_head() const {
  return core_.session && worker_.exists() && !worker_.has_diverged() &&
         worker_.view().is_head(*core_.session, runs_cells());
}

void ReplicaCells::tend_worker() {
  if (!core_.session) return;
  if (worker_.exists() && !wants_worker()) {
    end_worker();
    worker_.expect_none();
    core_.report_soon();
  } else if (!worker_.exists() && !worker_.is_next_awaited() && wants_worker()) {
    launch_worker();
  }
}

void ReplicaCells::launch_worker() { worker_.launch(core_.joined() && wants_worker()); }

void ReplicaCells::end_worker() {
  if (!worker_.exists()) return;
  if (cell_ && cell_->is_going()) core_.host.devices().keep_until_exit(*worker_.id(), cell_->take_devices());
  worker_.kill();
  if (!cell_) return;
  cell_->on_worker_gone();
  cell_->take_back();
}

void ReplicaCells::replace_worker() {
  end_worker();
  launch_worker();
}

/// A cell that runs is told first, and has some time to end: what uses the device may be a thread of an
/// earlier cell.
void ReplicaCells::make_way() {
  if (!worker_.exists() || !core_.host.devices().is_in_the_way(*worker_.id()))
    return in_the_way_since_.reset();
  const std::string used = names_of(core_.host.devices().used_by(worker_.id()));
  const Time now = core_.host.now().mono;
  if (cell_ && cell_->is_going() && !cell_->runs_user_code()) return;  // it ends in a moment
  if (!cell_ || !cell_->is_going()) {
    // One that was never granted any uses them by what it has restored, and so would the next one.
    const bool restored = !core_.host.devices().has_been_granted(*worker_.id());
    if (restored && made_way_at_ && now - *made_way_at_ < kMakesWayWithin) return;
    made_way_at_ = now;
    core_.host.log(Log::Level::kInfo, "session " + core_.session_id.value +
                                          ": its process is ended, because " +
                                          "another session's cell has a GPU that it uses (" + used + ")");
    return replace_worker();
  }
  if (!in_the_way_since_) {
    in_the_way_since_ = now;
    cell_->outputs.say(told_in_the_way(used));
  } else if (now - *in_the_way_since_ >= kMakesWayWithin) {
    worker_.set_last_death("it used a GPU (" + used + ") that another session's cell has");
    end_worker();
    end_by_death(worker_.last_death());
  }
}

}  // namespace banyan::node
