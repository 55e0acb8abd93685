// Questions about the session's history: from user code, and from outside of cells.

#include <utility>
#include <variant>

#include "core/session/answers.h"
#include "core/session/cells.h"
#include "core/session/history.h"
#include "core/session/removals.h"
#include "core/session/transfer.h"
#include "core/session/whole.h"
#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr std::size_t kActionsMax = 1000;  // of a cell

tl::unexpected<Error> a_cell_runs() {
  return fail(ErrorKind::kConflict, "a cell runs; try again when it has ended");
}
}  // namespace

/// What a cell asks for takes effect with its commit; until then its further questions see it. A front end
/// may ask through the worker between cells: then it is as if it had asked the gateway.
void Replica::on_worker(const WorkerAsks& event) {
  if (!worker_ || worker_->id != event.worker) return;
  const auto answer = [&](Result<std::string> content) {
    host_.emit(AnswerWorker{event.worker, std::move(content)});
  };
  auto question = session::read_question(event.question);
  if (!question) return answer(tl::unexpected(question.error()));
  if (const auto* const wanted = std::get_if<session::question::Migrate>(&*question)) {
    const auto move = session::may_leave(*session_, *wanted);
    if (!move) return answer(tl::unexpected(move.error()));
    const std::string& request = questions_.begin_of_worker(event.worker);
    questions_.await_amendment(request, {});  // answered in time, or given up
    return to_gateway(AskSession{session_id_, request, session::text_of(*move)});
  }
  if (!cell_ || !cell_->runs_user_code())
    return ask({questions_.begin_of_worker(event.worker), std::move(*question)});
  auto found = session::ask(*session_, cell_->ending.actions(), *question);
  if (!found) return answer(tl::unexpected(found.error()));
  if (cell_->ending.actions().size() + found->actions.size() > kActionsMax)
    return answer(fail(ErrorKind::kInvalid, "a cell may move head and name commits " +
                                                std::to_string(kActionsMax) + " times at most"));
  cell_->ending.on_history(found->actions, session::forced(*question));
  answer(std::move(found->content));
}

void Replica::gateway_answered(const SessionAnswer& said) { questions_.on_gateway(said); }

/// An answer knows of everything that was committed before the question (a linearizable read).
void Replica::ask(const AskedQuestion& question) {
  resting_since_.reset();
  if (std::holds_alternative<session::question::Prepare>(question.question)) {
    prepare();
    return questions_.answer(question.request, api::to_text(session::answer::Nothing{}));
  }
  const std::uint64_t context = host_.rng().next();
  if (!session_ || !log_.read(context)) {
    questions_.answer(question.request,
                      fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
    return;
  }
  questions_.await_read(context, question);
  pump();
}

void Replica::answer_questions() {
  for (const AskedQuestion& question : questions_.take_read(log_.applied())) answer_now(question);
}

void Replica::answer_now(const AskedQuestion& question) {
  if (const auto* const wanted = std::get_if<session::question::Export>(&question.question);
      wanted != nullptr && !questions_.is_of_worker(question.request)) {
    const auto values = session::exported_values(*session_, speeds_.now(), *wanted);
    return questions_.answer(
        question.request, values ? Result<std::string>(std::string(session_->snapshot_with(*values).view()))
                                 : tl::unexpected(values.error()));
  }
  if (const auto* const wanted = std::get_if<session::question::Cells>(&question.question))
    return questions_.answer(question.request, api::to_text(session::cells_of(
                                                   *session_, CommitId{wanted->after}, outputs_so_far())));
  auto found = session::ask(*session_, {}, question.question);
  if (!found) {
    questions_.answer(question.request, tl::unexpected(found.error()));
  } else if (found->actions.empty()) {
    questions_.answer(question.request, std::move(found->content));
  } else if (session_->running() || cell_) {
    questions_.answer(question.request, a_cell_runs());
  } else if (worker_ && worker_->phase == WorkerPhase::kReady && !found->leaves.empty() &&
             !questions_.is_of_worker(question.request)) {
    // The worker may have objects whose end removes something from the disk. It looks at them itself: the log
    // does not know what stood for a folder when its cell ran again, or which folders are there still. One
    // that asks itself waits for this answer, and looks before it asks.
    questions_.await_removals(question, worker_->id, found->leaves);
  } else {
    amend(question.request, std::move(*found));
  }
}

void Replica::on_worker(const WorkerRemoves& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (const auto question = questions_.take_removals(event.request))
    go_on_removing(*question, event.removals);
}

/// A cell may have run since the worker was asked: what moves is found out anew.
void Replica::go_on_removing(const AskedQuestion& asked, const std::vector<session::Removal>& removals) {
  auto found = session::ask(*session_, {}, asked.question);
  if (!found) return questions_.answer(asked.request, tl::unexpected(found.error()));
  if (session_->running() || cell_) return questions_.answer(asked.request, a_cell_runs());
  auto content = session::with_removals(found->content, session::forced(asked.question), removals);
  if (!content) return questions_.answer(asked.request, tl::unexpected(content.error()));
  found->content = std::move(*content);
  amend(asked.request, std::move(*found));
}

/// The worker has ended, or does not answer. Who forces it wants it done all the same.
void Replica::stop_removing(const AskedQuestion& asked) {
  if (session::forced(asked.question)) return go_on_removing(asked, {});
  questions_.answer(
      asked.request,
      fail(ErrorKind::kUnavailable,
           "the session's process did not say what this would remove from the disk; try again, or "
           "say --force to do it whatever that removes"));
}

void Replica::amend(const std::string& request, session::Answer answered) {
  if (!log_.propose(
          session::Amend{request, std::move(answered.actions), session_->last(), session_->amended()}))
    return questions_.answer(request,
                             fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
  questions_.await_amendment(request, std::move(answered.content));
}

/// Of the cell that runs here: no other replica knows them before its commit.
std::optional<session::OutputsSoFar> Replica::outputs_so_far() const {
  if (!cell_ || !cell_->has_started()) return std::nullopt;
  return session::OutputsSoFar{cell_->execution(), cell_->outputs.log().total(), cell_->outputs.log().kept()};
}

/// What it says is looked at before it is in the log, where it would have to be taken.
void Replica::import(const ImportSession& request) {
  const auto refuse = [&](ErrorKind kind, std::string why) {
    questions_.answer(request.request, fail(kind, std::move(why)));
  };
  const auto found = session::Session::restore(request.snapshot);
  if (!found) return refuse(ErrorKind::kInvalid, found.error().message);
  for (const auto& [digest, uses] : found->chunks()) {
    if (chunks_.durable(digest)) continue;
    const bool stored = found->elsewhere().sha256.contains(digest);
    if (!stored || !chunks_.has_store())
      return refuse(ErrorKind::kInvalid,
                    "the chunk " + to_hex(digest) +
                        (stored ? " of the state is in a data store, and this host has none (its 'store')"
                                : " of the state was not sent before it"));
  }
  if (!session_ || !log_.propose(session::Import{request.request, request.snapshot}))
    return refuse(ErrorKind::kUnavailable, "the session has no leader now; try again");
  questions_.await_amendment(request.request, api::to_text(session::answer::Nothing{}));
}

void Replica::happened(const session::Amended& event) {
  host_.report_soon(session_id_);
  chunk_sync_.release({event.request});  // of an import
  questions_.on_amended(event);
  tend_worker();
  sync_view();
}

void Replica::confirm_questions() {
  for (const std::uint64_t context : questions_.unconfirmed()) {
    const std::uint64_t again = host_.rng().next();
    if (!log_.read(again)) return;
    questions_.read_again(context, again);
  }
}

void Replica::give_up_questions() {
  questions_.give_up();
  for (const AskedQuestion& asked : questions_.take_silent(worker())) stop_removing(asked);
}

}  // namespace banyan::node
