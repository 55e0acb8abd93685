// One session in one process: core/session, driven by the kernel itself instead of by a replica. The caller
// keeps its log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "core/session/session.h"
#include "core/view/process_view.h"

namespace banyan {

/// A cell that has ended. LocalSession knows from ask() what the cell asked of the history.
struct LocalCell {
  std::string code;
  session::Status status = session::Status::kOk;
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  std::int64_t ended_at_us = 0;  ///< Microseconds since 1970.
  session::Delta delta;          ///< Blocks without bytes are chunks that the session has.
  bool looks = false;            ///< Whether it makes no commit if it changed nothing.
};

/// What the caller's store must hold from now on: all of it or none of it.
struct LocalStep {
  std::string record;            ///< The next entry of the log, for replay().
  std::map<Digest, Blob> added;  ///< New chunks; some are views of the delta's bytes.
  std::vector<Digest> dropped;   ///< Chunks that nothing refers to any more.
};

/// A cell that has to be repeated before head can be shown.
struct LocalRepeat {
  checkpoint::View load;         ///< To be loaded before the cell runs.
  std::set<std::string> unbind;  ///< Names to be deleted before the cell runs.
  CommitId commit;
  std::string code;
  bool fails = false;                      ///< Whether it ended with an error at first.
  std::vector<session::CoVariable> makes;  ///< What it changed then.
};

/// The history of one kernel's namespace. The namespace shows one of its commits.
class LocalSession {
 public:
  /// `values_max`: how many bytes the values of all commits may take together.
  LocalSession(const std::string& id, std::uint64_t values_max);
  /// Makes a session of the bytes that snapshot() returned. kCorrupt when they are no such bytes.
  static Result<LocalSession> restore(const Blob& snapshot);
  [[nodiscard]] Blob snapshot() const { return session_.snapshot(); }
  /// Applies a record once more; those before it must have been applied. kCorrupt when it is none.
  Result<Done> replay(const Blob& record);

  /// Answers a question (docs/internals/history.md). What it asks for takes effect with the next commit().
  Result<std::string> ask(std::string_view question);
  /// Answers a question that changes nothing. The answer to any other question is empty, and has no effect.
  [[nodiscard]] Result<std::string> look(std::string_view question) const;
  /// Records a cell that has ended: its changes, and then what it asked for, unless it failed.
  LocalStep commit(LocalCell cell);
  /// Records that the kernel is a new one with an empty namespace.
  LocalStep restart();

  /// The next cell that has to be repeated before head can be loaded. Null: only behind() is left to do. It
  /// is valid until the next call.
  const LocalRepeat* next_repeat();
  /// Notes what that cell has made: which names are what it made at first, which others it changed, and why
  /// it ended otherwise than at first.
  void repeated(const std::vector<std::string>& made, const std::vector<std::string>& changed,
                const std::string& error);
  /// Notes that these names' values, at head or for next_repeat(), cannot be loaded. The names
  /// are unbound now.
  /// All other values have been loaded, and what had to go is unbound, except for `as_before`: names that
  /// show what they showed.
  void cannot_load(const std::vector<std::string>& names, const std::vector<std::string>& as_before);
  /// What makes the namespace a view of head, apart from what is lost or is made only when
  /// something reads it.
  [[nodiscard]] checkpoint::Change behind() const { return view_.behind(session_); }
  /// Names at head whose values nothing brings back, and why.
  [[nodiscard]] std::map<std::string, std::string> lost() const { return view_.lost(); }
  /// Names at head whose values no bytes bring back: they are made when something reads them, and are unbound
  /// until then.
  [[nodiscard]] std::vector<std::string> unread() const;
  /// Something is about to read these names, so next_repeat() makes them.
  void need(const std::vector<std::string>& names);
  /// The namespace is a view of head now, because what behind() returned was done.
  void shows_head();
  [[nodiscard]] const session::Session& session() const { return session_; }

 private:
  explicit LocalSession(session::Session session) : session_(std::move(session)) {}
  std::vector<session::Event> apply(const std::vector<session::Command>& commands, LocalStep& step);

  session::Session session_;
  view::ProcessView view_;
  view::Refused refused_;
  std::optional<LocalRepeat> repeat_;
  std::set<std::string> needed_;  ///< Names that the coming cell needs.
  std::vector<checkpoint::Action> pending_;
  bool asked_ = false;
};

}  // namespace banyan
