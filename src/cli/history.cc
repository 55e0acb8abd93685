// `banyan log`, `show`, `diff`, `checkout`…: a session's history, for people outside of it.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/gateway_call.h"
#include "cli/table/table.h"

namespace banyan::cli {

namespace {

using nlohmann::json;

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

/// The list in a field; an empty list when the field is missing.
json list_of(const json& object, const char* key) {
  const auto field = object.find(key);
  return field != object.end() && field->is_array() ? *field : json::array();
}

std::string joined(const json& names) {
  std::string text;
  if (!names.is_array()) return text;
  for (const json& name : names)
    text += (text.empty() ? "" : ", ") + (name.is_string() ? name.get<std::string>() : name.dump());
  return text;
}

/// The message of a commit, or else the beginning of its cell.
std::string title_of(const json& row) {
  std::string text = text_of(row, "message");
  if (text == "-") text = text_of(row, "code");
  if (text_of(row, "status") == "restart") text = "(the kernel was restarted)";
  const bool cut = text.size() > kCodeWidth || text.find('\n') != std::string::npos;
  if (!cut) return text;
  std::size_t end = std::min(text.find('\n'), kCodeWidth - 1);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "…";
}

std::string effect_of(const json& row) {
  std::string text = joined(list_of(row, "changed"));
  const auto add = [&](const char* label, const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : "; ") + std::string(label) + what;
  };
  add("deleted ", joined(list_of(row, "deleted")));
  add("not saved ", joined(list_of(row, "failed")));
  return text;
}

Cell status_cell(const std::string& status) {
  return {status, status == "ok" ? Colour::kGreen : status == "restart" ? Colour::kNone : Colour::kRed};
}

std::string log_text(const json& answer) {
  std::vector<std::vector<Cell>> rows;
  for (const json& row : list_of(answer, "commits")) {
    std::string labels = joined(list_of(row, "branches"));
    const std::string tags = joined(list_of(row, "tags"));
    if (!tags.empty()) labels += (labels.empty() ? "" : ", ") + ("tag " + tags);
    rows.push_back({{flag_of(row, "head") ? "*" : "", Colour::kBold},
                    {text_of(row, "id"), Colour::kYellow},
                    {row.contains("count") ? text_of(row, "count") : ""},
                    status_cell(text_of(row, "status")),
                    {text_of(row, "at")},
                    {title_of(row)},
                    {effect_of(row)},
                    {labels}});
  }
  if (rows.empty()) return "no commits yet; run a cell\n";
  std::string text = render(
      {{""}, {"COMMIT"}, {"CELL", Align::kRight}, {"STATUS"}, {"ENDED"}, {"CODE"}, {"CHANGED"}, {"NAMES"}},
      rows, stdout_wants_colour());
  if (number_of(answer, "more") > 0) text += text_of(answer, "more") + " older ones; see --number\n";
  return text;
}

std::string variables_text(const json& answer) {
  const json commit = answer.value("commit", json::object());
  std::string text = "commit " + text_of(commit, "id") + "  " + title_of(commit) + "\n";
  std::vector<std::vector<Cell>> rows;
  for (const json& one : list_of(answer, "variables"))
    rows.push_back({{text_of(one, "name")},
                    {bytes_text(number_of(one, "bytes"))},
                    {text_of(one, "commit")},
                    {joined(list_of(one, "shares_with"))}});
  return text + render({{"VARIABLE"}, {"SIZE", Align::kRight}, {"WRITTEN BY"}, {"SHARES WITH"}}, rows,
                       stdout_wants_colour());
}

std::string diff_text(const json& answer) {
  std::vector<std::vector<Cell>> rows;
  const auto size = [](const json& one, const char* field) {
    return one.contains(field) ? bytes_text(number_of(one, field)) : std::string();
  };
  const auto add = [&](const char* kind, const char* sign, Colour colour) {
    for (const json& one : list_of(answer, kind))
      rows.push_back({{sign, colour},
                      {text_of(one, "name"), colour},
                      {size(one, "bytes_before")},
                      {size(one, "bytes")}});
  };
  add("added", "+", Colour::kGreen);
  add("changed", "~", Colour::kYellow);
  add("deleted", "-", Colour::kRed);
  const std::string title = text_of(answer, "from") + " → " + text_of(answer, "to");
  if (rows.empty()) return title + ": no variable differs\n";
  return title + "\n" +
         render({{""}, {"VARIABLE"}, {"BEFORE", Align::kRight}, {"AFTER", Align::kRight}}, rows,
                stdout_wants_colour());
}

std::string names_text(const json& rows_of, const char* what) {
  std::vector<std::vector<Cell>> rows;
  for (const json& one : rows_of)
    rows.push_back({{flag_of(one, "current") ? "*" : ""}, {text_of(one, "name")}, {text_of(one, "id")}});
  if (rows.empty()) return std::string("none\n");
  return render({{""}, {what}, {"COMMIT"}}, rows, stdout_wants_colour());
}

std::string travel_text(const json& answer) {
  std::string text = text_of(answer, "from") + " → " + text_of(answer, "head") + "\n";
  const std::string restored = joined(list_of(answer, "restores")),
                    deleted = joined(list_of(answer, "deletes"));
  if (!restored.empty())
    text += "restored: " + restored + " (" + bytes_text(number_of(answer, "bytes")) + ")\n";
  if (!deleted.empty()) text += "deleted:  " + deleted + "\n";
  json at_once = list_of(answer, "recomputes");
  const json unread = list_of(answer, "unread");
  std::erase_if(at_once.get_ref<json::array_t&>(),
                [&](const json& name) { return std::ranges::find(unread, name) != unread.end(); });
  if (!at_once.empty()) text += "made again by running cells again: " + joined(at_once) + "\n";
  if (!unread.empty()) text += "made again when a cell reads it: " + joined(unread) + "\n";
  if (!at_once.empty() || !unread.empty()) {
    text += "by these cells:\n";
    for (const json& row : list_of(answer, "repeats")) {
      const std::string effects = joined(list_of(row, "effects"));
      text += "  [" + text_of(row, "count") + "] " + title_of(row) +
              (effects.empty() ? "" : " (side effects: " + effects + ")") + "\n";
    }
  }
  for (const json& one : list_of(answer, "lost"))
    text += "cannot be restored: " + text_of(one, "name") + ", for " + text_of(one, "reason") + "\n";
  for (const json& one : list_of(answer, "removes"))
    text +=
        "removed from the disk: " + text_of(one, "path") + ", which goes with " + text_of(one, "name") + "\n";
  return text;
}

std::string space_text(const json& answer) {
  std::vector<std::vector<Cell>> rows;
  for (const json& one : list_of(answer, "variables"))
    rows.push_back({{text_of(one, "name")},
                    {text_of(one, "versions")},
                    {bytes_text(number_of(one, "bytes"))},
                    {bytes_text(number_of(one, "bytes_at_head"))}});
  return render({{"VARIABLE"},
                 {"VERSIONS", Align::kRight},
                 {"ALL OF THEM", Align::kRight},
                 {"AT HEAD", Align::kRight}},
                rows, stdout_wants_colour()) +
         text_of(answer, "commits") + " commits, " + bytes_text(number_of(answer, "bytes")) + " of " +
         bytes_text(number_of(answer, "limit")) + "\n";
}

std::string text_for(const std::string& verb, const json& answer) {
  if (verb == "log" || verb == "blame") return log_text(answer);
  if (verb == "show") return variables_text(answer);
  if (verb == "diff") return diff_text(answer);
  if (verb == "branch") return names_text(list_of(answer, "branches"), "BRANCH");
  if (verb == "tag") return names_text(list_of(answer, "tags"), "TAG");
  if (verb == "space") return space_text(answer);
  if (verb == "gc")
    return "forgot " + std::to_string(list_of(answer, "forgets").size()) + " commits (" +
           bytes_text(number_of(answer, "freed")) + "); kept " + text_of(answer, "commits") + " (" +
           bytes_text(number_of(answer, "bytes")) + ")\n";
  if (verb == "describe") return "described " + text_of(answer.value("commit", json::object()), "id") + "\n";
  return travel_text(answer);
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
  std::printf("%s: %zu cells\n", path.c_str(), list_of(notebook, "cells").size());
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
  } else {
    std::fputs(text_for(options.verb, *answer).c_str(), stdout);
  }
  return kDone;
}

}  // namespace banyan::cli
