// For tests: a session with three replicas, the commands of its log in short, and its values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/session/session.h"

namespace banyan::session {

inline const ReplicaId kA{1}, kB{2}, kC{3};

inline Session fresh(Keep keep = {}) {
  Spec spec;
  spec.kernel_name = "python3";
  spec.keep = keep;
  return Session({"s"}, spec, {{kA, {"h1"}}, {kB, {"h2"}}, {kC, {"h3"}}});
}
inline Command lead(const std::string& cell, ReplicaId who) {
  return Propose{.execution = {cell}, .replica = who, .code = "x"};
}
inline Command yield(const std::string& cell, ReplicaId who) {
  return Propose{.execution = {cell}, .replica = who, .bid = Bid::kYield};
}
/// The cell is not to run.
inline Command abort(const std::string& cell, ReplicaId who) {
  return Propose{.execution = {cell}, .replica = who, .aborts = true};
}
inline Command commit(const std::string& cell, Epoch epoch, Delta delta = {}) {
  return Commit{.execution = {cell}, .epoch = epoch, .execution_count = 1, .delta = std::move(delta)};
}
inline Command amend(const Session& session, checkpoint::Action action) {
  return Amend{"r", {std::move(action)}, session.last(), session.amended()};
}
/// A value whose bytes are in the log.
inline CoVariable variable(std::vector<std::string> names, const std::string& bytes) {
  return {std::move(names), {{digest_of(bytes), bytes.size(), Blob(bytes)}}, {1}};
}
/// A value whose bytes are a chunk on the disks.
inline CoVariable large(std::vector<std::string> names, const std::string& bytes) {
  return {std::move(names), {{digest_of(bytes), bytes.size(), {}}}, {1}};
}
/// The first event of this type; null when there is none.
template <class T>
const T* first(const std::vector<Event>& events) {
  for (const auto& event : events) {
    if (const auto* found = std::get_if<T>(&event)) return found;
  }
  return nullptr;
}
/// Runs a cell with this name on replica A to its end.
inline std::vector<Event> run(Session& session, const std::string& cell, Delta delta = {}) {
  session.apply(Propose{.execution = {cell}, .replica = kA, .code = cell, .restarts = session.last_clear()});
  return session.apply(commit(cell, session.epoch(), std::move(delta)));
}

}  // namespace banyan::session
