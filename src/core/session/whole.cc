#include "core/session/whole.h"

#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "core/session/answers.h"
#include "core/session/lineage.h"

namespace banyan::session {

namespace {

using answer::Losses;

/// What a new view of head on a host with so many GPUs would lack.
Losses lost_elsewhere(const Session& session, const View& head, std::uint64_t gpus) {
  const planner::Plan plan = planner::plan(head, View(), lineage_of(session, false, gpus));
  Losses lost;
  for (const auto& [name, version] : head) {
    const auto found = plan.lost.find(version);
    const bool copied = session.copied_always().contains(name) && !session.co_variable(version).serialised();
    if (found != plan.lost.end()) {
      lost.push_back({name, found->second});
    } else if (copied) {
      lost.push_back({name, "it is always to be copied, and cannot be"});
    }
  }
  for (const std::string& work : session.work())
    lost.push_back({work, "it goes on in the process of the session, which ends"});
  return lost;
}

/// Lists what would be lost. The list is the answer when it is empty, or when it is forced; otherwise it
/// becomes an error that names each loss. `gpus`: of the host that the session would be on, when that is
/// known.
Result<Losses> may_lose(const Session& session, CommitId head, std::optional<bool> force,
                        std::optional<std::uint64_t> gpus, const char* doing) {
  Losses lost = lost_elsewhere(session, session.tree().view(head), gpus.value_or(kAnyGpus));
  if (lost.empty() || force.value_or(false)) return lost;
  std::string names;
  for (const answer::Lost& one : lost)
    names += (names.empty() ? "'" : ", '") + one.name + "' (" + one.reason + ")";
  return fail(ErrorKind::kDenied, std::string(doing) + " the session would lose " + names +
                                      ": delete what is not needed, or say --force");
}

}  // namespace

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Suspend& asked) {
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "suspending");
  if (!lost) return tl::unexpected(lost.error());
  return answer_of(api::Suspended{.lost = *lost}, {checkpoint::Suspend{true}});
}

Result<Answer> ask_about_whole(const Session& /*session*/, CommitId /*head*/,
                               const question::Resume& /*asked*/) {
  return answer_of(answer::Resumed{}, {checkpoint::Suspend{false}});
}

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::Leave& asked) {
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "moving");
  if (!lost) return tl::unexpected(lost.error());
  return answer_of(answer::Leaves{*lost});
}

Result<Answer> ask_about_whole(const Session& session, CommitId head, const question::HandOver& asked) {
  const ReplicaId replica{asked.to};
  if (!session.members().contains(replica))
    return fail(ErrorKind::kNotFound, "the session has no replica " + std::to_string(asked.to));
  // Cells may have made more since Leave was asked.
  const auto lost = may_lose(session, head, asked.force, asked.gpus, "moving");
  if (!lost) return tl::unexpected(lost.error());
  return answer_of(answer::HandedOver{replica.value, *lost}, {checkpoint::HandOver{replica}});
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
  const answer::Copied said{.always = {all.begin(), all.end()}};
  if (wanted.names.empty()) return answer_of(said);
  return answer_of(said, {std::move(wanted)});
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
