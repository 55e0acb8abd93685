#include "node/replica_history.h"

#include <utility>
#include <variant>

#include "core/session/answers.h"
#include "core/session/transfer.h"
#include "core/session/whole.h"

namespace banyan::node {

namespace {
constexpr std::size_t kActionsMax = 1000;  // of a cell

tl::unexpected<Error> refused_by_a_cell() {
  return fail(ErrorKind::kConflict, "a cell runs; try again when it has ended");
}
}  // namespace

/// What a cell asks for takes effect with its commit; until then its further questions see it. A front end
/// may ask through the worker between cells: then it is as if it had asked the gateway.
void ReplicaHistory::on_asks(const WorkerAsks& event) {
  const auto answer = [&](Result<std::string> content) {
    core_.host.emit(AnswerWorker{event.worker, std::move(content)});
  };
  auto question = session::read_question(event.question);
  if (!question) return answer(tl::unexpected(question.error()));
  if (const auto* const wanted = std::get_if<session::question::Migrate>(&*question)) {
    const auto move = session::may_leave(*core_.session, *wanted);
    if (!move) return answer(tl::unexpected(move.error()));
    const std::string& request = questions_.begin_of_worker(event.worker);
    questions_.await_amendment(request, {});  // answered in time, or given up
    return core_.to_gateway(AskSession{core_.session_id, request, session::text_of(*move)});
  }
  CellRun* const cell = parts_.cells.cell();
  if (cell == nullptr || !cell->runs_user_code())
    return ask({questions_.begin_of_worker(event.worker), std::move(*question)});
  auto found = session::ask(*core_.session, cell->ending.actions(), *question, parts_.pending.model());
  if (!found) return answer(tl::unexpected(found.error()));
  if (cell->ending.actions().size() + found->actions.size() > kActionsMax)
    return answer(fail(ErrorKind::kInvalid, "a cell may move head and name commits " +
                                                std::to_string(kActionsMax) + " times at most"));
  cell->ending.on_history(found->actions, session::forced(*question));
  answer(std::move(found->content));
}

/// An answer knows of everything that was committed before the question (a linearizable read).
void ReplicaHistory::ask(const AskedQuestion& question) {
  if (std::holds_alternative<session::question::Prepare>(question.question)) {
    parts_.view.prepare();
    return questions_.answer(question.request, api::to_text(session::answer::Nothing{}));
  }
  const std::uint64_t context = core_.host.rng().next();
  if (!core_.session || !core_.log.read(context)) {
    questions_.answer(question.request,
                      fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
    return;
  }
  questions_.await_read(context, question);
}

void ReplicaHistory::answer_read() {
  for (const AskedQuestion& question : questions_.take_read(core_.log.applied())) answer_now(question);
}

void ReplicaHistory::answer_now(const AskedQuestion& question) {
  if (const auto* const wanted = std::get_if<session::question::Export>(&question.question);
      wanted != nullptr && !questions_.is_of_worker(question.request)) {
    const auto values = session::exported_values(*core_.session, parts_.speeds.now(), *wanted,
                                                 core_.host.sizes().small_value);
    return questions_.answer(
        question.request, values
                              ? Result<std::string>(std::string(core_.session->snapshot_with(*values).view()))
                              : tl::unexpected(values.error()));
  }
  if (const auto* const wanted = std::get_if<session::question::Cells>(&question.question))
    return questions_.answer(
        question.request,
        api::to_text(session::cells_of(*core_.session, CommitId{wanted->after}, outputs_so_far())));
  auto found = session::ask(*core_.session, {}, question.question, parts_.pending.model());
  if (!found) {
    questions_.answer(question.request, tl::unexpected(found.error()));
  } else if (found->actions.empty()) {
    questions_.answer(question.request, std::move(found->content));
  } else if (a_cell_runs()) {
    questions_.answer(question.request, refused_by_a_cell());
  } else if (worker_.is_ready() && !found->leaves.empty() && !questions_.is_of_worker(question.request)) {
    // The worker may have objects whose end removes something from the disk. It looks at them itself: the log
    // does not know what stood for a folder when its cell ran again, or which folders are there still. One
    // that asks itself waits for this answer, and looks before it asks.
    questions_.await_removals(question, *worker_.id(), found->leaves);
  } else {
    amend(question.request, std::move(*found));
  }
}

void ReplicaHistory::on_removes(const WorkerRemoves& event) {
  if (const auto question = questions_.take_removals(event.request))
    go_on_removing(*question, event.removals);
}

/// A cell may have run since the worker was asked: what moves is found out anew.
void ReplicaHistory::go_on_removing(const AskedQuestion& asked,
                                    const std::vector<session::Removal>& removals) {
  auto found = session::ask(*core_.session, {}, asked.question);
  if (!found) return questions_.answer(asked.request, tl::unexpected(found.error()));
  if (a_cell_runs()) return questions_.answer(asked.request, refused_by_a_cell());
  auto content = session::with_removals(found->content, session::forced(asked.question), removals);
  if (!content) return questions_.answer(asked.request, tl::unexpected(content.error()));
  found->content = std::move(*content);
  amend(asked.request, std::move(*found));
}

/// The worker has ended, or does not answer. Who forces it wants it done all the same.
void ReplicaHistory::stop_removing(const AskedQuestion& asked) {
  if (session::forced(asked.question)) return go_on_removing(asked, {});
  questions_.answer(
      asked.request,
      fail(ErrorKind::kUnavailable,
           "the session's process did not say what this would remove from the disk; try again, or "
           "say --force to do it whatever that removes"));
}

void ReplicaHistory::amend(const std::string& request, session::Answer answered) {
  if (!core_.log.propose(session::Amend{request, std::move(answered.actions), core_.session->last(),
                                        core_.session->amended()}))
    return questions_.answer(request,
                             fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
  questions_.await_amendment(request, std::move(answered.content));
}

/// Of the cell that runs here: no other replica knows them before its commit.
std::optional<session::OutputsSoFar> ReplicaHistory::outputs_so_far() const {
  const CellRun* const cell = parts_.cells.cell();
  if (cell == nullptr || !cell->has_started()) return std::nullopt;
  return session::OutputsSoFar{cell->execution(), cell->outputs.log().total(), cell->outputs.log().kept()};
}

/// What it says is looked at before it is in the log, where it would have to be taken.
void ReplicaHistory::import(const ImportSession& request) {
  const auto refuse = [&](ErrorKind kind, std::string why) {
    questions_.answer(request.request, fail(kind, std::move(why)));
  };
  const auto found = session::Session::restore(request.snapshot);
  if (!found) return refuse(ErrorKind::kInvalid, found.error().message);
  for (const auto& [digest, uses] : found->chunks()) {
    if (parts_.chunks.durable(digest)) continue;
    const bool stored = found->elsewhere().sha256.contains(digest);
    if (!stored || !parts_.chunks.has_store())
      return refuse(ErrorKind::kInvalid,
                    "the chunk " + to_hex(digest) +
                        (stored ? " of the state is in a data store, and this host has none (its 'store')"
                                : " of the state was not sent before it"));
  }
  if (!core_.session || !core_.log.propose(session::Import{request.request, request.snapshot}))
    return refuse(ErrorKind::kUnavailable, "the session has no leader now; try again");
  questions_.await_amendment(request.request, api::to_text(session::answer::Nothing{}));
}

void ReplicaHistory::on_amended(const session::Amended& event) {
  core_.report_soon();
  parts_.sync.held().release({event.request});  // of an import
  questions_.on_amended(event);
  parts_.cells.tend_worker();
  parts_.view.sync();
}

void ReplicaHistory::on_new_leader() {
  questions_.leader_changed();
  confirm();
}

void ReplicaHistory::confirm() {
  for (const std::uint64_t context : questions_.unconfirmed()) {
    const std::uint64_t again = core_.host.rng().next();
    if (!core_.log.read(again)) return;
    questions_.read_again(context, again);
  }
}

void ReplicaHistory::tick() {
  confirm();
  questions_.give_up();
  for (const AskedQuestion& asked : questions_.take_silent(worker_.id())) stop_removing(asked);
}

bool ReplicaHistory::a_cell_runs() const {
  return core_.session->running() || parts_.cells.cell() != nullptr;
}

}  // namespace banyan::node
