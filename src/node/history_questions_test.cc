#include "node/history_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace banyan::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const WorkerId kWorker{1}, kLater{2};

/// Questions that a replica of session s has not answered.
class HistoryQuestion : public testing::Test {
 protected:
  HistoryQuestion() { advance(1h); }

  void advance(Duration time) {
    now_.mono += time;
    host_.set_now(now_);
  }
  /// "request: content", or "request refused: reason", of what the gateway was told since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> told;
    for (auto effects = host_.finish(); !effects.empty(); effects = host_.finish()) {
      for (HostEffect& effect : effects) {
        if (const auto* answer = std::get_if<AnswerWorker>(&effect)) worker_was_told_.push_back(*answer);
        if (const auto* asked = std::get_if<AskRemovals>(&effect)) removals_asked_.push_back(*asked);
        auto* const frame = std::get_if<SendFrame>(&effect);
        if (frame == nullptr) continue;
        for (PeerMessage& message :
             gateway_.receive(std::get<LinkFrame>(std::move(frame->frame)), now_.mono).messages) {
          const auto* said = std::get_if<SessionAnswer>(&message);
          if (said == nullptr) continue;
          told.push_back(said->request +
                         (said->refused ? " refused: " + said->reason.substr(0, 11) : ": " + said->content));
        }
        while (auto answer = gateway_.poll(now_.mono))
          host_.link(kGateway).receive(std::move(*answer), now_.mono);
      }
    }
    return told;
  }
  static AskedQuestion question(const std::string& request) {
    return {.request = request, .question = session::question::Log{}};
  }
  static std::vector<std::string> requests_of(const std::vector<AskedQuestion>& questions) {
    std::vector<std::string> requests;
    for (const AskedQuestion& each : questions) requests.push_back(each.request);
    return requests;
  }

  HostContext host_{{.id = {"h1"}, .timing = {}, .sizes = {}}, Incarnation{1}, 7};
  HistoryQuestions questions_{host_, {"s"}};
  std::vector<AnswerWorker> worker_was_told_;
  std::vector<AskRemovals> removals_asked_;

 private:
  Now now_{};
  Link gateway_{Incarnation{9}, host_.timing(), host_.sizes()};
};

TEST_F(HistoryQuestion, IsAnsweredWhenTheSessionHasWhatWasCommittedBefore) {
  questions_.await_read(11, question("a"));
  questions_.await_read(12, question("b"));
  EXPECT_THAT(questions_.take_read(raft::Index{9}), IsEmpty());
  questions_.on_read({.context = 11, .index = raft::Index{5}});
  questions_.on_read({.context = 12, .index = raft::Index{6}});
  questions_.on_read({.context = 99, .index = raft::Index{1}});  // of somebody else
  EXPECT_THAT(requests_of(questions_.take_read(raft::Index{5})), ElementsAre("a"));
  EXPECT_THAT(questions_.take_read(raft::Index{5}), IsEmpty());
  EXPECT_FALSE(questions_.empty());
  EXPECT_THAT(requests_of(questions_.take_read(raft::Index{6})), ElementsAre("b"));
  EXPECT_TRUE(questions_.empty());
}

TEST_F(HistoryQuestion, AReadThatNobodyConfirmsIsAskedForAgainLaterEachTime) {
  questions_.await_read(11, question("a"));
  advance(499ms);
  EXPECT_THAT(questions_.unconfirmed(), IsEmpty());
  advance(1ms);
  EXPECT_THAT(questions_.unconfirmed(), ElementsAre(11));
  questions_.read_again(11, 12);
  advance(999ms);
  EXPECT_THAT(questions_.unconfirmed(), IsEmpty());
  advance(1ms);
  EXPECT_THAT(questions_.unconfirmed(), ElementsAre(12));
  questions_.on_read({.context = 11, .index = raft::Index{5}});  // the first one, late
  EXPECT_THAT(questions_.take_read(raft::Index{5}), IsEmpty());
  questions_.on_read({.context = 12, .index = raft::Index{5}});
  EXPECT_THAT(questions_.unconfirmed(), IsEmpty());
}

TEST_F(HistoryQuestion, ANewLeaderIsAskedAtOnce) {
  questions_.await_read(11, question("a"));
  questions_.leader_changed();
  EXPECT_THAT(questions_.unconfirmed(), ElementsAre(11));
}

TEST_F(HistoryQuestion, AReadIsGivenUpInTheEnd) {
  questions_.await_read(11, question("a"));
  advance(9s);
  questions_.give_up();
  EXPECT_THAT(told(), IsEmpty());
  advance(1s);
  questions_.give_up();
  EXPECT_THAT(told(), ElementsAre("a refused: no majority"));
  EXPECT_TRUE(questions_.empty());
}

TEST_F(HistoryQuestion, OfTheWorkerIsAnsweredThereAndOnlyOnce) {
  const std::string request = questions_.begin_of_worker(kWorker);
  EXPECT_TRUE(questions_.is_of_worker(request));
  questions_.answer("another", std::string("1"));
  questions_.answer(request, std::string("2"));
  EXPECT_THAT(told(), ElementsAre("another: 1"));
  ASSERT_EQ(worker_was_told_.size(), 1);
  EXPECT_EQ(worker_was_told_[0].worker, kWorker);
  EXPECT_EQ(*worker_was_told_[0].answer, "2");
  EXPECT_FALSE(questions_.is_of_worker(request));
}

TEST_F(HistoryQuestion, OfAWorkerThatIsGoneIsNotToldToTheNextOne) {
  const std::string request = questions_.begin_of_worker(kWorker);
  questions_.await_amendment(request, {});
  questions_.worker_is_gone();
  questions_.on_gateway({.session = {"s"}, .request = request, .content = "{}"});
  told();
  EXPECT_TRUE(worker_was_told_.empty());
}

TEST_F(HistoryQuestion, TheWorkerSaysWhatGoesFromTheDisk) {
  questions_.await_removals(question("a"), kWorker, {"folder"});
  told();
  ASSERT_EQ(removals_asked_.size(), 1);
  EXPECT_EQ(removals_asked_[0].names, std::vector<std::string>{"folder"});
  EXPECT_FALSE(questions_.empty());
  EXPECT_FALSE(questions_.take_removals("b"));
  EXPECT_EQ(questions_.take_removals("a")->request, "a");
  EXPECT_FALSE(questions_.take_removals("a"));
  EXPECT_TRUE(questions_.empty());
}

TEST_F(HistoryQuestion, AWorkerThatIsSilentOrGoneIsNotWaitedFor) {
  questions_.await_removals(question("a"), kWorker, {});
  EXPECT_THAT(questions_.take_silent(kWorker), IsEmpty());
  EXPECT_THAT(requests_of(questions_.take_silent(kLater)), ElementsAre("a"));
  questions_.await_removals(question("b"), kWorker, {});
  EXPECT_THAT(requests_of(questions_.take_silent(std::nullopt)), ElementsAre("b"));
  questions_.await_removals(question("c"), kWorker, {});
  advance(5s);
  EXPECT_THAT(requests_of(questions_.take_silent(kWorker)), ElementsAre("c"));
  EXPECT_TRUE(questions_.empty());
}

TEST_F(HistoryQuestion, AnAmendmentIsAnsweredWhenTheLogHasTakenIt) {
  questions_.await_amendment("a", "done");
  questions_.await_amendment("b", "done");
  questions_.on_amended({.request = "a", .refused = {}});
  questions_.on_amended({.request = "b", .refused = Error{ErrorKind::kConflict, "head is elsewhere"}});
  questions_.on_amended({.request = "a", .refused = {}});  // the same entry, of another proposal
  EXPECT_THAT(told(), ElementsAre("a: done", "b refused: head is els"));
}

TEST_F(HistoryQuestion, AnAmendmentIsGivenUpInTheEnd) {
  questions_.await_amendment("a", "done");
  advance(10s);
  questions_.give_up();
  EXPECT_THAT(told(), ElementsAre("a refused: no majority"));
  questions_.on_amended({.request = "a", .refused = {}});
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(HistoryQuestion, TheGatewayAnswersWhatItWasAskedAndNothingElse) {
  const std::string request = questions_.begin_of_worker(kWorker);
  questions_.on_gateway({.session = {"s"}, .request = request, .content = "early"});
  questions_.await_amendment(request, {});
  questions_.on_gateway(
      {.session = {"s"}, .request = request, .refused = ErrorKind::kConflict, .reason = "it runs"});
  told();
  ASSERT_EQ(worker_was_told_.size(), 1);
  EXPECT_EQ(worker_was_told_[0].answer.error().message, "it runs");
}

}  // namespace
}  // namespace banyan::node
