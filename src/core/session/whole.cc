#include "core/session/whole.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/session/lineage.h"

namespace banyan::session {

namespace {

using nlohmann::json;

Answer said(const json& content, std::vector<checkpoint::Action> actions = {}) {
  return {content.dump(-1, ' ', false, json::error_handler_t::replace), std::move(actions)};
}

/// What a new view of head on a host with so many GPUs would lack: names and reasons.
json lost_elsewhere(const Session& session, const View& head, std::uint64_t gpus) {
  const planner::Plan plan = planner::plan(head, View(), lineage_of(session, false, gpus));
  json lost = json::array();
  for (const auto& [name, version] : head) {
    const auto found = plan.lost.find(version);
    const bool copied = session.copied_always().contains(name) && !session.co_variable(version).serialised();
    if (found != plan.lost.end()) {
      lost.push_back({{"name", name}, {"reason", found->second}});
    } else if (copied) {
      lost.push_back({{"name", name}, {"reason", "it is always to be copied, and cannot be"}});
    }
  }
  for (const std::string& work : session.work())
    lost.push_back({{"name", work}, {"reason", "it goes on in the process of the session, which ends"}});
  return lost;
}

/// Lists what would be lost. The list is the answer when it is empty, or when it is forced; otherwise it
/// becomes an error that names each loss. `gpus`: of the host that the session would be on, when that is
/// known.
Result<json> may_lose(const Session& session, CommitId head, std::optional<bool> force,
                      std::optional<std::uint64_t> gpus, const char* doing) {
  json lost = lost_elsewhere(session, session.tree().view(head), gpus.value_or(kAnyGpus));
  if (lost.empty() || force.value_or(false)) return lost;
  std::string names;
  for (const json& one : lost)
    names += (names.empty() ? "'" : ", '") + one["name"].get<std::string>() + "' (" +
             one["reason"].get<std::string>() + ")";
  return fail(ErrorKind::kDenied, std::string(doing) + " the session would lose " + names +
                                      ": delete what is not needed, or say --force");
}

}  // namespace

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Suspend& asked) {
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "suspending");
  if (!lost) return tl::unexpected(lost.error());
  return said({{"suspended", true}, {"lost", *lost}}, {checkpoint::Suspend{true}});
}

Result<Answer> ask_about_whole(const Session& /*session*/, CommitId /*head*/,
                               const question::Resume& /*asked*/) {
  return said({{"suspended", false}}, {checkpoint::Suspend{false}});
}

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Leave& asked) {
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "moving");
  if (!lost) return tl::unexpected(lost.error());
  return said({{"lost", *lost}});
}

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::HandOver& asked) {
  const ReplicaId replica{asked.to};
  if (!session.members().contains(replica))
    return fail(ErrorKind::kNotFound, "the session has no replica " + std::to_string(asked.to));
  // Cells may have made more since Leave was asked.
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "moving");
  if (!lost) return tl::unexpected(lost.error());
  return said({{"executor", replica.value}, {"lost", *lost}}, {checkpoint::HandOver{replica}});
}

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Copy& asked) {
  checkpoint::CopyAlways wanted{.names = {}, .always = asked.always.value_or(true)};
  std::set<std::string> all = session.copied_always();
  const View view = session.tree().view(head);
  const bool made_now = asked.made_now.value_or(false);
  std::istringstream names(asked.names);
  for (std::string name; names >> name;) {
    if (wanted.always && !made_now && !view.contains(name))
      return fail(ErrorKind::kNotFound, "there is no variable '" + name + "' before this cell");
    if (wanted.always) {
      all.insert(name);
    } else {
      all.erase(name);
    }
    wanted.names.push_back(name);
  }
  if (wanted.names.empty()) return said({{"always", all}});
  return said({{"always", all}}, {std::move(wanted)});
}

Result<question::Migrate> may_leave(const Session& session, question::Migrate asked) {
  const CommitId head = session.refs().head();
  if (const auto lost = may_lose(session, head, asked.force, asked.gpus, "moving"); !lost)
    return tl::unexpected(lost.error());
  asked.without_gpu.reset();
  if (const auto lost = may_lose(session, head, asked.force, 0, "moving"); !lost)
    asked.without_gpu = lost.error().message;
  return asked;
}

}  // namespace banyan::session
