// What a worker's namespace shows of its session, and what makes it a view of head.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/planner/choice.h"
#include "core/session/session.h"
#include "core/view/process_view.h"
#include "node/chunk_sync.h"
#include "node/host_context.h"
#include "node/host_speeds.h"
#include "node/view_build.h"

namespace banyan::node {

/// The namespace of one worker. While it is no view of head, go_on() says what the worker is to do next: load
/// values, run a cell again, or nothing yet. The replica passes that on, reports what came of it, and looks
/// again. A view::ProcessView knows what is shown and what has to run again; what a host adds is here: bytes
/// that are on their way, what is quicker, when a standby waits, and what people are told.
class WorkerView {
 public:
  /// What is known of cells that ran again. It outlasts a worker.
  struct Repeats {
    view::Refused refused;
    std::uint64_t amended = 0;  ///< Session::amended() when that was looked at last
  };
  /// What all views of a replica use. These outlive them.
  struct Shared {
    HostContext& host;
    HostChunks& chunks;
    HostSpeeds& speeds;
    ChunkSync& sync;
    ViewBuild& build;
    Repeats& repeats;
  };
  /// How the replica stands.
  struct Standing {
    const session::Session& session;
    bool runs_cells = false;  ///< it executes cells, or soon will. Otherwise it is to be able to take over,
                              ///< and does nothing for that which costs time
    bool executor_is_there = false;
    std::optional<Time> gave_at;    ///< when a peer was sent a chunk last
    bool callback_waits = false;    ///< of a widget, say, which may read anything
    std::set<std::string> reads;    ///< names that were left unmade, and that the cell may read
    ChunkSync::Standing of_chunks;  ///< but for what is known here: whether the view is being built
  };

  WorkerView(const Shared& shared, WorkerId worker);

  // What it shows.
  /// As far as it can be: names that it does without do not count. `runs_cells` as in Standing.
  [[nodiscard]] bool is_head(const session::Session& session, bool runs_cells) const;
  /// The worker loads values or runs a cell again.
  [[nodiscard]] bool is_busy() const { return applying_ || repeating_; }
  [[nodiscard]] bool is_repeating() const { return repeating_.has_value(); }
  /// The first of the cells in a row that the worker has run itself.
  [[nodiscard]] std::optional<CommitId> since() const { return view_.since(); }
  /// Names whose values are made when something reads them.
  [[nodiscard]] std::set<std::string> unread() const;
  /// Names that could not be restored, and why; each once.
  std::map<std::string, std::string> take_missing() { return std::exchange(missing_, {}); }

  // What makes it a view of head.
  struct Next {
    bool at_head = false;
    bool waits_for_bytes = false;     ///< of some values; what is here may be loaded meanwhile
    std::vector<HostEffect> effects;  ///< for the worker, in this order
  };
  /// Not while it is busy.
  Next go_on(const Standing& standing);

  // What happens.
  /// The cell of this commit has run in the worker.
  void on_ran(CommitId commit) { view_.on_ran(commit); }
  /// And its commit is in the log.
  void on_committed(const checkpoint::Change& change, std::uint64_t execution_count);
  /// Another replica runs the cells from now on.
  void on_lead_gone() { view_.on_lead_gone(); }
  /// False when the event is about something that this view does not wait for.
  bool on_applied(const WorkerApplied& event, const session::Session& session);
  bool on_repeated(const WorkerRepeated& event, const session::Session& session);
  /// The process ended by itself.
  void on_exited(const std::string& reason);
  /// Whether a cell runs again for so long that its worker is to be ended: nobody sees that it runs, and
  /// nobody would stop it.
  bool give_up_long_repeat(const session::Session& session);

 private:
  struct Applying {
    CommitId commit;
    checkpoint::Change change;  ///< what that does to its namespace
    Time since;
  };
  struct Repeating {
    CommitId commit;
    Time since;
  };
  /// last() and amended() of a session: what was planned or seen of it holds until these change.
  using State = std::pair<CommitId, std::uint64_t>;
  struct Plan {
    State at;
    std::optional<planner::Step> step;  ///< to be done before the rest can be loaded
    /// Versions whose cells run again, though their bytes are to be had, because that is quicker. It holds
    /// until `remade_until`, while `at` is as before.
    std::set<session::CoVariableId> remade;
    std::optional<Time> remade_until;
  };
  /// Since when it is no view of head, and since when nothing has been committed.
  struct Behind {
    std::optional<Time> since;
    State seen;
    Time seen_at;
  };

  static State state_of(const session::Session& session) { return {session.last(), session.amended()}; }
  [[nodiscard]] view::Standing to_show(const Standing& standing, const view::Refused& refused) const;
  [[nodiscard]] std::set<Digest> blocks_shown(const session::Session& session,
                                              const std::vector<std::string>& names) const;
  [[nodiscard]] ChunkSync::Standing of_chunks(const Standing& standing) const;
  [[nodiscard]] planner::Costs costs(const Standing& standing, planner::Take how) const;
  bool yields(const Standing& standing);
  [[nodiscard]] bool has_much_to_load(const session::Session& session) const;
  void look_again(const Standing& standing);
  void plan(const Standing& standing);
  const std::set<session::CoVariableId>& remade(const Standing& standing);
  std::set<session::CoVariableId> quicker_to_make(const Standing& standing);
  void want_first(const session::Session& session, const std::set<session::CoVariableId>& versions);
  bool take_step(const Standing& standing, Next& next);
  bool show_head(const Standing& standing, Next& next);
  bool show(const Standing& standing, const session::View& view, const std::set<session::CoVariableId>& load,
            const std::set<std::string>& unbind, ApplyToWorker apply, Next& next);
  std::string tell_history(const session::Session& session, Next& next) const;
  void learn(const WorkerApplied& event, const session::Session& session);

  Shared shared_;
  WorkerId worker_;
  Time launched_at_;
  view::ProcessView view_;
  std::uint64_t shown_count_ = 0;  ///< the execution count that it shows
  std::optional<Applying> applying_;
  std::optional<Repeating> repeating_;
  Plan plan_;
  std::map<std::string, std::string> missing_;  ///< why; told at the next cell
  std::set<CommitId> ran_;                      ///< cells that have run again in it; each may once
  Behind behind_;
};

}  // namespace banyan::node
