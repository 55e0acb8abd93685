// What a cell ends with on its executor, and the commit that comes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/session/session.h"
#include "node/cell_outputs.h"
#include "node/chunk_copies.h"
#include "node/chunk_sync.h"
#include "node/group_log.h"
#include "node/host_chunks.h"
#include "node/host_context.h"
#include "node/pending_chunks.h"

namespace banyan::node {

/// Reply, idle and report come from the worker in any order. When all are there the commit is made, the
/// chunks that it waits for go to the other members, and it is proposed once these are safe: again and again,
/// until the log has it. The chunks of large values it only keeps here; they are pending when the reply
/// comes.
class CellEnding {
 public:
  /// What it stands on. These outlive it.
  struct Parts {
    HostContext& host;
    GroupLog& log;
    HostChunks& chunks;
    ChunkSync& sync;
    PendingChunks& pending;
    CellOutputs& outputs;
  };
  /// `waits_for_all`: the cell's reply waits for all of its values, whatever the session says.
  CellEnding(const Parts& parts, const Execute& order, bool waits_for_all)
      : parts_(parts),
        session_id_(order.session),
        execution_(order.execution),
        waits_for_all_(waits_for_all) {}

  // What it ends with.
  void on_reply(jupyter::Message reply) { reply_ = std::move(reply); }
  /// ipykernel said that it is idle: all outputs have come.
  void on_idle() { idle_ = true; }
  /// What the user code changed.
  void on_report(WorkerReport event, const session::Session& session);
  /// What the user code asked of the history goes into the commit. `forced`: whatever that loses.
  void on_history(const std::vector<checkpoint::Action>& actions, bool forced);
  /// The worker died under it: it ends with an error, and has changed nothing.
  void on_death(const std::string& reason, const session::Session& session);
  /// What the worker said so far is void.
  void forget();

  [[nodiscard]] const std::vector<checkpoint::Action>& actions() const { return actions_; }
  [[nodiscard]] bool has_reported() const { return delta_.has_value(); }

  // The commit.
  /// Makes it, if all is there. `fenced`: user code runs, so its report has to come, too. `since`: when the
  /// user code began.
  void make_commit_if_complete(const session::Session& session, Epoch epoch, bool fenced,
                               std::optional<Time> since);
  [[nodiscard]] bool has_commit() const { return commit_.has_value(); }
  /// Proposes it if all that it refers to is safe, and it was not proposed just now.
  void propose_if_safe(const session::Session& session);
  /// The same when it is time to try again; and more of the chunks that go to other members.
  void repeat_if_due(const session::Session& session);
  /// Who leads now has not got it.
  void on_new_leader(const session::Session& session);

  // Copies of its large values.
  /// The host has stored a chunk, which may be one that the reply waits for.
  void on_chunk_stored(const HostId& host, const Digest& digest, const session::Session& session);
  void on_members_changed(const session::Session& session);
  void on_peer_restarted(const HostId& peer, const session::Session& session);

 private:
  /// The commit would have been proposed, but for chunks that no majority has stored.
  struct Wait {
    Time tell_at;            ///< when the cell says next how much is left
    std::uint64_t most = 0;  ///< bytes of these, when there were most of them
  };

  void refuse_unknown_blocks(session::Delta& delta, const session::Session& session);
  void stay_awake_for_own();
  void note_awaited(const session::Session& session, bool waits_for_all);
  [[nodiscard]] bool is_safe(const session::Session& session);
  void tell_wait(const session::Session& session, Time now);
  void send_copies(const HostId& to) { copies_.send(parts_.host, to, {session_id_, execution_}); }

  Parts parts_;
  SessionId session_id_;
  ExecutionId execution_;
  const bool waits_for_all_;
  bool idle_ = false;
  std::optional<jupyter::Message> reply_;
  std::optional<session::Delta> delta_;
  std::uint64_t execution_count_ = 0;
  std::vector<checkpoint::Action> actions_;
  bool asked_history_ = false;
  bool may_lose_ = false;                  ///< it was told to suspend the session whatever that loses
  std::optional<session::Commit> commit_;  ///< complete; it waits for its chunks, then it is proposed
  ChunkCopies copies_;
  std::set<Digest> awaited_;  ///< of earlier cells, when this one ended: the reply waits for these, too
  std::optional<Wait> wait_;
  std::optional<Time> proposed_at_;
  std::optional<Time> repeat_at_;
};

}  // namespace banyan::node
