#include "core/session/document.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/checkpoint/refs.h"
#include "core/session/history.h"

namespace banyan::session {

namespace {

using nlohmann::json;

json field(const json& object, const char* key, const json& otherwise) {
  const auto found = object.find(key);
  return found == object.end() ? otherwise : *found;
}

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The message as an output of nbformat; null for a message that is no output.
json output_of(const jupyter::Message& message) {
  const auto header = jupyter::parse_header(message.header);
  const json content = jupyter::object_of(message.content.view());
  if (!header || !content.is_object()) return {};
  const std::string& type = header->msg_type;
  if (type == "stream")
    return {{"output_type", type}, {"name", text(content, "name")}, {"text", text(content, "text")}};
  if (type == "error")
    return {{"output_type", type},
            {"ename", field(content, "ename", "")},
            {"evalue", field(content, "evalue", "")},
            {"traceback", field(content, "traceback", json::array())}};
  if (type != "display_data" && type != "execute_result") return {};
  json output = {{"output_type", type},
                 {"data", field(content, "data", json::object())},
                 {"metadata", field(content, "metadata", json::object())}};
  if (type == "execute_result") output["execution_count"] = field(content, "execution_count", nullptr);
  return output;
}

json outputs_of(const Ended& cell) {
  json outputs = json::array();
  for (const jupyter::Message& message : cell.outputs) {
    json output = output_of(message);
    if (output.is_null()) continue;
    const bool goes_on = !outputs.empty() && output["output_type"] == "stream" &&
                         outputs.back()["output_type"] == "stream" &&
                         outputs.back()["name"] == output["name"];
    if (goes_on) {
      outputs.back()["text"] = outputs.back()["text"].get<std::string>() + output["text"].get<std::string>();
    } else {
      outputs.push_back(std::move(output));
    }
  }
  return outputs;
}

}  // namespace

json document_at(const Session& session, CommitId commit) {
  std::vector<const Ended*> order;
  std::map<std::string, std::size_t> places;
  std::vector<CommitId> line = session.tree().line(commit);
  std::ranges::reverse(line);
  for (const CommitId one : line) {
    const auto found = session.history().find(one);
    if (found == session.history().end() || found->second.code.empty() || found->second.code == kLook)
      continue;
    const Ended& cell = found->second;
    const auto [place, fresh] = places.try_emplace(
        cell.cell_id.empty() ? checkpoint::full_id(session.id(), one) : cell.cell_id, order.size());
    if (fresh) order.push_back(nullptr);
    order[place->second] = &cell;
  }
  json cells = json::array();
  for (const Ended* cell : order) {
    const std::string id =
        cell->cell_id.empty() ? checkpoint::full_id(session.id(), cell->commit).substr(0, 8) : cell->cell_id;
    cells.push_back({{"cell_type", "code"},
                     {"id", id},
                     {"metadata", json::object()},
                     {"source", cell->code},
                     {"execution_count", cell->execution_count == 0 ? json() : json(cell->execution_count)},
                     {"outputs", outputs_of(*cell)}});
  }
  return {{"nbformat", 4},
          {"nbformat_minor", 5},
          {"metadata",
           {{"kernelspec",
             {{"name", session.spec().kernel_name},
              {"display_name", session.spec().kernel_name},
              {"language", "python"}}}}},
          {"cells", std::move(cells)}};
}

}  // namespace banyan::session
