// The questions about a session's history that one of its replicas has not answered yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/raft/output.h"
#include "core/session/history.h"
#include "core/session/session.h"
#include "node/host_context.h"

namespace banyan::node {

/// Each question waits for one thing after another: that a majority confirms the read, that the worker says
/// what would leave the disk, that the log takes what is to change. It is answered once, to the worker that
/// asked or to the gateway, also where what it waits for does not come. What the answer is, the replica finds
/// out.
class HistoryQuestions {
 public:
  /// The host outlives this.
  HistoryQuestions(HostContext& host, SessionId session);

  [[nodiscard]] bool empty() const { return reads_.empty() && removing_.empty() && amending_.empty(); }
  /// Ends a question.
  void answer(const std::string& request, const Result<std::string>& content);

  // Of the worker, which waits for the answer to one question at a time.
  /// The request under which its question goes on.
  const std::string& begin_of_worker(const WorkerId& worker);
  [[nodiscard]] bool is_of_worker(const std::string& request) const;
  void worker_is_gone() { of_worker_.reset(); }

  // Waiting for a majority: an answer knows of everything that was committed before the question.
  /// `context`: that of the read.
  void await_read(std::uint64_t context, const AskSession& question);
  void on_read(const raft::ReadState& read);
  /// Takes those that may be answered by a session as of that entry.
  [[nodiscard]] std::vector<AskSession> take_read(raft::Index applied);
  /// A read may be lost with its leader: the contexts of those that nobody has confirmed for a while.
  [[nodiscard]] std::vector<std::uint64_t> unconfirmed() const;
  /// It is asked for again, under a context of its own.
  void read_again(std::uint64_t context, std::uint64_t again);
  /// There is a new leader: all count as unconfirmed.
  void leader_changed();

  // Waiting for the worker, which says what moving head removes from the disk.
  void await_removals(const AskSession& question, const WorkerId& worker, std::vector<std::string> leaves);
  /// Takes the question that the worker has answered; none when nobody waits for it any more.
  [[nodiscard]] std::optional<AskSession> take_removals(const std::string& request);
  /// Takes those whose worker is not `worker`, or does not answer.
  [[nodiscard]] std::vector<AskSession> take_silent(const std::optional<WorkerId>& worker);

  // Waiting for the log, or for the gateway.
  /// `content`: the answer when it is done.
  void await_amendment(const std::string& request, std::string content);
  void on_amended(const session::Amended& event);
  void on_gateway(const SessionAnswer& said);

  /// Answers those that have waited too long. Called often.
  void give_up();

 private:
  struct Read {
    AskSession question;
    Time asked;
    Time confirm_at;  ///< when to ask for the read again
    Duration confirm_within{};
    std::optional<raft::Index> answer_at;  ///< what was committed when it was asked
  };
  struct Removing {
    AskSession question;
    WorkerId worker;
    Time asked;
  };
  struct Amending {
    std::string content;
    Time asked;
  };
  struct OfWorker {
    std::string request;
    WorkerId worker;
  };

  HostContext& host_;
  const SessionId session_id_;
  std::optional<OfWorker> of_worker_;
  std::map<std::uint64_t, Read> reads_;       ///< by context
  std::map<std::string, Removing> removing_;  ///< by request
  std::map<std::string, Amending> amending_;  ///< by request
};

}  // namespace banyan::node
