// One session in one process: core/session, driven by the kernel itself instead of by a replica, with the
// caller as its log.
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

namespace banyan {

/// A cell that has ended. What it asked of the history is known from LocalSession::ask.
struct LocalCell {
  std::string code;
  session::Status status = session::Status::kOk;
  std::uint64_t execution_count = 0;
  std::int64_t runtime_us = 0;
  std::int64_t ended_at_us = 0;  ///< since 1970
  session::Delta delta;          ///< blocks without bytes are chunks that the session has
  bool looks = false;            ///< no commit when it changed nothing
};

/// What the caller's store must hold from now on: all of it or none of it.
struct LocalStep {
  std::string record;            ///< the next entry of the log; replay() takes it
  std::map<Digest, Blob> added;  ///< chunks; some are views of the delta's bytes
  std::vector<Digest> dropped;   ///< chunks that nothing refers to any more
};

/// A cell that has to run again before head can be shown.
struct LocalRepeat {
  checkpoint::View load;         ///< first, with
  std::set<std::string> unbind;  ///< these names gone
  CommitId commit;
  std::string code;
  bool fails = false;                      ///< it ended with an error
  std::vector<session::CoVariable> makes;  ///< what it changed
};

/// The history of one kernel's namespace, which shows some commit of it.
class LocalSession {
 public:
  /// `values_max`: bytes of the values of all commits that are kept.
  LocalSession(const std::string& id, std::uint64_t values_max);
  /// From the bytes of snapshot(); kCorrupt when they are not.
  static Result<LocalSession> restore(const Blob& snapshot);
  [[nodiscard]] Blob snapshot() const { return session_.snapshot(); }
  /// Applies a record again, after those before it. kCorrupt when it is none.
  Result<Done> replay(const Blob& record);

  /// Answers a question (docs/internals/history.md). What it asks for takes effect with the next commit().
  Result<std::string> ask(std::string_view question);
  /// The same for a question that asks for nothing to be done; empty for others.
  [[nodiscard]] Result<std::string> look(std::string_view question) const;
  /// A cell has ended: its changes, then what it asked for, unless it failed.
  LocalStep commit(LocalCell cell);
  /// The kernel is a new one, with an empty namespace.
  LocalStep restart();

  /// The next cell that has to run again before head can be loaded. Nothing: behind() is the rest.
  const LocalRepeat* next_repeat();
  /// It has run: which names are what it made first, which others it changed, and why it ended otherwise.
  void repeated(const std::vector<std::string>& made, const std::vector<std::string>& changed,
                const std::string& error);
  /// What these names were to be, for next_repeat() or at head, does not load; they are gone.
  void cannot_load(const std::vector<std::string>& names);
  /// What makes the namespace a view of head, but for what is lost or waits to be read.
  [[nodiscard]] checkpoint::Change behind() const;
  /// Names at head that nothing brings back, and why.
  [[nodiscard]] const std::map<std::string, std::string>& lost() const { return lost_; }
  /// Values at head that no bytes bring back: they are made when something reads them, and their names are
  /// unbound until then.
  [[nodiscard]] const checkpoint::View& unread() const { return unread_; }
  /// Something is to read these: next_repeat() makes them.
  void need(const std::vector<std::string>& names);
  /// behind() is done.
  void shows_head();
  [[nodiscard]] const session::Session& session() const { return session_; }

 private:
  explicit LocalSession(session::Session session) : session_(std::move(session)) {}
  std::vector<session::Event> apply(const std::vector<session::Command>& commands, LocalStep& step);

  session::Session session_;
  void note_unread();
  [[nodiscard]] bool loadable(const checkpoint::CoVariableId& version) const;

  checkpoint::View shown_;
  std::optional<CommitId> since_;  ///< the first cell that ended in this process
  std::set<checkpoint::CoVariableId> unloadable_;
  std::map<CommitId, std::string> cannot_repeat_;
  std::optional<LocalRepeat> repeat_;
  std::map<std::string, std::string> lost_;
  checkpoint::View unread_;
  std::set<std::string> needed_;  ///< by the coming cell
  std::vector<checkpoint::Action> pending_;
  bool asked_ = false;
};

}  // namespace banyan
