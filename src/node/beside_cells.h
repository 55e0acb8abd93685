// Requests to a session's worker, and messages of the worker, that belong to no cell.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "core/jupyter/message.h"
#include "node/host_context.h"

namespace banyan::node {

/// Requests of clients that run no cell (completions, comms), and messages of the worker that are no cell's
/// output. No log holds either.
class BesideCells {
 public:
  /// The context outlives this.
  BesideCells(HostContext& host, SessionId session);

  // Requests.
  /// Remembers the id of a request: messages that answer it are the session's.
  void note(const jupyter::Message& request);
  /// Keeps a request until the worker can take it. Drops it, and returns false, when too many wait.
  bool keep(jupyter::Message request);
  /// Takes those that the worker can take now, in their order.
  [[nodiscard]] std::vector<jupyter::Message> take_if(
      const std::function<bool(const jupyter::Message&)>& takes);
  void drop_all() { waiting_.clear(); }
  [[nodiscard]] bool some_wait() const { return !waiting_.empty(); }
  /// No request waits, and nothing that was dropped is still to be said.
  [[nodiscard]] bool at_rest() const { return waiting_.empty() && unsaid_.messages == 0; }
  /// Whether one of the requests that wait makes user code run (see calls_back).
  [[nodiscard]] bool callback_waits() const;

  // What the worker says.
  /// Whether a message with this parent answers one of the latest requests.
  [[nodiscard]] bool answers(const std::string& parent) const;
  /// Sends a message of the worker to the gateway. While the gateway takes nothing, what threads say is
  /// dropped and counted. Answers to requests, with the states around them, are always sent, because they are
  /// few.
  void say(jupyter::Message message);
  /// Sends the count of what was dropped, once the gateway takes something again. Called often.
  void say_what_is_missing();

 private:
  /// What was dropped since that was said last.
  struct Unsaid {
    std::uint64_t messages = 0;
    std::string parent_header;  ///< of the last one
  };

  HostContext& host_;
  const SessionId session_id_;
  std::deque<jupyter::Message> waiting_;
  std::deque<std::string> asked_;  ///< msg_ids of the latest requests
  Unsaid unsaid_;
};

/// Whether user code may run to answer the request: the callback of a comm, such as a widget's.
[[nodiscard]] bool calls_back(const jupyter::Message& request);

}  // namespace banyan::node
