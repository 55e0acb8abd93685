#include "node/gateway_operations.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/history.h"
#include "core/session/questions.h"
#include "node/gateway_answers.h"

namespace banyan::node {

using nlohmann::json;

namespace {

constexpr Duration kRestMax = 30s;
constexpr Duration kMoveMax = 600s;          // values may be large
constexpr Duration kLogAnswersWithin = 15s;  // it may have to wait for a majority, as in Questions
constexpr Duration kAskAgain = 250ms;
constexpr Duration kPrepareAgain = 1s;
constexpr int kPrepareMax = 10;  // in vain
constexpr int kLooksMax = 2;     // before it is said what would be lost, and before the lead goes

}  // namespace

void Operations::begin(Operation operation) {
  last_use_.note();
  const bool same = operation_ && operation_->kind == operation.kind && operation_->to == operation.to;
  if (same) {  // a client asks again whose connection was cut
    operation_->requests.insert(operation_->requests.end(), operation.requests.begin(),
                                operation.requests.end());
    operation_->force |= operation.force;
    return;
  }
  if (operation_ && !operation_->requests.empty()) {
    for (const RequestId request : operation.requests)
      gateway_.emit(
          error_reply(request, 409, "The session is being suspended, resumed or moved; try again."));
    return;
  }
  if (operation_) end(409, "the session was suspended, resumed or moved in another way");
  start(std::move(operation));
}

void Operations::start(Operation operation) {
  operation.since = gateway_.now().mono;
  operation_ = std::move(operation);
  watch();
}

void Operations::suspend(RequestId request, bool force) {
  begin({.kind = Kind::kSuspend, .requests = {request}, .force = force});
}

void Operations::resume(RequestId request) { begin({.kind = Kind::kResume, .requests = {request}}); }

Result<Done> Operations::can_go_to(const HostId& host) const {
  if (!gateway_.hosts().contains(host))
    return fail(ErrorKind::kNotFound, "There is no host '" + host.value + "'; `banyan hosts` lists them.");
  if (!gateway_.usable(host))
    return fail(ErrorKind::kUnavailable,
                "Host " + host.value + " does not answer; the session stays where it is.");
  if (const auto why = gateway_.cluster().why_not_on(host, record_.id);
      why && !gateway_.cluster().is_trying(host, record_.spec.kernel_name)) {
    std::string able;
    for (const auto& [other, peer] : gateway_.hosts())
      if (gateway_.usable(other) && !gateway_.cluster().why_not_on(other, record_.id))
        able += (able.empty() ? "" : ", ") + other.value;
    return fail(ErrorKind::kDenied,
                "Host " + host.value + " cannot run the kernel \"" + record_.spec.kernel_name + "\": " +
                    *why + ". " + (able.empty() ? "No other host can now." : "These can: " + able + "."));
  }
  return Done{};
}

void Operations::migrate(RequestId request, const HostId& to, bool force) {
  if (const auto may = can_go_to(to); !may) {
    const ErrorKind kind = may.error().kind;
    const int status = kind == ErrorKind::kNotFound ? 404 : kind == ErrorKind::kDenied ? 409 : 503;
    return gateway_.emit(error_reply(request, status, may.error().message));
  }
  begin({.kind = Kind::kMigrate, .requests = {request}, .to = to, .force = force});
}

void Operations::on_asked(const HostId& host, const AskSession& question) {
  SessionAnswer answer{.session = record_.id, .request = question.request};
  const auto asked = session::read_question(question.question);
  const auto* const known = asked ? std::get_if<session::question::Migrate>(&*asked) : nullptr;
  const auto move = known == nullptr ? session::question::Migrate{} : *known;
  const HostId to{move.host};
  const Result<Done> may = asked ? can_go_to(to) : Result<Done>(tl::unexpected(asked.error()));
  if (!may) {
    answer.refused = may.error().kind;
    answer.reason = may.error().message;
  } else if (move.without_gpu && gateway_.cluster().gpus_of(to) == 0) {
    answer.refused = ErrorKind::kDenied;
    answer.reason = *move.without_gpu;
  } else if (operation_) {
    answer.refused = ErrorKind::kConflict;
    answer.reason = "The session is being suspended, resumed or moved; try again.";
  } else {
    answer.content = api::to_text(session::answer::Moves{to.value});
    begin({.kind = Kind::kMigrate, .to = to, .force = move.force.value_or(false)});
  }
  gateway_.send(host, std::move(answer));
}

/// The replica that runs the session's cells leaves as a person would move the session: what would be lost is
/// looked at first, and the lead goes over between two cells. Another replica is just copied.
void Operations::on_move(const schedule::MoveReplica& decision) {
  const auto replica = record_.member_on(decision.from);
  const bool free = !operation_ && !restarts_.under_way() && members_.whole() && members_.may_change();
  const bool lacks = record_.members.size() < gateway_.replicas_wanted();
  const bool executes = cells_.last().host() == decision.from;
  std::string busy;
  if (!replica || !free || lacks || !gateway_.usable(decision.to) || members_.leaves(decision.to)) {
    busy = "the session is being changed in another way, or one of its hosts does not answer";
  } else if (executes && !cells_.empty()) {
    busy = "a cell runs there; the session moves when it has ended";
  }
  if (!busy.empty()) {
    members_.tell_holds();
    return gateway_.tell(schedule::MoveFailed{.session = record_.id, .reason = busy, .soon = true});
  }
  if (!executes) {
    gateway_.log(Log::Level::kInfo, "session " + record_.id.value + ": its replica on host " +
                                        decision.from.value + " moves to host " + decision.to.value);
    return members_.move_to(decision.to, *replica);
  }
  start({.kind = Kind::kMigrate, .to = decision.to, .force = decision.force});
}

/// A suspended session that has something to answer gets workers, also when nobody has asked for that.
void Operations::wake_for_requests() {
  if (operation_ || !channels_.requests().any_waits() || !members_.voters().can_serve() ||
      !reports_.suspended())
    return;
  last_use_.note();
  operation_ = Operation{.kind = Kind::kResume, .since = gateway_.now().mono};
}

/// Nothing happens in it, nobody waits for it, and to suspend it has not been found to lose something.
bool Operations::may_rest() const {
  return !operation_ && cells_.empty() && channels_.requests().empty() &&
         last_use_.at() != rest_refused_at_ && members_.voters().can_serve() && !reports_.suspended();
}

void Operations::tell_idle() {
  const std::optional<WallTime> since = may_rest() ? std::optional(last_use_.at()) : std::nullopt;
  if (std::exchange(idle_told_, since) != since) gateway_.tell(schedule::SessionIdle{record_.id, since});
}

/// A report may come late: while there is a cell the session is not suspended any more, or was not yet.
void Operations::tell_suspended() {
  const bool suspended = reports_.suspended() && cells_.empty();
  if (std::exchange(suspended_told_, suspended) != suspended && suspended)
    gateway_.tell(schedule::ReservationEnds{record_.id});
}

void Operations::on_rest() {
  idle_told_.reset();  // the scheduler has taken it from its list
  if (!may_rest()) return;
  start({.kind = Kind::kSuspend});
}

void Operations::on_report() {
  tell_suspended();
  if (operation_) watch();
}

void Operations::watch() {
  wake_for_requests();
  watch_question();
  if (!operation_) return;
  const ReplicaReport* const newest = reports_.newest();
  const bool copies = operation_->kind == Kind::kMigrate || operation_->awaits_copies;
  const Duration limit = copies ? kMoveMax : kRestMax;
  if (gateway_.now().mono - operation_->since >= limit)
    return end(503,
               "This has not finished in time and was given up; the session is where it was or "
               "where it was to be. `banyan sessions` shows it.");
  if (newest == nullptr || !members_.voters().can_serve() || looks()) return;
  switch (operation_->kind) {
    case Kind::kSuspend:
      return step_suspend(*newest);
    case Kind::kResume:
      return step_resume(*newest);
    case Kind::kMigrate:
      return step_migrate(*newest);
  }
}

void Operations::step_suspend(const ReplicaReport& newest) {
  if (restarts_.under_way()) return;
  if (!newest.suspended) {
    if (operation_->looked == 0 && look(newest)) return;
    if (waits_for_copies()) return void(operation_->awaits_copies = true);
    if (std::exchange(operation_->awaits_copies, false)) operation_->since = gateway_.now().mono;
    return ask_log(session::question::Suspend{.force = operation_->force, .gpus = {}});
  }
  if (reports_.without_workers())
    end(200, api::to_text(api::Suspended{.lost = operation_->lost.value_or(session::answer::Losses())}));
}

/// A suspended session may be on the disks of few hosts only, and these may go away: what the last cells made
/// is on a majority's first. Who forces it does not wait.
bool Operations::waits_for_copies() const {
  const auto executor = cells_.executor();
  const ReplicaReport* const report = executor ? reports_.on(*executor) : nullptr;
  return operation_->kind == Kind::kSuspend && !operation_->force && report != nullptr &&
         report->pending_bytes > 0;
}

void Operations::step_resume(const ReplicaReport& newest) {
  if (const auto able = able_instead()) {
    const std::uint64_t gpus = gateway_.cluster().gpus_of(record_.committed.at(*able));
    return ask_log(session::question::HandOver{.to = able->value, .force = operation_->force, .gpus = gpus});
  }
  if (newest.suspended) return ask_log(session::question::Resume{});
  if (const auto host = cells_.last().host(); host && reports_.shows_head(*host))
    end(200, api::to_text(api::Resumed{.host = host->value}));
}

/// Whose host can run the kernel and has the values, when the executor's host cannot any more.
std::optional<ReplicaId> Operations::able_instead() const {
  const auto state_on = [&](const HostId& host) {
    return gateway_.cluster().kernel_on(host, record_.spec.kernel_name).state;
  };
  const auto executor = cells_.executor();
  if (!executor || state_on(*executor) != KernelState::kCannot) return std::nullopt;
  for (const auto& [replica, host] : record_.committed) {
    const ReplicaReport* const report = reports_.on(host);
    if (gateway_.usable(host) && record_.member_on(host) && report != nullptr && report->complete &&
        state_on(host) == KernelState::kRuns)
      return replica;
  }
  return std::nullopt;
}

/// One replica more, which makes itself a view of head from what has come and what it makes again, while the
/// others go on, also with a cell; then the lead, between two cells. When the rest has been copied the one
/// that led leaves.
void Operations::step_migrate(const ReplicaReport& newest) {
  const HostId& to = operation_->to;
  const std::uint64_t gpus = gateway_.cluster().gpus_of(to);
  if (!operation_->lost) {
    if (operation_->looked == 0 && look(newest)) return;
    return ask_log(session::question::Leave{.force = operation_->force, .gpus = gpus});
  }
  if (!gateway_.usable(to))
    return end(503, "Host " + to.value + " went down; the session stays on its other hosts.");
  if (!members_.noted()) return;
  const auto replica = record_.member_on(to);
  if (!replica) {
    if (!members_.whole() || members_.leaves(to) ||
        gateway_.cluster().is_trying(to, record_.spec.kernel_name))
      return;  // one move after the other
    if (const auto may = can_go_to(to); !may) return end(409, may.error().message);
    const auto from = cells_.last().host();
    const auto leaves = from ? record_.member_on(*from) : std::nullopt;
    gateway_.log(Log::Level::kInfo, "session " + record_.id.value + " moves to host " + to.value);
    operation_->added = true;
    return members_.move_to(to, leaves.value_or(ReplicaId{}));
  }
  const ReplicaReport* const report = reports_.on(to);
  if (!members_.settled() || report == nullptr || report->replica != *replica) return;
  if (newest.executor != *replica) {
    if (!newest.suspended) prepare(to);
    // A host of an earlier version does not prepare.
    const bool in_vain =
        operation_->prepared > kPrepareMax && record_.spec.standbys == session::Standbys::kWarm;
    const bool without = report->complete && (newest.suspended || in_vain);
    if (!cells_.empty() || !(without || reports_.shows_head(to))) return;
    if (look(newest)) return;  // what it did meanwhile goes along, too
    return ask_log(
        session::question::HandOver{.to = replica->value, .force = operation_->force, .gpus = gpus});
  }
  if (!newest.suspended && !reports_.shows_head(to) && cells_.empty()) return;
  // The rest is copied, and the one that led leaves, without anybody waiting for it (Membership::watch).
  const std::int64_t took_us = microseconds(gateway_.now().mono - operation_->since);
  end(200, api::to_text(api::Moved{.host = to.value,
                                   .lost = operation_->lost.value_or(session::answer::Losses()),
                                   .copied = report->complete,
                                   .took_ms = took_us / 1000}));
}

/// The log has what was so when the last cell ended. What has changed since, by work in the background or by
/// callbacks of widgets, and whether the work goes on, is known when a cell has ended: one that does nothing,
/// of the gateway's own. True when there is one to wait for.
bool Operations::look(const ReplicaReport& newest) {
  const bool unseen = newest.works || channels_.requests().called_back();
  if (!unseen || newest.suspended || operation_->looked >= kLooksMax) return false;
  ++operation_->looked;
  const jupyter::Author author = gateway_.author(record_.id);
  const json content = {{"code", session::kLook}, {"silent", true},
                        {"store_history", false}, {"user_expressions", json::object()},
                        {"allow_stdin", false},   {"stop_on_error", false}};
  operation_->look = ExecutionId{author.msg_id};
  cells_.accept(
      {}, jupyter::make_message(jupyter::Channel::kShell, "execute_request", "{}", content.dump(), author),
      author.msg_id);
  return true;
}

/// Whether such a cell is still to end, or the hosts have yet to report what it came to.
bool Operations::looks() {
  if (!operation_->look) return false;
  if (cells_.holds(*operation_->look) || cells_.last().reports_lag()) return true;
  operation_->look.reset();
  return false;
}

/// Also where it has a standby without a worker, or one that does not run cells again of itself.
void Operations::prepare(const HostId& host) {
  if (operation_->prepare_at && gateway_.now().mono < *operation_->prepare_at) return;
  operation_->prepare_at = gateway_.now().mono + kPrepareAgain;
  if (cells_.empty()) ++operation_->prepared;
  gateway_.send(
      host, AskSession{record_.id, gateway_.rng().uuid(), session::text_of(session::question::Prepare{})});
}

void Operations::ask_log(const session::Question& asked) {
  std::string question = session::text_of(asked);
  const auto host = questions_.answering_host();
  const bool soon = operation_->asked == question && gateway_.now().mono < operation_->ask_at;
  if (operation_->question || soon || !host) return;
  operation_->asked = question;
  operation_->question = gateway_.rng().uuid();
  operation_->asked_of = *host;
  operation_->asked_at = gateway_.now().mono;
  gateway_.send(*host, AskSession{record_.id, *operation_->question, std::move(question)});
}

/// A question is asked again when its host is gone, then of another one, or does not answer.
void Operations::watch_question() {
  if (!operation_ || !operation_->question) return;
  const bool late = gateway_.now().mono - operation_->asked_at >= kLogAnswersWithin;
  if (!late && gateway_.usable(operation_->asked_of)) return;
  operation_->question.reset();
  operation_->ask_at = gateway_.now().mono + kAskAgain;
}

/// A cell that has begun meanwhile is no reason to give up.
void Operations::on_answer(const SessionAnswer& answer) {
  if (!operation_ || operation_->question != answer.request) return;
  operation_->question.reset();
  operation_->ask_at = gateway_.now().mono + kAskAgain;
  if (!answer.refused) {
    const json content = json::parse(answer.content, nullptr, false);
    // Not every answer says what is lost: one that does not leaves what an earlier one said.
    if (content.is_object() && content.contains("lost"))
      if (auto said = api::from_json<session::answer::Leaves>(content)) operation_->lost = said->lost;
    return watch();
  }
  if (answer.refused == ErrorKind::kUnavailable || answer.refused == ErrorKind::kConflict) return;
  end(answer.refused == ErrorKind::kDenied ? 409 : 400, answer.reason);
}

void Operations::end(int status, const std::string& text) {
  const Operation done = *std::exchange(operation_, std::nullopt);
  if (done.kind == Kind::kMigrate && status != 200) {
    if (done.added) members_.move_back(done.to);
    members_.tell_holds();
    gateway_.tell(schedule::MoveFailed{record_.id, text});
  } else if (done.kind == Kind::kMigrate && !done.added) {
    // It had a replica there already, so that none is too many, and none leaves.
    gateway_.tell(
        schedule::MoveFailed{record_.id, "its cells run elsewhere now, and its replica follows", true});
  }
  if (done.kind == Kind::kMigrate && status == 200) gateway_.tell(schedule::ReservationEnds{record_.id});
  if (status != 200 && done.requests.empty()) {
    // Work may have ended when the session has been idle for as long again, if that takes a while.
    const bool soon = gateway_.kind_of(record_.spec).rests_at_once;
    if (done.kind == Kind::kSuspend && (done.looked == 0 || soon)) rest_refused_at_ = last_use_.at();
    gateway_.log(Log::Level::kWarning,
                 "session " + record_.id.value + " is not suspended, resumed or moved: " + text);
  }
  for (const RequestId request : done.requests)
    gateway_.emit(status == 200 ? HttpReply{request, status, {}, text} : error_reply(request, status, text));
}

void Operations::close() {
  if (operation_) end(404, std::string(kShutDown));
}

std::optional<HostId> Operations::moves_to() const {
  return operation_ && operation_->kind == Kind::kMigrate ? std::optional(operation_->to) : std::nullopt;
}

}  // namespace banyan::node
