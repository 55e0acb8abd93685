// `banyan log`, `show`, `diff`, `checkout`…: a session's history, for people outside of it.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/table.h"
#include "core/session/answers.h"

namespace banyan::cli {

namespace {

using nlohmann::json;
namespace answer = session::answer;

constexpr std::size_t kCodeWidth = 48;

json question_of(const HistoryOptions& options) {
  json question = {{"do", options.verb}};
  const auto add = [&](const char* field, const std::string& value) {
    if (!value.empty()) question[field] = value;
  };
  add("name", options.name);
  add("at", options.at);
  add("from", options.from);
  add("to", options.to);
  add("drop", options.drop);
  add("rename", options.rename);
  if (options.verb == "describe") question["message"] = options.message;
  if (options.count > 0) question["count"] = options.count;
  if (options.limit > 0) question["limit"] = options.limit;
  if (options.keep > 0) question["keep"] = options.keep;
  if (options.repeat) question["repeat"] = true;
  if (options.force) question["force"] = true;
  return question;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The message of a commit, or else the beginning of its cell.
std::string title_of(const answer::Commit& commit) {
  std::string text = commit.code.value_or("-");
  if (commit.message && commit.message->value) text = *commit.message->value;
  if (commit.status == "restart") text = "(the kernel was restarted)";
  const bool cut = text.size() > kCodeWidth || text.find('\n') != std::string::npos;
  if (!cut) return text;
  std::size_t end = std::min(text.find('\n'), kCodeWidth - 1);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string effect_of(const answer::Commit& commit) {
  using Names = std::optional<std::vector<std::string>>;
  std::string text = joined(commit.changed.value_or(std::vector<std::string>()));
  const auto add = [&](const char* label, const Names& names) {
    if (names && !names->empty()) text += (text.empty() ? "" : "; ") + std::string(label) + joined(*names);
  };
  add("deleted ", commit.deleted);
  add("not saved ", commit.failed);
  return text;
}

Cell status_cell(const std::string& status) {
  return {status, status == "ok" ? Colour::kGreen : status == "restart" ? Colour::kNone : Colour::kRed};
}

std::string commits_text(const std::vector<answer::Commit>& commits) {
  std::vector<std::vector<Cell>> rows;
  for (const answer::Commit& commit : commits) {
    std::string labels = joined(commit.branches);
    const std::string tags = joined(commit.tags);
    if (!tags.empty()) labels += (labels.empty() ? "" : ", ") + ("tag " + tags);
    rows.push_back({{commit.head ? "*" : "", Colour::kBold},
                    {commit.id, Colour::kYellow},
                    {commit.count ? std::to_string(*commit.count) : ""},
                    status_cell(commit.status.value_or("-")),
                    {commit.at ? commit.at->value.value_or("-") : "-"},
                    {title_of(commit)},
                    {effect_of(commit)},
                    {labels}});
  }
  if (rows.empty()) return "no commits yet; run a cell\n";
  return render(
      {{""}, {"COMMIT"}, {"CELL", Align::kRight}, {"STATUS"}, {"ENDED"}, {"CODE"}, {"CHANGED"}, {"NAMES"}},
      rows, stdout_wants_colour());
}

std::string shown(const answer::Log& said) {
  const std::string more =
      said.more > 0 ? std::to_string(said.more) + " older ones; see --number\n" : std::string();
  return commits_text(said.commits) + more;
}

std::string shown(const answer::Blame& said) { return commits_text(said.commits); }

std::string shown(const answer::Show& said) {
  std::vector<std::vector<Cell>> rows;
  for (const answer::Variable& one : said.variables)
    rows.push_back(
        {{one.name}, {bytes_text(one.bytes)}, {one.commit.value.value_or("-")}, {joined(one.shares_with)}});
  return "commit " + said.commit.id + "  " + title_of(said.commit) + "\n" +
         render({{"VARIABLE"}, {"SIZE", Align::kRight}, {"WRITTEN BY"}, {"SHARES WITH"}}, rows,
                stdout_wants_colour());
}

std::string shown(const answer::Diff& said) {
  std::vector<std::vector<Cell>> rows;
  const auto size = [](const std::optional<std::uint64_t>& bytes) {
    return bytes ? bytes_text(*bytes) : std::string();
  };
  const auto add = [&](const std::vector<answer::Difference>& names, const char* sign, Colour colour) {
    for (const answer::Difference& one : names)
      rows.push_back({{sign, colour}, {one.name, colour}, {size(one.bytes_before)}, {size(one.bytes)}});
  };
  add(said.added, "+", Colour::kGreen);
  add(said.changed, "~", Colour::kYellow);
  add(said.deleted, "-", Colour::kRed);
  const std::string title = said.from + " → " + said.to;
  if (rows.empty()) return title + ": no variable differs\n";
  return title + "\n" +
         render({{""}, {"VARIABLE"}, {"BEFORE", Align::kRight}, {"AFTER", Align::kRight}}, rows,
                stdout_wants_colour());
}

std::string names_text(const std::vector<answer::Name>& names, const char* what) {
  std::vector<std::vector<Cell>> rows;
  for (const answer::Name& one : names)
    rows.push_back({{one.current.value_or(false) ? "*" : ""}, {one.name}, {one.id}});
  if (rows.empty()) return std::string("none\n");
  return render({{""}, {what}, {"COMMIT"}}, rows, stdout_wants_colour());
}

std::string shown(const answer::Branches& said) { return names_text(said.branches, "BRANCH"); }
std::string shown(const answer::Tags& said) { return names_text(said.tags, "TAG"); }

std::string shown(const answer::Travel& said) {
  std::string text = said.from + " → " + said.head + "\n";
  if (!said.restores.empty())
    text += "restored: " + joined(said.restores) + " (" + bytes_text(said.bytes) + ")\n";
  if (!said.deletes.empty()) text += "deleted:  " + joined(said.deletes) + "\n";
  std::vector<std::string> at_once = said.recomputes;
  std::erase_if(at_once, [&](const std::string& name) {
    return std::ranges::find(said.unread, name) != said.unread.end();
  });
  if (!at_once.empty()) text += "made again by running cells again: " + joined(at_once) + "\n";
  if (!said.unread.empty()) text += "made again when a cell reads it: " + joined(said.unread) + "\n";
  if (!said.recomputes.empty()) {
    text += "by these cells:\n";
    for (const answer::Commit& cell : said.repeats) {
      const std::string effects = joined(cell.effects.value_or(std::vector<std::string>()));
      text += "  [" + (cell.count ? std::to_string(*cell.count) : "-") + "] " + title_of(cell) +
              (effects.empty() ? "" : " (side effects: " + effects + ")") + "\n";
    }
  }
  for (const answer::Lost& one : said.lost)
    text += "cannot be restored: " + one.name + ", for " + one.reason + "\n";
  for (const answer::Removed& one : said.removes.value_or(std::vector<answer::Removed>()))
    text += "removed from the disk: " + one.path + ", which goes with " + one.name + "\n";
  return text;
}

std::string shown(const answer::Spaces& said) {
  std::vector<std::vector<Cell>> rows;
  for (const answer::Space& one : said.variables)
    rows.push_back({{one.name},
                    {std::to_string(one.versions)},
                    {bytes_text(one.bytes)},
                    {bytes_text(one.bytes_at_head)}});
  return render({{"VARIABLE"},
                 {"VERSIONS", Align::kRight},
                 {"ALL OF THEM", Align::kRight},
                 {"AT HEAD", Align::kRight}},
                rows, stdout_wants_colour()) +
         std::to_string(said.commits) + " commits, " + bytes_text(said.bytes) + " of " +
         bytes_text(said.limit) + "\n";
}

std::string shown(const answer::Collected& said) {
  return "forgot " + std::to_string(said.forgets.size()) + " commits (" + bytes_text(said.freed) +
         "); kept " + std::to_string(said.commits) + " (" + bytes_text(said.bytes) + ")\n";
}

std::string shown(const answer::Described& said) { return "described " + said.commit.id + "\n"; }

/// For a person.
template <class Said>
Result<std::string> told(const json& answer) {
  const auto said = api::from_json<Said>(answer);
  if (!said) return tl::unexpected(said.error());
  return shown(*said);
}

Result<std::string> text_for(const std::string& verb, const json& answer) {
  if (verb == "log") return told<answer::Log>(answer);
  if (verb == "blame") return told<answer::Blame>(answer);
  if (verb == "show") return told<answer::Show>(answer);
  if (verb == "diff") return told<answer::Diff>(answer);
  if (verb == "branch") return told<answer::Branches>(answer);
  if (verb == "tag") return told<answer::Tags>(answer);
  if (verb == "space") return told<answer::Spaces>(answer);
  if (verb == "gc") return told<answer::Collected>(answer);
  if (verb == "describe") return told<answer::Described>(answer);
  return told<answer::Travel>(answer);
}

int write_document(const json& notebook, const std::string& path) {
  const std::string text = notebook.dump(1) + "\n";
  if (path.empty()) {
    std::fputs(text.c_str(), stdout);
    return kDone;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return complain({ErrorKind::kIo, "cannot write " + path + "; is there such a folder?"});
  std::printf("%s: %zu cells\n", path.c_str(), notebook.value("cells", json::array()).size());
  return kDone;
}

}  // namespace

int history(const HistoryOptions& options) {
  const auto session = find_session(options.show.gateway, options.session);
  if (!session) return complain(session.error());
  const auto answer =
      call_gateway(options.show.gateway, "POST", "/api/banyan/sessions/" + *session + "/history",
                   question_of(options).dump(-1, ' ', false, json::error_handler_t::replace));
  if (!answer) return complain(answer.error());
  if (!answer->is_object()) return complain({ErrorKind::kInvalid, "the gateway's answer is no JSON object"});
  if (options.verb == "document") return write_document(answer->value("notebook", json()), options.output);
  if (options.show.json) {
    std::printf("%s\n", answer->dump(2).c_str());
    return kDone;
  }
  const auto text = text_for(options.verb, *answer);
  if (!text) return complain(text.error());
  std::fputs(text->c_str(), stdout);
  return kDone;
}

}  // namespace banyan::cli
