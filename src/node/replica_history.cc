// Questions about the session's history: from user code, and from outside of cells.

#include <utility>

#include "core/session/cells.h"
#include "core/session/history.h"
#include "core/session/removals.h"
#include "core/session/transfer.h"
#include "core/session/whole.h"
#include "node/replica.h"

namespace banyan::node {

namespace {
constexpr Duration kReadWithin = 10s;
constexpr Duration kConfirmAgain = 500ms;
constexpr Duration kRemovalsWithin = 5s;
constexpr std::size_t kActionsMax = 1000;  // of a cell

tl::unexpected<Error> a_cell_runs() {
  return fail(ErrorKind::kConflict, "a cell runs; try again when it has ended");
}
}  // namespace

/// What a cell asks for takes effect with its commit; until then its further questions see it. A front end
/// may ask through the worker between cells: then it is as if it had asked the gateway.
void Replica::on_worker(const WorkerAsks& event) {
  if (!worker_ || worker_->id != event.worker) return;
  if (session::for_gateway(event.question)) {
    auto question = session::may_leave(*session_, event.question);
    if (!question) {
      host_.emit(AnswerWorker{event.worker, tl::unexpected(question.error())});
      return;
    }
    worker_question_ = host_.rng().uuid();
    amendments_[*worker_question_] = {{}, host_.now().mono};  // answered in time, or given up
    return to_gateway(AskSession{session_id_, *worker_question_, std::move(*question)});
  }
  if (!cell_ || !cell_->going || cell_->delta) {
    worker_question_ = host_.rng().uuid();
    return ask({.session = session_id_, .request = *worker_question_, .question = event.question});
  }
  auto answer = session::ask(*session_, cell_->actions, event.question);
  if (!answer) {
    host_.emit(AnswerWorker{event.worker, tl::unexpected(answer.error())});
    return;
  }
  if (cell_->actions.size() + answer->actions.size() > kActionsMax) {
    host_.emit(AnswerWorker{event.worker,
                            fail(ErrorKind::kInvalid, "a cell may move head and name commits " +
                                                          std::to_string(kActionsMax) + " times at most")});
    return;
  }
  cell_->asked_history = true;
  cell_->may_lose |= session::forced(event.question);
  cell_->actions.insert(cell_->actions.end(), answer->actions.begin(), answer->actions.end());
  host_.emit(AnswerWorker{event.worker, std::move(answer->content)});
}

void Replica::gateway_answered(const SessionAnswer& said) {
  if (amendments_.erase(said.request) == 0) return;
  if (said.refused) {
    answer(said.request, fail(*said.refused, said.reason));
  } else {
    answer(said.request, said.content);
  }
}

/// An answer knows of everything that was committed before the question (a linearizable read).
void Replica::ask(const AskSession& question) {
  resting_since_.reset();
  if (question.question == kPrepare) {
    prepare();
    return answer(question.request, std::string("{}"));
  }
  const std::uint64_t context = host_.rng().next();
  if (!session_ || !raft_.read_index(context)) {
    answer(question.request, fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
    return;
  }
  const Time now = host_.now().mono;
  questions_[context] = {question, now, now + kConfirmAgain, kConfirmAgain, {}};
  pump();
}

void Replica::question_confirmed(const raft::ReadState& read) {
  if (const auto asked = questions_.find(read.context); asked != questions_.end())
    asked->second.answer_at = read.index;
}

void Replica::answer_questions() {
  for (auto it = questions_.begin(); it != questions_.end();) {
    const auto asked = it++;
    if (!asked->second.answer_at || *asked->second.answer_at > applied_) continue;
    const AskSession question = std::move(asked->second.question);
    questions_.erase(asked);
    answer_now(question);
  }
}

void Replica::answer_now(const AskSession& question) {
  if (const auto wanted = session::export_wanted(question.question);
      wanted && worker_question_ != question.request) {
    const auto values = session::exported_values(*session_, speeds_.now(), *wanted);
    return answer(question.request,
                  values ? Result<std::string>(std::string(session_->snapshot_with(*values).view()))
                         : tl::unexpected(values.error()));
  }
  if (const auto after = session::cells_wanted(question.question))
    return answer(question.request, session::cells_of(*session_, *after, outputs_so_far()));
  auto found = session::ask(*session_, {}, question.question);
  if (!found) {
    answer(question.request, tl::unexpected(found.error()));
  } else if (found->actions.empty()) {
    answer(question.request, std::move(found->content));
  } else if (session_->running() || cell_) {
    answer(question.request, a_cell_runs());
  } else if (worker_holds(*found) && worker_question_ != question.request) {
    // A worker that asks itself waits for this answer, and looks for itself.
    host_.emit(AskRemovals{worker_->id, question.request, found->leaves});
    removing_[question.request] = {question, worker_->id, host_.now().mono};
  } else {
    amend(question.request, std::move(*found));
  }
}

/// Whether the worker may have objects whose end removes something from the disk. It looks at them itself:
/// the log does not know what stood for a folder when its cell ran again, or which folders are there still.
bool Replica::worker_holds(const session::Answer& moves) const {
  return !moves.leaves.empty() && worker_ && worker_->phase == WorkerPhase::kReady;
}

void Replica::on_worker(const WorkerRemoves& event) {
  if (worker_ && worker_->id == event.worker) go_on_removing(event.request, event.removals);
}

/// A cell may have run since the worker was asked: what moves is found out anew.
void Replica::go_on_removing(const std::string& request, const std::vector<session::Removal>& removals) {
  const auto asked = removing_.extract(request);
  if (asked.empty()) return;
  const std::string& question = asked.mapped().question.question;
  auto found = session::ask(*session_, {}, question);
  if (!found) return answer(request, tl::unexpected(found.error()));
  if (session_->running() || cell_) return answer(request, a_cell_runs());
  auto content = session::with_removals(found->content, question, removals);
  if (!content) return answer(request, tl::unexpected(content.error()));
  found->content = std::move(*content);
  amend(request, std::move(*found));
}

/// The worker has ended, or does not answer. Who forces it wants it done all the same.
void Replica::stop_removing(const std::string& request) {
  if (session::forced(removing_.at(request).question.question)) return go_on_removing(request, {});
  removing_.erase(request);
  answer(request,
         fail(ErrorKind::kUnavailable,
              "the session's process did not say what this would remove from the disk; try again, or "
              "say --force to do it whatever that removes"));
}

void Replica::amend(const std::string& request, session::Answer answered) {
  if (!propose(session::Amend{request, std::move(answered.actions), session_->last(), session_->amended()}))
    return answer(request, fail(ErrorKind::kUnavailable, "the session has no leader now; try again"));
  amendments_[request] = {std::move(answered.content), host_.now().mono};
}

/// Of the cell that runs here: no other replica knows them before its commit.
std::optional<session::OutputsSoFar> Replica::outputs_so_far() const {
  if (!cell_ || !cell_->started) return std::nullopt;
  return session::OutputsSoFar{cell_->execution, cell_->outputs.total(), cell_->outputs.kept()};
}

/// What it says is looked at before it is in the log, where it would have to be taken.
void Replica::import(const ImportSession& request) {
  const auto refuse = [&](ErrorKind kind, std::string why) {
    answer(request.request, fail(kind, std::move(why)));
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
  if (!session_ || !propose(session::Import{request.request, request.snapshot}))
    return refuse(ErrorKind::kUnavailable, "the session has no leader now; try again");
  amendments_[request.request] = {"{}", host_.now().mono};
}

void Replica::happened(const session::Amended& event) {
  host_.report_soon(session_id_);
  release_held({event.request});  // of an import
  if (const auto asked = amendments_.find(event.request); asked != amendments_.end()) {
    if (event.refused) {
      answer(event.request, tl::unexpected(*event.refused));
    } else {
      answer(event.request, std::move(asked->second.content));
    }
    amendments_.erase(asked);
  }
  tend_worker();
  sync_view();
}

/// A read may be lost with its leader: those that nobody has confirmed are asked for again, each under a
/// context of its own.
void Replica::confirm_questions() {
  const Time now = host_.now().mono;
  std::vector<std::uint64_t> late;
  for (const auto& [context, question] : questions_)
    if (!question.answer_at && question.confirm_at <= now) late.push_back(context);
  for (const std::uint64_t context : late) {
    const std::uint64_t again = host_.rng().next();
    if (!raft_.read_index(again)) return;
    auto question = questions_.extract(context);
    question.key() = again;
    question.mapped().confirm_within *= 2;  // where reads take long, the next one has longer
    question.mapped().confirm_at = now + question.mapped().confirm_within;
    questions_.insert(std::move(question));
  }
}

/// A proposal may be lost with its leader, too.
void Replica::give_up_questions() {
  const auto too_old = [&](Time asked) { return host_.now().mono - asked >= kReadWithin; };
  std::erase_if(questions_, [&](const auto& item) {
    if (!too_old(item.second.asked)) return false;
    answer(item.second.question.request,
           fail(ErrorKind::kUnavailable, "no majority of the session's hosts answered in time; try again"));
    return true;
  });
  std::vector<std::string> silent;
  for (const auto& [request, removing] : removing_) {
    const bool gone = !worker_ || worker_->id != removing.worker;
    if (gone || host_.now().mono - removing.asked >= kRemovalsWithin) silent.push_back(request);
  }
  for (const std::string& request : silent) stop_removing(request);
  std::erase_if(amendments_, [&](const auto& item) {
    if (!too_old(item.second.asked)) return false;
    answer(item.first, fail(ErrorKind::kUnavailable,
                            "no majority of the session's hosts answered in time; look whether it was done"));
    return true;
  });
}

void Replica::answer(const std::string& request, const Result<std::string>& content) {
  if (worker_ && worker_question_ == request) {
    worker_question_.reset();
    host_.emit(AnswerWorker{worker_->id, content});
    return;
  }
  SessionAnswer message{.session = session_id_, .request = request};
  if (content) {
    message.content = *content;
  } else {
    message.refused = content.error().kind;
    message.reason = content.error().message;
  }
  to_gateway(std::move(message));
}

}  // namespace banyan::node
