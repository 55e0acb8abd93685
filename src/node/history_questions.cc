#include "node/history_questions.h"

#include <utility>

namespace banyan::node {

namespace {
constexpr Duration kAnswerWithin = 10s;
constexpr Duration kConfirmAgain = 500ms;
constexpr Duration kRemovalsWithin = 5s;
}  // namespace

HistoryQuestions::HistoryQuestions(HostContext& host, SessionId session)
    : host_(host), session_id_(std::move(session)) {}

void HistoryQuestions::answer(const std::string& request, const Result<std::string>& content) {
  if (is_of_worker(request)) {
    host_.emit(AnswerWorker{std::exchange(of_worker_, std::nullopt)->worker, content});
    return;
  }
  SessionAnswer message{.session = session_id_, .request = request};
  if (content) {
    message.content = *content;
  } else {
    message.refused = content.error().kind;
    message.reason = content.error().message;
  }
  host_.send(kGateway, std::move(message));
}

const std::string& HistoryQuestions::begin_of_worker(const WorkerId& worker) {
  of_worker_ = {host_.rng().uuid(), worker};
  return of_worker_->request;
}

bool HistoryQuestions::is_of_worker(const std::string& request) const {
  return of_worker_ && of_worker_->request == request;
}

void HistoryQuestions::await_read(std::uint64_t context, const AskedQuestion& question) {
  const Time now = host_.now().mono;
  reads_[context] = {question, now, now + kConfirmAgain, kConfirmAgain, {}};
}

void HistoryQuestions::on_read(const raft::ReadState& read) {
  if (const auto asked = reads_.find(read.context); asked != reads_.end())
    asked->second.answer_at = read.index;
}

std::vector<AskedQuestion> HistoryQuestions::take_read(raft::Index applied) {
  std::vector<AskedQuestion> taken;
  std::erase_if(reads_, [&](auto& item) {
    if (!item.second.answer_at || *item.second.answer_at > applied) return false;
    taken.push_back(std::move(item.second.question));
    return true;
  });
  return taken;
}

std::vector<std::uint64_t> HistoryQuestions::unconfirmed() const {
  std::vector<std::uint64_t> late;
  for (const auto& [context, read] : reads_)
    if (!read.answer_at && read.confirm_at <= host_.now().mono) late.push_back(context);
  return late;
}

void HistoryQuestions::read_again(std::uint64_t context, std::uint64_t again) {
  auto read = reads_.extract(context);
  read.key() = again;
  read.mapped().confirm_within *= 2;  // where reads take long, the next one has longer
  read.mapped().confirm_at = host_.now().mono + read.mapped().confirm_within;
  reads_.insert(std::move(read));
}

void HistoryQuestions::leader_changed() {
  for (auto& [context, read] : reads_) read.confirm_at = host_.now().mono;
}

void HistoryQuestions::await_removals(const AskedQuestion& question, const WorkerId& worker,
                                      std::vector<std::string> leaves) {
  host_.emit(AskRemovals{worker, question.request, std::move(leaves)});
  removing_[question.request] = {question, worker, host_.now().mono};
}

std::optional<AskedQuestion> HistoryQuestions::take_removals(const std::string& request) {
  auto asked = removing_.extract(request);
  return asked.empty() ? std::nullopt : std::optional(std::move(asked.mapped().question));
}

std::vector<AskedQuestion> HistoryQuestions::take_silent(const std::optional<WorkerId>& worker) {
  std::vector<AskedQuestion> taken;
  std::erase_if(removing_, [&](auto& item) {
    const bool gone = worker != item.second.worker;
    if (!gone && host_.now().mono - item.second.asked < kRemovalsWithin) return false;
    taken.push_back(std::move(item.second.question));
    return true;
  });
  return taken;
}

void HistoryQuestions::await_amendment(const std::string& request, std::string content) {
  amending_[request] = {std::move(content), host_.now().mono};
}

void HistoryQuestions::on_amended(const session::Amended& event) {
  auto asked = amending_.extract(event.request);
  if (asked.empty()) return;
  if (event.refused) {
    answer(event.request, tl::unexpected(*event.refused));
  } else {
    answer(event.request, std::move(asked.mapped().content));
  }
}

void HistoryQuestions::on_gateway(const SessionAnswer& said) {
  if (amending_.erase(said.request) == 0) return;
  if (said.refused) {
    answer(said.request, fail(*said.refused, said.reason));
  } else {
    answer(said.request, said.content);
  }
}

void HistoryQuestions::give_up() {
  const auto too_old = [&](Time asked) { return host_.now().mono - asked >= kAnswerWithin; };
  std::erase_if(reads_, [&](const auto& item) {
    if (!too_old(item.second.asked)) return false;
    answer(item.second.question.request,
           fail(ErrorKind::kUnavailable, "no majority of the session's hosts answered in time; try again"));
    return true;
  });
  std::erase_if(amending_, [&](const auto& item) {
    if (!too_old(item.second.asked)) return false;
    answer(item.first, fail(ErrorKind::kUnavailable,
                            "no majority of the session's hosts answered in time; look whether it was done"));
    return true;
  });
}

}  // namespace banyan::node
