#include "core/session/whole.h"

#include <map>
#include <nlohmann/json.hpp>
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

bool flag(const json& question, const char* field, bool otherwise) {
  const auto found = question.find(field);
  return found != question.end() && found->is_boolean() ? found->get<bool>() : otherwise;
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

/// Lists what would be lost. The list is the answer when it is empty, or when the question says `force`;
/// otherwise it becomes an error that names each loss.
Result<json> may_lose(const Session& session, CommitId head, const json& question, const char* doing) {
  const auto there = question.find("gpus");
  const bool known = there != question.end() && there->is_number_unsigned();
  json lost =
      lost_elsewhere(session, session.tree().view(head), known ? there->get<std::uint64_t>() : kAnyGpus);
  if (lost.empty() || flag(question, "force", false)) return lost;
  std::string names;
  for (const json& one : lost)
    names += (names.empty() ? "'" : ", '") + one["name"].get<std::string>() + "' (" +
             one["reason"].get<std::string>() + ")";
  return fail(ErrorKind::kDenied, std::string(doing) + " the session would lose " + names +
                                      ": delete what is not needed, or say --force");
}

Result<Answer> suspend(const Session& session, CommitId head, const json& question) {
  const auto lost = may_lose(session, head, question, "suspending");
  if (!lost) return tl::unexpected(lost.error());
  return said({{"suspended", true}, {"lost", *lost}}, {checkpoint::Suspend{true}});
}

Result<Answer> resume(const Session& /*session*/, CommitId /*head*/, const json& /*question*/) {
  return said({{"suspended", false}}, {checkpoint::Suspend{false}});
}

/// Answers whether the session can move. Nothing is done yet.
Result<Answer> leave(const Session& session, CommitId head, const json& question) {
  const auto lost = may_lose(session, head, question, "moving");
  if (!lost) return tl::unexpected(lost.error());
  return said({{"lost", *lost}});
}

Result<Answer> hand_over(const Session& session, CommitId head, const json& question) {
  const auto to = question.find("to");
  if (to == question.end() || !to->is_number_unsigned())
    return fail(ErrorKind::kInvalid, "'to' must be the number of a replica");
  const ReplicaId replica{to->get<std::uint64_t>()};
  if (!session.members().contains(replica))
    return fail(ErrorKind::kNotFound, "the session has no replica " + to->dump());
  const auto lost =
      may_lose(session, head, question, "moving");  // cells may have made more since "leave" was asked
  if (!lost) return tl::unexpected(lost.error());
  return said({{"executor", replica.value}, {"lost", *lost}}, {checkpoint::HandOver{replica}});
}

Result<Answer> copy(const Session& session, CommitId head, const json& question) {
  const auto words = question.find("names");
  if (words == question.end() || !words->is_string())
    return fail(ErrorKind::kInvalid, "'names' must be a text");
  checkpoint::CopyAlways wanted{.names = {}, .always = flag(question, "always", true)};
  std::set<std::string> all = session.copied_always();
  const View view = session.tree().view(head);
  const bool made_now = flag(question, "made_now", false);  // the asking cell makes them
  std::istringstream names(words->get<std::string>());
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

}  // namespace

std::optional<Result<Answer>> ask_about_whole(const Session& session, CommitId head, const json& question) {
  using Verb = Result<Answer> (*)(const Session&, CommitId, const json&);
  static const std::map<std::string, Verb, std::less<>> kVerbs = {
      {"suspend", suspend}, {"resume", resume}, {"leave", leave}, {"hand_over", hand_over}, {"copy", copy}};
  const auto field = question.find("do");
  if (field == question.end() || !field->is_string()) return std::nullopt;
  const auto verb = kVerbs.find(field->get<std::string>());
  if (verb == kVerbs.end()) return std::nullopt;
  return verb->second(session, head, question);
}

Result<std::string> may_leave(const Session& session, std::string_view question) {
  const json asked = json::parse(question, nullptr, false);
  const CommitId head = session.refs().head();
  if (const auto lost = may_lose(session, head, asked, "moving"); !lost) return tl::unexpected(lost.error());
  json forwarded = asked, on_no_gpu = asked;
  on_no_gpu["gpus"] = 0U;
  if (const auto lost = may_lose(session, head, on_no_gpu, "moving"); !lost)
    forwarded["without_gpu"] = lost.error().message;
  return forwarded.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool forced(std::string_view question) { return flag(json::parse(question, nullptr, false), "force", false); }

bool for_gateway(std::string_view question) {
  const json parsed = json::parse(question, nullptr, false);
  return parsed.is_object() && parsed.value("do", json()) == "migrate";
}

}  // namespace banyan::session
