// Which versions one process shows of its session, and what makes it a view of head. A worker on a host and a
// kernel without the platform follow head in this way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/planner/plan.h"
#include "core/session/lineage.h"
#include "core/session/session.h"
#include "core/view/shown.h"

namespace banyan::view {

/// Cells that should not run again, and why. What one process learns of them holds for the next one, too.
using Refused = std::map<CommitId, std::string>;

/// How a process stands: the session whose head it is to show, and what it may do for that.
struct Standing {
  const Session& session;
  const Refused& refused;
  std::uint64_t gpus = session::kAnyGpus;  ///< how many the process can use
  /// Whether cells may run again in it. A standby does without what only they bring back.
  bool runs_cells = true;
  std::set<std::string> reads = {};  ///< names that something is about to read
  bool reads_all = false;            ///< something is about to read any name
};

/// The namespace of one process, as its owner tells it what happens there. It is a view of head when behind()
/// returns nothing more. Until then plan() says which cell has to run again first; when it names none, what
/// behind() returns can be loaded and unbound. The process does without some names: those whose values are
/// made when something reads them (unread), that nothing brings back (lost), or that wait until the process
/// may run cells. This class says what is to be done, and knows neither how bytes come nor how long anything
/// takes.
class ProcessView {
 public:
  // What it shows.
  [[nodiscard]] const View& shown() const { return shown_; }
  /// The first of the cells in a row that the process has run itself.
  [[nodiscard]] std::optional<CommitId> since() const { return since_; }
  /// What it is to show: head, but for the names that it does without.
  [[nodiscard]] View wanted(const Session& session) const;
  /// What is left to be loaded and unbound until it shows that. A live object, of which there are no bytes,
  /// stays where nothing brings back the one that should be in its place.
  [[nodiscard]] Change behind(const Session& session) const;
  [[nodiscard]] bool is_head(const Session& session) const { return behind(session) == Change{}; }

  // What it does without.
  /// Names whose values are made when something reads them, and which values these are.
  [[nodiscard]] View unread() const;
  /// Names whose values nothing brings back, and why.
  [[nodiscard]] std::map<std::string, std::string> lost() const;
  /// Whether there are names that it does without only because it may not run cells.
  [[nodiscard]] bool lacks_as_standby() const;

  // What makes it a view of head.
  /// Whether the version has bytes, and none that have failed here.
  [[nodiscard]] bool loads(const Session& session, const CoVariableId& version) const;
  /// How values came about, as this process sees it. It refers to this and to what `standing` refers to.
  [[nodiscard]] planner::Lineage lineage(const Standing& standing) const;
  /// Why what failed before may succeed now.
  struct Hope {
    bool asked = false;                               ///< somebody has asked the session for something new
    std::function<bool(const session::Chunk&)> here;  ///< whether the bytes can be had by now
  };
  /// Tries again what it does without, where there is a reason to. Returns the names that it tries again.
  std::set<std::string> look_again(const Standing& standing, const Hope& hope);
  /// Tries again whatever it does without. The versions that did not load count as such still.
  void look_at_all_again() { without_.clear(); }
  /// Versions that did not load may be loaded from now on, and cells may run again as often as at first.
  void forget_failures();
  /// Leaves out values that only cells bring back, until something reads them. A standby leaves out none.
  void leave_unread(const Standing& standing);
  /// What plan() comes to.
  struct Planned {
    /// The cell that has to run again first. It may fail, so that what comes after it is planned then.
    std::optional<planner::Step> step;
    std::map<std::string, std::string> without;  ///< names that it does without from now on, and why
  };
  /// Plans for wanted(). The versions in `made` are not loaded but made, if cells can make all of them.
  Planned plan(const Standing& standing, const std::set<CoVariableId>& made = {});

  // What happens.
  /// The cell of this commit has run in the process.
  void on_ran(CommitId commit);
  /// Other processes run the session's cells from now on.
  void on_lead_gone() { since_.reset(); }
  /// The namespace has changed: a cell was committed that ran here, or values were loaded and names unbound.
  void on_changed(const Change& change) { checkpoint::apply(shown_, change); }
  /// The namespace is empty now.
  void on_emptied();
  /// The bytes of this version made no value. The name is unbound.
  void on_not_loaded(const std::string& name, CoVariableId version);
  /// The bytes of this version are not to be had. They are looked for again when they are here.
  void on_no_bytes(const CoVariableId& version) { unloadable_[version] = Until::kHere; }
  /// A cell has run again. When it should not do so another time, that is noted in `refused`.
  void on_repeated(const Session& session, const Repeated& cell, Refused& refused);

 private:
  /// Until when a version cannot be loaded, unless it is tried again with others.
  enum class Until : std::uint8_t {
    kHere,  ///< its bytes are here, or somebody has asked for something new
    kAsked  ///< somebody has asked for something new
  };
  enum class Because : std::uint8_t {
    kStandby,  ///< its cell would have to run again here
    kUnread,   ///< its cell runs again when something reads it
    kLost      ///< running cells again does not help
  };
  struct Without {
    CoVariableId version;
    Because because = Because::kStandby;
    std::string why;  ///< for a person
  };
  using Loads = std::function<bool(const CoVariableId&)>;

  [[nodiscard]] bool is_left_alone(const Session& session, const std::string& name) const;
  [[nodiscard]] bool is_needed_now(const Standing& standing, const std::string& name) const;
  [[nodiscard]] bool waits(const Standing& standing, const std::string& name, Because because) const;
  [[nodiscard]] planner::Lineage lineage(const Standing& standing, Loads loads) const;
  [[nodiscard]] bool ran_again_twice(const Session& session, CommitId commit) const;
  std::optional<Planned> plan_with(const Standing& standing, const View& target,
                                   const std::set<CoVariableId>& made);
  std::map<std::string, std::string> do_without(const Standing& standing,
                                                const std::map<CoVariableId, std::string>& versions);

  View shown_;
  std::optional<CommitId> since_;
  std::map<CoVariableId, Until> unloadable_;
  std::map<std::string, Without> without_;  ///< names that are not what they are at head
  /// How often cells have run again since this was the session's last commit, and since anybody asked for
  /// something new. More than once may be needed, such as when bytes were lost meanwhile. After twice nothing
  /// says when it would end: cells that run again may undo what others made.
  struct {
    CommitId last;
    std::map<CommitId, int> times;
  } repeated_;
};

}  // namespace banyan::view
