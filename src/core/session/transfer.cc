#include "core/session/transfer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/session/lineage.h"

namespace banyan::session {

namespace {

constexpr std::uint64_t kNoRoom = 64 << 10;  // bytes

}  // namespace

WayOf way_at(double bytes_per_second) {
  return [bytes_per_second](const CoVariable& value) {
    return static_cast<std::int64_t>(static_cast<double>(value.bytes()) * 1e6 / bytes_per_second);
  };
}

planner::Costs costs_of(const Session& session, const planner::Speeds& speeds, WayOf way_us,
                        planner::Take how) {
  return {.load = [&session, &speeds, how, way_us = std::move(way_us)](
                      const CoVariableId& version) -> std::optional<planner::LoadCost> {
            const CoVariable& value = session.co_variable(version);
            if (value.parts.empty()) return std::nullopt;
            return planner::LoadCost{.way_us = way_us(value),
                                     .here_us = speeds.load(value.type, value.bytes()).taken_us(how)};
          },
          .run_us =
              [&speeds, how](const planner::HistoryGraph::CellNode& cell) {
                return speeds.run(cell.runtime_us).taken_us(how);
              }};
}

Result<std::set<CoVariableId>> exported_values(const Session& session, const planner::Speeds& speeds,
                                               const ExportRequest& wanted) {
  const std::string& which = wanted.values;
  std::set<CoVariableId> values;
  if (which == "all") {
    for (const auto& [commit, node] : session.tree().nodes()) {
      for (const auto& [name, version] : node.change.bound) values.insert(version);
    }
    return values;
  }
  if (which != "head" && which != "least")
    return fail(ErrorKind::kInvalid,
                "the values of an export are 'all', 'head' or 'least', not '" + which + "'");
  const planner::HistoryGraph graph(session.view(), lineage_of(session, false, 0));  // wherever it goes
  const bool least = which == "least";
  planner::Costs costs = costs_of(session, speeds, way_at(wanted.bytes_per_second));
  // A session that was imported may have left values to their cells: it cannot hand on what it has not.
  costs.load = [&session, cost = costs.load](const CoVariableId& version) {
    return session.co_variable(version).serialised() ? cost(version) : std::nullopt;
  };
  values =
      planner::choose(graph, costs, least ? planner::Strategy::kLeast : planner::Strategy::kLoadAll).loads;
  // What takes no room goes along, also of what the cells read that run: a cell may make something besides
  // that it does not make again, such as the state of a generator that nobody has seeded.
  for (const auto& version : graph.versions()) {
    const CoVariable& value = session.co_variable(version.id);
    if (least && value.serialised() && value.bytes() <= kNoRoom) values.insert(version.id);
  }
  // What a cell that has to run makes besides need not be what it was.
  for (const auto& [name, version] : session.view()) {
    const bool goes = !least || session.copied_always().contains(name);
    if (goes && session.co_variable(version).serialised()) values.insert(version);
  }
  return values;
}

std::string question_of(const ExportRequest& wanted) {
  return nlohmann::json{{"do", "export"}, {"values", wanted.values}, {"bytes_per_s", wanted.bytes_per_second}}
      .dump();
}

std::optional<ExportRequest> export_wanted(std::string_view question) {
  const auto parsed = nlohmann::json::parse(question, nullptr, false);
  if (!parsed.is_object() || parsed.value("do", nlohmann::json()) != "export") return std::nullopt;
  ExportRequest wanted;
  if (const auto values = parsed.find("values"); values != parsed.end() && values->is_string())
    wanted.values = values->get<std::string>();
  if (const auto rate = parsed.find("bytes_per_s");
      rate != parsed.end() && rate->is_number() && rate->get<double>() >= 1)
    wanted.bytes_per_second = rate->get<double>();
  return wanted;
}

}  // namespace banyan::session
