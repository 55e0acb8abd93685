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

/// A question, and the request under which it is answered.
struct AskedQuestion {
  std::string request;
  session::Question question;
};

/// A question passes through up to three waits, in this order: a majority confirms the read; the worker says
/// what would leave the disk; the log takes the change. It is answered once, to the worker or to the gateway
/// that asked, with an error when a wait has failed. This class keeps the waits. The replica finds out what
/// the answers are.
class HistoryQuestions {
 public:
  /// The context outlives this.
  HistoryQuestions(HostContext& host, SessionId session);

  /// Whether no question waits.
  [[nodiscard]] bool empty() const { return reads_.empty() && removing_.empty() && amending_.empty(); }
  /// Ends a question.
  void answer(const std::string& request, const Result<std::string>& content);

  // Of the worker, which waits for the answer to one question at a time.
  /// Makes up the name of the request under which its question goes on.
  const std::string& begin_of_worker(const WorkerId& worker);
  [[nodiscard]] bool is_of_worker(const std::string& request) const;
  void worker_is_gone() { of_worker_.reset(); }

  // Waiting for a majority: an answer knows of everything that was committed before the question.
  /// `context`: the number of the linearizable read (raft::ReadState).
  void await_read(std::uint64_t context, const AskedQuestion& question);
  void on_read(const raft::ReadState& read);
  /// Takes those whose read is confirmed, where a session that has applied so much knows enough.
  [[nodiscard]] std::vector<AskedQuestion> take_read(raft::Index applied);
  /// The contexts of the reads that were not confirmed in time: each may be lost with its leader.
  [[nodiscard]] std::vector<std::uint64_t> unconfirmed() const;
  /// The read was sent again, under the context `again`.
  void read_again(std::uint64_t context, std::uint64_t again);
  /// There is a new leader: all count as unconfirmed.
  void leader_changed();

  // Waiting for the worker, which says what moving head removes from the disk.
  void await_removals(const AskedQuestion& question, const WorkerId& worker, std::vector<std::string> leaves);
  /// Takes the question that the worker has answered; nothing when it was given up meanwhile.
  [[nodiscard]] std::optional<AskedQuestion> take_removals(const std::string& request);
  /// Takes those that wait for another worker than the present one, or that have waited too long.
  [[nodiscard]] std::vector<AskedQuestion> take_silent(const std::optional<WorkerId>& worker);

  // Waiting for the log, or for the gateway, which answers what a worker asks of it.
  /// `content`: the answer when it is done.
  void await_amendment(const std::string& request, std::string content);
  void on_amended(const session::Amended& event);
  void on_gateway(const SessionAnswer& said);

  /// Answers those that have waited too long. Called often.
  void give_up();

 private:
  struct Read {
    AskedQuestion question;
    Time asked;
    Time confirm_at;                       ///< when to ask for the read again
    Duration confirm_within{};             ///< how long after it was sent
    std::optional<raft::Index> answer_at;  ///< the last committed entry when it was asked
  };
  struct Removing {
    AskedQuestion question;
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
