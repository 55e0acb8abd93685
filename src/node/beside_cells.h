// What a session's worker is asked, and says, that belongs to no cell.
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
  /// The host outlives this.
  BesideCells(HostContext& host, SessionId session);

  // Requests.
  /// A request came: what answers it is said for the session.
  void note(const jupyter::Message& request);
  /// Keeps a request for a worker that cannot take it yet. False when too many wait: it is dropped.
  bool keep(jupyter::Message request);
  /// Takes those that the worker can take now, in their order.
  [[nodiscard]] std::vector<jupyter::Message> take_if(
      const std::function<bool(const jupyter::Message&)>& takes);
  void drop_all() { waiting_.clear(); }
  [[nodiscard]] bool some_wait() const { return !waiting_.empty(); }
  /// Whether user code is to run for one that waits.
  [[nodiscard]] bool callback_waits() const;

  // What the worker says.
  /// Whether that is an answer to the latest requests.
  [[nodiscard]] bool answers(const std::string& parent) const;
  /// Tells the gateway. What threads say while it takes nothing is counted and dropped; what answers a
  /// request, with the states around it, is not: there are only so many requests.
  void say(jupyter::Message message);
  /// Says how much was dropped, once the gateway takes something again. Called often.
  void say_what_is_missing();

 private:
  /// What was said while the gateway took nothing, and is gone.
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

/// Whether user code may run for the request, which is no cell.
[[nodiscard]] bool calls_back(const jupyter::Message& request);

}  // namespace banyan::node
