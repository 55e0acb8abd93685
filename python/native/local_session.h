// One session in one process: core/session, driven by the kernel itself instead of by a replica, with the
// caller as its log.
#pragma once

#include <cstdint>
#include <map>
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
  /// A cell has ended: its changes, then what it asked for, unless it failed.
  LocalStep commit(LocalCell cell);
  /// The kernel is a new one, with an empty namespace.
  LocalStep restart();

  /// What makes the namespace a view of head.
  [[nodiscard]] checkpoint::Change behind() const;
  /// The namespace is a view of head, apart from names that could not be loaded.
  void shows_head(const std::vector<std::string>& missing);
  [[nodiscard]] const session::Session& session() const { return session_; }

 private:
  explicit LocalSession(session::Session session) : session_(std::move(session)) {}
  std::vector<session::Event> apply(const std::vector<session::Command>& commands, LocalStep& step);

  session::Session session_;
  checkpoint::View shown_;
  std::vector<checkpoint::Action> pending_;
  bool asked_ = false;
};

}  // namespace banyan
